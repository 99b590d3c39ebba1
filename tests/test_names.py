"""A local name says what it is: `one`, `found`, `made` and the like stand only within a line."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(__file__).parents[1] / "covmis_build"
VAGUE = {"one", "found", "made", "got", "some", "other"}
OF_A_SUBJECT = {
    ("other", "study"),  # `study.merge(other)`: the other copy
    *(("found", room) for room in ("recall", "recall_frame", "recall_report", "nearest", "stages", "stage")),
}
"""A query found a post, or missed it: there the word says what it says."""
WITHIN = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Lambda)


def spoken(node: ast.AST) -> Iterator[ast.Name | ast.arg]:
    """The names of a function's own lines; those of comprehensions, lambdas and functions within it are theirs."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*WITHIN, ast.FunctionDef)):
            continue
        if isinstance(child, ast.Name | ast.arg):
            yield child
        yield from spoken(child)


def vague(path: Path) -> Iterator[str]:
    for function in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(function, ast.FunctionDef):
            continue
        lines: dict[str, set[int]] = {}
        for name in spoken(function):
            lines.setdefault(name.id if isinstance(name, ast.Name) else name.arg, set()).add(name.lineno)
        for name in sorted(VAGUE & lines.keys()):
            if len(lines[name]) > 1 and (name, path.stem) not in OF_A_SUBJECT:
                yield f"{path.relative_to(PACKAGE)}:{min(lines[name])}: {name} in {function.name}"


def test_locals_say_what_they_are():
    assert [line for path in sorted(PACKAGE.rglob("*.py")) for line in vague(path)] == []
