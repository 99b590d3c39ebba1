"""Learn queries for missed posts from posts labelled relevant that no query matches.

The queries are quorums as in `suggest`, with units that missed posts share and the claim's own. A unit's score depends on its
rarity in the archive and on its share of the missed posts, where each labelled post represents 1/p others. Among quorums
that match at most the wanted number of posts, the one with most missed posts is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from covmis_build.queries.suggest import (
    READ,
    UNITS,
    WIDTHS,
    Asked,
    Width,
    bounded,
    posts_by_units,
    thresholds,
)
from covmis_build.queries.units import units_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from covmis_build.archive.counted import Rows
    from covmis_build.archive.words import Words
    from covmis_build.queries.suggest import Quorum
    from covmis_build.queries.units import Unit

    Floats = NDArray[np.float64]
    Flags = NDArray[np.bool_]

SHOWN = 8
"""Maximum number of units reported per claim."""


class MissedPost(NamedTuple):
    """A relevant post that no query matches: its text, and the number of posts that it represents."""

    post_id: str
    text: str
    weight: float


class SharedUnit(NamedTuple):
    """A word or name, with its number of labelled missed posts and of archive posts."""

    unit: str
    missed: int
    posts: int


@dataclass(frozen=True, slots=True)
class LearnedQuery:
    """A query for missed posts."""

    width: Width
    expression: str
    posts: int
    """Number of archive posts that it matches."""
    missed: int
    """Number of labelled missed posts that it matches: too optimistic, because it was made from them."""
    held_out: int
    """Cross-validated number: missed posts that match a query made from the others."""


@dataclass(frozen=True, slots=True)
class Learned:
    """Common units of a claim's labelled missed posts, and queries for them."""

    posts: tuple[MissedPost, ...]
    shared: tuple[SharedUnit, ...]
    queries: tuple[LearnedQuery, ...]


def learn(
    claim: str, posts: Sequence[MissedPost], index: Words, *, language: str = "", read: Sequence[int] = READ
) -> Learned:
    """Return these posts' common units, and a query for each number of posts to read."""
    rows = index.posts.numbers([post.post_id for post in posts])
    weights = np.array([post.weight for post in posts], dtype=np.float64)
    units = _units([claim, *(post.text for post in posts)], index, language)
    of_claim = {unit.ways for unit in units_of(claim, index, language)}
    table = _Table(units, np.array([unit.ways in of_claim for unit in units], dtype=bool), rows, weights)
    everybody = np.ones(len(posts), dtype=bool)
    telling = table.telling(everybody)
    shared = [(unit, int(np.isin(rows, unit.rows).sum())) for unit in telling]
    shown = tuple(
        SharedUnit(" ".join(unit.words), missed, len(unit.rows)) for unit, missed in shared if missed
    )
    queries: dict[str, LearnedQuery] = {}
    for width, most in zip(WIDTHS, read, strict=True):
        quorums = table.best(telling, everybody, most)
        if not quorums:
            continue
        node = bounded(Asked(telling), quorums)
        finds = index.rows(node)
        held_out = sum(table.finds_without(at, most) for at in range(len(posts))) if len(posts) > 1 else 0
        learned = LearnedQuery(width, str(node), len(finds), int(np.isin(rows, finds).sum()), held_out)
        queries.setdefault(str(node), learned)
    return Learned(tuple(posts), shown[:SHOWN], tuple(queries.values()))


def _units(texts: Sequence[str], index: Words, language: str) -> list[Unit]:
    """Return the distinct units of these texts that occur in the archive."""
    known: dict[frozenset[object], Unit] = {}
    for text in texts:
        for unit in units_of(text, index, language):
            if unit.seen and (unit.name or not unit.common):
                known.setdefault(frozenset(unit.ways), unit)
    return list(known.values())


@dataclass(frozen=True, slots=True)
class _Table:
    """The units, which of them are the claim's, and the labelled posts with numbers and weights."""

    units: list[Unit]
    of_claim: Flags
    rows: Rows
    weights: Floats

    def telling(self, known: Flags) -> list[Unit]:
        """Return the most informative units of these posts: rare in the archive, frequent in missed posts.

        The claim's own units count as if one more post had them. A unit of a single post is not informative about others.
        """
        own = self.weights[known].mean()
        chosen = []
        for unit, of_claim in zip(self.units, self.of_claim, strict=True):
            has = np.isin(self.rows[known], unit.rows)
            if not of_claim and has.sum() < min(2, known.sum()):
                continue
            share = (self.weights[known][has].sum() + of_claim * own) / (self.weights[known].sum() + own)
            chosen.append(unit._replace(weight=unit.weight * float(share)))
        return sorted(chosen, key=lambda unit: (-unit.weight, unit.words))[:UNITS]

    def best(self, telling: list[Unit], known: Flags, most: int) -> tuple[Quorum, ...]:
        """Return the quorum with most missed posts among those with at most `most` matches; of equal ones the narrowest."""
        if not telling:
            return ()
        whole, mine = posts_by_units(telling), self._of_mine(telling)
        most_found = 0.0
        best: tuple[Quorum, ...] = ()
        for quorums in thresholds(Asked(telling)):
            count = int(_hits(whole, quorums).sum())
            worth = float(self.weights[known & _hits(mine, quorums)].sum())
            if 0 < count <= most and worth > most_found:
                most_found, best = worth, quorums
        return best

    def finds_without(self, at: int, most: int) -> bool:
        """True if a query made from the other posts matches this one."""
        others = np.arange(len(self.rows)) != at
        telling = self.telling(others)
        quorums = self.best(telling, others, most)
        return bool(quorums and _hits(self._of_mine(telling), quorums)[at])

    def _of_mine(self, telling: list[Unit]) -> NDArray[np.int8]:
        has = np.column_stack([np.isin(self.rows, unit.rows) for unit in telling])
        return has.cumsum(axis=1, dtype=np.int8)


def _hits(has_unit: NDArray[np.int8], quorums: Sequence[Quorum]) -> Flags:
    hits: Flags = np.logical_or.reduce([has_unit[:, of - 1] >= least for least, of, _ in quorums])
    return hits
