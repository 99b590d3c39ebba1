"""An index of words: posts with given words and phrases, frequencies, and the most similar posts.

It covers words of texts only; `matching` decides what a query matches, including URLs and titles.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_left
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from covmis_build import checked_parquet, tables
from covmis_build.archive import words_file
from covmis_build.archive.counted import CountedPosts
from covmis_build.engine.port import silent
from covmis_build.text.nodes import Address, And, AtLeast, Node, Not, Or, Term, all_leaves, has_letters

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from covmis_build.archive.counted import Flags, Rows
    from covmis_build.engine import Progress
    from covmis_build.text.numbering import Numbered

K1, B, LEAST_IDF = 1.2, 0.75, 1e-6
"""BM25 with the parameters of SQLite's full-text search."""


class _Segment(NamedTuple):
    """The words of some posts, which of these count, and the number of the first."""

    words: Numbered
    counts: Flags
    first: int
    numbers: dict[str, int]

    @property
    def size(self) -> int:
        return len(self.counts)

    def number(self, word: str) -> int:
        """Return the number of a word; 0 if no text has it."""
        if word not in self.numbers:
            at, words = _place(self.words.words, word), self.words.words
            self.numbers[word] = at + 1 if at < len(words) and words[at].as_py() == word else 0
        return self.numbers[word]

    def occurrences(self, cut: tuple[str, ...]) -> Rows:
        """Return the texts with a word or phrase, once per occurrence, ascending."""
        numbers = [self.number(word) for word in cut]
        if not all(numbers):
            return np.empty(0, np.int64)
        first, start, tokens = self.words.first, self.words.start, self.words.tokens
        having = [self.words.texts[first[number - 1] : first[number]] for number in numbers]
        if len(cut) == 1:
            return having[0].astype(np.int64)
        candidates = _in_each(having).astype(np.int64)
        sizes = start[candidates + 1] - start[candidates]
        inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        at = np.repeat(start[candidates], sizes) + inside
        for place, number in enumerate(numbers):  # the word after the last one is another, or the text ends
            at = at[tokens[at + place] == number]
        texts: Rows = np.searchsorted(start, at, "right") - 1
        return texts

    def mask(self, node: Node, known: Mapping[Node, Flags]) -> Flags:
        """Return which texts satisfy a node. For some leaves `known` has the posts."""
        if isinstance(node, Term | Address) and node in known:
            return known[node][self.first : self.first + self.size]
        match node:
            case Term(cut):
                return self._with([cut])
            case Or(parts):
                plain = [part for part in parts if isinstance(part, Term) and part not in known]
                others = [self.mask(part, known) for part in parts if part not in plain]
                return functools.reduce(np.logical_or, others, self._with(term.tokens for term in plain))
            case And(parts):
                return functools.reduce(np.logical_and, (self.mask(part, known) for part in parts))
            case AtLeast(least, parts):
                times = np.zeros(self.size, np.int32)
                for part in parts:
                    times += self.mask(part, known)
                return times >= least
            case Not(absent):
                return ~self.mask(absent, known)
            case Address():
                raise TypeError("an address is no word")

    def _with(self, terms: Iterable[tuple[str, ...]]) -> Flags:
        mask = np.zeros(self.size, bool)
        for cut in terms:
            mask[self.occurrences(cut)] = True
        return mask

    def counted(self, term: Term) -> tuple[Rows, NDArray[np.int64]]:
        """Return the rows that count with a term in the text, ascending, and its frequency."""
        texts = self.occurrences(term.tokens)
        texts = texts[self.counts[texts]]
        new = np.flatnonzero(_changes(texts))
        return texts[new], np.diff(new, append=len(texts))


class Words:
    """The words of the posts that count. Their files are stored in a folder, and built if missing."""

    def __init__(self, posts: CountedPosts, folder: Path, progress: Progress = silent) -> None:
        self.posts, self.size = posts, posts.size
        self._segments: list[_Segment] = []
        self._lettered: dict[Term, Flags] = {}
        first = 0
        for at, part in enumerate(posts.parts):
            progress("indexing", at, len(posts.parts))
            for words in words_file.segments(part, folder):
                end = first + len(words.start) - 1
                self._segments.append(_Segment(words, posts.counts[first:end], first, {}))
                first = end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._segments.clear()
        self._lettered.clear()

    def rows(self, node: Node, pages: Mapping[Address, Rows] = MappingProxyType({})) -> Rows:
        """Return the numbers of the posts that satisfy a node, ascending; `pages` are those for its URLs."""
        terms = [leaf for leaf in all_leaves(node) if isinstance(leaf, Term) and leaf.letters]
        known: dict[Node, Flags] = {term: self._in_its_letters(term) for term in terms}
        known |= {page: self._flags(rows) for page, rows in pages.items()}
        if isinstance(node, Term) and node not in known:
            return self._all([segment.counted(node)[0] + segment.first for segment in self._segments])
        return self._all(
            [
                np.flatnonzero(segment.mask(node, known) & segment.counts) + segment.first
                for segment in self._segments
            ]
        )

    def _flags(self, rows: Rows) -> Flags:
        flags = np.zeros(len(self.posts.counts), bool)
        flags[rows] = True
        return flags

    def _in_its_letters(self, term: Term) -> Flags:
        """Return the posts with a term as its language writes it: first by tokens, then by exact characters."""
        if term not in self._lettered and term.letters is not None:
            rows = self.rows(Term(term.tokens))
            texts = self.posts.texts(rows)
            fitting = [has_letters(term.letters, text) for text in texts]
            self._lettered[term] = self._flags(rows[np.array(fitting, bool)])
        return self._lettered[term]

    def nearest(
        self, terms: Iterable[Term], most: int, *, besides: Rows | None = None
    ) -> list[tuple[str, float]]:
        """Return the posts with the highest BM25 scores for any of these terms, and the scores, best first.

        Returns `most` of all, and `most` of those not in `besides`, so that matched posts do not displace missed ones.
        Scores are rounded to six decimals and ties ordered by id, so that the order is the same on every machine.
        """
        numbers, scores = self._scores(list(dict.fromkeys(terms)))
        is_known = np.zeros(len(self.posts.counts) + 1, bool)
        is_known[besides if besides is not None else []] = True  # -1 is the last element, which is no post
        known = is_known[numbers]
        # including ties with the last one
        first = (scores >= _least(scores, most)) | (~known & (scores >= _least(scores[~known], most)))
        ids = self.posts.ids(numbers[first])
        posts = zip(ids, scores[first].tolist(), known[first].tolist(), strict=True)
        chosen, new = [], 0
        for at, (post_id, score, is_old) in enumerate(sorted(posts, key=lambda post: (-post[1], post[0]))):
            new += not is_old
            if at < most or (not is_old and new <= most):
                chosen.append((post_id, score))
        return chosen

    def _scores(self, terms: Sequence[Term]) -> tuple[Rows, NDArray[np.float64]]:
        """Return the posts with any of the terms, and their scores."""
        counted = [[segment.counted(term) for segment in self._segments] for term in terms]
        posts = [sum(len(texts) for texts, _ in each) for each in counted]
        idf = [max(math.log((self.size - count + 0.5) / (count + 0.5)), LEAST_IDF) for count in posts]
        numbers, scores = [], []
        for at, segment in enumerate(self._segments):
            sums, lengths = np.zeros(segment.size), self._lengths[at]
            for each, weight in zip(counted, idf, strict=True):
                texts, often = each[at]
                sums[texts] += weight * often * (K1 + 1) / (often + lengths[texts])
            scored = np.flatnonzero(sums)
            numbers.append(scored + segment.first)
            scores.append(sums[scored].round(6))
        return self._all(numbers), np.concatenate([np.empty(0), *scores])

    @functools.cached_property
    def _lengths(self) -> list[NDArray[np.float64]]:
        """Return BM25's length factor of each text."""
        lengths = [np.diff(segment.words.start) - 1 for segment in self._segments]
        pairs = zip(lengths, self._segments, strict=True)
        every = sum(int(words[segment.counts].sum()) for words, segment in pairs)
        mean = every / self.size if every else 1.0
        return [K1 * (1 - B + B * words / mean) for words in lengths]

    def frequency(self, token: str) -> int:
        """Return the number of posts with a token."""
        return len(self.rows(Term((token,))))

    def beginning_with(self, prefix: str) -> dict[str, int]:
        """Return the tokens with this prefix, and their numbers of posts."""
        known: dict[str, int] = {}
        for segment in self._segments:
            words, first = segment.words.words, segment.words.first
            begin, end = _place(words, prefix), _place(words, prefix + "\U0010ffff")
            texts = segment.words.texts[first[begin] : first[end]].astype(np.int64)
            word = np.repeat(np.arange(end - begin), np.diff(first[begin : end + 1]))
            new = _changes(texts) | _changes(word)
            posts = np.bincount(word[new & segment.counts[texts]], minlength=end - begin)
            for at in np.flatnonzero(posts).tolist():
                form = words[begin + at].as_py()
                known[form] = known.get(form, 0) + int(posts[at])
        return known

    def _all(self, numbers: Sequence[Rows]) -> Rows:
        return np.concatenate([np.empty(0, np.int64), *numbers])


def words_of(folder: Path, texts: Mapping[str, str]) -> Words:
    """Index the words of these texts by id; the files are stored in this folder."""
    from covmis_build.archive.post import Post  # imports all formats, which few callers need
    from covmis_build.archive.store import rows

    posts, path = [Post(post_id, "", "", text) for post_id, text in texts.items()], folder / "posts.parquet"
    if posts:
        checked_parquet.write(path, rows(posts, [0] * len(posts), [("", "")] * len(posts)))
    older = tables.SCHEMAS["older_copies"].empty_table()
    return Words(CountedPosts([path] * bool(posts), older), folder / words_file.FOLDER)


def _place(words: pa.LargeStringArray, word: str) -> int:
    """Return a word's position in sorted order, whether or not it is there."""
    return bisect_left(range(len(words)), word, key=lambda at: words[at].as_py())


def _in_each(ascending: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """Return the values common to all these arrays."""
    rarest, *others = sorted(ascending, key=len)
    left = rarest[_changes(rarest)]
    for texts in others:
        at = np.searchsorted(texts, left)
        left = left[texts[np.minimum(at, len(texts) - 1)] == left]
    return left


def _changes(values: NDArray[np.int64] | NDArray[np.uint32]) -> Flags:
    """Mark where the value changes."""
    new = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=new[1:])
    return new


def _least(scores: NDArray[np.float64], most: int) -> float:
    """Return the lowest of the `most` best scores."""
    return float(np.partition(scores, -most)[-most]) if len(scores) > most else -np.inf
