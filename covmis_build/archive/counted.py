"""The posts that count: of several copies the one that `covmis run` uses, with reposts and times as set.

A post's number is the position of its row among the rows of all parts of the store.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from covmis_build import checked_parquet, tables
from covmis_build.text.urls import addresses, canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]

SPREAD = 2654435761
"""Knuth's multiplier. It spreads example posts of a query over the archive without random numbers."""


class SamplePost(NamedTuple):
    """An example post that a query matches."""

    post_id: str
    created_at: str
    text: str

    @property
    def line(self) -> str:
        """Return the post in one line."""
        return f"{self.post_id}  {' '.join(self.text.split())[:120]}"


class Counting(NamedTuple):
    """Which posts count according to `[retrieval]`: reposts only with `reposts`, times from `since` to before `until`."""

    reposts: bool = False
    since: str = ""
    until: str = ""

    @property
    def columns(self) -> list[str]:
        """The columns that decide whether a row counts, apart from other copies."""
        return ["has_content", "repost_of", *(["created_at"] if self.since or self.until else [])]

    def flags(self, rows: pa.Table) -> Flags:
        """Mark the rows that count."""
        counts = tables.numbers(rows["has_content"])
        if not self.reposts:
            counts = counts & tables.numbers(pc.equal(rows["repost_of"], tables.text("")))
        if self.since or self.until:
            times = rows["created_at"]
            counts = counts & tables.numbers(pc.greater_equal(times, tables.text(self.since)))
            before = pc.less(times, tables.text(self.until or "\U0010ffff"))
            counts &= tables.numbers(pc.and_(before, pc.not_equal(times, tables.text(""))))
        return counts


class Group(NamedTuple):
    """A row group of a part: its index there, and the numbers of its rows."""

    part: Path
    group: int
    first: int
    end: int


def groups_of(parts: Iterable[Path]) -> list[Group]:
    """Return the row groups of these parts, whose files are checked."""
    groups, end = list[Group](), 0
    for part in parts:
        with checked_parquet.reading(part) as file:
            for number in range(file.num_row_groups):
                first, end = end, end + file.metadata.row_group(number).num_rows
                groups.append(Group(part, number, first, end))
    return groups


def rows_of(group: Group, columns: Sequence[str]) -> pa.Table:
    """Read these columns of a row group, including rows that do not count."""
    with checked_parquet.reading(group.part, whole=False) as file:  # `CountedPosts` has checked it
        return file.read_row_group(group.group, list(columns), use_threads=False).select(columns)


KEPT = 32
"""Row groups kept in memory, about 4 MB each, because users try several queries. A part's name identifies its content."""
_kept_rows = functools.lru_cache(2 * KEPT)(rows_of)
"""Cached columns for matching and for examples."""


class CountedPosts:
    """The posts of an archive that count."""

    def __init__(
        self,
        parts: Sequence[Path],
        older: pa.Table,
        counting: Counting = Counting(),  # noqa: B008 - constant
        unread: Sequence[str] = (),
    ) -> None:
        """`older` has the rows (part, row) that do not count because another copy of their post does."""
        self.parts, self.unread = list(parts), list(unread)
        """`unread` says what of the archive is not in it because it could not be read."""
        self.groups, self._begins = groups_of(self.parts), list[int]()
        flags, end = [np.empty(0, bool)], 0
        for part in self.parts:
            self._begins.append(end)
            with checked_parquet.reading(part) as file:
                flags.append(counting.flags(file.read(counting.columns, use_threads=False)))
            end += len(flags[-1])
        self.counts = np.concatenate(flags)
        """Of each row whether it counts."""
        self.counts[self.at(older)] = False
        self.size = int(self.counts.sum())
        """How many count."""

    def rows(self, group: Group, columns: Sequence[str]) -> pa.Table:
        """Read these columns of a row group; a few are cached."""
        return (_kept_rows if len(self.groups) <= KEPT else rows_of)(group, tuple(columns))

    def at(self, rows: pa.Table) -> Rows:
        """Return the numbers of rows given by part and position."""
        parts = tables.column([part.stem for part in self.parts], tables.STRING)
        part = tables.numbers(pc.index_in(rows["part"], value_set=parts))
        numbers: Rows = np.array(self._begins, np.int64)[part] + tables.numbers(rows["row"])
        return numbers

    def numbers(self, post_ids: Iterable[str]) -> Rows:
        """Return the numbers of these posts in the same order; -1 for one that does not count."""
        wanted = tables.column(list(post_ids), tables.STRING)
        different = wanted.unique()
        numbers = np.full(len(different), -1, np.int64)
        place = pc.index_in(self._ids, value_set=different)
        at = np.flatnonzero(tables.numbers(place.is_valid()) & self.counts)
        numbers[tables.numbers(place.take(tables.column(at, tables.COUNT)))] = at
        return numbers[tables.numbers(pc.index_in(wanted, value_set=different))] if len(wanted) else numbers

    def ids(self, numbers: Rows) -> list[str]:
        """Return the ids of these posts."""
        return list(self._ids.take(tables.column(numbers, tables.COUNT)).to_pylist())

    @functools.cached_property
    def _ids(self) -> pa.ChunkedArray:
        chunks = (chunk for group in self.groups for chunk in rows_of(group, ["post_id"])["post_id"].chunks)
        return pa.chunked_array(chunks, pa.string())

    def by_id(self, post_ids: Iterable[str]) -> list[SamplePost]:
        """Return these posts if they count."""
        numbers = self.numbers(post_ids)
        return self._posts(numbers[numbers >= 0])

    def texts(self, numbers: Rows) -> list[str]:
        """Return the texts of these posts."""
        return [text or "" for text in self._read(numbers, ["text"])["text"].to_pylist()]

    def addresses(self, post_ids: Iterable[str]) -> Iterator[set[str]]:
        """Return the URLs that each of these posts links to."""
        numbers = self.numbers(post_ids)
        links = iter(self._read(numbers[numbers >= 0], ["text", "urls"]).to_pylist())
        for number in numbers.tolist():
            post: dict[str, Any] = next(links) if number >= 0 else {"text": "", "urls": []}
            yield {canonical_url(url) for url in (*post["urls"], *addresses(post["text"]))} - {""}

    def samples(self, of_each: Sequence[Rows], most: int) -> list[list[SamplePost]]:
        """Return examples of each set of posts, spread over the archive; always the same ones."""
        chosen = [
            np.sort(rows[np.argsort((rows * SPREAD) % (1 << 32), kind="stable")[:most]]) for rows in of_each
        ]
        posts = iter(self._posts(np.concatenate([np.empty(0, np.int64), *chosen])))
        return [[next(posts) for _ in rows] for rows in chosen]

    def _posts(self, numbers: Rows) -> list[SamplePost]:
        columns = self._read(numbers, ["created_at", "text"]).to_pydict()
        return [SamplePost(*post) for post in zip(self.ids(numbers), *columns.values(), strict=True)]

    def _read(self, numbers: Rows, columns: list[str]) -> pa.Table:
        """Read these columns of posts in order; every row group is read once."""
        different, back = np.unique(numbers, return_inverse=True)
        parts = []
        for group in self.groups:
            begin, end = np.searchsorted(different, (group.first, group.end))
            if begin < end:
                parts.append(
                    self.rows(group, columns).take(
                        tables.column(different[begin:end] - group.first, tables.COUNT)
                    )
                )
        empty = pa.table({name: pa.nulls(0) for name in columns})
        return pa.concat_tables(parts).take(tables.column(back, tables.COUNT)) if parts else empty
