"""How commands speak: words for people, one JSON object for programs, progress for the patient.

Conventions for every command:
- take `study: StudyOption = None` if it works on a study, and open it with `study.open_study(study)`;
- take `as_json: JsonOption = False` if it has results, and end with `tell(result.to_dict(), result.summary, …)`;
- say what deserves care with `warn`; raise a CovmisError for everything that fails.
"""

from __future__ import annotations

import json
import math
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from covmis_build.engine import silent
from covmis_build.report.summary import Listing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from covmis_build.engine import Progress
    from covmis_build.report.summary import Summary

StudyOption = Annotated[
    Path | None,
    Option("--study", metavar="DIR", help="The study's folder (default: the nearest study.toml upwards)."),
]
JsonOption = Annotated[bool, Option("--json", help="Print one JSON object instead of words.")]

loudness = 0
"""-1 quiet, 0 normal, 1 verbose; set once by the program's own options."""


def say(*lines: str) -> None:
    """Print for a person, unless asked to be quiet."""
    if loudness >= 0:
        for line in lines:
            print(printable(line))


def detail(*lines: str) -> None:
    """Print for a person who asked for more."""
    if loudness > 0:
        say(*lines)


def warn(*lines: str) -> None:
    """Print a warning, on the error stream so that results stay clean."""
    for line in lines:
        print(f"warning: {printable(line)}", file=sys.stderr)


def printable(text: str) -> str:
    r"""Outside text made safe for a terminal: control characters and direction overrides are shown, not obeyed.

    >>> printable("a\x1b[31mb\u202ec")
    'a\\x1b[31mb\\u202ec'
    """
    return "".join(
        character
        if character in "\n\t" or (character.isprintable() or character == "\u00a0")
        else character.encode("unicode_escape").decode()
        for character in text
    )


def emit_json(result: Mapping[str, Any]) -> None:
    """Print one JSON object: snake_case keys, null for what is undefined; nothing in it that a terminal obeys."""
    text = json.dumps(_plain(result), ensure_ascii=False, allow_nan=False)
    print(
        "".join(character if character.isprintable() else json.dumps(character)[1:-1] for character in text)
    )


def _plain(value: Any) -> Any:
    """Numbers, words, lists and objects that JSON knows; NaN and infinities are null."""
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        return [_plain(row) for row in value.to_dict("records")]
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def grid(rows: Iterable[Sequence[Any]], header: Sequence[str]) -> None:
    """Print a table with aligned columns: numbers to the right, words to the left."""
    if loudness < 0:
        return
    header = [_cell(name) for name in header]
    cells = [[_cell(value) for value in row] for row in rows]
    numeric = [all(_is_number(row[at]) for row in cells) for at in range(len(header))]
    widths = [max(len(name), *(len(row[at]) for row in cells), 0) for at, name in enumerate(header)]
    lines = [list(header), *cells]
    for number, row in enumerate(lines):
        padded = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        print("  ".join(padded).rstrip())
        if number == 0:
            print("  ".join("-" * width for width in widths))


def tell(result: Mapping[str, Any], summary: Summary, *, as_json: bool) -> None:
    """Print a result: as one JSON object, or in words and tables."""
    if as_json:
        emit_json(result)
        return
    for part in summary:
        if isinstance(part, str):
            say(part)
        elif isinstance(part, Listing):
            grid(part.rows, part.header)
        else:
            grid(part.itertuples(index=False), list(part.columns))


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return printable(str(value)).replace("\n", " ")


def _is_number(cell: str) -> bool:
    return not cell.strip("0123456789.,-+%e ")


@contextmanager
def progress() -> Iterator[Progress]:
    """Progress on anything longer than a second: a bar in a terminal, plain lines elsewhere, silence with -q."""
    if loudness < 0:
        yield silent
    elif sys.stderr.isatty():
        yield from _bar()
    else:
        yield _lines()


def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("left:"), TimeRemainingColumn(elapsed_when_finished=False),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        known: dict[str, Any] = {}

        def report(step: str, done: int, total: int) -> None:
            if step not in known:
                known[step] = bars.add_task(step, total=total or None)
            bars.update(known[step], completed=done, total=total or None)

        yield report


FEW = 10
"""Of so few steps nobody can tell how long the next one takes."""


def _lines() -> Progress:
    began = time.monotonic()
    last, first = {"at": began}, dict[str, tuple[float, int]]()

    def report(step: str, done: int, total: int) -> None:
        now = time.monotonic()
        start, had = first.setdefault(step, (now, done))
        if (
            now - last["at"] >= 2 or "this once" in step
        ):  # what takes long without a word in between is told before
            last["at"] = now
            count = f": {done:,}" + (f" of {total:,}" if total else "") if done or total else ""
            left = ""
            if had < done < total and total > FEW:
                left = f", about {(total - done) * (now - start) / (done - had):.0f} s left"
            print(f"{step}{count} (after {now - began:.0f} s{left})", file=sys.stderr, flush=True)

    return report
