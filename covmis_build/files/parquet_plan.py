"""How a Parquet file from others is read within a bound of memory: which texts as they are stored, and how many rows at a time.

A page of a few bytes can stand for gigabytes: texts are repeated by an index into a dictionary, or by the length of the beginning
that they share with the text before. Pages are counted before any is decompressed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, NamedTuple

from covmis_build.errors import InputError
from covmis_build.files.parquet_pages import BY_INDEX, DELTA_BYTE_ARRAY, pages
from covmis_build.files.sizes import OF_A_VALUE

if TYPE_CHECKING:
    import pyarrow.parquet as pq

ROWS = 1024
AT_ONCE = 64 << 20
"""Maximum expanded bytes of one row, and of rows that are read at a time."""
DECODED, HELD = 4 * AT_ONCE, 8 * AT_ONCE
"""Maximum bytes of the rows that are decoded at a time, and of the pages that are held for it."""
COPIED = 1 << 35
"""Maximum bytes of dictionaries that are copied, once for the rows that are decoded at a time."""
COPIES, OF_AN_ENTRY = 3, 64
"""How often a dictionary is in memory, and bytes of each entry besides its text."""
SHARED_TAKES = 4
"""Bytes that decoding takes for a byte of a text that shares its beginning."""
INDEX = 16
"""Bytes of a value that is no text of its own."""
TOO_MUCH = "is a table that amounts to too much for its size, or for memory"
DIVIDE = "If it is what it seems, divide it, or write it as CSV"
AS_TEXT = {"STRING", "NONE", "ENUM"}
"""Kinds of texts that can be read as they are stored."""


def too_much() -> InputError:
    """Return the error of a table that does not fit."""
    return InputError(TOO_MUCH, remedy=DIVIDE)


class Plan(NamedTuple):
    """Columns that are read as they are stored, each text once; and the rows to read at a time, for each group of rows."""

    as_stored: list[str]
    rows: list[int]


@dataclass(slots=True)
class _Part:
    """A column in a group of rows."""

    column: str
    text: bool
    length: int
    in_lists: bool
    values: int
    dictionary: int = 0
    entries: int = 0
    plain: int = 0
    longest: int = 0
    """Bytes of all pages of data, and of the largest."""
    indexed: bool = False
    sharing: bool = False

    def most(self, *, as_stored: bool) -> tuple[int, int]:
        """Return the most that a row, and all rows, can take when they are decoded."""
        if self.length:
            row, all_rows = self.length, self.length * self.values
        elif not self.text:
            row, all_rows = INDEX, INDEX * self.values
        elif as_stored:
            row, all_rows = INDEX + self.longest, INDEX * self.values + self.plain
        else:
            row = SHARED_TAKES * self.plain if self.sharing else self.longest
            row = INDEX + max(row, self.dictionary * self.indexed)
            all_rows = row * self.values if self.sharing or self.indexed else self.plain + INDEX * self.values
        return (all_rows if self.in_lists else min(row, all_rows)), all_rows


def plan(file: IO[bytes], parquet: pq.ParquetFile, room: int) -> Plan:
    """Return how to read the file, or raise the error that it amounts to more than `room` bytes or than memory."""
    groups = [_parts(file, parquet, group) for group in range(parquet.metadata.num_row_groups)]
    kinds: defaultdict[str, list[_Part]] = defaultdict(list)
    for part in (part for parts in groups for part in parts):
        kinds[part.column].append(part)
    leaves = (parquet.schema.column(at) for at in range(parquet.metadata.num_columns))
    as_stored = {
        leaf.path
        for leaf in leaves
        if leaf.logical_type.type in AS_TEXT
        and any(part.text and part.dictionary for part in kinds[leaf.path])
        and not any(part.sharing for part in kinds[leaf.path])
    }
    for part in (part for parts in groups for part in parts):
        _, all_rows = part.most(as_stored=part.column in as_stored)
        room -= max(OF_A_VALUE * part.values, all_rows * part.in_lists)
    if room < 0:
        raise too_much()
    copied, rows = 0, list[int]()
    for group, parts in enumerate(groups):
        dictionaries = sum(part.dictionary + OF_AN_ENTRY * part.entries for part in parts)
        held = sum(part.longest for part in parts) + COPIES * dictionaries
        most = [part.most(as_stored=part.column in as_stored) for part in parts]
        in_lists = sum(row for part, (row, _) in zip(parts, most, strict=True) if part.in_lists)
        if max(held, in_lists) > HELD:
            raise too_much()
        at_a_time = ROWS * min(32, 1 + (dictionaries >> 20))
        while at_a_time > 1 and sum(min(at_a_time * row, all_rows) for row, all_rows in most) > DECODED:
            at_a_time //= 2
        rows.append(at_a_time)
        copied += dictionaries * (parquet.metadata.row_group(group).num_rows // at_a_time)
        if copied > COPIED:
            raise too_much()
    return Plan(sorted(as_stored), rows)


def _parts(file: IO[bytes], parquet: pq.ParquetFile, group: int) -> list[_Part]:
    parts = list[_Part]()
    for at in range(parquet.metadata.num_columns):
        chunk, leaf = parquet.metadata.row_group(group).column(at), parquet.schema.column(at)
        length = leaf.length if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY" else 0
        text, in_lists = leaf.physical_type == "BYTE_ARRAY", bool(leaf.max_repetition_level)
        part = _Part(leaf.path, text, length, in_lists, 0)
        for page in pages(file, chunk):
            if page.dictionary:
                part.dictionary, part.entries = part.dictionary + page.size, part.entries + page.values
                continue
            part.values += page.values
            part.plain += page.size
            part.longest = max(part.longest, page.size)
            part.indexed |= page.encoding in BY_INDEX
            part.sharing |= page.encoding == DELTA_BYTE_ARRAY
        part.values = max(part.values, chunk.num_values)
        parts.append(part)
    return parts
