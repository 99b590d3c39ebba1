"""Parquet files that tell when they are not what was written: one writer and one reader of covmis's own tables.

Every page has a checksum, which a reader of some rows or columns compares. The footer has the SHA-256 of the whole file, computed
with zeros in its own place; it is compared once per process before a file is read, because checksums of pages cover neither the
footer nor the pages' headers, and DuckDB compares none. Files of versions before 0.3.0 have neither, and are read as before.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from covmis_build.errors import MADE_AGAIN, DamagedTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

MARK = b"covmis.sha256"
_BLANK = b"0" * 64
_ENTRY = re.compile(re.escape(MARK) + rb"\x18\x40([0-9a-f]{64})")
"""The footer's entry of metadata: its key, then field and length of the value, then the hash."""
_END = 8
"""Bytes after the footer: its length and `PAR1`."""


@contextmanager
def writing(
    path: Path, schema: pa.Schema, *, temporary: bool = False, **how: Any
) -> Iterator[pq.ParquetWriter]:
    """Yield a writer of a Parquet file. Temporary tables, which end with their command, have no hash of the whole file."""
    how = {"compression": "zstd", "write_page_checksum": True, **how}
    with pq.ParquetWriter(path, _unmarked(schema), **how) as writer:
        yield writer
        if not temporary:
            writer.add_key_value_metadata({MARK: _BLANK})
    if not temporary:
        _mark(path)


def write(path: Path, rows: pa.Table, **how: Any) -> None:
    """Write these rows as a Parquet file."""
    with writing(path, rows.schema, **how) as writer:
        writer.write_table(rows)


def _unmarked(schema: pa.Schema) -> pa.Schema:
    """Return the schema without the hash of the file that it was read from."""
    notes = {key: value for key, value in (schema.metadata or {}).items() if key != MARK}
    return schema.with_metadata(notes or None)


def _mark(path: Path) -> None:
    place = _place(path)
    if place is None:
        raise RuntimeError(f"{path}: the footer has no place for the hash")
    digest = _digest(path, place)
    with path.open("r+b") as file:
        file.seek(place)
        file.write(digest.encode())


def _place(path: Path) -> int | None:
    """Return where in the file its hash stands; None if it has none."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _END))
        footer = min(int.from_bytes(file.read(4), "little"), max(0, size - _END))
        file.seek(size - _END - footer if size > _END else 0)
        entries = list(_ENTRY.finditer(file.read(footer)))
    return size - _END - footer + entries[-1].start(1) if entries else None


def _digest(path: Path, place: int) -> str:
    """Return the SHA-256 of a file with zeros in the place of the hash."""
    hasher, left = hashlib.sha256(), place
    with path.open("rb", buffering=0) as file:
        while block := file.read(min(left, 1 << 20)):
            hasher.update(block)
            left -= len(block)
        hasher.update(_BLANK)
        file.seek(place + len(_BLANK))
        while block := file.read(1 << 20):
            hasher.update(block)
    return hasher.hexdigest()


def is_marked(path: Path) -> bool:
    """True if the file has a hash of itself."""
    return _place(path) is not None


def check(path: Path, remedy: str = MADE_AGAIN) -> None:
    """Refuse a file that is not what was written; once per process and state of the file."""
    at = path.stat()  # as `storage.state_of`, which stands above this file
    if not _is_whole(path, (at.st_size, at.st_mtime_ns, at.st_ctime_ns, at.st_ino, at.st_dev)):
        raise _damaged(path, remedy)


def check_again(path: Path, remedy: str = MADE_AGAIN) -> None:
    """Refuse a file that is not what was written, whatever this process knows of it."""
    if not _is_whole.__wrapped__(path, ()):
        raise _damaged(path, remedy)


def _damaged(path: Path, remedy: str) -> DamagedTable:
    written = dt.datetime.fromtimestamp(path.stat().st_mtime, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return DamagedTable(f"is damaged: it is not what was written at {written}", file=path, remedy=remedy)


@lru_cache(1 << 14)
def _is_whole(path: Path, state: tuple[int, ...]) -> bool:  # noqa: ARG001 - part of the key
    place = _place(path)
    if place is None:
        return True  # of an earlier version, or of another program
    with path.open("rb") as file:
        file.seek(place)
        written = file.read(len(_BLANK))
    return _digest(path, place) == written.decode()


@contextmanager
def reading(
    path: Path, remedy: str = MADE_AGAIN, *, whole: bool = True, dictionaries: Sequence[str] = ()
) -> Iterator[pq.ParquetFile]:
    """Yield a Parquet file whose pages are compared with their checksums; first the file with its hash, unless not `whole`.

    Columns named as `dictionaries` are read as such.
    `pq.read_table` would load Arrow's datasets and pandas, which takes longer than reading most tables.
    """
    if path.is_dir():
        raise DamagedTable("is a folder, not a table", file=path, remedy=remedy)
    try:
        if whole:
            check(path, remedy)
        asked = {"read_dictionary": list(dictionaries)} if dictionaries else {}
        with pq.ParquetFile(path, page_checksum_verification=True, **asked) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise DamagedTable(
            "cannot be read as a table: is damaged, or no Parquet file", file=path, remedy=remedy
        ) from error


def schema_of(path: Path) -> pa.Schema:
    """Return the columns of a table."""
    with reading(path) as file:
        return _unmarked(file.schema_arrow)


def rows_in(path: Path) -> int:
    """Return the number of rows of a table, from its footer."""
    with reading(path) as file:
        return int(file.metadata.num_rows)


def listed(paths: Iterable[Path]) -> str:
    """Return checked files as a list for DuckDB, which compares no checksums: `read_parquet([…])`."""
    files = list(paths)
    for path in files:
        check(path)
    return "[" + ", ".join("'" + str(path).replace("'", "''") + "'" for path in files) + "]"
