"""Tables in SQLite databases: the one whose columns are known best. Views and virtual tables are not read: they can hold programs."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from covmis_build.errors import InputError
from covmis_build.files.columns import best_known
from covmis_build.files.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from covmis_build.files.table import Row

SQLITE = b"SQLite format 3\0"
VERSIONS, WAL = slice(18, 20), b"\2\2"
"""The bytes that say that a program writes to a second file first, which is not here."""
UNMERGED = "rows that its program has not merged yet (its -wal file) are not read: close that program first"
LONGEST_VALUE = 64 << 20
"""Maximum bytes of a value."""
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"


def open_database(content: bytes, with_column: str = "") -> Table:
    """Open the table with this column; otherwise the one with most columns of known names."""
    import sqlite3

    unmerged = content[VERSIONS] == WAL
    database = sqlite3.connect(":memory:", check_same_thread=False)
    database.text_factory = lambda data: data.decode("utf-8", "replace")
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    try:
        database.deserialize(content[: VERSIONS.start] + b"\1\1" + content[VERSIONS.stop :])
        database.execute("PRAGMA trusted_schema = OFF")
        (sound,) = database.execute("PRAGMA quick_check(1)").fetchone()
        if sound != "ok":
            raise sqlite3.DatabaseError(sound)
        tables = {
            name: [str(about[0]) for about in read.description]
            for (name,) in database.execute(TABLES).fetchall()
            if (read := database.execute(f"SELECT * FROM {_quoted(name)} LIMIT 0")).description
        }
    except sqlite3.Error as error:
        raise InputError(f"is not readable as SQLite: {error}", remedy="Save the table as CSV") from None
    if not tables:
        raise InputError(
            "has no table", remedy=UNMERGED.capitalize() if unmerged else "Save what it shows as CSV"
        )
    chosen, note = best_known(tables, with_column)
    table = Table("SQLite", tables[chosen], lambda: iter(()), notes=[note] if note else [], begins=1)
    if unmerged:
        table.notes.append(UNMERGED)

    def rows() -> Iterator[Row]:
        with closing(database.cursor()) as cursor:
            for number, values in enumerate(cursor.execute(f"SELECT * FROM {_quoted(chosen)}"), 1):
                yield table.row(number, values)

    table.rows = rows
    return table


def _quoted(name: str) -> str:
    """Return a name as SQL has it; no value is ever part of a statement."""
    return '"' + name.replace('"', '""') + '"'
