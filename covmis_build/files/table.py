"""Tables from others in any file format: one model for CSV, JSON rows, workbooks, Parquet and Arrow.

A cell is text: numbers as digits, times in ISO, lists as JSON, missing values as "". Unusual content is handled the same
everywhere (docs/reference/odd-tables.md); notes state the assumptions.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from covmis_build.errors import InputError, counted
from covmis_build.files.columns import is_known, is_ours

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

MOST_COLUMNS = 16_384
"""Maximum number of columns, as in spreadsheets."""
EXACT = 2**53
"""Floats are exact for integers below."""


@dataclass(frozen=True, slots=True)
class Switches:
    """How a text file is to be read as a table where its content does not say so; empty values are detected."""

    separator: str = ""
    header: bool | int = True
    """False if there is none; a number is the header's line, from 1."""
    encoding: str = ""
    lines: bool = False
    """True if each line is a text, whatever signs it contains."""
    path: str = ""
    """Where the rows are in JSON, like `comments[]`."""

    @classmethod
    def given(
        cls, separator: str, header: int | None, encoding: str, *, lines: bool = False, path: str = ""
    ) -> Switches:
        """Return the switches of a command: the header's line, 0 if there is none, None if it is to be detected."""
        if len(separator) > 1 and separator != "\\t":
            raise InputError(
                f"the separator '{separator}' is not one sign", remedy="Like ';', or '\\t' for tabs"
            )
        return cls(separator.replace("\\t", "\t"), header or header is None, encoding, lines, path)

    @property
    def header_line(self) -> int:
        """The line of the header, from 1; 0 if it is detected, or if there is none."""
        return 0 if isinstance(self.header, bool) else self.header


class Row(NamedTuple):
    """A row: its number as its own program counts, as many cells as the header, and why it is not to be imported."""

    number: int
    cells: list[str]
    problem: str = ""


class Doubt(NamedTuple):
    """A cell that may not show the intended value, by row and column (both from 1)."""

    row: int
    column: int
    why: str

    @property
    def place(self) -> str:
        """The cell's name in spreadsheets."""
        return f"{letters(self.column)}{self.row}"


class Mark(NamedTuple):
    """A workbook's additional information on a cell: `note`, `struck` or `formula`, by row and column (from 1)."""

    row: int
    column: int
    kind: str
    text: str = ""


@dataclass(slots=True)
class Table:
    """A table in a file: its header, and its rows, which can be read repeatedly."""

    form: str
    header: list[str]
    rows: Callable[[], Iterator[Row]]
    notes: list[str] = field(default_factory=list)
    """Assumptions, and content that is not read."""
    rounded: set[str] = field(default_factory=set)
    """Columns of integers with more digits than their program stores; complete after all rows were read."""
    doubts: list[Doubt] = field(default_factory=list)
    """Merged cells and formulas without a value: their cells are blank."""
    marks: list[Mark] = field(default_factory=list)
    """Notes, struck-through cells and formulas of a worksheet that was chosen by a column."""
    short: set[int] = field(default_factory=set)
    """Rows read so far with fewer cells than the header; missing cells are empty."""
    begins: int = 2
    """Number of the first row below the header."""
    of_spreadsheets: bool = False
    """True if spreadsheets open it: in files of ours an apostrophe then prevents cells from being formulas."""

    @property
    def is_marked(self) -> bool:
        """True if `storage.harmless` may have put apostrophes before its cells. Those of others are parts of their texts."""
        return self.of_spreadsheets and is_ours(self.header)

    def row(self, number: int, values: Sequence[Any]) -> Row:
        """Return a row of values; floats beyond whole numbers make their column a rounded one."""
        for name, value in zip(self.header, values, strict=False):
            if isinstance(value, float) and value.is_integer() and abs(value) >= EXACT:
                self.rounded.add(name)
        return of_width(number, list(map(cell, values)), len(self.header))


def cell(value: Any) -> str:
    """Convert a value to the text of a cell.

    >>> cell(12.0), cell(0.5), cell(None), cell(["a", 1]), cell(True)
    ('12', '0.5', '', '["a", 1]', 'true')
    """
    if value is None or isinstance(value, str):
        return value or ""
    for kind, text_of in TEXT_OF.items():
        if isinstance(value, kind):
            return text_of(value)
    return str(value)


def _digits(value: float) -> str:
    if math.isnan(value):
        return ""
    return str(int(Decimal(repr(value)))) if value.is_integer() else repr(value)


def _of_clock(value: timedelta) -> str:
    minutes, seconds = divmod(int(value.total_seconds()), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def _as_json(value: Any) -> str:
    """Convert a list or an object to the text of a cell.

    >>> from datetime import date
    >>> _as_json([date(2020, 4, 22), "ü"])
    '["2020-04-22", "ü"]'
    """
    return json.dumps(value, ensure_ascii=False, default=cell)


TEXT_OF: dict[type, Callable[[Any], str]] = {
    bool: lambda value: "true" if value else "false",
    float: _digits,
    date: lambda value: value.isoformat(),
    timedelta: _of_clock,
    bytes: lambda value: value.decode("utf-8", "replace"),
    list: _as_json,
    tuple: _as_json,
    dict: _as_json,
}
"""Converters of values that are not text; the order matters: a time is also a date, and true an integer."""


def values_of(text: str) -> list[str]:
    r"""Split the text of a cell with several values: one per line, or a JSON list.

    >>> values_of("a\n b"), values_of('["a", "b"]')
    (['a', 'b'], ['a', 'b'])
    """
    listed = list_of(text)
    if listed is not None:
        return [value for part in listed if (value := cell(part).strip())]
    return [line.strip() for line in text.splitlines() if line.strip()]


def list_of(text: str) -> list[Any] | None:
    """Return the JSON list in a cell, if any."""
    if not text.lstrip().startswith("["):
        return None
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return listed if isinstance(listed, list) else None


def letters(column: int) -> str:
    """Return a column's letters in spreadsheets.

    >>> letters(1), letters(26), letters(27), letters(16384)
    ('A', 'Z', 'AA', 'XFD')
    """
    name = ""
    while column:
        column, last = divmod(column - 1, 26)
        name = chr(ord("A") + last) + name
    return name


def of_width(number: int, cells: list[str], width: int) -> Row:
    """Fit a row to the header's number of cells; content beyond the last column is a problem.

    >>> of_width(2, ["1", "a"], 3).cells, of_width(3, ["1", "a", "b"], 2).problem
    (['1', 'a', ''], "'b' is beyond the last column")
    """
    beyond = " ".join(" ".join(cells[width:]).split())
    problem = f"'{beyond[:60]}' is beyond the last column" if beyond else ""
    return Row(number, [*cells[:width], *[""] * (width - len(cells))], problem)


TITLES = 12
"""Maximum number of lines above a header: titles, the search of an export, column groups, blank lines."""


def header_line(lines: Sequence[Sequence[str]]) -> int:
    """Return which of the first lines is the header, skipping titles above it.

    >>> header_line([["Posts of May", ""], ["id", "text"], ["1", "a"]])
    1
    """
    filled = [[text.strip() for text in line if text.strip()] for line in lines[: TITLES + 1]]
    for at in range(1, len(filled)):
        names = filled[at]
        full = len(names) > max(1, *map(len, filled[:at])) and len(names) == len(lines[at])
        short = all(len(name) <= 40 and len(name.split()) <= 4 and not name.isnumeric() for name in names)
        if not (full and short and len(set(names)) == len(names)) or _is_header(lines[0]):
            continue
        if any(map(is_known, names)) or not any(filled[:at]):
            return at
        raise InputError(
            f"the first line has {counted(len(filled[0]), 'cells')}, line {at + 1} has {len(names)}: which is the header?",
            remedy=f"Say so: header = {at + 1} in [[retrieval.columns]], --header {at + 1} for claims; or remove the lines above it",
        )
    return 0


def _is_header(line: Sequence[str]) -> bool:
    """True if a first line is a header although others are longer: it has known names, or an unnamed index."""
    filled = [text for text in line if text.strip()]
    without_index = len(filled) > 1 and len(filled) == len(line) - 1 and not line[0].strip()
    return without_index or (len(filled) > 1 and any(map(is_known, filled)))


def above_header(lines: Sequence[Sequence[str]]) -> list[str]:
    """Return a note on lines above a header, if any."""
    text = next((text for line in lines for text in line if text.strip()), "")
    return [f"{counted(len(lines), 'lines')} above the header left out, with '{text[:40]}'"] if lines else []


def is_no_header(header: Sequence[str]) -> bool:
    """True if a column name is a long number, a date or a text, which is no plausible name."""
    return any(len(name) > LONGEST_NAME or NO_NAME.search(name.strip()) for name in header)


LONGEST_NAME = 60
NO_NAME = re.compile(r"^\d{9,}$|\d\d:\d\d|\d{4}[-/.年]\d{1,2}[-/.月]\d{1,2}")


def one_of_each_name(table: Table) -> Table:
    """Refuse two columns of the same name that differ, unless no kind of table uses it; of equal ones the first is kept."""
    by_name: dict[str, list[int]] = {}
    for at, name in enumerate(table.header):
        by_name.setdefault(name, []).append(at)
    places = {name: own for name, own in by_name.items() if name and len(own) > 1}
    if not places:
        return table
    differing = _differing(table, places)
    is_header = any(map(is_known, table.header))
    for name, number in differing.items():
        if is_known(name) or not is_header:
            raise _two_columns(table.header, places[name], number)
        for at in places.pop(name)[1:]:
            table.header[at] = f"{name} ({letters(at + 1)})"
    if differing:
        again = ", ".join(f"'{name}'" for name in differing)
        table.notes.append(f"columns of one name that differ have their letter behind it: {again[:100]}")
    return _without(table, places) if places else table


def _differing(table: Table, places: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Return the first row in which columns of one name differ, by their name."""
    rows = dict[str, int]()
    for number, cells, _ in table.rows():
        for name, (first, *others) in places.items():
            if name not in rows and any(cells[at] != cells[first] for at in others):
                rows[name] = number
        if len(rows) == len(places):
            break
    return rows


def _two_columns(header: Sequence[str], places: Sequence[int], row: int) -> InputError:
    columns = " and ".join(letters(at + 1) for at in places)
    or_else = "; or the first line is no header: header = false (columns are then called 1, 2, …)"
    return InputError(
        f"the two columns called '{header[places[0]]}' ({columns}) differ",
        row=row,
        remedy="Rename or remove one" + or_else * is_no_header(header),
    )


def _without(table: Table, places: Mapping[str, Sequence[int]]) -> Table:
    """Return the table without the second and further columns of these names."""
    dropped = {at for _, *others in places.values() for at in others}
    kept = [at for at in range(len(table.header)) if at not in dropped]
    rows = table.rows
    table.notes.append(f"columns that stand twice, with the same cells, read once: {', '.join(places)[:100]}")
    table.header = [table.header[at] for at in kept]
    table.rows = lambda: (
        Row(number, [cells[at] for at in kept], problem) for number, cells, problem in rows()
    )
    return table
