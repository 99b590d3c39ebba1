"""Detect whether a table's quotation marks quote cells, or are characters of its texts.

Programs that separate cells by tabs or bars often do not quote: `1<tab>"No!" she said`. If parsed as quoted, such a cell has no
end, or silently includes the rows below up to the next quotation mark.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.errors import InputError, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


TWICE = (
    'A quotation mark inside a quoted cell must be doubled (in R: qmethod = "double"); '
    "between tabs or bars marks may quote nothing, where every line has all cells"
)
_QUOTED = {sign: re.compile(rf'"[^"{sign}]*"(?:{re.escape(sign)}"[^"{sign}]*")*') for sign in ("\t", "|")}
"""A first line whose cells are all quoted, by the separators between which programs often quote nothing."""


def are_literal(lines: Callable[[], Iterable[str]], separator: str) -> bool:
    r"""True if each line has all cells when unquoted, while some would not end on their line when quoted.

    >>> are_literal(lambda: ['id\ttext\n', '1\t"No!" she said\n'], "\t"), are_literal(lambda: ['1\t"No!"\n'], "\t")
    (True, False)
    >>> are_literal(lambda: ['id\tby\ttext\n', '1\ta\t"No\n', 'and no"\n'], "\t")
    False
    """
    if separator not in _QUOTED:
        return False
    told = _findings(lines(), separator)
    if told.separators < 1:
        return False
    if told.odd_line:
        _refuse_rows_in_a_row(lines(), told, separator)
        return False
    reader = csv.reader(lines(), delimiter=separator, strict=True)
    try:
        return told.marked and any(reader.line_num > number for number, _ in enumerate(reader, start=1))
    except csv.Error:
        return True


class _Findings(NamedTuple):
    """Findings about a file's quotation marks; `separators` of the first line, none if its cells are quoted."""

    separators: int
    marked: bool
    odd_line: int = 0
    """The first line with another number of separators."""
    odd_separators: int = 0


def _findings(lines: Iterable[str], separator: str) -> _Findings:
    marked, first = False, -1
    for number, line in enumerate(lines, start=1):
        if first < 0 and _QUOTED[separator].fullmatch(line.strip()):
            return _Findings(0, marked)
        marked = marked or '"' in line
        here = line.count(separator)
        first = here if first < 0 else first
        if here != first and line.strip():
            return _Findings(first, marked, number, here)
    return _Findings(first, marked)


def _refuse_rows_in_a_row(lines: Iterable[str], told: _Findings, separator: str) -> None:
    """Refuse lines that are complete rows but would be joined if marks quote, because either could be meant."""
    whole: list[bool] = []

    def seen() -> Iterator[str]:
        for line in lines:
            whole.append(line.count(separator) == told.separators)
            yield line

    try:
        for number, _ in enumerate(csv.reader(seen(), delimiter=separator, strict=True), start=1):
            if len(whole) > 1 and sum(whole) > 1:
                raise InputError(
                    f"is one row with {counted(len(whole), 'lines')} if quotation marks quote cells, and "
                    f"{counted(sum(whole), 'rows')} if they are parts of the texts",
                    row=number,
                    remedy="If they quote, save it with commas between cells. If they are signs, every line needs all "
                    f"cells: line {told.odd_line:,} has {told.odd_separators + 1:,}, not {told.separators + 1:,}",
                )
            whole.clear()
    except csv.Error:
        return  # the reader reports it, and keeps what came before


def rows_of(lines: Iterable[str], separator: str, *, quotes_are_literal: bool) -> Iterator[list[str]]:
    """Return the cells of each row; with `quotes_are_literal`, quotation marks are characters of the texts."""
    if quotes_are_literal:
        return csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_NONE)
    return csv.reader(lines, delimiter=separator, strict=True)
