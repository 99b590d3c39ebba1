"""Tables in Parquet, Arrow (Feather) and numpy files, in batches of rows.

A small file can expand to terabytes: a child process with a memory limit reads it, and the expanded size is counted.
"""

from __future__ import annotations

import io
from collections import deque
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from covmis_build.children import NO_MEMORY, in_child
from covmis_build.errors import InputError, doubted
from covmis_build.files.table import EXACT, Row, Table, cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa

    from covmis_build.files.contents import Open

PARQUET, ARROW, NUMPY = b"PAR1", b"ARROW1", b"\x93NUMPY"
RATIO, SMALLEST_ROOM = 1000, 64 << 10
"""Maximum ratio of expanded size to file size; smaller files may expand like one of this size."""
ROWS = 1024
WHOLE = 2 << 30
"""Maximum expanded bytes of a table that is read as a whole."""
OF_A_VALUE = 32
"""Minimum bytes counted per value."""


def open_frame(opened: Open) -> Table:
    """Open a Parquet or Arrow table, or an array of labels."""
    with opened() as file:
        head = file.read(8)
    if head.startswith(NUMPY):
        return _array(opened)
    form = "Parquet" if head.startswith(PARQUET) else "Arrow"
    with doubted("", f"is not readable as {form}"), opened() as file:
        names = _names(file, form)
    table = Table(form, names, lambda: iter(()), begins=1)

    def rows() -> Iterator[Row]:
        number = 1
        with opened() as file:
            for batch in batches(file):
                for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    for name, value in zip(names, values, strict=True):
                        if isinstance(value, float) and abs(value) >= EXACT and value.is_integer():
                            table.rounded.add(name)
                    yield Row(number, list(map(cell, values)))
                    number += 1

    table.rows = rows
    return table


def _names(file: IO[bytes], form: str) -> list[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if form == "Parquet":
        with pq.ParquetFile(file) as parquet:
            return [str(name) for name in parquet.schema_arrow.names]
    with pa.ipc.open_file(file) as arrow:
        return [str(name) for name in arrow.schema.names]


def batches(file: IO[bytes], *, most: int = 0) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches. Expanding beyond RATIO or `most` bytes is an error."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    room = RATIO * max(file.seek(0, 2), SMALLEST_ROOM)
    room = min(room, most or room)
    file.seek(0)
    if file.read(4) == PARQUET:
        with pq.ParquetFile(file) as parquet:
            source: Iterator[pa.RecordBatch] = parquet.iter_batches(ROWS)
            yield from _within(source, room)
    else:
        with pa.ipc.open_file(file) as arrow:
            yield from _within(map(arrow.get_batch, range(arrow.num_record_batches)), room)


def _within(source: Iterator[pa.RecordBatch], room: int) -> Iterator[pa.RecordBatch]:
    for batch in source:
        room -= batch.nbytes + OF_A_VALUE * batch.num_rows * batch.num_columns + _repeated(batch)
        if room < 0:
            raise InputError(
                "is a table that amounts to too much for its size, or for memory",
                remedy="If it is what it seems, divide it, or write it as CSV",
            )
        for begin in range(0, batch.num_rows, ROWS):
            yield batch.slice(begin, ROWS)


def _repeated(batch: pa.RecordBatch) -> int:
    """Return the bytes of texts that rows share: each row gets its own."""
    import pyarrow as pa
    import pyarrow.compute as pc

    repeated = 0
    for column in batch.columns:
        if isinstance(column, pa.DictionaryArray) and column.type.value_type in {
            pa.string(),
            pa.large_string(),
        }:
            lengths = pc.binary_length(column.dictionary)
            repeated += pc.sum(pc.cast(pc.take(lengths, column.indices), pa.int64())).as_py() or 0
    return int(repeated)


def check(files: Mapping[str, Path | bytes]) -> None:
    """Read Parquet files once in a child process: an error if one does not fit into memory. Their reader reports damage."""
    in_child(_read_each, files)


def read_parquet(path: Path) -> pa.Table:
    """Read a Parquet file from someone else, if it fits into memory."""
    return in_child(_read, path)


def _read(path: Path) -> pa.Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with doubted(path, "is not readable as Parquet"), path.open("rb") as file:
        return pa.Table.from_batches(list(batches(file, most=WHOLE)), pq.read_schema(file))


def _read_each(files: Mapping[str, Path | bytes]) -> None:
    import pyarrow as pa

    for name, source in files.items():
        file: IO[bytes] = io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
        with file, suppress(OSError, ValueError, pa.ArrowException):
            try:
                deque(batches(file, most=WHOLE), maxlen=0)
            except InputError as error:
                raise InputError(error.problem, file=name, remedy=error.remedy) from None
            except MemoryError:
                raise InputError(NO_MEMORY, file=name) from None


def _array(opened: Open) -> Table:
    import numpy as np

    with doubted("", "is not readable as an array"), opened() as file:
        values = np.load(io.BytesIO(file.read(WHOLE)), allow_pickle=False)
    if values.ndim != 1:
        raise InputError(f"is an array of shape {values.shape}", remedy="One label per item is expected")
    rows = [Row(number, [str(value)]) for number, value in enumerate(values, start=1)]
    return Table("a numpy array", ["label"], lambda: iter(rows), begins=1)
