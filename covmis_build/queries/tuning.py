"""Tune a claim's keywords: compare their matches with the saved ones, and show each word's effect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from covmis_build.errors import InputError, counted
from covmis_build.queries.build import keywords_of
from covmis_build.report.result import Result
from covmis_build.report.summary import Listing
from covmis_build.text import turkish
from covmis_build.text.expression import parse
from covmis_build.text.nodes import And, AtLeast, Node, Not, Or, at_least, demands, joined, leaves

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from covmis_build.archive.counted import Rows
    from covmis_build.report.summary import Summary


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of deleting one word: posts that only it adds, posts that only it excludes, and the remaining query."""

    word: str
    adds: int
    keeps_out: int
    rest: str
    """Empty if no query remains."""


@dataclass(frozen=True, slots=True, repr=False)
class Tuned(Result):
    """The matches of keywords: total, those not matched by the saved ones, and those matched only by the saved ones."""

    expression: str
    posts: int
    new: int
    lost: int
    posts_in_archive: int
    words: list[Effect]
    saved: bool
    """True if there are saved keywords for comparison."""

    @property
    def summary(self) -> Summary:
        """Return one row per word, then the counts."""
        rows = [(effect.word, effect.adds, effect.keeps_out) for effect in self.words]
        of = f"{counted(self.posts, 'posts')} of {self.posts_in_archive:,}"
        compared = self.saved and (self.new or self.lost)
        changed = f"; {self.new:,} new, {self.lost:,} lost against the saved keywords" if compared else ""
        return [Listing(("word", "posts it adds", "posts it keeps out"), rows), f"{of}{changed}."]


def read_keywords(lines: Sequence[str], language: str = "") -> Node | None:
    """Combine several queries, one per line; None for no text. Lines without a language have this one."""
    nodes = []
    for words, own in map(keywords_of, lines):
        if words.strip():
            nodes.append(turkish.in_language(parse(words).node, own or language))
    return joined(Or, nodes) if nodes else None


def effects(node: Node, rows: Rows, find: Callable[[Node], Rows]) -> list[Effect]:
    """Return each word of the query with the posts that only it adds, and those that only it excludes."""
    changes = []
    for word in dict.fromkeys(_words(node)):
        rest = without(node, word)
        if rest is None or not demands(rest):
            changes.append(Effect(str(word), len(rows), 0, ""))
            continue
        others = find(rest)
        both = len(np.intersect1d(rows, others, assume_unique=True))
        changes.append(Effect(str(word), len(rows) - both, len(others) - both, str(rest)))
    return changes


def without(node: Node, word: Node) -> Node | None:
    """Return the query without one word; None if nothing is left. A quorum never requires more parts than it has."""
    if node == word:
        return None
    match node:
        case And(parts):
            left = [part for each in parts if (part := without(each, word)) is not None]
            return joined(And, left) if left else None
        case Or(parts):  # an alternative with only exclusions is dropped
            kept = [part for each in parts if (part := without(each, word)) is not None and demands(part)]
            return joined(Or, kept) if kept else None
        case AtLeast(least, parts):
            left = list(dict.fromkeys(part for each in parts if (part := without(each, word)) is not None))
            return at_least(min(least, len(left)), left) if left else None
    return node


def _words(node: Node) -> Iterator[Node]:
    yield from leaves(node)
    yield from _absent(node)


def _absent(node: Node) -> Iterator[Not]:
    match node:
        case Not():
            yield node
        case And(parts) | Or(parts) | AtLeast(_, parts):
            for part in parts:
                yield from _absent(part)


def lines_of(keywords: str | Iterable[str]) -> list[str]:
    """Return keywords with one query per line, from a text or several."""
    texts = [keywords] if isinstance(keywords, str) else keywords
    return [" ".join(line.split()) for text in texts for line in text.splitlines() if line.strip()]


def readable_keywords(keywords: str | Iterable[str]) -> list[str]:
    """Return keywords as stored in the claim list, after checking each line; no keywords are an empty list."""
    kept = lines_of(keywords)
    for line in kept:
        try:
            parse(keywords_of(line)[0])
        except InputError as error:
            raise InputError(f"the keywords '{line[:80]}': {error.problem}", remedy=error.remedy) from None
    return kept


def excludes_from_one(line: str) -> bool:
    """True if a query excludes something from only some of its alternatives, which is rarely intended.

    >>> excludes_from_one("a OR b -c"), excludes_from_one("(a OR b) -c"), excludes_from_one("(a -c) OR (b -c)")
    (True, False, False)
    """
    try:
        node = read_keywords([line])
    except InputError:
        return False
    alternatives = node.parts if isinstance(node, Or) else ()
    excluding = [
        isinstance(each, And) and any(isinstance(part, Not) for part in each.parts) for each in alternatives
    ]
    return any(excluding) and not all(excluding)
