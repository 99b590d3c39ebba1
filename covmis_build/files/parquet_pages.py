"""What the pages of a Parquet file hold, by their headers: the reader of the file follows these, not the footer's sums.

Headers are in Thrift's compact form (parquet.thrift: PageHeader).
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, NamedTuple

from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow.parquet as pq

DICTIONARY_PAGE = 2
DELTA_BYTE_ARRAY = 7
"""Encoding of texts that share their beginnings with the text before."""
BY_INDEX = (2, 8)
"""Encodings of values by their place in the dictionary."""
_HEADERS_OF_DATA = {5: 2, 7: 2, 8: 4}
"""Fields of a header that describe its values → the field that names their encoding."""
LONGEST_HEADER = 1 << 16


class Page(NamedTuple):
    """A page: whether it is a dictionary, its bytes when decompressed, and how its values are encoded."""

    dictionary: bool
    size: int
    values: int
    encoding: int


def pages(file: IO[bytes], chunk: pq.ColumnChunkMetaData) -> Iterator[Page]:
    """Yield the pages of a column's part. A header that cannot be read is an InputError: others may read it."""
    stated = (chunk.data_page_offset, chunk.dictionary_page_offset if chunk.has_dictionary_page else 0)
    begin = min(
        filter(None, stated), default=0
    )  # a table without rows has no page of data: it is said to begin at 0
    end = begin + chunk.total_compressed_size
    while begin < end:
        file.seek(begin)
        header = _Header(file.read(LONGEST_HEADER))
        fields = header.struct()
        kind, size, stored = (fields.get((field,), 0) for field in (1, 2, 3))
        values = encoding = 0
        for field, names_encoding in _HEADERS_OF_DATA.items():
            values += fields.get((field, 1), 0)
            encoding += fields.get((field, names_encoding), 0)
        if min(size, stored, values) < 0:
            raise InputError("has a page of less than nothing")
        yield Page(kind == DICTIONARY_PAGE, size, values, encoding)
        begin += header.at + stored


class _Header:
    """Numbers of a Thrift structure by their fields, those of inner structures by both fields. All else is passed over."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self, depth: int = 0) -> dict[tuple[int, ...], int]:
        if depth > 4:
            raise InputError("has a page's header that is nested too deeply")
        fields: dict[tuple[int, ...], int] = {}
        field = 0
        while (head := self._byte()) != 0:
            field = field + (head >> 4) if head >> 4 else self._number()
            kind = head & 15
            if kind in {4, 5, 6}:
                fields[field,] = self._number()
            elif kind == 12:
                fields |= {(field, *inner): number for inner, number in self.struct(depth + 1).items()}
            else:
                self._pass_over(kind)
        return fields

    def _pass_over(self, kind: int) -> None:
        if kind == 8:  # bytes
            length = self._plain()
            self.at += length
        elif kind not in {1, 2}:  # true and false have no bytes of their own
            raise InputError("has a page's header with an unknown field")

    def _byte(self) -> int:
        if self.at >= len(self.data):
            raise InputError("has a page's header that is cut off")
        self.at += 1
        return self.data[self.at - 1]

    def _plain(self) -> int:
        number = place = 0
        while (byte := self._byte()) & 0x80:
            number |= (byte & 0x7F) << place
            place += 7
        return number | byte << place

    def _number(self) -> int:
        plain = self._plain()
        return (plain >> 1) ^ -(plain & 1)
