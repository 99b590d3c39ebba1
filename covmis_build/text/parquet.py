"""Parquet files that somebody else has made, in pieces that fit into memory: a few kilobytes may stand for terabytes.

A text that many rows share is stored once, and the number of rows is only said.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING

from covmis_build.errors import InputError
from covmis_build.text.parquet_footer import column_chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    import pyarrow.parquet as pq

ROWS, PIECE, LONGEST_ROW = 10_000, 32 << 20, 64 << 20
"""Rows that are read together, and bytes of them that are handed on together; bytes that a row may have."""

RATIO, SMALLEST_ROOM = 1000, 64 << 10
"""How many times its size a file may amount to; smaller files as much as one of this size."""

OF_A_VALUE = 32
"""Bytes that any value costs, beside its own."""

MOST_NESTED = 100_000_000
"""Values of one column of lists that a group of rows may have: one row may have them all."""

WHOLE = 2 << 30
"""Bytes that a table may amount to which is read whole."""


def pieces(file: Path | IO[bytes], *, most: int = 0) -> Iterator[pa.RecordBatch]:
    """The rows, some at a time; refused is what amounts to too much for its size, or to more than `most` bytes."""
    import pyarrow.parquet as pq

    size = file.stat().st_size if isinstance(file, Path) else file.seek(0, 2)
    room = RATIO * max(size, SMALLEST_ROOM)
    room = min(room, most or room)
    with pq.ParquetFile(file) as plain:
        columns = [plain.schema.column(at) for at in range(len(plain.schema))]
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    listed = [column.path for column in columns if column.max_repetition_level]
    with nullcontext(file) if not isinstance(file, Path) else file.open("rb") as content:
        groups = column_chunks(content)
    parts = [part for group in groups for part in group]
    declared = sum(part.values * OF_A_VALUE + part.bytes for part in parts)
    nested = max((part.values for part in parts if part.path in listed), default=0)
    if declared > room or nested > MOST_NESTED:
        raise too_large(file)
    with (
        pq.ParquetFile(file, read_dictionary=texts) as first,
        pq.ParquetFile(file, read_dictionary=[path for path in texts if path in listed]) as parquet,
    ):
        for number in range(len(groups)):
            longest = _longest(first, number, [path for path in texts if path not in listed])
            rows = max(1, min(ROWS, PIECE // max(1, longest)))
            for batch in parquet.iter_batches(rows, row_groups=[number]):
                for piece, length in divided(batch):
                    room -= length
                    if room < 0:
                        raise too_large(file)
                    yield piece


def read(path: Path) -> pa.Table:
    """The whole table, if it is one that fits into memory."""
    import pyarrow.parquet as pq

    refuse_too_large(path)
    return pq.read_table(path, partitioning=None)


def refuse_too_large(file: Path | IO[bytes]) -> None:
    """Read it once, in pieces: raise for a table that does not fit into memory."""
    for _ in pieces(file, most=WHOLE):
        pass


def too_large(file: Path | IO[bytes]) -> InputError:
    """What is said of it."""
    return InputError(
        "is a table that amounts to too much for its size, or for memory",
        file=file if isinstance(file, Path) else "",
        remedy="If it is what it seems, divide it, or write it as CSV",
    )


def _longest(file: pq.ParquetFile, group: int, texts: list[str]) -> int:
    """Bytes of a row that has the longest of the texts that many rows share; they come with a column's first value."""
    import pyarrow.compute as pc

    for batch in file.iter_batches(1, row_groups=[group], columns=texts) if texts else ():
        shared = (array.dictionary for array in _leaves(batch.columns) if hasattr(array, "dictionary"))
        return sum(pc.max(pc.binary_length(values)).as_py() or 0 for values in shared)
    return 0


def _leaves(arrays: Iterable[pa.Array]) -> Iterator[pa.Array]:
    """The columns, and those inside others."""
    import pyarrow as pa

    for array in arrays:
        if pa.types.is_struct(array.type):
            yield from _leaves(array.flatten())
        else:
            yield array


def divided(batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The batch, or halves of it, until each is small; with what they amount to."""
    length = sum(map(_length, batch.columns))
    if length <= PIECE or (batch.num_rows == 1 and length <= LONGEST_ROW):
        yield batch, length
    elif batch.num_rows == 1:
        raise InputError(f"has a row of more than {LONGEST_ROW >> 20} MB")
    else:
        half = batch.num_rows // 2
        yield from divided(batch.slice(0, half))
        yield from divided(batch.slice(half))


def _length(array: pa.Array) -> int:
    """Bytes that the values amount to, each written out."""
    import pyarrow as pa

    array = array.storage if isinstance(array, pa.ExtensionArray) else array
    own = OF_A_VALUE * len(array)
    if pa.types.is_nested(array.type):
        return own + sum(map(_length, _inside(array)))
    return own + (_length_of_shared(array) or length_of_views(array) or array.nbytes)


def _inside(array: pa.Array) -> list[pa.Array]:
    """What stands in the rows of a column of others, as often as it stands there."""
    import pyarrow as pa

    if isinstance(array, pa.StructArray):
        return list(array.flatten())
    if isinstance(array, pa.MapArray):
        begin, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return [array.keys[begin:end], array.items[begin:end]]
    if isinstance(array, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
        return [array.flatten()]
    raise InputError(f"has a column of the type {array.type}", remedy="Write it as another type, or as CSV")


def _length_of_shared(array: pa.Array) -> int:
    """Bytes of texts that stand in a column once, however many rows have them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if not pa.types.is_dictionary(kind):
        return 0
    if pa.types.is_nested(kind.value_type) or "view" in str(kind.value_type):
        raise InputError(f"has a column of the type {kind}", remedy="Write it as another type, or as CSV")
    if str(kind.value_type) not in {"binary", "string", "large_binary", "large_string"}:
        return 0
    lengths = pc.binary_length(array.dictionary).cast(pa.int64())
    return int(pc.sum(lengths.take(array.indices)).as_py() or 0)


def length_of_views(array: pa.Array) -> int:
    """Bytes that a column's views amount to, also inside others: many may show the same text.

    Each begins with its length, in four of its sixteen bytes.
    """
    import numpy as np
    import pyarrow as pa

    if isinstance(array, pa.StructArray):
        return sum(length_of_views(array.field(at)) for at in range(array.type.num_fields))
    if isinstance(array, pa.ListArray | pa.LargeListArray | pa.FixedSizeListArray):
        return length_of_views(array.values)
    if not (pa.types.is_string_view(array.type) or pa.types.is_binary_view(array.type)):
        return 0
    lengths = np.frombuffer(array.buffers()[1], "<i4")[::4][array.offset : array.offset + len(array)]
    valid: np.ndarray = array.is_valid().to_numpy(zero_copy_only=False)
    return int(lengths[valid].sum(dtype="int64"))
