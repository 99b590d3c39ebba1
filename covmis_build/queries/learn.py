"""Queries for what was missed: learned from posts that people called relevant and that no query finds.

The same quorums as `suggest` proposes, of the units that the missed posts share and the claim's own. A unit counts by how
rare it is in the archive and by how much of what is missed has it: each labelled post represents 1/p others. Of the
quorums that find no more posts than one wants to read, the one that finds most of what is missed is taken.
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
"""How many units of a claim are reported."""


class MissedPost(NamedTuple):
    """A post that people called relevant and no query finds: its text, and how many such posts it represents."""

    post_id: str
    text: str
    weight: float


class SharedUnit(NamedTuple):
    """A word or name, how many of the labelled missed posts have it, and how many posts of the archive."""

    unit: str
    missed: int
    posts: int


@dataclass(frozen=True, slots=True)
class LearnedQuery:
    """A query that finds what was missed."""

    width: Width
    expression: str
    posts: int
    """Posts of the archive that it finds."""
    missed: int
    """How many of the labelled missed posts it finds: too many, as it was made of them."""
    held_out: int
    """How many of them a query finds that was made in the same way of the others."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What the labelled missed posts of a claim share, and queries that would find them."""

    posts: tuple[MissedPost, ...]
    shared: tuple[SharedUnit, ...]
    queries: tuple[LearnedQuery, ...]


def learn(
    claim: str, posts: Sequence[MissedPost], index: Words, *, language: str = "", read: Sequence[int] = READ
) -> Learned:
    """What these posts share, and a query for each number of posts that one is willing to read."""
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
    """The units of all these texts that the archive has, each once."""
    known: dict[frozenset[object], Unit] = {}
    for text in texts:
        for unit in units_of(text, index, language):
            if unit.seen and (unit.name or not unit.common):
                known.setdefault(frozenset(unit.ways), unit)
    return list(known.values())


@dataclass(frozen=True, slots=True)
class _Table:
    """Units, which of them are the claim's own, and the labelled posts: their numbers in the index and their weights."""

    units: list[Unit]
    of_claim: Flags
    rows: Rows
    weights: Floats

    def telling(self, known: Flags) -> list[Unit]:
        """The most telling units of these posts: rare in the archive, shared by much of what is missed.

        The claim's own count as if one more post had them. A unit of one post alone says nothing of the others.
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
        """Of the quorums that find at most so many posts, the one that finds most of what is missed; of equals the narrowest."""
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
        """Whether a query made of the other posts finds this one."""
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
