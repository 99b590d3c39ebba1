"""How commands speak: words for people, one JSON object for programs, progress for the patient."""

from __future__ import annotations

import io
import json
import os
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from covmis_build.engine import silent
from covmis_build.report import terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from covmis_build.engine import Progress
    from covmis_build.report.summary import Summary

StudyOption = Annotated[
    Path | None,
    Option(
        "--study",
        metavar="DIR",
        help="The study's folder (default: the nearest study.toml upwards).",
        hidden=True,
    ),
]
JsonOption = Annotated[bool, Option("--json", help="Print one JSON object instead of words.", hidden=True)]

loudness = 0
"""-1 quiet, 0 normal, 1 verbose; set once by the program's own options."""


def escape_unknown_characters() -> None:
    """Let no character that the terminal's encoding lacks end a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(*lines: str) -> None:
    """Print for a person, unless asked to be quiet."""
    if loudness >= 0:
        for line in lines:
            print(terminal.printable(line))


def detail(*lines: str) -> None:
    """Print for a person who asked for more."""
    if loudness > 0:
        say(*lines)


def warn(*lines: str) -> None:
    """Print a warning, on the error stream so that results stay clean."""
    for line in lines:
        print(f"warning: {terminal.printable(line)}", file=sys.stderr)


def tell(result: Mapping[str, Any], summary: Summary, *, as_json: bool) -> None:
    """Print a result: as one JSON object, or in words and tables."""
    if as_json:
        text = terminal.as_json(result)
        try:
            text.encode(sys.stdout.encoding or "utf-8")
        except UnicodeEncodeError:
            text = json.dumps(json.loads(text))  # escaped as JSON knows it
        print(text)
    else:
        for line in terminal.lines(summary):
            print(terminal.printable(line))


@contextmanager
def progress() -> Iterator[Progress]:
    """Progress on anything longer than a second: a bar in a terminal, plain lines elsewhere, silence with -q.

    With COVMIS_PROGRESS=json in the environment, an object a line, for programs that show it themselves.
    """
    if os.environ.get("COVMIS_PROGRESS") == "json":
        yield _objects()
    elif loudness < 0:
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
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        known: dict[str, Any] = {}

        def report(step: str, done: int, total: int) -> None:
            if step not in known:
                known[step] = bars.add_task(step, total=total or None)
            bars.update(known[step], completed=done, total=total or None)

        yield report


FEW = 10
"""With so few steps the remaining time cannot be estimated."""


def _lines() -> Progress:
    began = time.monotonic()
    last, first = {"at": began}, dict[str, tuple[float, int]]()

    def report(step: str, done: int, total: int) -> None:
        now = time.monotonic()
        start, had = first.setdefault(step, (now, done))
        if now - last["at"] >= 2:
            last["at"] = now
            count = f": {done:,}" + (f" of {total:,}" if total else "") if done or total else ""
            left = ""
            if had < done < total and total > FEW:
                left = f", about {(total - done) * (now - start) / (done - had):.0f} s left"
            print(f"{step}{count} (after {now - began:.0f} s{left})", file=sys.stderr, flush=True)

    return report


OFTEN = 0.2
"""Seconds between two objects of a step."""


def _objects() -> Progress:
    last: tuple[str, float] = ("", 0.0)

    def report(step: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if step != last[0] or done == total or now - last[1] >= OFTEN:
            last = (step, now)
            print(json.dumps({"step": step, "done": done, "of": total}), file=sys.stderr, flush=True)

    return report
