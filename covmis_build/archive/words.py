"""Which posts of the archive have these words, phrases and addresses, and which are nearest to some words.

Only posts that `covmis run` could find count: of several copies the one that counts, reposts and times as the settings
say. A post is found by exactly those expressions that the matcher finds it by.
"""

from __future__ import annotations

import functools
import math
import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from covmis_build import tables
from covmis_build.archive import words_file
from covmis_build.archive.ids import post_at
from covmis_build.engine.port import silent
from covmis_build.text.expression import parse
from covmis_build.text.nodes import Address, And, AtLeast, Node, Not, Or, Term
from covmis_build.text.sites import REWRITTEN
from covmis_build.text.urls import addresses, canonical_url, telling_piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from covmis_build.archive.words_file import Segment
    from covmis_build.engine import Progress

Rows = NDArray[np.int64]
Flags = NDArray[np.bool_]

SPREAD = 2654435761
"""Knuth's multiplier: posts shown of a query are spread over the archive by it, without chance."""
K1, B, LEAST_IDF = 1.2, 0.75, 1e-6
"""BM25 as SQLite's full-text search has it."""


class SamplePost(NamedTuple):
    """A post that a query finds."""

    post_id: str
    created_at: str
    text: str

    @property
    def line(self) -> str:
        """The post in one line."""
        return f"{self.post_id}  {' '.join(self.text.split())[:120]}"


class Counting(NamedTuple):
    """Which posts count, as `[retrieval]` says: with `reposts` these, too; times from `since` to before `until`."""

    reposts: bool = False
    since: str = ""
    until: str = ""


class _Rows(NamedTuple):
    """A segment, where it lies in its part and among all rows, and which of its rows count."""

    segment: Segment
    part: Path
    begin: int
    first: int
    counts: Flags
    numbers: dict[str, int]

    @property
    def size(self) -> int:
        return len(self.counts)

    def number(self, word: str) -> int:
        """The number of a word; 0 if no text has it."""
        if word not in self.numbers:
            self.numbers[word] = _number(self.segment.words, word)
        return self.numbers[word]

    def texts_with(self, word: str) -> NDArray[np.uint32]:
        """The texts and titles with a word, as often as they have it."""
        number, first = self.number(word), self.segment.first
        return self.segment.texts[first[number - 1] : first[number]] if number else self.segment.texts[:0]

    def occurrences(self, cut: tuple[str, ...], texts: int) -> NDArray[np.int64]:
        """Of the first so many texts those with a word or phrase, as often as they have it, ascending."""
        if len(cut) == 1:
            having = self.texts_with(cut[0])
            end = np.searchsorted(having, np.uint32(texts))  # a number of another type would have all copied
            return having[:end].astype(np.int64)
        segment = self.segment
        numbers = [self.number(word) for word in cut]
        if not all(numbers):
            return np.empty(0, np.int64)
        have_all = functools.reduce(np.logical_and, (self.mask(Term((word,)), texts) for word in set(cut)))
        candidates = np.flatnonzero(have_all)
        sizes = segment.start[candidates + 1] - segment.start[candidates]
        inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        at = np.repeat(segment.start[candidates], sizes) + inside
        for place, number in enumerate(numbers):  # what is behind a word is another, or the end of its text
            at = at[segment.tokens[at + place] == number]
        texts_of: Rows = np.searchsorted(segment.start, at, "right") - 1
        return texts_of

    def mask(self, node: Node, texts: int, linked: dict[str, Rows] | None = None) -> Flags:
        """Which of the first so many texts satisfy a node; `linked` has the rows of addresses among all rows."""
        match node:
            case Term(cut):
                mask = np.zeros(texts, bool)
                mask[self.occurrences(cut, texts)] = True
                return mask
            case Address(key):
                mask = np.zeros(texts, bool)
                rows = (linked or {})[key]
                mask[rows[(rows >= self.first) & (rows < self.first + self.size)] - self.first] = True
                return mask
            case Not(absent):
                return ~self.mask(absent, texts, linked)
            case Or(parts):
                mask = np.zeros(texts, bool)
                for part in parts:
                    if isinstance(part, Term):
                        mask[self.occurrences(part.tokens, texts)] = True
                    else:
                        mask |= self.mask(part, texts, linked)
                return mask
            case And(parts):
                return functools.reduce(np.logical_and, (self.mask(part, texts, linked) for part in parts))
            case AtLeast(least, parts):
                times = np.zeros(texts, np.int32)
                for part in parts:
                    times += self.mask(part, texts, linked)
                return times >= least

    def satisfying(self, node: Node, kind: str, linked: dict[str, Rows]) -> Rows:
        """The rows that count and satisfy a node, among all rows; titles are looked for in each card's title, too."""
        if isinstance(node, Term) and kind != "title":
            return self.counted(node)[0] + self.first
        titled = self.segment.titled
        mask = self.mask(node, self.size + (len(titled) if kind == "title" else 0), linked)
        rows = mask[: self.size]
        rows[titled[np.flatnonzero(mask[self.size :])]] = True
        return np.flatnonzero(rows & self.counts) + self.first

    def counted(self, term: Term) -> tuple[Rows, NDArray[np.int64]]:
        """The rows that count and whose text has a term, ascending, and how often."""
        texts = self.occurrences(term.tokens, self.size)
        texts = texts[self.counts[texts]]
        new = np.flatnonzero(_changes(texts))
        return texts[new], np.diff(new, append=len(texts))

    def linking(self, pieces: Iterable[int]) -> list[NDArray[np.int64]]:
        """The rows that link to addresses with these pieces."""
        first, linking = self.segment.link_first, self.segment.linking
        return [linking[first[piece] : first[piece + 1]] for piece in pieces]


class Words:
    """The words of an archive's posts."""

    def __init__(
        self, folder: Path, parts: Sequence[str], older: pa.Table, counting: Counting = Counting(),  # noqa: B008 - constant
        unread: Sequence[str] = (), progress: Progress = silent,
    ) -> None:  # fmt: skip
        """`older` has the rows (part, row) that do not count, because another copy of their post does."""
        self.unread = list(unread)
        """What of the archive is not in it because it could not be read."""
        self._segments: list[_Rows] = []
        self._linked: dict[str, Rows] = {}
        first = 0
        for at, (part, lesser) in enumerate(zip(parts, _by_part(older, parts), strict=True)):
            progress("indexing", at, len(parts))
            path, begin = folder / f"{part}.parquet", 0
            for segment in words_file.segments(path, folder / words_file.FOLDER):
                size = len(segment.post_id)
                counts = segment.flags & words_file.CONTENT > 0
                if not counting.reposts:
                    counts &= segment.flags & words_file.REPOST == 0
                counts[lesser[(lesser >= begin) & (lesser < begin + size)] - begin] = False
                counts &= _within(segment.created_at, counting)
                self._segments.append(_Rows(segment, path, begin, first, counts, {}))
                begin, first = begin + size, first + size
        self._rows = first
        self.size = sum(int(rows.counts.sum()) for rows in self._segments)
        """The posts that count."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._segments.clear()

    def find(self, asked: Sequence[tuple[Node, str]]) -> list[Rows]:
        """The numbers of the posts that each node finds as a query of a kind, ascending."""
        self._look_for({leaf.key for node, _ in asked for leaf in _addresses_in(node)})
        return [
            self._all([rows.satisfying(node, kind, self._linked) for rows in self._segments])
            for node, kind in asked
        ]

    def rows(self, node: Node, kind: str = "keywords") -> Rows:
        """The numbers of the posts that a node finds, ascending."""
        return self.find([(node, kind)])[0]

    def count(self, expression: str, kind: str = "keywords") -> int:
        """How many posts an expression finds; titles are also looked for in link cards."""
        return len(self.rows(parse(expression).node, kind))

    def sample(self, expression: str, most: int = 5, kind: str = "keywords") -> list[SamplePost]:
        """Some of the posts, spread over the archive; always the same ones."""
        return self.samples([self.rows(parse(expression).node, kind)], most)[0]

    def samples(self, found: Sequence[Rows], most: int) -> list[list[SamplePost]]:
        """Some of each of these posts, spread over the archive."""
        chosen = [
            np.sort(rows[np.argsort((rows * SPREAD) % (1 << 32), kind="stable")[:most]]) for rows in found
        ]
        posts = iter(self._posts(self._all(chosen)))
        return [[next(posts) for _ in rows] for rows in chosen]

    def nearest(
        self, terms: Iterable[Term], most: int, *, besides: Rows | None = None
    ) -> list[tuple[str, float]]:
        """The posts with the highest BM25 score for any of these terms, and the scores, best first.

        `most` of all, and `most` of those that are not `besides`: what queries find does not crowd out what they miss.
        Scores are rounded to six decimals, ties go by id: the order is the same on every machine.
        """
        numbers, scores = self._scores(list(dict.fromkeys(terms)))
        is_known = np.zeros(self._rows + 1, bool)
        is_known[besides if besides is not None else []] = True  # -1 is the last, which is no post
        known = is_known[numbers]
        # with everybody who ties with the last
        first = (scores >= _least(scores, most)) | (~known & (scores >= _least(scores[~known], most)))
        ids = self._ids(numbers[first])
        posts = zip(ids, scores[first].tolist(), known[first].tolist(), strict=True)
        chosen, new = [], 0
        for at, (post_id, score, is_old) in enumerate(sorted(posts, key=lambda post: (-post[1], post[0]))):
            new += not is_old
            if at < most or (not is_old and new <= most):
                chosen.append((post_id, score))
        return chosen

    def _scores(self, terms: Sequence[Term]) -> tuple[Rows, NDArray[np.float64]]:
        """The posts with any of the terms, and their scores."""
        counted = [[rows.counted(term) for rows in self._segments] for term in terms]
        posts = [sum(len(texts) for texts, _ in each) for each in counted]
        idf = [max(math.log((self.size - count + 0.5) / (count + 0.5)), LEAST_IDF) for count in posts]
        numbers, scores = [], []
        for at, rows in enumerate(self._segments):
            sums, lengths = np.zeros(rows.size), self._lengths[at]
            for each, weight in zip(counted, idf, strict=True):
                texts, often = each[at]
                sums[texts] += weight * often * (K1 + 1) / (often + lengths[texts])
            scored = np.flatnonzero(sums)
            numbers.append(scored + rows.first)
            scores.append(sums[scored].round(6))
        return self._all(numbers), np.concatenate([np.empty(0), *scores])

    @functools.cached_property
    def _lengths(self) -> list[NDArray[np.float64]]:
        """What BM25 makes of the length of each text."""
        lengths = [np.diff(rows.segment.start[: rows.size + 1]) - 1 for rows in self._segments]
        every = sum(
            int(words[rows.counts].sum()) for words, rows in zip(lengths, self._segments, strict=True)
        )
        mean = every / self.size if every else 1.0
        return [K1 * (1 - B + B * words / mean) for words in lengths]

    def frequency(self, token: str) -> int:
        """In how many posts a token occurs."""
        return sum(len(rows.counted(Term((token,)))[0]) for rows in self._segments)

    def beginning_with(self, prefix: str) -> dict[str, int]:
        """The tokens that begin like this, and in how many posts they occur."""
        known: dict[str, int] = {}
        for rows in self._segments:
            words, first = rows.segment.words, rows.segment.first
            begin, end = _place(words, prefix), _place(words, prefix + "\U0010ffff")
            texts = rows.segment.texts[first[begin] : first[end]].astype(np.int64)
            word = np.repeat(np.arange(end - begin), np.diff(first[begin : end + 1]))
            inside = texts < rows.size
            texts, word = texts[inside], word[inside]
            new = _changes(texts) | _changes(word)
            posts = np.bincount(word[new & rows.counts[texts]], minlength=end - begin)
            for at in np.flatnonzero(posts).tolist():
                form = words[begin + at].as_py()
                known[form] = known.get(form, 0) + int(posts[at])
        return known

    def numbers(self, post_ids: Iterable[str]) -> Rows:
        """The numbers of these posts, in their order; -1 of one that does not count."""
        wanted = pa.array(list(post_ids), pa.large_string())
        different = wanted.unique()
        numbers = np.full(len(different), -1, np.int64)
        for rows in self._segments:
            place = pc.index_in(rows.segment.post_id, value_set=different)
            at = np.flatnonzero(np.asarray(place.is_valid()) & rows.counts)
            numbers[np.asarray(place.take(pa.array(at)))] = at + rows.first
        return numbers[np.asarray(pc.index_in(wanted, value_set=different))] if len(wanted) else numbers

    def addresses(self, post_ids: Iterable[str]) -> Iterator[set[str]]:
        """The pages that each of these posts links to."""
        numbers = self.numbers(post_ids)
        read = iter(self._read(numbers[numbers >= 0], ["text", "urls"]).to_pylist())
        for number in numbers.tolist():
            post: dict[str, Any] = next(read) if number >= 0 else {"text": "", "urls": []}
            yield {canonical_url(url) for url in (*post["urls"], *addresses(post["text"]))} - {""}

    def posts(self, post_ids: Iterable[str]) -> Iterator[SamplePost]:
        """These posts, as far as they count."""
        numbers = self.numbers(post_ids)
        return iter(self._posts(numbers[numbers >= 0]))

    def _posts(self, numbers: Rows) -> list[SamplePost]:
        columns = self._read(numbers, ["post_id", "created_at", "text"]).to_pydict()
        return [SamplePost(*post) for post in zip(*columns.values(), strict=True)]

    def _all(self, numbers: Sequence[Rows]) -> Rows:
        return np.concatenate([np.empty(0, np.int64), *numbers])

    def _inside(self, numbers: Rows) -> Iterator[tuple[_Rows, Rows]]:
        """Ascending numbers by segment, counted from its first row."""
        for rows in self._segments:
            begin, end = np.searchsorted(numbers, (rows.first, rows.first + rows.size))
            if begin < end:
                yield rows, numbers[begin:end] - rows.first

    def _ids(self, numbers: Rows) -> list[str]:
        """The ids of these rows."""
        different, back = np.unique(numbers, return_inverse=True)
        ids = [rows.segment.post_id.take(pa.array(mine)) for rows, mine in self._inside(different)]
        return list(pa.chunked_array(ids, pa.large_string()).take(pa.array(back)).to_pylist())

    def _read(self, numbers: Rows, columns: list[str]) -> pa.Table:
        """These columns of rows, in their order; every row group is read once."""
        if not len(numbers):
            return pa.table({name: pa.array([], pa.null()) for name in columns})
        different, back = np.unique(numbers, return_inverse=True)
        read = [pq.read_schema(self._segments[0].part).empty_table().select(columns)]
        for rows, rows_wanted in self._inside(different):
            with pq.ParquetFile(rows.part) as file:
                first = 0
                for group in range(file.num_row_groups):
                    size = file.metadata.row_group(group).num_rows
                    mine = rows_wanted + rows.begin - first
                    mine = mine[(mine >= 0) & (mine < size)]
                    if len(mine):
                        read.append(
                            file.read_row_group(group, columns, use_threads=False)
                            .select(columns)
                            .take(pa.array(mine))
                        )
                    first += size
        return pa.concat_tables(read).take(pa.array(back))

    def _look_for(self, keys: set[str]) -> None:
        """Find the rows that link to pages: those with a telling piece of the address are looked at in full."""
        keys -= self._linked.keys()
        if not keys:
            return
        linked: dict[str, list[int]] = {key: [] for key in keys}
        named = {post: key for key in keys if (post := post_at(key))}
        candidates = self._all(
            [some for rows in self._segments for some in self._candidates(rows, keys, named)]
        )
        candidates = np.unique(candidates)
        columns = ["post_id", "quote_of", "repost_of", "urls", "cards", "text"]
        for number, post in zip(
            candidates.tolist(), self._read(candidates, columns).to_pylist(), strict=True
        ):
            links = (*post["urls"], *(card["url"] for card in post["cards"]), *addresses(post["text"]))
            shown = {canonical_url(link) for link in links}
            shown |= {named.get(post[name], "") for name in ("post_id", "quote_of", "repost_of")}
            for key in shown & keys:
                linked[key].append(number)
        self._linked |= {key: np.array(rows, np.int64) for key, rows in linked.items()}

    def _candidates(self, rows: _Rows, keys: set[str], named: dict[str, str]) -> Iterator[Rows]:
        """Rows among all that may link to one of these pages, or be, quote or repost one of these posts."""
        links = rows.segment.links
        cores = {core for key in keys if (core := telling_piece(key))}
        hosts = {key.partition("/")[0].partition(":")[0] for key in keys if not telling_piece(key)}
        if any(map(_is_rewritten, hosts)):
            yield np.unique(rows.segment.linking) + rows.first
        pieces = [at - 1 for core in cores if (at := _number(links, core))]
        for host in hosts:
            alike = pc.match_substring(links, host.partition(".")[0], ignore_case=True)
            pieces += np.flatnonzero(np.asarray(alike)).tolist()
        yield from (some + rows.first for some in rows.linking(pieces))
        if named:
            posts = pa.array(list(named), pa.string())
            yield (
                np.flatnonzero(np.asarray(pc.is_in(rows.segment.post_id, posts.cast(pa.large_string()))))
                + rows.first
            )
            with pq.ParquetFile(rows.part) as file:
                whole = file.read(["quote_of", "repost_of"])
            for column in whole.slice(rows.begin, rows.size).columns:
                yield np.flatnonzero(np.asarray(pc.is_in(column, posts))) + rows.first


def words_of(folder: Path, texts: Mapping[str, str]) -> Words:
    """The words of these texts by their ids; the files are kept in this folder."""
    from covmis_build.archive.formats.post import Post  # all forms come with it, which few need
    from covmis_build.archive.store import rows

    posts = [Post(post_id, "", "", text) for post_id, text in texts.items()]
    if posts:
        pq.write_table(rows(posts, [0] * len(posts), [("", "")] * len(posts)), folder / "posts.parquet")
    return Words(folder, ["posts"] * bool(posts), tables.SCHEMAS["older_copies"].empty_table())


def _by_part(older: pa.Table, parts: Sequence[str]) -> list[Rows]:
    """For each part the numbers of its rows that do not count."""
    if not len(older):
        return [np.empty(0, np.int64) for _ in parts]
    of = np.asarray(
        pc.index_in(older["part"], value_set=pa.array(parts, pa.string())).fill_null(-1),
        np.int64,
    )
    order = np.argsort(of, kind="stable")
    begins = np.searchsorted(of[order], np.arange(len(parts) + 1))
    return np.split(np.asarray(older["row"], np.int64)[order], begins)[1:-1]


def _within(times: pa.LargeStringArray, counting: Counting) -> Flags | np.bool_:
    """Which of these times count."""
    if not counting.since and not counting.until:
        return np.True_
    after = pc.greater_equal(times, counting.since)
    before = pc.less(times, counting.until or "\U0010ffff")
    return np.asarray(pc.and_(pc.and_(after, before), pc.not_equal(times, "")))


def _place(words: pa.LargeStringArray, word: str) -> int:
    """Where a word is, or would be, in the order of these."""
    return bisect_left(range(len(words)), word, key=lambda at: words[at].as_py())


def _number(words: pa.LargeStringArray, word: str) -> int:
    """The number of a word, from 1; 0 if it is not there."""
    at = _place(words, word)
    return at + 1 if at < len(words) and words[at].as_py() == word else 0


def _changes(values: NDArray[np.int64]) -> Flags:
    """Where another value begins."""
    new = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return new


def _least(scores: NDArray[np.float64], most: int) -> float:
    """The score of the last that belongs to the `most` best."""
    return float(np.partition(scores, -most)[-most]) if len(scores) > most else -np.inf


def _addresses_in(node: Node) -> Iterator[Address]:
    match node:
        case Address():
            yield node
        case Not(absent):
            yield from _addresses_in(absent)
        case And(parts) | Or(parts) | AtLeast(_, parts):
            for part in parts:
                yield from _addresses_in(part)


def _is_rewritten(host: str) -> bool:
    """Whether addresses of a page at this host may not have the host in them."""
    label = host.partition(".")[0]
    return (
        ".".join(host.split(".")[-2:]) in REWRITTEN
        or "xn--" in host
        or not re.fullmatch("[A-Za-z0-9_-]+", label)
    )
