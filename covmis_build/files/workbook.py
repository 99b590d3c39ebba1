"""Tables in Excel and Calc workbooks: the visible worksheet, and information that cell values do not show.

calamine reads the cells. Formulas without value, error cells, notes and struck-through text come from the file's XML.
"""

from __future__ import annotations

import re
import zipfile
from contextlib import suppress
from html import unescape
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

from covmis_build.errors import InputError, counted
from covmis_build.files.table import (
    MOST_COLUMNS,
    TITLES,
    Doubt,
    Mark,
    Row,
    Table,
    above_header,
    cell,
    header_line,
    letters,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from io import BytesIO

    from python_calamine import CalamineSheet

SUFFIXES = {".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"}
OLD_EXCEL = b"\xd0\xcf\x11\xe0"
"""First bytes of an .xls file."""
LARGEST = 512 << 20
"""Maximum decompressed bytes of a workbook's parts, and of an .xls file."""
KEPT_DIGITS = 15
"""Digits of a number that a spreadsheet stores; the rest become zeros."""


def open_workbook(content: BytesIO, with_column: str = "") -> Table:
    """Open the first visible worksheet, or the only one with this column in its first row."""
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    is_zip = zipfile.is_zipfile(content)
    if is_zip:
        with zipfile.ZipFile(content) as parts:
            size = sum(part.file_size for part in parts.infolist())
        if size > LARGEST:
            raise InputError(f"unpacks to {size:,} bytes", remedy=f"At most {LARGEST:,}: save it as CSV")
    content.seek(0)
    try:
        book = CalamineWorkbook.from_filelike(content)
        sheets = [
            _Sheet(at, book.get_sheet_by_index(at), about.visible == SheetVisibleEnum.Visible)
            for at, about in enumerate(book.sheets_metadata)
            if about.typ == SheetTypeEnum.WorkSheet
        ]
    except CalamineError as error:
        raise InputError(
            f"is not readable as a workbook: {error}", remedy="Save it again, or as CSV"
        ) from None
    shown = [sheet for sheet in sheets if sheet.shown] or sheets
    if not shown:
        raise InputError("has no sheet")
    chosen = _with_column(shown, with_column) if with_column else shown[0]
    table = _table(chosen, "OpenDocument" if _is_calc(content, is_zip=is_zip) else "Excel")
    if not with_column:
        table.notes += _other_sheets(table.header, [sheet for sheet in sheets if sheet is not chosen])
    if is_zip:
        _add_marks(table, chosen, content, whole=bool(with_column))
    return table


class _Sheet(NamedTuple):
    at: int
    cells: CalamineSheet
    shown: bool

    @property
    def first(self) -> tuple[int, int]:
        """Row and column of the first cell, from 1."""
        row, column = self.cells.start or (0, 0)
        return row + 1, column + 1

    def lines(self) -> Iterator[list[str]]:
        return ([cell(value) for value in line] for line in self.cells.iter_rows())


def _is_calc(content: BytesIO, *, is_zip: bool) -> bool:
    if not is_zip:
        return False
    with zipfile.ZipFile(content) as parts:
        return "content.xml" in parts.namelist()


def _with_column(sheets: Sequence[_Sheet], name: str) -> _Sheet:
    wanted = [sheet for sheet in sheets if name in _names(sheet)]
    if len(wanted) > 1:
        raise InputError(
            f"has two sheets with the column {name}, and it is unclear which one counts",
            remedy="Remove the other",
        )
    if not wanted:
        raise InputError(f"has no sheet with the column {name}", remedy="Keep the first row as it was made")
    return wanted[0]


def _names(sheet: _Sheet) -> set[str]:
    """Return a worksheet's column names in lower case."""
    beginning = [_without_end(line) for line in islice(sheet.lines(), TITLES + 1)]
    with suppress(InputError):  # other worksheets may contain anything
        return {text.strip().casefold() for text in beginning[header_line(beginning)]} if beginning else set()
    return set()


def _table(sheet: _Sheet, form: str) -> Table:
    beginning = list(islice(sheet.lines(), TITLES + 1))
    if not beginning:
        raise InputError("is empty", remedy="A header and at least one row are expected")
    above = header_line([_without_end(line) for line in beginning])
    names = [name.strip() for name in beginning[above]]
    first = sheet.first[0] + above + 1
    if len(names) > MOST_COLUMNS:
        raise InputError(f"has {len(names):,} columns", remedy=f"At most {MOST_COLUMNS:,}")
    table = Table(
        form, names, lambda: iter(()), above_header(beginning[:above]), begins=first, of_spreadsheets=True
    )
    nameless, example = 0, ""
    for line in islice(sheet.cells.iter_rows(), above + 1, None):
        for name, value in zip(names, line, strict=True):
            if isinstance(value, int | float) and abs(value) >= 10**KEPT_DIGITS:
                table.rounded.add(name)
            if not name and cell(value).strip():
                nameless, example = nameless + 1, example or cell(value)
    if nameless and any(names[1:]) and not (names[0] == "" and all(names[1:])):
        table.notes.append(f"{counted(nameless, 'cells')} in columns without a name, as '{example[:40]}'")

    def rows() -> Iterator[Row]:
        lines = islice(sheet.lines(), above + 1, None)
        return (Row(number, cells) for number, cells in enumerate(lines, first) if any(map(str.strip, cells)))

    table.rows = rows
    for (top, left), (bottom, _) in sheet.cells.merged_cell_ranges or ():
        _merged(table, top + 1, left + 1, bottom + 1, sheet)
    return table


def _without_end(line: list[str]) -> list[str]:
    """Return a line up to its last non-empty cell."""
    return line[: max((at + 1 for at, text in enumerate(line) if text.strip()), default=0)]


def _merged(table: Table, top: int, left: int, bottom: int, sheet: _Sheet) -> None:
    """Mark the blank cells below the first row of merged cells; columns count from the sheet's first."""
    column = left - sheet.first[1] + 1
    if not any(table.header[column - 1 : column]):
        return
    for row in range(max(top + 1, table.begins), min(bottom, sheet.first[0] + sheet.cells.height - 1) + 1):
        table.doubts.append(Doubt(row, column, "merged"))
    if bottom > top and bottom >= table.begins:
        table.notes.append(
            f"{letters(left)}{top} is merged over several rows: it counts for row {top} alone, the others are blank"
        )


def _other_sheets(header: Sequence[str], others: Sequence[_Sheet]) -> list[str]:
    """Return notes on worksheets that are not read. One with the same columns as the first is an error."""
    notes, begins = [], {sheet.at: list(islice(filter(any, sheet.lines()), 2)) for sheet in others}
    for sheet in others:
        names, *rows = begins[sheet.at] or [[]]
        if rows and _without_end(names) == _without_end(list(header)):
            if sheet.shown:
                raise InputError(
                    "continues on another sheet with the same columns",
                    remedy="Put all rows onto one sheet, or save each sheet as a file of its own",
                )
            notes.append("a hidden sheet has the same columns, and is not read")
    shown = [sheet for sheet in others if sheet.shown and begins[sheet.at]]
    if shown:
        start = " | ".join(_without_end(begins[shown[0].at][0]))[:60]
        notes.append(f"{counted(len(shown), 'other sheets')} not read, which begins with '{start}'")
    return notes


# Information that cell values do not show


class _Marks(NamedTuple):
    """Positions in a worksheet, as rows and columns from 1; for notes and formulas with their text."""

    merged: list[tuple[int, int, int]]
    formulas: list[tuple[int, int]]
    errors: list[tuple[int, int]]
    struck: list[tuple[int, int]]
    notes: list[Mark]
    texts: list[Mark]


def _add_marks(table: Table, sheet: _Sheet, content: BytesIO, *, whole: bool) -> None:
    """Add the information that cell values do not show: all of it (`whole`), or that it exists."""
    with zipfile.ZipFile(content) as parts:
        marks = _of_calc(parts, sheet.at) if "content.xml" in parts.namelist() else _of_excel(parts, sheet.at)
    for top, left, bottom in marks.merged:
        _merged(table, top, left, bottom, sheet)
    for places, why in ((marks.formulas, "a formula without a value"), (marks.errors, "an error")):
        table.doubts += [
            Doubt(row, column - sheet.first[1] + 1, why) for row, column in places if row >= table.begins
        ]
    for places, nouns, what in (
        (
            [] if whole else marks.formulas,
            "formulas",
            "without a stored value, left empty (open the file and save it)",
        ),
        (marks.errors, "cells", "with an error, left empty"),
        ([] if whole else marks.struck, "cells", "whose text is struck through"),
    ):
        if places:
            row, column = places[0]
            table.notes.append(f"{counted(len(places), nouns)} {what}, as {letters(column)}{row}")
    if whole:
        struck = [Mark(row, column, "struck") for row, column in marks.struck]
        table.marks += [
            mark._replace(column=mark.column - sheet.first[1] + 1)
            for mark in (*struck, *marks.notes, *marks.texts)
        ]
    elif marks.notes:
        table.notes.append(f"{counted(len(marks.notes), 'notes')} on cells, not read")


MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATIONS = "{http://schemas.openxmlformats.org/package/2006/relationships}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_CELL = rb"<(?:\w+:)?c\b(?=[^<>]*\br=\"([A-Z]{1,3})(\d{1,7})\")"
_FORMULA = re.compile(
    _CELL + rb"[^<>]*>\s*(?:<(?:\w+:)?f\b[^<>]*/>|<(?:\w+:)?f\b[^<>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_FORMULA_TEXT = re.compile(_CELL + rb"[^<>]*>\s*<(?:\w+:)?f\b[^<>]*>([^<]+)</(?:\w+:)?f>")
_ERROR = re.compile(_CELL + rb"[^<>]*\bt=\"e\"[^<>]*>")
_STYLED = re.compile(_CELL + rb"[^<>]*\bs=\"(\d+)\"[^<>/]*>")
OVERLAP = 1 << 16


def _of_excel(parts: zipfile.ZipFile, at: int) -> _Marks:
    names = parts.namelist()
    marks = _Marks([], [], [], [], [], [])
    for name in names:
        if re.fullmatch(r"xl/(comments/)?comments?\d*\.xml", name):
            for element in ET.fromstring(parts.read(name)).iter(f"{MAIN}comment"):  # noqa: S314 - expat refuses entities that grow
                place = re.fullmatch(rb"([A-Z]{1,3})(\d{1,7})", element.get("ref", "").encode())
                if place:
                    marks.notes.append(Mark(*_place(place), "note", "".join(element.itertext())))
    part = _part_of_sheet(parts, at)
    if part not in names:
        return marks
    crossed = _crossed_styles(parts)
    with parts.open(part) as file:
        before = b""
        while chunk := file.read(1 << 20):
            piece = before + chunk
            begin = len(before)
            for pattern, places in ((_FORMULA, marks.formulas), (_ERROR, marks.errors)):
                places += [_place(match) for match in pattern.finditer(piece) if match.end() > begin]
            marks.texts.extend(
                Mark(*_place(match), "formula", unescape(match[3].decode("utf-8", "replace")))
                for match in _FORMULA_TEXT.finditer(piece)
                if match.end() > begin
            )
            if crossed:
                marks.struck.extend(
                    _place(match)
                    for match in _STYLED.finditer(piece)
                    if match.end() > begin and int(match[3]) in crossed
                )
            before = piece[-OVERLAP:]
    return marks


def _place(match: re.Match[bytes]) -> tuple[int, int]:
    column = 0
    for letter in match[1]:
        column = 26 * column + letter - ord("A") + 1
    return int(match[2]), column


def _part_of_sheet(parts: zipfile.ZipFile, at: int) -> str:
    """Return the part of the file with a worksheet."""
    try:
        sheets = ET.fromstring(parts.read("xl/workbook.xml")).find(f"{MAIN}sheets")  # noqa: S314 - expat refuses entities that grow
        relations = ET.fromstring(parts.read("xl/_rels/workbook.xml.rels"))  # noqa: S314 - likewise
    except (KeyError, ET.ParseError):
        return ""
    targets = {
        about.get("Id"): about.get("Target", "") for about in relations.iter(f"{RELATIONS}Relationship")
    }
    target = targets.get(list(sheets or [])[at].get(RELATION)) or ""
    return target[1:] if target.startswith("/") else f"xl/{target}"


def _crossed_styles(parts: zipfile.ZipFile) -> set[int]:
    """Return the style numbers of struck-through cells."""
    if "xl/styles.xml" not in parts.namelist():
        return set()
    styles = ET.fromstring(parts.read("xl/styles.xml"))  # noqa: S314 - likewise
    fonts = [
        (strike := font.find(f"{MAIN}strike")) is not None and strike.get("val", "1") not in {"0", "false"}
        for font in styles.iterfind(f"{MAIN}fonts/{MAIN}font")
    ]
    used = [int(style.get("fontId", 0)) for style in styles.iterfind(f"{MAIN}cellXfs/{MAIN}xf")]
    return {number for number, font in enumerate(used) if font < len(fonts) and fonts[font]}


OFFICE, TABLES, STYLES = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{space}:1.0}}" for space in ("office", "table", "style")
)
CELLS = {f"{TABLES}table-cell", f"{TABLES}covered-table-cell"}
SHOWN_ERROR = re.compile(r"#(?:N/A|NV|REF!|DIV/0!|NAME\?|VALUE!|NUM!|NULL!)|Err:5\d\d")


def _of_calc(parts: zipfile.ZipFile, at: int) -> _Marks:
    marks, struck = _Marks([], [], [], [], [], []), set[str]()
    sheet, row = -1, 0
    with parts.open("content.xml") as content:
        for event, element in ET.iterparse(content, ("start", "end")):  # noqa: S314 - likewise
            if event == "start":
                if element.tag == f"{TABLES}table":
                    sheet, row = sheet + 1, 0
            elif element.tag == f"{STYLES}style":
                lines = [part.get(f"{STYLES}text-line-through-style", "none") for part in element]
                if any(line != "none" for line in lines):
                    struck.add(element.get(f"{STYLES}name", ""))
            elif element.tag == f"{TABLES}table-row":
                if sheet == at:
                    _marks_of_row(element, row + 1, struck, marks)
                row += _times(element, "rows")
                element.clear()
    return marks


def _marks_of_row(element: ET.Element, row: int, struck: set[str], marks: _Marks) -> None:
    column = 1
    for part in element:
        if part.tag not in CELLS:
            continue
        note = part.find(f"{OFFICE}annotation")
        if note is not None:
            marks.notes.append(Mark(row, column, "note", _paragraphs(note)))
            part.remove(note)
        down = int(part.get(f"{TABLES}number-rows-spanned", 1))
        if down > 1:
            marks.merged.append((row, column, row + down - 1))
        formula = part.get(f"{TABLES}formula")
        if formula:
            marks.texts.append(Mark(row, column, "formula", formula))
            if not part.get(f"{OFFICE}value-type"):
                marks.formulas.append((row, column))
            elif SHOWN_ERROR.fullmatch("".join(part.itertext())):
                marks.errors.append((row, column))
        if part.get(f"{TABLES}style-name", "") in struck and "".join(part.itertext()):
            marks.struck.append((row, column))
        column += _times(part, "columns")


def _paragraphs(note: ET.Element) -> str:
    """Return a note's text without date and author."""
    return "\n".join("".join(part.itertext()) for part in note if part.tag.endswith("}p"))


def _times(element: ET.Element, what: str) -> int:
    return max(1, int(element.get(f"{TABLES}number-{what}-repeated", 1)))
