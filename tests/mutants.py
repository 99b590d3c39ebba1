"""Break one line of covmis at a time, and see which tests notice: `python -m tests.mutants 120 > mutants.txt`, by hand.

It needs what `python -m tests.choose` has measured: which tests run which lines. Each mutant is made in a copy of the
sources and met first by the chosen tests that run the line (`make test`), then by all others, the quickest first.
Code that numba compiles is left out: it is compared with plain Python on random input.
"""

from __future__ import annotations

import ast
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.text.compiled import SOURCES
from tests.choose import Measured, measured
from tests.first import LIST, ROOT, chosen

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 20220405
SECONDS = 60
"""So much CPU of tests meets a mutant at most, beyond those of `make test`."""
SWAPPED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


class Mutant(NamedTuple):
    """One place of a file, and what stands there instead."""

    file: str
    line: int
    was: str
    now: str
    source: str

    @property
    def room(self) -> str:
        return self.file.split("/")[1].removesuffix(".py")


def mutants(file: str) -> Iterator[Mutant]:
    """All mutants of a file: operators exchanged, numbers and truths changed, conditions negated, arguments and calls left out."""
    text = (ROOT / file).read_text("utf-8")
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()))
    data = text.encode()

    def put(node: ast.expr | ast.stmt, now: str) -> Mutant:
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        was = data[start:end].decode()
        return Mutant(file, node.lineno, was, now, (data[:start] + now.encode() + data[end:]).decode())

    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for statement in function.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.expr | ast.stmt) and (now := changed(node)) is not None:
                    yield put(node, now)


def changed(node: ast.AST) -> str | None:  # noqa: C901, PLR0911 - one case for each way to break code
    """What stands in place of this node, if it can be broken."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in SWAPPED:
            return f"({ast.unparse(ast.Compare(left, [SWAPPED[type(op)]()], [right]))})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SWAPPED:
            return f"({ast.unparse(ast.BinOp(left, SWAPPED[type(op)](), right))})"
        case ast.BoolOp(op=op, values=values):
            return f"({ast.unparse(ast.BoolOp(SWAPPED[type(op)](), values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return f"({ast.unparse(operand)})"
        case ast.Constant(value=bool(value)):
            return str(not value)
        case ast.Constant(value=int(value)):
            return str(value + 1)
        case ast.Constant(value=float(value)):
            return repr(value * 1.5 + 0.01)
        case ast.IfExp(test=test, body=body, orelse=other):
            return f"({ast.unparse(ast.IfExp(ast.UnaryOp(ast.Not(), test), body, other))})"
        case ast.Call(func=func, args=args, keywords=[*_, last]) if last.arg:
            return ast.unparse(ast.Call(func, args, node.keywords[:-1]))
        case ast.Expr(value=ast.Call()):
            return "pass"
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            return "return None"
    return None


def drawn(count: int, seen: Measured) -> list[Mutant]:
    """So many mutants over all rooms, more where there is more code; always the same for the same sources."""
    rooms = defaultdict(list)
    for path in sorted((ROOT / "covmis_build").rglob("*.py")):
        file = path.relative_to(ROOT).as_posix()
        if path.stem not in SOURCES and not file.startswith("covmis_build/cli/"):
            for mutant in mutants(file):
                rooms[mutant.room].append(mutant)
    chance = random.Random(SEED)
    each = {
        room: max(2, round(count * len(found) / sum(map(len, rooms.values()))))
        for room, found in rooms.items()
    }
    return [
        mutant
        for room, found in sorted(rooms.items())
        for mutant in chance.sample([one for one in found if (one.file, one.line) in seen.by_line] or found, min(each[room], len(found)))
    ]  # fmt: skip


def fate(mutant: Mutant, seen: Measured, first: dict[str, float], copy: Path) -> str:
    """Who notices it: `make test`, `other tests`, or `nobody`; `not run` where no test of this machine runs the line."""
    reached = sorted(seen.by_line.get((mutant.file, mutant.line), ()), key=lambda test: seen.seconds[test])
    if not reached:
        return "not run"
    costs = itertools.accumulate(seen.seconds[test] for test in reached)
    others = [
        test for test, spent in zip(reached, costs, strict=True) if test not in first and spent < SECONDS
    ]
    place = copy / mutant.file
    whole = place.read_text("utf-8")
    place.write_text(mutant.source, "utf-8")
    try:
        for name, tests in (
            ("make test", [test for test in reached if test in first]),
            ("other tests", others),
        ):
            if tests and not passes(tests, copy):
                return name
    finally:
        place.write_text(whole, "utf-8")
    return "nobody"


def passes(tests: list[str], copy: Path) -> bool:
    """Whether all these pass in the copy."""
    listed = copy / "tests.lst"
    listed.write_text("".join(f"0 {test}\n" for test in tests), "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "tests.first", f"--only={listed}"]
    environment = os.environ | {"PYTHONPATH": str(copy)}
    return (
        subprocess.run(command, cwd=copy, env=environment, capture_output=True, check=False).returncode == 0
    )


def main() -> None:
    """Print each mutant with its fate as it is known, and the table of rooms at the end."""
    seen, first = measured(), chosen(LIST)
    table: dict[str, list[str]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "covmis"
        kept = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
        for name in kept.stdout.splitlines():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
        for mutant in drawn(int(sys.argv[1]), seen):
            result = fate(mutant, seen, first, copy)
            table[mutant.room].append(result)
            print(f"{result:<12}{mutant.file}:{mutant.line}  {mutant.was!r} -> {mutant.now!r}", flush=True)
    print(f"\n{'room':<14}{'mutants':>8}{'make test':>11}{'all tests':>11}")
    for room, fates in [*table.items(), ("all", [*itertools.chain(*table.values())])]:
        quick = fates.count("make test")
        print(f"{room:<14}{len(fates):>8}{quick:>11}{quick + fates.count('other tests'):>11}")


if __name__ == "__main__":
    main()
