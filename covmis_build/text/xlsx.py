"""Workbooks of Excel: the sheets that people see, row by row, and what their rows do not say."""

from __future__ import annotations

import re
import zipfile
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from covmis_build.errors import InputError
from covmis_build.text.ods import MOST_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_EMPTY = 20_000_000
"""Empty cells before others: a workbook that has more in some kilobytes was not filled in by anybody."""


def pages_of(book: Any) -> list[Any]:
    """The sheets of a workbook of Excel that people see: one, at least, is no hidden one."""
    return _whole([page for page in book.worksheets if page.sheet_state == "visible"] or book.worksheets)


def hidden_pages_of(book: Any) -> list[Any]:
    """The sheets that people do not see."""
    shown = pages_of(book)
    return _whole([page for page in book.worksheets if page not in shown])


def _whole(pages: list[Any]) -> list[Any]:
    for page in pages:
        page.reset_dimensions()  # a file may say that it has fewer rows than it has
    return list(pages)


def rows_of(page: Any) -> Iterator[list[Any]]:
    """The rows of a sheet up to the last cell of each, the empty ones between others too."""
    empty = 0
    for number, cells in enumerate(page.iter_rows(values_only=True), start=1):
        empty += cells.count(None)
        if number > MOST_ROWS or empty > MOST_EMPTY:
            raise InputError("has more rows or columns than any list", row=number, remedy="Save it as CSV")
        yield [_unescaped(value) for value in cells]


def _unescaped(value: Any) -> Any:
    """A cell of Excel, whose file writes `_x000D_` for a character that XML cannot hold."""
    if not isinstance(value, str) or "_x" not in value:
        return value
    from openpyxl.utils.escape import unescape

    return unescape(value)


_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s+ref="([A-Z]{1,3}\d{1,7}:[A-Z]{1,3}\d{1,7})"')
_NOT_CALCULATED = re.compile(
    rb"(?:</(?:\w+:)?f>|<(?:\w+:)?f [^<>]*/>)\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
"""A formula without a value behind it."""


class MergedDown(NamedTuple):
    """A cell that reaches over several rows; columns and rows are counted from 1."""

    column: int
    top: int
    bottom: int


def merged_down(file: IO[bytes], page: Any, lines: list[list[Any]]) -> list[MergedDown]:
    """The cells with a value that reach over several rows in this sheet of an Excel workbook."""
    return [
        area._replace(bottom=min(area.bottom, len(lines)))
        for area in areas_down(file, page)
        if any(
            value is not None
            for line in lines[area.top - 1 : area.top]
            for value in line[area.column - 1 : area.column]
        )
    ]


def areas_down(file: IO[bytes], page: Any) -> list[MergedDown]:
    """What is merged over several rows in this sheet, whether it has a value or not: its rows do not say so."""
    from openpyxl.utils import range_boundaries

    areas = {area: None for piece in _pieces_of(file, page) for area in _MERGED.findall(piece)}
    merged = [range_boundaries(area.decode()) for area in areas]
    return [MergedDown(left, top, bottom) for left, top, _, bottom in merged if bottom > top]


def has_not_calculated(file: IO[bytes], page: Any) -> bool:
    """Whether this sheet has formulas that no program has calculated yet, without reading its cells once more."""
    return any(_NOT_CALCULATED.search(piece) for piece in _pieces_of(file, page))


def _pieces_of(file: IO[bytes], page: Any) -> Iterator[bytes]:
    """What a sheet's part of the file says; a tag between two pieces is whole in the second."""
    with zipfile.ZipFile(file) as archive, archive.open(page._worksheet_path) as part:  # noqa: SLF001 - it has no word for it
        before = b""
        while chunk := part.read(1 << 20):
            yield before + chunk
            before = chunk[-200:]


def not_calculated(page: Any, lines: list[list[Any]]) -> list[tuple[int, int]]:
    """Row and column, from 1, of formulas in this sheet of an Excel workbook that no program has calculated yet."""
    return [
        (at, column)
        for at, line in enumerate(rows_of(page), start=1)
        for column, cell in enumerate(line, start=1)
        if isinstance(cell, str) and cell.startswith("=") and lines[at - 1][column - 1] is None
    ]
