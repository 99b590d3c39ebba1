"""Tables in Parquet, Arrow (Feather, streams) and numpy files, in batches of rows.

A small file can expand to terabytes: a child process with a memory limit reads it, and the expanded size is counted.
"""

from __future__ import annotations

import io
from collections import deque
from contextlib import suppress
from itertools import chain
from typing import IO, TYPE_CHECKING

from covmis_build.children import NO_MEMORY, in_child
from covmis_build.errors import InputError, doubted
from covmis_build.files.parquet_plan import AT_ONCE, ROWS, plan, too_much
from covmis_build.files.table import Row, Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import pyarrow as pa

    from covmis_build.files.contents import Open

PARQUET, ARROW, NUMPY = b"PAR1", b"ARROW1", b"\x93NUMPY"
STREAM = b"\xff\xff\xff\xff"
"""First bytes of a stream of Arrow, as Hugging Face's datasets write it."""
FRAMES = (PARQUET, ARROW, NUMPY, STREAM)
RATIO, SMALLEST_ROOM = 1000, 64 << 10
"""Maximum ratio of expanded size to file size; smaller files may expand like one of this size."""
WHOLE = 2 << 30
"""Maximum expanded bytes of a table that is read as a whole."""
FROM_SMALL, HONEST_RATIO = 256 << 20, 20
"""Of a small file less, or so many times its size: rows can share a text that a file has once."""


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
                    yield table.row(number, values)
                    number += 1

    table.rows = rows
    return table


def _names(file: IO[bytes], form: str) -> list[str]:
    import pyarrow.parquet as pq

    if form == "Parquet":
        with pq.ParquetFile(file) as parquet:
            return [str(name) for name in parquet.schema_arrow.names]
    with _arrow(file) as arrow:
        return [str(name) for name in arrow.schema.names]


def _arrow(file: IO[bytes]) -> pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader:
    import pyarrow as pa

    file.seek(0)
    is_stream = file.read(4) == STREAM
    file.seek(0)
    return pa.ipc.open_stream(file) if is_stream else pa.ipc.open_file(file)


def batches(file: IO[bytes], *, most: int = 0) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches. Expanding beyond RATIO or `most` bytes is an error.

    Rows can share a text that the file has once: texts are counted before they are expanded.
    """
    import pyarrow.parquet as pq

    room = RATIO * max(file.seek(0, 2), SMALLEST_ROOM)
    room = min(room, most or room)
    file.seek(0)
    if file.read(4) == PARQUET:
        with pq.ParquetFile(file) as parquet:
            schema, how = parquet.schema_arrow, plan(file, parquet, room)
        with pq.ParquetFile(file, read_dictionary=how.as_stored) as parquet:
            groups = (parquet.iter_batches(rows, [group]) for group, rows in enumerate(how.rows))
            yield from _within(chain.from_iterable(groups), schema, room)
    else:
        with _arrow(file) as arrow:
            yield from _within(_batches(arrow), arrow.schema, room)


def _batches(
    arrow: pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader,
) -> Iterator[pa.RecordBatch]:
    count = getattr(arrow, "num_record_batches", None)  # a stream does not know how many come
    return iter(arrow) if count is None else map(arrow.get_batch, range(count))


def _within(source: Iterator[pa.RecordBatch], schema: pa.Schema, room: int) -> Iterator[pa.RecordBatch]:
    import numpy as np

    from covmis_build.files.sizes import sizes

    for batch in source:
        amounts = np.zeros(batch.num_rows, np.int64)
        for column in batch.columns:
            amounts += sizes(column)
        room -= int(amounts.sum())
        if room < 0 or amounts.max(initial=0) > AT_ONCE:
            raise too_much()
        ends, begin = np.cumsum(amounts), 0
        while begin < batch.num_rows:
            before = ends[begin] - amounts[begin]
            end = min(begin + ROWS, int(np.searchsorted(ends, before + AT_ONCE, side="right")))
            piece = batch.slice(begin, end - begin)
            yield piece if piece.schema.equals(schema) else _as_written(piece, schema)
            begin = end


def _as_written(piece: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Give each row its own texts; those of lists are cast, views of texts cannot be."""
    import pyarrow as pa

    columns = [
        column.dictionary_decode()
        if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(kind)
        else column
        for column, kind in zip(piece.columns, schema.types, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=schema.names).cast(schema)


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
        most = min(WHOLE, max(FROM_SMALL, HONEST_RATIO * path.stat().st_size))
        return pa.Table.from_batches(list(batches(file, most=most)), pq.read_schema(file))


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
