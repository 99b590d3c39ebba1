"""What a Parquet file says of its columns' sizes, before anything of it is read.

pyarrow ends the whole process where it finds the statistics there contradicting themselves; so they are not asked of it.
The form is Thrift's compact protocol, the numbers of the fields those of parquet-format's parquet.thrift.
"""

from __future__ import annotations

from typing import IO, Any, NamedTuple

from covmis_build.errors import InputError

MAGIC = b"PAR1"
LONGEST, LONGEST_NUMBER = 64 << 20, 63
"""Bytes of all this, bits of a number."""

ROW_GROUPS, COLUMNS, ABOUT, PATH, VALUES, BYTES = 4, 1, 3, 3, 5, 6
TRUE, FALSE, BYTE, SHORT, INT, LONG, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)


class ColumnChunk(NamedTuple):
    """A column of one group of rows: its name, how many values, and how many bytes they are without packing."""

    path: str
    values: int
    bytes: int


def column_chunks(file: IO[bytes]) -> list[list[ColumnChunk]]:
    """Those of each group of rows."""
    size = file.seek(0, 2)
    file.seek(max(0, size - 8))
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != MAGIC or length > min(size - 8, LONGEST):
        raise InputError("is not a whole Parquet file")
    file.seek(size - 8 - length)
    about = _Compact(file.read(length)).struct()
    return [
        [_column_chunk(column.get(ABOUT, {})) for column in group.get(COLUMNS, ())]
        for group in about.get(ROW_GROUPS, ())
    ]


def _column_chunk(about: dict[int, Any]) -> ColumnChunk:
    path = b".".join(about.get(PATH, ())).decode("utf-8", "replace")
    return ColumnChunk(path, max(0, int(about.get(VALUES, 0))), max(0, int(about.get(BYTES, 0))))


class _Compact:
    """Values as Thrift writes them compactly; a struct is its fields by number."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            kind = head & 15
            fields[number] = kind == TRUE if kind in {TRUE, FALSE} else self._value(kind)
        return fields

    def _value(self, kind: int) -> Any:
        if kind in {TRUE, FALSE, BYTE}:
            return self._byte()
        if kind in {SHORT, INT, LONG}:
            return self._signed()
        if kind in {DOUBLE, BINARY}:
            return self._bytes(8 if kind == DOUBLE else self._number())
        if kind in {LIST, SET}:
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._number()
            return [self._value(head & 15) for _ in range(count)]
        if kind == STRUCT:
            return self.struct()
        raise InputError("is not a whole Parquet file")  # it has no maps

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _bytes(self, count: int) -> bytes:
        self.at += count
        if self.at > len(self.data):
            raise InputError("is not a whole Parquet file")
        return self.data[self.at - count : self.at]

    def _number(self) -> int:
        number = shift = 0
        while (byte := self._byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
            if shift > LONGEST_NUMBER:
                raise InputError("is not a whole Parquet file")
        return number | byte << shift

    def _signed(self) -> int:
        number = self._number()
        return number >> 1 ^ -(number & 1)
