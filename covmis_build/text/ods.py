"""Calc workbooks (ods), row by row: numbers as numbers, days as ISO days, other cells as people see them."""

from __future__ import annotations

import zipfile
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree as ET

from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
"""As many as a spreadsheet can have: rows and cells may say that they are repeated without end."""
MOST_REPEATED = 10_000_000
"""Cells that are not empty and stand in the file once for all; a workbook that says more was not filled in by anybody."""
LONGEST = 10**15
"""From here on a spreadsheet keeps less than all digits of a number, so it is none that can be relied upon."""
MOST_SPACES = 100
"""Side by side in a cell: it may say that there are millions."""

OFFICE, TABLES, TEXT = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{space}:1.0}}" for space in ("office", "table", "text")
)
TABLE, ROW, CELLS = (
    TABLES + "table",
    TABLES + "table-row",
    (TABLES + "table-cell", TABLES + "covered-table-cell"),
)
ROWS_REPEATED, REPEATED = TABLES + "number-rows-repeated", TABLES + "number-columns-repeated"
MERGED, FORMULA = TABLES + "number-rows-spanned", TABLES + "formula"
STYLES = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
STYLE, NAME, ITS_STYLE = STYLES + "style", STYLES + "name", TABLES + "style-name"
OF_TABLE, SHOWN = STYLES + "table-properties", TABLES + "display"
KIND, NUMBER, TRUTH = OFFICE + "value-type", OFFICE + "value", OFFICE + "boolean-value"
DAY, WORDS, NOTE = OFFICE + "date-value", OFFICE + "string-value", OFFICE + "annotation"
PARAGRAPH, SPACES, HOW_MANY = TEXT + "p", TEXT + "s", TEXT + "c"
SIGNS = {TEXT + "tab": "\t", TEXT + "line-break": "\n"}
TRUTHS = {"of:=TRUE()": True, "of:=FALSE()": False}
"""What Calc makes of true and false in a workbook of Excel: numbers, to all else."""


class Row(NamedTuple):
    """A row of a sheet, with what its cells do not say."""

    sheet: int
    """Which of those that the workbook shows, from 0; negative for those that it hides."""
    cells: list[Any]
    """Up to the last that is not empty; None for an empty one."""
    merged_down: list[tuple[int, int]]
    """Cells with a value that reach over several rows: the number of the column, from 1, and how many rows."""
    not_calculated: list[int]
    """The columns, from 1, of formulas that no program has calculated yet."""


def rows_of(file: IO[bytes]) -> Iterator[Row]:
    """All rows of all sheets, the empty ones between others too."""
    before, number, empty, repeated = 0, 0, 0, 0
    with zipfile.ZipFile(file) as packed, packed.open("content.xml") as content:
        for sheet, element in _sheets(content):
            if sheet != before:
                before, number, empty, repeated = sheet, 0, 0, 0
            row, times = _row(sheet, element), _times(element, ROWS_REPEATED)
            number += times
            if not row.cells and not row.not_calculated:
                empty += times
                continue
            repeated += (times - 1) * len(row.cells)
            if number > MOST_ROWS or repeated > MOST_REPEATED:
                raise InputError("has more rows than any spreadsheet", remedy="Save it as CSV")
            for _ in range(empty):
                yield Row(sheet, [], [], [])
            empty = 0
            for _ in range(times):
                yield row._replace(cells=list(row.cells))


def _sheets(content: IO[bytes]) -> Iterator[tuple[int, ET.Element]]:
    """The rows, and the number of each one's sheet."""
    shown, hidden, sheet, styles = 0, 0, 0, set[str | None]()
    for event, element in ET.iterparse(content, ("start", "end")):  # noqa: S314 - expat refuses entities that grow
        if event == "start":
            if element.tag == TABLE and element.get(ITS_STYLE) in styles:
                hidden += 1
                sheet = -hidden
            elif element.tag == TABLE:
                sheet, shown = shown, shown + 1
        elif element.tag == STYLE:
            if any(part.get(SHOWN) == "false" for part in element.iterfind(OF_TABLE)):
                styles.add(element.get(NAME))
        elif element.tag == ROW:
            yield sheet, element
            element.clear()


def letters(column: int) -> str:
    """A column's name, as spreadsheets show it.

    >>> letters(1), letters(26), letters(27), letters(16384)
    ('A', 'Z', 'AA', 'XFD')
    """
    name = ""
    while column:
        column, last = divmod(column - 1, 26)
        name = chr(ord("A") + last) + name
    return name


def _row(sheet: int, element: ET.Element) -> Row:
    row, empty = Row(sheet, [], [], []), 0
    for cell in element:
        if cell.tag not in CELLS:
            continue
        times, value = _times(cell, REPEATED), _value(cell)
        place = len(row.cells) + empty + 1
        if value is None:
            if cell.get(FORMULA) and not cell.get(KIND):
                row.not_calculated.append(place)
            empty = min(empty + times, MOST_COLUMNS)
            continue
        if place + times - 1 > MOST_COLUMNS:
            raise InputError("has more columns than any spreadsheet", remedy="Save it as CSV")
        if (down := _times(cell, MERGED)) > 1:
            row.merged_down.extend((place + more, down) for more in range(times))
        row.cells.extend([None] * empty + [value] * times)
        empty = 0
    return row


def _times(element: ET.Element, name: str) -> int:
    return max(1, int(element.get(name, 1)))


def _value(cell: ET.Element) -> Any:
    if (formula := cell.get(FORMULA)) in TRUTHS:
        return TRUTHS[formula]
    kind = cell.get(KIND)
    if kind == "float" and (written := cell.get(NUMBER)):
        number = float(written)
        return int(number) if number.is_integer() and abs(number) < LONGEST else number
    if kind == "boolean" and (written := cell.get(TRUTH)):
        return written == "true"  # what is shown is a word of the program's language
    if kind == "date" and (written := cell.get(DAY)):
        return written
    shown = "\n".join("".join(_parts(part)) for part in cell.iterfind(PARAGRAPH))
    return shown or cell.get(WORDS) or None


def _parts(node: ET.Element) -> Iterator[str]:
    """The text inside a paragraph; tabs, line ends and several spaces are elements of their own there."""
    yield node.text or ""
    for child in node:
        if child.tag == SPACES:
            yield " " * min(int(child.get(HOW_MANY, 1)), MOST_SPACES)
        elif child.tag in SIGNS:
            yield SIGNS[child.tag]
        elif child.tag != NOTE:
            yield from _parts(child)
        yield child.tail or ""
