"""Tables in Parquet, Arrow (Feather) and numpy files, in batches of rows.

A small file can expand to terabytes: a child process with a memory limit reads it, and the expanded size is counted.
"""

from __future__ import annotations

import io
import re
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
    import pyarrow.parquet as pq

    from covmis_build.files.contents import Open

PARQUET, ARROW, NUMPY = b"PAR1", b"ARROW1", b"\x93NUMPY"
RATIO, SMALLEST_ROOM = 1000, 64 << 10
"""Maximum ratio of expanded size to file size; smaller files may expand like one of this size."""
ROWS = 1024
WHOLE = 2 << 30
"""Maximum expanded bytes of a table that is read as a whole."""
AT_ONCE = 64 << 20
"""Maximum expanded bytes of one row, and of rows that are read at a time."""
TOO_MUCH = "is a table that amounts to too much for its size, or for memory"
DIVIDE = "If it is what it seems, divide it, or write it as CSV"


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
    """Yield the rows in batches. Expanding beyond RATIO or `most` bytes is an error.

    Rows can share a text that the file has once: texts are counted before they are expanded.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    room = RATIO * max(file.seek(0, 2), SMALLEST_ROOM)
    room = min(room, most or room)
    file.seek(0)
    if file.read(4) == PARQUET:
        with pq.ParquetFile(file) as parquet:
            schema, shared, rows = parquet.schema_arrow, *_shared(file, parquet, room)
        with pq.ParquetFile(file, read_dictionary=shared) as parquet:
            yield from _within(parquet.iter_batches(rows), schema, room)
    else:
        with pa.ipc.open_file(file) as arrow:
            yield from _within(map(arrow.get_batch, range(arrow.num_record_batches)), arrow.schema, room)


def _shared(file: IO[bytes], parquet: pq.ParquetFile, room: int) -> tuple[list[str], int]:
    """Return the texts in lists, which are to be read as they are stored: each once; and how many rows may be read at a time."""
    from covmis_build.files.sizes import OF_A_VALUE

    shared, longest = set[str](), 1
    metadata, leaves = parquet.metadata, parquet.schema
    for group in range(metadata.num_row_groups):
        for at in range(metadata.num_columns):
            chunk, leaf = metadata.row_group(group).column(at), leaves.column(at)
            length, in_lists = 0, bool(leaf.max_repetition_level)
            if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY":
                length = leaf.length
            elif "DELTA_BYTE_ARRAY" in chunk.encodings:  # texts that share their beginnings
                length = chunk.total_uncompressed_size
            elif leaf.physical_type == "BYTE_ARRAY" and chunk.has_dictionary_page:
                if in_lists:
                    shared.add(leaf.path)
                else:
                    length = _dictionary_size(file, chunk)
            longest = max(longest, length)
            room -= chunk.num_values * max(OF_A_VALUE, length * in_lists)
            if room < 0:
                raise InputError(TOO_MUCH, remedy=DIVIDE)
    return sorted(shared), max(1, min(ROWS, 4 * AT_ONCE // longest))


def _dictionary_size(file: IO[bytes], chunk: pq.ColumnChunkMetaData) -> int:
    """Return the bytes of a column's dictionary, from its page's header: Thrift's compact form of two 32-bit numbers."""
    file.seek(chunk.dictionary_page_offset)
    header = re.match(rb"\x15[\x80-\xff]*[\x00-\x7f]\x15([\x80-\xff]*[\x00-\x7f])", file.read(16), re.DOTALL)
    if not header:
        return int(chunk.total_uncompressed_size)
    size = sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(bytes(header[1])))
    return size >> 1


def _within(source: Iterator[pa.RecordBatch], schema: pa.Schema, room: int) -> Iterator[pa.RecordBatch]:
    import numpy as np

    from covmis_build.files.sizes import sizes

    for batch in source:
        amounts = np.zeros(batch.num_rows, np.int64)
        for column in batch.columns:
            amounts += sizes(column)
        room -= int(amounts.sum())
        if room < 0 or amounts.max(initial=0) > AT_ONCE:
            raise InputError(TOO_MUCH, remedy=DIVIDE)
        ends, begin = np.cumsum(amounts), 0
        while begin < batch.num_rows:
            before = ends[begin] - amounts[begin]
            end = min(begin + ROWS, int(np.searchsorted(ends, before + AT_ONCE, side="right")))
            piece = batch.slice(begin, end - begin)
            yield piece if piece.schema.equals(schema) else piece.cast(schema)
            begin = end


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
