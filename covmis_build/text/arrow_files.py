"""Arrow (Feather) files that somebody else has made: no batch is unpacked before it is known what it amounts to.

What unpacks to how much stands before each packed buffer; Arrow itself believes it, and takes the memory.
"""

from __future__ import annotations

import struct
from typing import IO, TYPE_CHECKING, NamedTuple, Self

from covmis_build.errors import InputError
from covmis_build.text.parquet import RATIO, SMALLEST_ROOM, divided, length_of_views, too_large

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

MAGIC = b"ARROW1\0\0"
LARGEST_BATCH, LONGEST_HEADER = 512 << 20, 16 << 20
"""Bytes that one batch may amount to, since it is unpacked whole; bytes that may stand before it to describe it."""

CONTINUED = -1
"""What stands before a header's length since Arrow 0.15."""

SCHEMA, DICTIONARY, ROWS = 1, 2, 3
"""The kinds of messages."""


def names(file: IO[bytes]) -> list[str]:
    """The columns."""
    import pyarrow as pa

    with pa.ipc.open_file(file) as reader:
        return list(reader.schema.names)


def pieces(file: IO[bytes]) -> Iterator[pa.RecordBatch]:
    """The rows, some at a time; refused is what amounts to too much for its size, or a batch that does for memory."""
    import pyarrow as pa

    size = file.seek(0, 2)
    room = RATIO * max(size, SMALLEST_ROOM)
    _refuse_too_large(file, room)
    file.seek(0)
    with pa.ipc.open_file(file) as reader:
        promised = reader.num_record_batches
    file.seek(len(MAGIC))
    with pa.ipc.open_stream(file) as stream:  # what was measured, whatever else the list at the end points to
        for batch in stream:
            batch.validate()
            if sum(map(length_of_views, batch.columns)) > room:
                raise too_large(file)
            batch.validate(full=True)  # Arrow follows wrong offsets out of its memory
            promised -= 1
            for piece, length in divided(batch):
                room -= length
                if room < 0:
                    raise too_large(file)
                yield piece
    if promised:
        raise InputError("is not readable as Arrow: the list of its batches differs from what is there")


def _refuse_too_large(file: IO[bytes], room: int) -> None:
    """Look at what stands before each batch, and before each of its buffers."""
    size, at = file.seek(0, 2), len(MAGIC)
    while header := _header(file, at):
        begin = at + header.length
        if header.body < 0 or begin + header.body > size:
            raise InputError("is not readable as Arrow: ends within a batch")
        amount = (
            header.body + header.values // 8
        )  # a column of nothing has no buffers, but a bit for each value
        for offset, length in header.packed:
            if length:
                file.seek(begin + offset)
                amount += max(*struct.unpack("<q", file.read(8)), 0)
        room -= amount
        if room < 0:
            raise too_large(file)
        if amount > LARGEST_BATCH:
            raise InputError(
                f"has a batch of more than {LARGEST_BATCH >> 20} MiB",
                remedy="Write it in smaller batches, or as Parquet",
            )
        at = begin + header.body


class _Header(NamedTuple):
    """What stands before a batch: its own length, that of what follows, how many values, and where packed buffers lie."""

    length: int
    body: int
    values: int
    packed: list[tuple[int, int]]


def _header(file: IO[bytes], at: int) -> _Header | None:
    file.seek(at)
    (length,), before = struct.unpack("<i", file.read(4)), 4
    if length == CONTINUED:
        (length,), before = struct.unpack("<i", file.read(4)), 8
    if length == 0:
        return None
    if not 0 < length <= LONGEST_HEADER:
        raise InputError("is not readable as Arrow: a batch without a beginning")
    message = _Table.root(file.read(length))
    batch = message.table(2)
    if batch and message.number(1, "b") == DICTIONARY:
        batch = batch.table(1)
    if batch is None or message.number(1, "b") == SCHEMA:
        return _Header(before + length, message.number(3, "q"), 0, [])
    values = sum(max(count, 0) for count, _ in batch.pairs(1))
    return _Header(before + length, message.number(3, "q"), values, batch.pairs(2) if batch.table(3) else [])


class _Table(NamedTuple):
    """A table of a FlatBuffer: its fields by number, in the order of Arrow's format/Message.fbs."""

    data: bytes
    begin: int

    @classmethod
    def root(cls, data: bytes) -> Self:
        return cls(data, *struct.unpack_from("<I", data))

    def _place(self, field: int) -> int:
        """Where a field stands; 0 if it is not there."""
        fields = self.begin - self._read("i", self.begin)
        length, known = self._read("H", fields), 4 + 2 * field
        offset = self._read("H", fields + known) if known < length else 0
        return self.begin + offset if offset else 0

    def _read(self, kind: str, at: int) -> int:
        if at < 0:
            raise InputError("is not readable as Arrow: a batch without a beginning")
        return int(struct.unpack_from(f"<{kind}", self.data, at)[0])

    def number(self, field: int, kind: str) -> int:
        place = self._place(field)
        return self._read(kind, place) if place else 0

    def table(self, field: int) -> _Table | None:
        place = self._place(field)
        return _Table(self.data, place + self._read("I", place)) if place else None

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """A list of pairs of numbers."""
        if not (place := self._place(field)):
            return []
        start = place + self._read("I", place)
        count = self._read("I", start)
        numbers = struct.unpack_from(f"<{2 * count}q", self.data, start + 4)
        return list(zip(numbers[::2], numbers[1::2], strict=True))
