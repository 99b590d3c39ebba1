"""Open a table with the right reader, detected from its first bytes."""

from __future__ import annotations

import codecs
import io
import logging
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import TYPE_CHECKING

from covmis_build.children import in_child
from covmis_build.errors import InputError, counted, doubted
from covmis_build.files.contents import LARGEST, bytes_of, text_of
from covmis_build.files.database import SQLITE, open_database
from covmis_build.files.delimited import open_delimited
from covmis_build.files.frames import FRAMES, NUMPY, PARQUET, open_frame
from covmis_build.files.json_rows import open_json, refuse_many, table_of
from covmis_build.files.packed import Limits, bounded, kind, unpacked
from covmis_build.files.parquet_plan import too_much
from covmis_build.files.r_data import R_DATA, open_r_data
from covmis_build.files.spss import SPSS, open_spss
from covmis_build.files.stata import STATA, open_stata
from covmis_build.files.table import Doubt, Mark, Switches, Table, one_of_each_name
from covmis_build.files.workbook import LARGEST as LARGEST_WORKBOOK
from covmis_build.files.workbook import OLD_EXCEL, open_workbook
from covmis_build.files.workbook import SUFFIXES as WORKBOOKS
from covmis_build.storage import restored

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from typing import Any

    import pandas as pd
    import pyarrow as pa

    from covmis_build.files.contents import Open

log = logging.getLogger("covmis")
SUFFIXES = frozenset(
    {
        ".csv",
        ".tsv",
        ".txt",
        ".json",
        ".jsonl",
        ".ndjson",
        ".parquet",
        ".feather",
        ".arrow",
        ".npy",
        ".dta",
        ".sav",
        ".zsav",
        ".rds",
        ".rda",
        ".rdata",
        ".sqlite",
        ".sqlite3",
        ".db",
        ".gz",
        *WORKBOOKS,
    }
)
"""Extensions of tables; the format is detected from the content."""
ZIP = b"PK\x03\x04"
OF_PROGRAMS: dict[tuple[bytes, ...], Callable[[bytes, str], Table]] = {
    (SQLITE,): open_database,
    STATA: lambda content, _: open_stata(content),
    SPSS: lambda content, _: open_spss(content),
    R_DATA: open_r_data,
}
"""First bytes of other programs' tables → their reader, which takes the column that the table should have."""
NOT_TEXT = (ZIP, *FRAMES, *chain.from_iterable(OF_PROGRAMS))
"""First bytes of tables that are no text."""
MOST_ROWS, MOST_CELLS = 5_000_000, 50_000_000
"""Maximum rows and cells of a table that is read as a whole."""
MOST_CHARACTERS, HONEST_RATIO = 256 << 20, 4
"""Maximum characters of a table that is read as a whole, or so many of each byte: rows can share a text that a file has once."""
MANY_ROWS = 20_000
"""So many rows are worth a table of Arrow."""


def open_table(
    opened: Open,
    *,
    names: Sequence[str] = (),
    with_column: str = "",
    switches: Switches = Switches(),  # noqa: B008 - frozen
) -> Table:
    """Open the table in a file. Unreadable content is an InputError, for a row when it is reached.

    `names` are the columns of a file without header; `switches` say how text is to be read. `with_column` chooses the worksheet of
    a workbook.
    """
    with doubted(""):
        return one_of_each_name(_by_its_beginning(opened, names, with_column, switches))


def _by_its_beginning(opened: Open, names: Sequence[str], with_column: str, switches: Switches) -> Table:
    with opened() as file:
        head = file.read(1 << 16)
    is_json = head.removeprefix(codecs.BOM_UTF8).lstrip()[:1] in {b"{", b"["}
    if switches.path and (switches.lines or not is_json):
        raise InputError(f"is no JSON, in which '{switches.path}' could be", remedy="Leave path out")
    if switches.lines and head.startswith((OLD_EXCEL, *NOT_TEXT)):
        raise InputError("is no text, in which each line could be one", remedy="Leave lines out")
    if head.startswith((ZIP, OLD_EXCEL)):
        with opened() as file:
            return open_workbook(io.BytesIO(file.read(LARGEST_WORKBOOK)), with_column)
    if head.startswith(FRAMES):
        return open_frame(opened)
    for begins, open_content in OF_PROGRAMS.items():
        if head.startswith(begins):
            return open_content(_whole(opened), with_column)
    if is_json and not switches.lines:
        return open_json(opened, switches.path)
    return open_delimited(opened, names, switches)


def _whole(opened: Open) -> bytes:
    with opened() as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InputError(f"is larger than {LARGEST >> 20:,} MiB", remedy="Save it as Parquet, or divide it")
    return data


@dataclass(frozen=True)
class Sheet:
    """A whole table: its rows as texts by column, with row numbers in the file."""

    header: list[str]
    rows: list[dict[str, str]]
    numbers: list[int]
    begins: int = 2
    """Number of the first row below the header."""
    form: str = ""
    notes: list[str] = field(default_factory=list)
    rounded: frozenset[str] = frozenset()
    """Columns of integers with more digits than their program stores."""
    doubts: list[Doubt] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    problems: dict[int, str] = field(default_factory=dict)
    """Row → why it is not imported."""

    def __getstate__(self) -> dict[str, Any]:
        """Many rows leave the child process as columns: pickled one by one, they need three times their memory."""
        return {**self.__dict__, "rows": _columns(self.rows)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        columns = state["rows"]
        if not isinstance(columns, list):
            cells = zip(*(column.to_pylist() for column in columns.columns), strict=True)
            state = {**state, "rows": [dict(zip(columns.column_names, row, strict=True)) for row in cells]}
        self.__dict__.update(state)

    def whole(self, path: Path) -> list[dict[str, str]]:
        """Return the rows, or raise an error if some are not imported."""
        for row, problem in self.problems.items():
            raise InputError(problem, file=path, row=row, remedy="Mend the row, or remove it")
        return self.rows

    def frame(self) -> pd.DataFrame:
        """Return the rows as a data frame of texts."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(dict.fromkeys(self.header)), dtype=object)

    @property
    def gap(self) -> int:
        """Return the first empty row that is followed by others; 0 if there is none."""
        known = {*self.numbers, *self.problems}
        return next(
            (number for number in range(self.begins, max(known, default=0)) if number not in known), 0
        )

    def doubt_of(self, column: str) -> Doubt | None:
        """Return the first cell of a column that may not show the intended value."""
        at = self.header.index(column) + 1
        return next((doubt for doubt in self.doubts if doubt.column == at), None)


def _columns(rows: list[dict[str, str]]) -> list[dict[str, str]] | pa.Table:
    """Return many rows as a table of Arrow, if they have the same columns and hold nothing but Unicode."""
    names = rows[0].keys() if len(rows) >= MANY_ROWS else []
    if not names or any(row.keys() != names for row in rows):
        return rows
    import pyarrow as pa

    try:
        return pa.table({name: pa.array((row[name] for row in rows), pa.large_string()) for name in names})
    except (UnicodeEncodeError, pa.ArrowException):
        return rows


def report(path: Path, sheet: Sheet) -> None:
    """Report assumptions about a file that are not visible elsewhere."""
    for note in sheet.notes:
        log.warning("%s: %s", path, note)


def read_table(
    path: Path,
    *,
    own: bool = False,
    names: Sequence[str] = (),
    with_column: str = "",
    switches: Switches = Switches(),  # noqa: B008 - frozen
    only: int = 0,
) -> Sheet:
    """Read a whole table, or `only` its first rows, in a child process. A study's `own` file must be UTF-8 without long rows."""
    if path.is_dir():
        raise InputError("is a folder, not a file", file=path, remedy="Name the file inside it")
    if not path.exists():
        raise InputError("is missing", file=path)
    with doubted(path):
        if not own:
            return in_child(_read, path, names, with_column, switches, only)
        if not _is_workbook(path):
            text_of(path, own=True)
        sheet = _read(path, names, with_column, switches)
    for row, problem in sheet.problems.items():
        raise InputError(
            problem, file=path, row=row, remedy="Put cells that contain a separator in quotation marks"
        )
    return sheet


def _is_workbook(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(8).startswith((ZIP, OLD_EXCEL))


def _read(path: Path, names: Sequence[str], with_column: str, switches: Switches, only: int = 0) -> Sheet:
    with path.open("rb") as file:
        head = file.read(8)
    begins, what = BEGINNINGS.get(path.suffix.lower(), ((b"",), ""))
    if head and not head.startswith(begins):
        raise InputError(f"is not {what}, as its name says", remedy="Save it again, or rename it")
    packed = kind(head)
    data = _unpacked(path, packed) if packed else bytes_of(path)
    if not only:
        _refuse_many(data)
    table = open_table(lambda: io.BytesIO(data), names=names, with_column=with_column, switches=switches)
    return _read_to_end(table, only, max(MOST_CHARACTERS, HONEST_RATIO * len(data)))


def _refuse_many(data: bytes) -> None:
    """Refuse a text that has more rows than are read, before the first is made; where cells are quoted, lines are no rows."""
    if data.removeprefix(codecs.BOM_UTF8)[:1] in {b"{", b"["}:
        refuse_many(data, MOST_ROWS)
    elif data.count(b"\n") > MOST_ROWS and b'"' not in data and not data.startswith((OLD_EXCEL, *NOT_TEXT)):
        raise InputError(f"has more than {counted(MOST_ROWS, 'rows')}", remedy="Divide it")


WORKBOOK = ((ZIP, OLD_EXCEL), "a workbook")  # password-protected workbooks use the old container
BEGINNINGS = {
    **dict.fromkeys(WORKBOOKS - {".xls"}, WORKBOOK),
    ".parquet": ((PARQUET,), "a Parquet file"),
    ".npy": ((NUMPY,), "a numpy array"),
    ".gz": ((b"\x1f\x8b",), "packed with gzip"),
}
"""First bytes of files with these extensions; other programs' tables are often named .xls."""


def _unpacked(path: Path, packed: str) -> bytes:
    with path.open("rb") as file:
        content = bounded(unpacked(file, packed), path.stat().st_size, Limits())
        data = io.BufferedReader(content).read(LARGEST + 1)  # type: ignore[type-var]
    if len(data) > LARGEST:
        raise InputError(f"unpacks to more than {LARGEST >> 20:,} MiB", remedy="Divide it")
    return data


def sheet_of(document: Any) -> Sheet:
    """Return the table in a JSON document."""
    return _read_to_end(one_of_each_name(table_of(document)))


def _read_to_end(table: Table, only: int = 0, characters: int = MOST_CHARACTERS) -> Sheet:
    rows, numbers, problems = list[dict[str, str]](), list[int](), dict[int, str]()
    left = characters
    nameless = [at for at, name in enumerate(table.header) if not name]
    is_marked = table.is_marked
    most = min(MOST_ROWS, MOST_CELLS // max(1, len(table.header)))
    for number, cells, problem in islice(table.rows(), only or None):
        if len(rows) + len(problems) == most:
            raise InputError(
                f"has more than {counted(most, 'rows')} of {counted(len(table.header), 'columns')}",
                row=number,
                remedy="Divide it, or remove columns",
            )
        if problem:
            problems[number] = problem
            continue
        left -= sum(map(len, cells))
        if left < 0:
            raise too_much()
        taken = map(restored, cells) if is_marked else cells
        texts = dict(zip(table.header, taken, strict=True))
        if len(nameless) > 1:
            texts[""] = " ".join(filter(None, (cells[at] for at in nameless)))
        rows.append(texts)
        numbers.append(number)
    notes = list(table.notes)
    if table.short:
        few = counted(len(table.short), "rows")
        notes.append(
            f"{few} with fewer cells than the header, as row {min(table.short)}: the rest is read as empty"
        )
    if problems:
        row = min(problems)
        quoted = "; put cells that contain a separator in quotation marks" * ("beyond" in problems[row])
        notes.append(
            f"{counted(len(problems), 'rows')} left out, for example row {row}: {problems[row]}{quoted}"
        )
    return Sheet(
        table.header,
        rows,
        numbers,
        table.begins,
        table.form,
        notes,
        frozenset(table.rounded),
        table.doubts,
        table.marks,
        problems,
    )
