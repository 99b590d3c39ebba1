"""Files of rows, whatever wrote them: CSV of every separator and encoding, JSON of data frames, Parquet, Arrow, Excel.

A cell is text on this side of the door: numbers as their digits, times in ISO, lists as JSON, nothing as "".
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import zipfile
from collections.abc import Callable, Generator, Iterable, Iterator, KeysView, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from itertools import chain
from typing import IO, Any, AnyStr

import msgspec

from covmis_build.errors import InputError, MissingExtra, counted, doubted
from covmis_build.text import arrow_files, parquet, quotation_marks, xlsx
from covmis_build.text.ods import MOST_COLUMNS, letters, rows_of
from covmis_build.text.sheets import (
    LARGEST_WORKBOOK,
    SEPARATOR,
    SIGNS,
    beginning,
    beside,
    is_failed,
    not_quite_utf8,
    separator_of,
)

Row = tuple[int, list[str] | None]
"""A row's number, as people count from the header on, and its cells; None where they are more than the header's."""

SheetRow = tuple[int, list[Any]]
"""Which of a workbook's sheets, from 0 (below, a hidden one), and cells of its next row; of another than the first, two may be all."""

Open = Callable[[], IO[bytes]]
CHUNK, PIECE = 1 << 20, 1 << 16
"""Bytes of a file that are read at a time, and bytes that are decoded at a time."""
LONGEST_LINE, LONGEST_CELL, LARGEST_FRAME = 32 << 20, 16 << 20, 512 << 20
"""Of a line the characters or, where it is read as such, the bytes; of a cell the characters; of a JSON document the bytes: what
is longer is no row of posts."""
LONGEST_ID = 10**15
"""Whole numbers above it are not what was typed, where a program keeps 15 digits."""


@dataclass(slots=True)
class TableFile:
    """A file of rows: its header, and its rows as often as they are asked for."""

    form: str
    header: list[str]
    rows: Callable[[], Iterator[Row]]
    numbers_keep_15_digits: bool = False
    long_numbers: set[str] = field(default_factory=set)
    """Columns in which such a program has kept numbers of more than 15 digits."""
    note: str = ""
    """What had to be supposed to read it."""
    beside: str = ""
    """What else is in the file and is not read; known when all rows have been."""


def open_table(opened: Open) -> TableFile:
    """A file of rows, told by its first bytes; rows that cannot be read are an InputError when they are reached."""
    with doubted(""):
        return _open_table(opened)


def _open_table(opened: Open) -> TableFile:
    with opened() as file:
        head = file.read(CHUNK)
    if head.startswith(b"PAR1"):
        return _parquet(opened)
    if head.startswith(b"ARROW1"):
        return _arrow(opened)
    if head.startswith(b"PK\x03\x04"):
        return _spreadsheet(opened)
    if head.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in {b"{", b"["}:
        return _json(opened)
    return _csv(opened, head)


# CSV


def _csv(opened: Open, head: bytes) -> TableFile:
    encoding, note = _encoding(opened, head)
    with opened() as file, io.TextIOWrapper(file, encoding, "replace", newline="") as start:
        text = start.read(CHUNK)
    if not text.strip():
        raise InputError("is empty", remedy="A header and at least one row are expected")
    told = SEPARATOR.match(text)
    first = text[told.end() :] if told else text
    separator = told[1] if told else separator_of(first, ",;\t|")
    csv.field_size_limit(LONGEST_CELL)
    by_bytes = not told and encoding != "utf-16" and "\n" in text
    source = _Csv(opened, encoding, separator, told=bool(told), by_bytes=by_bytes)
    notes = "; ".join(filter(None, [note, SIGNS if source.signs else ""]))
    return TableFile(source.form, source.header, source.rows, note=notes)


class _Csv:
    """A file of cells parted by a sign. Where a line feed ends lines, its bytes are cut into lines and then decoded."""

    def __init__(self, opened: Open, encoding: str, separator: str, *, told: bool, by_bytes: bool) -> None:
        self.opened, self.encoding, self.separator, self.told = opened, encoding, separator, told
        self.by_bytes = by_bytes
        self.signs = quotation_marks.are_signs(self.every_line, separator)
        with self.lines() as lines:
            header = [cell.strip() for cell in _first(self.cells(lines))]
        if len(header) > MOST_COLUMNS:
            raise InputError(f"has {len(header):,} columns", remedy=f"At most {MOST_COLUMNS:,}")
        bare = len(header) == 1 and _is_id(header[0])
        names = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
        self.form = "ids, one a line" if bare else f"CSV with {names[separator]}"
        self.form += "" if encoding.startswith("utf-8") else f", {encoding}"
        self.header, self.first = (["id"], 1) if bare else (header, 2)

    @contextmanager
    def lines(self) -> Generator[Iterator[str]]:
        """The lines, the header's, too."""
        with self.opened() as file:
            if self.by_bytes:
                mark = codecs.BOM_UTF8 if self.encoding == "utf-8-sig" else b""
                file.read(len(mark))
                yield chain.from_iterable(_decoded(_pieces(file, PIECE), self.encoding.removesuffix("-sig")))
                return
            with io.TextIOWrapper(file, self.encoding, "replace", newline="") as source:
                if self.told:
                    source.readline()
                yield _bounded(source)

    def every_line(self) -> Iterator[str]:
        with self.lines() as lines:
            yield from lines

    def cells(self, lines: Iterable[str]) -> Iterator[list[str]]:
        return quotation_marks.rows_of(lines, self.separator, signs=self.signs)

    def rows(self) -> Iterator[Row]:
        """The rows, each as long as the header; without lines of blank cells."""
        width = len(self.header)
        with self.lines() as lines:
            source = self.cells(lines)
            if self.first > 1:
                _first(source)
            try:
                for number, cells in enumerate(source, start=self.first):
                    if len(cells) == width and "!" <= cells[0] < "\x7f":
                        yield number, cells
                    elif any(map(str.strip, cells)):
                        short = width - len(cells)
                        yield number, [*cells, *[""] * short] if short >= 0 else None
            except csv.Error as error:
                raise _no_csv(error) from None


def _decoded(pieces: Iterable[io.BytesIO], encoding: str) -> Iterator[io.StringIO]:
    for piece in pieces:
        yield io.StringIO(piece.getvalue().decode(encoding, "replace"), newline="")


def _first(source: Iterator[list[str]]) -> list[str]:
    try:
        return next(source, [])
    except csv.Error as error:
        raise _no_csv(error) from None


def _no_csv(error: csv.Error) -> InputError:
    return InputError(f"is not readable as CSV: {error}", remedy=quotation_marks.TWICE)


def _bounded(source: IO[AnyStr]) -> Iterator[AnyStr]:
    """The lines, none of them too long to be kept."""
    return chain.from_iterable(_pieces(source, CHUNK))


def _pieces(source: IO[AnyStr], size: int) -> Iterator[Any]:
    while block := source.read(size):
        if block[-1:] not in {"\n", b"\n"}:
            block += source.readline(LONGEST_LINE)
        lines: IO[Any] = io.StringIO(block, newline="") if isinstance(block, str) else io.BytesIO(block)
        if len(block) >= LONGEST_LINE and max(map(len, lines.readlines())) >= LONGEST_LINE:
            raise InputError(f"a line of more than {LONGEST_LINE >> 20} million characters")
        lines.seek(0)
        yield lines


def _encoding(opened: Open, head: bytes) -> tuple[str, str]:
    """UTF-8 with a mark or not, UTF-16, or else Western European as spreadsheets save it: one for the whole file.

    And a note, if that had to be supposed.
    """
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16", ""
    if b"\0" in head[:4096]:
        raise InputError("is not a text file")
    decoder = codecs.getincrementaldecoder("utf-8")()
    mark = head.startswith(codecs.BOM_UTF8)
    with opened() as file:
        try:
            while block := file.read(PIECE):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            pass
        else:
            return ("utf-8-sig" if mark else "utf-8"), ""
    with opened() as file:
        encoding, note = not_quite_utf8(iter(partial(file.read, PIECE), b""))
    return (encoding if mark else encoding.removesuffix("-sig")), note


def _is_id(cell: str) -> bool:
    text = cell.strip("\"' ")
    return text.isdigit() or "/status/" in text or text.startswith(("x:", "bsky:", "masto:", "at://"))


# JSON, as data frames are written


def _json(opened: Open) -> TableFile:
    with opened() as file:
        head = file.read(CHUNK).removeprefix(codecs.BOM_UTF8).lstrip()
    if head[:1] == b"[":
        return _records(_document(opened), "a JSON list of rows")
    first = head.split(b"\n", 1)[0]
    if not is_frame(whole := _loads(first)) and is_row(whole):
        return _json_lines(opened)
    document = _document(opened)
    if is_split(document):
        names = [str(name) for name in document["columns"]]
        rows = [list(map(cell, row)) if isinstance(row, list) else None for row in document["data"]]
        return _table("a JSON frame (split)", names, rows)
    names = [str(name) for name in document]
    keys = list(dict.fromkeys(key for column in document.values() for key in column))
    records = [[cell(document[name].get(key)) for name in names] for key in keys]
    return _table("a JSON frame (columns)", names, records)


def is_frame(document: Any) -> bool:
    """A data frame in one object: of columns, or of columns and data apart."""
    if not isinstance(document, dict) or not document:
        return False
    columns = list(document.values())
    return is_split(document) or (
        all(isinstance(column, dict) and column for column in columns)
        and len({tuple(column) for column in columns}) == 1
    )


def is_split(document: Any) -> bool:
    """`to_json(orient="split")`: names, then rows of values."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("columns"), list)
        and isinstance(document.get("data"), list)
        and document.keys() <= {"columns", "index", "data", "name"}
    )


def is_row(row: Any) -> bool:
    """A row of a frame as a JSON object: most of its values are no objects."""
    if not isinstance(row, dict) or len(row) < 2:
        return False
    plain = sum(not isinstance(value, dict) for value in row.values())
    return plain > len(row) / 2


def _records(rows: Any, form: str) -> TableFile:
    names = list(dict.fromkeys(str(name) for row in rows if isinstance(row, dict) for name in row))
    cells = [[cell(row.get(name)) for name in names] if isinstance(row, dict) else None for row in rows]
    return _table(form, names, cells)


def _table(form: str, header: list[str], cells: Sequence[list[str] | None]) -> TableFile:
    return TableFile(form, header, lambda: iter(enumerate(cells, start=1)))


def _json_lines(opened: Open) -> TableFile:
    names = _every_name(opened)

    def rows() -> Iterator[Row]:
        with opened() as file:
            for number, line in enumerate(_bounded(file), start=1):
                if line.strip():
                    row = _loads(line.removeprefix(codecs.BOM_UTF8))
                    good = isinstance(row, dict)
                    yield number, [cell(row.get(name)) for name in names] if good else None

    return TableFile("JSON lines of rows", names, rows)


def _every_name(opened: Open) -> list[str]:
    """The columns of all rows: a file may go on with another program's."""
    names: dict[str, None] = {}
    with opened() as file, suppress(InputError):  # that is told when the line is reached
        for line in _bounded(file):
            if not (own := _names(line)) <= names.keys():
                names |= dict.fromkeys(own)
            if len(names) > MOST_COLUMNS:
                break
    if len(names) > MOST_COLUMNS:
        raise InputError(f"has more than {MOST_COLUMNS:,} columns")
    return list(names)


NAMES = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _names(line: bytes) -> KeysView[str]:
    try:
        return NAMES.decode(line.removeprefix(codecs.BOM_UTF8)).keys()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}.keys()


def _loads(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _document(opened: Open) -> Any:
    with opened() as file:
        data = file.read(LARGEST_FRAME + 1).removeprefix(codecs.BOM_UTF8)
    if len(data) > LARGEST_FRAME:
        raise InputError(
            f"one JSON document of more than {LARGEST_FRAME >> 20} MiB: write it as one row a line"
        )
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}"[:200]) from None


# Parquet, Arrow


def _parquet(opened: Open) -> TableFile:
    import pyarrow.parquet as pq

    def batches() -> Iterator[Any]:
        with opened() as file:
            yield from parquet.pieces(file)

    with doubted("", "is not readable as Parquet"), opened() as file, pq.ParquetFile(file) as table:
        names = table.schema_arrow.names
    return _arrow_table("Parquet", names, batches)


def _arrow(opened: Open) -> TableFile:
    def batches() -> Iterator[Any]:
        with opened() as file:
            yield from arrow_files.pieces(file)

    with doubted("", "is not readable as Arrow"), opened() as file:
        names = arrow_files.names(file)
    return _arrow_table("Arrow", names, batches)


def _arrow_table(form: str, names: list[str], batches: Callable[[], Iterator[Any]]) -> TableFile:
    def rows() -> Iterator[Row]:
        number = 1
        for batch in batches():
            for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield number, list(map(cell, values))
                number += 1

    return TableFile(form, [str(name) for name in names], rows)


# Excel, OpenDocument


def _spreadsheet(opened: Open) -> TableFile:
    with doubted("", "is damaged"), opened() as file, zipfile.ZipFile(file) as packed:
        names, size = set(packed.namelist()), sum(part.file_size for part in packed.infolist())
    if size > LARGEST_WORKBOOK:
        raise InputError(f"unpacks to {size:,} bytes", remedy=f"At most {LARGEST_WORKBOOK:,}: save it as CSV")
    return _ods(opened) if "content.xml" in names else _xlsx(opened)


def _xlsx(opened: Open) -> TableFile:
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtra.of("sheets", "reading Excel files") from None

    def every_row(open_formulas: list[bool]) -> Generator[SheetRow]:
        with opened() as file:
            book = load_workbook(file, read_only=True, data_only=True)
            pages = xlsx.pages_of(book)
            merged = dict[int, list[int]]()
            for area in xlsx.areas_down(file, pages[0]):
                merged.setdefault(area.top, []).append(area.column)
            for number, cells in enumerate(xlsx.rows_of(pages[0]), start=1):
                for column in merged.get(number, []):
                    if any(value is not None for value in cells[column - 1 : column]):
                        raise merged_cell(column, number)
                yield 0, cells
            others = [
                *enumerate(pages[1:], 1),
                *((-at, page) for at, page in enumerate(xlsx.hidden_pages_of(book), 1)),
            ]
            for sheet, page in others:
                yield from ((sheet, cells) for cells in beginning(xlsx.rows_of(page)))
            open_formulas.append(xlsx.has_not_calculated(file, pages[0]))

    return _sheet("Excel", every_row)


def _ods(opened: Open) -> TableFile:
    def every_row(open_formulas: list[bool]) -> Generator[SheetRow]:
        with opened() as file:
            number = 0
            for row in rows_of(file):
                number += row.sheet == 0
                if row.sheet == 0 and row.merged_down:
                    raise merged_cell(row.merged_down[0][0], number)
                if row.sheet == 0 and row.not_calculated:
                    open_formulas.append(True)
                yield row.sheet, row.cells

    return _sheet("OpenDocument", every_row)


def merged_cell(column: int, row: int) -> InputError:
    """A table of many rows has a value in each."""
    return InputError(
        f"column {letters(column)} has a cell that is merged over several rows",
        row=row,
        remedy="Split it, so that each row has a value of its own",
    )


def _sheet(form: str, every_row: Callable[[list[bool]], Generator[SheetRow]]) -> TableFile:
    """A workbook's sheet; whoever reads it says whether there are formulas that no program has calculated."""
    with closing(every_row([])) as source:
        sheet, first = next((row for row in source if row[0] >= 0), (0, []))
    header = [] if sheet else [cell(value).strip() for value in first]
    while header and not header[-1]:
        header.pop()
    table = TableFile(form, header, lambda: iter(()), numbers_keep_15_digits=True)

    def rows() -> Iterator[Row]:
        number, begins = 0, dict[int, list[list[str]]]()
        failed, beyond, open_formulas = list[str](), list[str](), list[bool]()
        for sheet, cells in every_row(open_formulas):
            if sheet:
                begins[sheet] = beginning([*begins.get(sheet, []), cells])
                continue
            number += 1
            if number == 1 or all(value is None for value in cells):
                continue
            _note_long_numbers(table, cells)
            failed += filter(is_failed, cells)
            texts = ["" if is_failed(value) else cell(value) for value in cells]
            beyond += filter(str.strip, texts[len(header) :])
            yield number, texts[: len(header)] + [""] * (len(header) - len(texts))
        told = (("with an error left empty", failed), ("beyond the last column not read", beyond))
        notes = [
            f"{counted(len(cells), 'cells')} {what}, as '{cells[0][:40]}'" for what, cells in told if cells
        ]
        if any(open_formulas):
            notes.append("formulas without a stored value are empty: open the file and save it")
        table.beside = "; ".join(filter(None, [*notes, beside(header, begins)]))

    table.rows = rows
    return table


def _note_long_numbers(table: TableFile, cells: Sequence[Any]) -> None:
    for name, value in zip(table.header, cells, strict=False):
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= LONGEST_ID:
            table.long_numbers.add(name)


def cell(value: Any) -> str:
    """A value as the text of a cell."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, float) and math.isnan(value):
        return ""
    for kind, told in TEXT_OF.items():
        if isinstance(value, kind):
            return told(value)
    return str(value)


def _listed(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


TEXT_OF: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",
    float: repr,
    date: lambda value: value.isoformat(),
    bytes: lambda value: value.decode("utf-8", "replace"),
    list: _listed,
    tuple: _listed,
    dict: _listed,
}
"""How values that are no texts are written; a time is a date, too."""
