"""Tables as people have them: with a mark or without, in UTF-8 or not, with columns named their way.

Every problem is one line that names the file, the row and the remedy.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import json
import re
import zipfile
import zlib
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from covmis_build.errors import BrokenIds, InputError, MissingExtra, counted, doubted, nearest
from covmis_build.text import quotation_marks, xlsx
from covmis_build.text.characters import whole_in_json
from covmis_build.text.ods import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

SEPARATOR = re.compile(r"\s*sep=([,;\t|])[ \t]*\r?\n", re.IGNORECASE)
SIGNS = "quotation marks are signs of the texts"
"""What is said of a table in which they quote no cells."""
SMALLEST_LONG_ID = 16
LARGEST_WORKBOOK = 512 << 20
"""Bytes that the parts of a workbook unpack to: some of them its readers keep in memory."""
KEPT_DIGITS = 15
"""Digits that a spreadsheet keeps of a number; the rest become zeros."""


HEADER = 1 << 16
"""Characters in which a first line ends."""
LARGEST = 512 << 20
"""Bytes of a file that is read whole: a list of claims, of ids, of labels."""


def bytes_of(path: Path, *, packed: bool = False, most: int = 0) -> bytes:
    """The whole file, unpacked if it is packed (gzip), if that is no more than is read whole, or than `most` bytes."""
    most = most or LARGEST
    if path.is_dir():
        raise InputError("is a folder, not a file", file=path, remedy="Name the file inside it")
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            data = file.read(most + 1)  # whatever size it is said to have: it may be a pipe
    except FileNotFoundError:
        raise InputError("is missing", file=path) from None
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"cannot be read: {why}", file=path) from error
    if len(data) > most:
        size = f"{most >> 20} MiB" if most >> 20 else f"{most >> 10} KiB"
        raise InputError(f"is larger than {size}", file=path, remedy="Divide it")
    return data


def text_of(path: Path, *, strict: bool = False) -> str:
    """The file's text; UTF-8, with a mark or not, or else Western European as spreadsheets save it.

    Strict refuses what is not UTF-8: a study's own files must not be guessed at.
    """
    data = bytes_of(path)
    return _utf8(data, path) if strict else _decoded(data, path)[0]


def _decoded(data: bytes, path: Path) -> tuple[str, str]:
    """The text, and what had to be supposed of its encoding."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace"), ""
    if b"\0" in data[:4096]:
        raise InputError("is not a text file", file=path)
    try:
        return data.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        with doubted(path):
            encoding, note = not_quite_utf8([data])
        return data.decode(encoding, "replace"), note


def not_quite_utf8(pieces: Iterable[bytes]) -> tuple[str, str]:
    """The encoding of what is not UTF-8 throughout, and a note on it: a letter that was cut in two makes it no other.

    In Western European texts letters beyond ASCII stand alone or in twos (`ção`); where words are made of them, they are others'.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    broken = whole = beyond = together = 0
    example = None
    for piece in itertools.chain(pieces, [b""]):
        text = decoder.decode(piece, final=not piece)
        odd = text.count("\ufffd") - piece.count(REPLACED)
        broken, whole = broken + odd, whole + len(text) - len(text.encode("ascii", "ignore")) - odd
        beyond += len(piece) - len(piece.translate(None, BEYOND_ASCII))
        together += sum(map(len, WORDS_BEYOND.findall(piece)))
        example = example or WORD_BEYOND.search(piece)
    if broken <= whole:
        return "utf-8-sig", f"not UTF-8 in {counted(broken, 'places')}, shown as \ufffd"
    if together > max(FEW, beyond / 3):
        raise InputError(
            "is neither UTF-8 nor Western European: its letters may be Chinese, Cyrillic, Greek …",
            remedy="Save it as UTF-8; Excel calls that 'CSV UTF-8'",
        )
    word = example[0].decode("cp1252", "replace") if example else ""
    return "cp1252", f"not UTF-8: read as Western European (Windows-1252), as in '{word}'"


REPLACED = "\ufffd".encode()
BEYOND_ASCII = bytes(range(0x80, 0x100))
WORDS_BEYOND = re.compile(rb"[\x80-\xff]{4,}")
WORD_BEYOND = re.compile(rb"[A-Za-z]{0,20}[\x80-\xff][A-Za-z\x80-\xff]{0,20}")
FEW = 8
"""Letters beyond ASCII that may stand side by side in any text."""


def _utf8(data: bytes, path: Path) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8", file=path, row=row, remedy="Save it as CSV UTF-8") from None
    if "\0" in text:
        raise InputError("is not a text file", file=path, row=text.count("\n", 0, text.index("\0")) + 1)
    return text


def read_rows(path: Path, *, strict: bool = False) -> tuple[list[str], list[dict[str, str]]]:
    """The header and the rows of a CSV (or tab- or semicolon-separated) file; missing cells are empty."""
    return _rows_of(lines_of(text_of(path, strict=strict), path)[0], path)


def read_rows_with_gap(path: Path) -> tuple[list[str], list[dict[str, str]], int]:
    """Like `read_rows`, and the row of the first empty line that others follow; 0 if there is none."""
    lines, _ = lines_of(text_of(path), path)
    return *_rows_of(lines, path), first_gap(lines)


def first_gap(lines: Sequence[Sequence[Any]]) -> int:
    """The row of the first line below the header that is empty and has others below it; 0 if there is none.

    >>> first_gap([["label"], ["a"], [], ["b"], [""]])
    3
    """
    empty = 0
    for row, cells in enumerate(lines[1:], start=2):
        if any(cell is not None and str(cell).strip() for cell in cells):
            if empty:
                return empty
        else:
            empty = empty or row
    return 0


def lines_of(text: str, path: Path) -> tuple[list[list[str]], str]:
    """The cells of each line, and what had to be supposed of its quotation marks."""
    if not text.strip():
        raise InputError("is empty", file=path, remedy="A header and at least one row are expected")
    separator = separator_of(text)
    if said := SEPARATOR.match(text):  # a first line by which spreadsheets tell each other
        separator, text = said[1], text[said.end() :]
    csv.field_size_limit(1 << 27)
    with doubted(path):
        signs = quotation_marks.are_signs(lambda: io.StringIO(text, newline=""), separator)
    try:
        lines = list(quotation_marks.rows_of(io.StringIO(text, newline=""), separator, signs=signs))
    except csv.Error as error:
        raise InputError(
            f"is not readable as CSV: {error}", file=path, remedy=quotation_marks.TWICE
        ) from error
    return lines, SIGNS if signs else ""


def separator_of(text: str, among: str = ",;\t") -> str:
    r"""What parts the columns of the first line, outside of quotation marks: within them a line may end, too.

    >>> separator_of('"Posted, at\nnight";text\n1;2\n')
    ';'
    """
    head = text[:HEADER].lstrip()
    bare = "".join(head.split('"')[::2]).split("\n", 1)[0]
    line = head.split("\n", 1)[0]  # where a quotation mark is only a sign
    return max(among, key=lambda sign: (bare.count(sign), line.count(sign)))


def _rows_of(lines: list[list[str]], path: Path, above: int = 0) -> tuple[list[str], list[dict[str, str]]]:
    """The header and the rows; `above` lines stand before the header."""
    header = [cell.strip() for cell in lines[above]]
    _check_names(header, path, above + 1)
    rows = []
    for number, cells in enumerate(lines[above + 1 :], start=above + 2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) > len(header):
            raise InputError(
                f"has {len(cells)} cells where the header has {len(header)}",
                file=path,
                row=number,
                remedy="Put cells that contain a separator in quotation marks",
            )
        rows.append(dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=True)))
    return header, rows


def _check_names(header: list[str], path: Path, row: int) -> None:
    for name in header:
        if name and header.count(name) > 1:
            raise InputError(
                f"has two columns called '{name}'", file=path, row=row, remedy="Rename or remove one"
            )


def column(header: Sequence[str], names: Iterable[str]) -> str:
    """The first of these names that the header has, whatever its case; empty if none."""
    lowered = {name.lower().replace(" ", "_"): name for name in header}
    return next((lowered[name] for name in names if name in lowered), "")


def need(path: Path, header: Sequence[str], names: Sequence[str]) -> str:
    """Like `column`, but none is an InputError that names what comes nearest."""
    name = column(header, names)
    if not name:
        near = nearest(names[0], header)
        hint = near if near.startswith("Did") else f"The file has: {', '.join(header) or 'no columns'}"
        raise InputError(f"lacks the column '{names[0]}'", file=path, row=1, remedy=hint)
    return name


def check_ids(path: Path | str, ids: Sequence[str], *, first: int = 2, repeated: bool = False) -> list[str]:
    """Refuse platform ids broken by a spreadsheet; the result lists those that are only suspicious.

    `first`: the row of the first id, which comes after a header or not. Scientific notation is always refused. Ids of
    16 digits or more with nothing but zeros after the 15th are refused when they are more than 1% of at least 100 ids,
    or all of 3 to 99: of different ids where an id stands in several rows (`repeated`), else of rows.
    """
    remedy = "Take the ids from the original file, and keep the column as text in the spreadsheet"
    for number, post_id in enumerate(ids, start=first):
        head, _, tail = post_id.strip().upper().partition("E")
        if (
            (tail[:1] in {"+", "-"} or "." in head)
            and tail.lstrip("+-").isdigit()
            and head.replace(".", "").replace(",", "").isdigit()
        ):
            raise BrokenIds(
                f"the id {post_id} was broken by a spreadsheet", file=path, row=number, remedy=remedy
            )
    ids = list(dict.fromkeys(ids)) if repeated else ids
    cut = [
        post_id
        for post_id in ids
        if len(post_id) >= SMALLEST_LONG_ID and post_id.isdigit() and not post_id[KEPT_DIGITS:].strip("0")
    ]
    many, few = len(ids) >= 100 and len(cut) > len(ids) / 100, 3 <= len(ids) < 100 and len(cut) == len(ids)
    if many or few:
        raise BrokenIds(
            f"{len(cut)} of {len(ids)} ids end in zeros after the 15th digit, as {cut[0]}: "
            "a spreadsheet has rounded them",
            file=path,
            remedy=remedy,
        )
    return cut


NOTHING = {"NA", "N/A", "NaN", "nan", "NULL", "null", "None", "<NA>"}
"""What R, pandas and databases write where there is nothing."""
NO_LABELS = {"na", "n/a", "#n/a", "nan", "<na>", "null"}
"""The same among labels, in small letters: `none` may be a label, and is one of SemEval's."""
WORKBOOKS = {".xlsx", ".xlsm", ".ods"}


class Sheet(NamedTuple):
    """A table of somebody else's, whatever its file: cells are texts, several values of one cell stand one a line."""

    header: list[str]
    rows: list[dict[str, str]]
    note: str = ""
    """What had to be supposed to read it."""
    beside: str = ""
    """What else is in its file and is not read."""
    rounded: frozenset[str] = frozenset()
    """Columns in which a workbook keeps numbers of more digits than it can."""
    gap: int = 0
    """The row of the first empty line that others follow, in a workbook."""


def read_sheet(path: Path, *, header: Sequence[str] = ()) -> Sheet:
    """A table from CSV, TSV, JSON, JSON lines, xlsx or ods; with `header` the file is one that has no header itself."""
    if path.suffix.lower() in WORKBOOKS:
        return _read_ods(path) if path.suffix.lower() == ".ods" else _read_xlsx(path)
    text, odd = _decoded(bytes_of(path), path)
    if path.suffix.lower() in JSON_SUFFIXES or text.lstrip()[:1] in {"{", "["}:
        return sheet_of_objects(read_json(path), path)
    sheet = _sheet_of_text(text, path, header)
    return sheet._replace(note="; ".join(filter(None, [odd, sheet.note])))


def _sheet_of_text(text: str, path: Path, header: Sequence[str]) -> Sheet:
    if header:
        return _without_header(text, path, header)
    lines, supposed = lines_of(text, path)
    above = _above_header(lines)
    note = "; ".join(filter(None, [_left_out(lines[:above]), supposed]))
    return Sheet(*_rows_of(lines, path, above), note)


TITLES = 3
"""Lines that may stand above a header: a title, groups of columns, nothing."""


def _above_header(lines: Sequence[Sequence[Any]]) -> int:
    """How many of the first lines are no header yet: they have empty cells, and a full line of short names follows."""
    filled = [[str(cell).strip() for cell in line if cell not in {None, ""}] for line in lines[: TITLES + 1]]
    for at in range(1, len(filled)):
        names = filled[at]
        full = len(names) > max(1, *map(len, filled[:at])) and len(names) == len(lines[at])
        short = all(len(name) <= 40 and len(name.split()) <= 4 and not name.isnumeric() for name in names)
        if full and short and len(set(names)) == len(names) and not _is_index(filled[0], lines[0]):
            return at
    return 0


def _is_index(filled: list[str], line: Sequence[Any]) -> bool:
    """Whether a line is a header but for its first cell: pandas gives its index no name."""
    return len(filled) > 1 and len(filled) == len(line) - 1 and line[0] in {None, ""}


def _left_out(lines: Sequence[Sequence[Any]]) -> str:
    """What is said of lines above a header."""
    said = next((str(cell) for line in lines for cell in line if cell not in {None, ""}), "")
    return f"{counted(len(lines), 'lines')} above the header left out, with '{said[:40]}'" if lines else ""


JSON_SUFFIXES = {".json", ".jsonl", ".jsonld", ".ndjson"}


def _without_header(text: str, path: Path, header: Sequence[str]) -> Sheet:
    """Cells parted by tabs in which a quotation mark is only a sign."""
    rows = []
    source = quotation_marks.rows_of(io.StringIO(text, newline=""), "\t", signs=True)
    for number, cells in enumerate(source, start=1):
        if len(cells) > len(header):
            raise InputError(
                f"has {len(cells)} cells where {len(header)} are expected", file=path, row=number
            )
        if any(map(str.strip, cells)):
            rows.append(dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=True)))
    return Sheet(list(header), rows, SIGNS)


def read_json(path: Path) -> list[Any]:
    """The documents of a file: one, or one a line."""
    text = text_of(path).strip()
    if not text:
        raise InputError("is empty", file=path)
    try:
        return [whole_in_json(json.loads(text))]
    except (ValueError, RecursionError) as whole:
        documents = []
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                documents += [whole_in_json(json.loads(line))] if line.strip() else []
            except (ValueError, RecursionError):
                problem = f"is not JSON: {whole}" if number == 1 else "the line is not JSON"
                raise InputError(problem, file=path, row=number) from None
        return documents


def sheet_of_objects(documents: list[Any], path: Path) -> Sheet:
    """JSON objects as rows: a list of them, one a line, under one key, by their ids, or a column each (pandas)."""
    objects = documents[0] if len(documents) == 1 and isinstance(documents[0], list) else documents
    if len(objects) == 1 and isinstance(objects[0], dict):
        whole = objects[0]
        inner = list(whole.values())
        listed = [
            value for value in inner if isinstance(value, list) and value and isinstance(value[0], dict)
        ]
        if len(listed) == 1:
            objects = listed[0]
        elif inner and all(isinstance(value, dict) for value in inner):
            by_column = all(key.isdigit() for value in inner for key in value)
            keys = list(inner[0]) if by_column else list(whole)
            objects = (
                [{name: whole[name].get(key) for name in whole} for key in keys]
                if by_column
                else [{"": key, **value} for key, value in whole.items()]
            )
    if not objects or not all(isinstance(row, dict) for row in objects):
        raise InputError("is not a list of objects", file=path, remedy="Every row must be an object: {…}")
    header = list(dict.fromkeys(str(name) for row in objects for name in row))
    return Sheet(header, [{name: _cell(row.get(name)) for name in header} for row in objects])


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case list():
            return "\n".join(_cell(part) for part in value)
        case float() if value.is_integer():
            return whole(value)
        case dict():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)


def whole(number: float) -> str:
    """A whole number as spreadsheets show it: of more digits than they keep, the others are zeros.

    >>> whole(12.0), whole(1250814876492180000.0)
    ('12', '1250814876492180000')
    """
    return str(int(Decimal(f"{number:.{KEPT_DIGITS}g}")))


def _read_xlsx(path: Path) -> Sheet:
    """The first sheet of a workbook; days as ISO days."""
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtra.of("sheets", f"{path.name} is a workbook; reading it") from error
    if not path.exists():
        raise InputError("is missing", file=path)
    with doubted(path, "is not readable as a workbook", "Save it again, or as CSV"):
        with zipfile.ZipFile(path) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > LARGEST_WORKBOOK:
            raise InputError(f"unpacks to {size:,} bytes", remedy="Save it as CSV")
        with path.open("rb") as file:
            book = openpyxl.load_workbook(file, read_only=True, data_only=True)
            page, *others = xlsx.pages_of(book)
            lines = list(xlsx.rows_of(page))
            begins = {number: beginning(xlsx.rows_of(other)) for number, other in enumerate(others, 1)}
            for number, hidden in enumerate(xlsx.hidden_pages_of(book), 1):
                begins[-number] = beginning(xlsx.rows_of(hidden))
            with_formulas = xlsx.pages_of(openpyxl.load_workbook(file, read_only=True))[0]
            formulas = xlsx.not_calculated(with_formulas, lines)
            merged = xlsx.merged_down(file, page, lines)
        _fill_down(lines, merged)
    return _sheet_of(lines, begins, _notes(len(merged), len(formulas)), path)


def _read_ods(path: Path) -> Sheet:
    """The first sheet of a Calc workbook."""
    data = bytes_of(path)
    with doubted(path, "is not readable as a workbook", "Save it again, or as CSV"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > LARGEST_WORKBOOK:
            raise InputError(f"unpacks to {size:,} bytes", remedy="Save it as CSV")
        rows_by_sheet = itertools.groupby(rows_of(io.BytesIO(data)), key=attrgetter("sheet"))
        pages = {sheet: list(page) for sheet, page in rows_by_sheet}
        rows = pages.pop(0, [])
        begins = {sheet: beginning(row.cells for row in page) for sheet, page in pages.items()}
        lines = [row.cells for row in rows]
        merged = [
            xlsx.MergedDown(column, top, top + down - 1)
            for top, row in enumerate(rows, start=1)
            for column, down in row.merged_down
        ]
        _fill_down(lines, merged)
    return _sheet_of(lines, begins, _notes(len(merged), sum(len(row.not_calculated) for row in rows)), path)


def _notes(merged: int, formulas: int) -> list[str]:
    """What had to be supposed of a workbook's cells."""
    notes = []
    if merged:
        notes.append(f"{counted(merged, 'merged cells')} read as if each of its rows had the value")
    if formulas:
        notes.append(
            f"{counted(formulas, 'formulas')} without a stored value, left empty: open the file and save it"
        )
    return notes


def beginning(rows: Iterable[Sequence[Any]]) -> list[list[str]]:
    """The first two rows of a sheet that have anything, each without what is empty at its end."""
    begin: list[list[str]] = []
    for row in rows:
        cells = [_cell(value).strip() for value in row]
        if any(cells):
            begin.append(cells[: max(at + 1 for at, cell in enumerate(cells) if cell)])
        if len(begin) > 1:
            break
    return begin


def beside(header: Sequence[str], begins: Mapping[int, list[list[str]]]) -> str:
    """What is to be said of the other sheets of a workbook, that begin so: none of them may go on with the first.

    They are known by their numbers, negative ones are hidden: those may be older, and are told.
    """
    others = {sheet: begin for sheet, begin in begins.items() if begin}
    going_on = [sheet for sheet, (first, *more) in others.items() if more and first == list(header)]
    if any(sheet > 0 for sheet in going_on):
        raise InputError(
            "goes on on another sheet, which has the same columns",
            remedy="Put all rows onto one sheet, or save each sheet as a file of its own",
        )
    notes = ["a hidden sheet has the same columns, and is not read"] if going_on else []
    shown = [begin for sheet, begin in others.items() if sheet > 0]
    if shown:
        begin = " | ".join(shown[0][0])[:60]
        notes.append(f"{counted(len(shown), 'other sheets')} not read, which begins with '{begin}'")
    return "; ".join(notes)


def _sheet_of(
    lines: list[list[Any]], begins: Mapping[int, list[list[str]]], notes: list[str], path: Path
) -> Sheet:
    """The header and the rows of a workbook's sheet."""
    if errors := _emptied(lines):
        notes.append(f"{counted(len(errors), 'cells')} with an error left empty, as {errors[0]}")
    gap = first_gap(lines)
    lines = [line for line in lines if any(value not in {None, ""} for value in line)]
    if not lines:
        raise InputError("is empty", file=path)
    above = _above_header(
        [line[: max(at + 1 for at, value in enumerate(line) if value not in {None, ""})] for line in lines]
    )
    notes += [_left_out(lines[:above])] if above else []
    header = [_cell(value).strip() for value in lines[above]]
    while header and not header[-1]:
        header.pop()
    _check_names(header, path, above + 1)
    beyond = [
        value for line in lines[above + 1 :] for value in line[len(header) :] if value not in {None, ""}
    ]
    if beyond:
        notes.append(
            f"{counted(len(beyond), 'cells')} beyond the last column left out, with '{str(beyond[0])[:40]}'"
        )
    rows = [dict(zip(header, map(_xlsx_cell, line), strict=False)) for line in lines[above + 1 :]]
    rows = [{name: row.get(name, "") for name in header} for row in rows]
    rounded = frozenset(
        name
        for line in lines[above + 1 :]
        for name, value in zip(header, line, strict=False)
        if _is_rounded(value)
    )
    with doubted(path):
        return Sheet(header, rows, "; ".join(notes), beside(header, begins), rounded, gap)


ERRORS = frozenset(
    [
        "#N/A",
        "#NV",
        "#REF!",
        "#DIV/0!",
        "#NAME?",
        "#VALUE!",
        "#NUM!",
        "#NULL!",
        "#SPILL!",
        "#CALC!",
        "#GETTING_DATA",
    ]
)
"""What stands in a cell whose formula has failed."""


_CALCS = re.compile(r"Err:5\d\d")


def is_failed(value: Any) -> bool:
    """Whether a cell holds what programs show where a formula has failed."""
    return isinstance(value, str) and (value in ERRORS or _CALCS.fullmatch(value) is not None)


def _emptied(lines: list[list[Any]]) -> list[str]:
    """Empty the cells of failed formulas; what stood in them."""
    errors = []
    for line in lines:
        for at, value in enumerate(line):
            if is_failed(value):
                errors.append(value)
                line[at] = None
    return errors


def _is_rounded(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) >= 10**KEPT_DIGITS


MOST_FILLED = 1_000_000
"""Cells of merged ranges that are filled; a workbook that says more is no list."""


def _fill_down(lines: list[list[Any]], merged: list[xlsx.MergedDown]) -> None:
    """Give each row of a merged cell its value, as a person sees it."""
    if sum(area.bottom - area.top for area in merged) > MOST_FILLED:
        raise InputError("has more merged cells than any list", remedy="Save it as CSV")
    for column, top, bottom in merged:
        for line in lines[top:bottom]:
            line.extend([None] * (column - len(line)))
            line[column - 1] = lines[top - 1][column - 1]


def _xlsx_cell(value: Any) -> str:
    return value.date().isoformat() if isinstance(value, datetime) else _cell(value)
