"""Keyword queries proposed for a claim: a precise, a balanced and a broad one, each a quorum of its most telling units.

A.2 wants names first, then the words that carry the relation or action, then the whole sentence. A quorum does all
three: a post counts if it has two of the claim's few rarest units, or three of some more. The rarest unit is always
among them and never forced: people leave it out. Where a unit stands is a matter of one threshold t: k units are
enough if each of them is telling enough that k of its kind reach t. So a wider proposal finds whatever a narrower
one finds, and the number of posts that somebody is willing to read decides. A unit that the archive lacks is the most
telling of all, for queries are also asked elsewhere; but nobody knows how many posts it has, so it is never enough alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from covmis_build.errors import InputError
from covmis_build.errors import counted as so_many
from covmis_build.queries.units import Unit, units_of
from covmis_build.report.result import Result
from covmis_build.text.nodes import Node, Or, Term, at_least, conjunction_count, joined
from covmis_build.text.tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.archive.counted import SamplePost
    from covmis_build.archive.words import Words
    from covmis_build.report.summary import Summary

Width = Literal["precise", "balanced", "broad"]
WIDTHS: tuple[Width, ...] = ("precise", "balanced", "broad")
READ = (5, 25, 100)
"""Posts that the precise, the balanced and the broad query are to find at most."""

UNITS, UNSEEN, LARGEST = 12, 4, 3
"""At most so many units of a claim are requested, so many of them that the archive lacks, and so many together."""

MOST_CONJUNCTIONS = 400
"""Plain searches that a proposal may represent on a platform; forms of words go first where it is more."""


class Quorum(NamedTuple):
    """So many of the claim's `of` most telling units."""

    least: int
    of: int

    def asks(self, known: list[Unit]) -> list[int]:
        """Which units count for it; where one is enough, those alone that the archive has."""
        return [at for at, unit in enumerate(known[: self.of]) if unit.seen or self.least > 1]

    def is_in(self, narrower: Quorum, known: list[Unit]) -> bool:
        """Whether posts that have so many units always have enough of the narrower quorum's."""
        further = len(self.asks(known)) - len(narrower.asks(known))
        return self.least - further >= narrower.least


@dataclass(frozen=True, slots=True)
class Proposal:
    """A query for a claim: what it finds here, and why it is what it is."""

    width: Width
    expression: str
    posts: int | None
    """None where there is no archive yet."""
    reason: str
    samples: list[SamplePost]


@dataclass(frozen=True, slots=True)
class UnitShown:
    """A part of the claim as it is requested, and the posts that have it."""

    unit: str
    forms: list[str]
    posts: int


@dataclass(frozen=True, slots=True, repr=False)
class Suggestions(Result):
    """The proposals for a claim, the narrowest first, and the units that they are made of, the most telling first."""

    claim: str
    proposals: list[Proposal]
    units: list[UnitShown]
    posts_in_archive: int

    def to_frame(self) -> pd.DataFrame:
        """A row a proposal: width, expression, posts, reason."""
        import pandas as pd

        rows = [[row.width, row.expression, row.posts, row.reason] for row in self.proposals]
        return pd.DataFrame(rows, columns=["width", "expression", "posts", "reason"])

    def to_dict(self) -> dict[str, Any]:
        """As `covmis queries suggest --json` tells them."""
        suggestions = [
            {
                "expression": row.expression, "width": row.width, "posts": row.posts, "reason": row.reason,
                "samples": [post._asdict() for post in row.samples],
            }
            for row in self.proposals
        ]  # fmt: skip
        return {
            "claim": self.claim,
            "posts_in_archive": self.posts_in_archive,
            "suggestions": suggestions,
            "units": [asdict(unit) for unit in self.units],
        }

    @property
    def summary(self) -> Summary:
        """Each proposal with its reason and samples, then the units with their forms."""
        lines, there, last = [], {proposal.width: proposal for proposal in self.proposals}, ""
        for width in WIDTHS if there else ():
            if proposal := there.get(width):
                lines += [f"{width}: {proposal.expression}", f"    {proposal.reason}"]
                lines += [f"    {post.line}" for post in proposal.samples]
                last = width
            else:
                lines.append(f"{width}: as {last}")
        units = [f"{unit.posts:>9,}  {' OR '.join(unit.forms)}" for unit in self.units]
        return [*lines, *(["Posts that contain each of these words:"] if units else []), *units]


def suggest(
    text: str, index: Words, *, language: str = "en", read: Sequence[int] = READ, samples: int = 2, counted: bool = True
) -> Suggestions:  # fmt: skip
    """Proposals for a claim; `counted` is false where the index is not of posts, but only tells how rare words are."""
    if len(read) != len(WIDTHS) or list(read) != sorted(read) or read[0] < 1:
        raise InputError("the posts to read are three ascending numbers", remedy="Write them like 5,25,100")
    units = units_of(text, index, language)
    known = _asked_for(units)
    proposals: dict[str, Proposal] = {}
    for width, quorums in zip(WIDTHS, _profiles(known, read, counted=counted), strict=True):
        node = bounded(known, quorums) if known else _of_unknown(text, units)
        if node is None:
            break
        rows = index.rows(node) if counted else None
        posts = None if rows is None else len(rows)
        shown = [] if rows is None else index.posts.samples([rows], samples)[0]
        reason = _reason(known, quorums, posts) if known else "no part of the claim is in the archive"
        proposals.setdefault(str(node), Proposal(width, str(node), posts, reason, shown))
    listed = [
        UnitShown(" ".join(unit.words), [str(way) for way in unit.ways], len(unit.rows)) for unit in units
    ]
    return Suggestions(text, list(proposals.values()), listed, index.size if counted else 0)


def _asked_for(units: list[Unit]) -> list[Unit]:
    """The most telling units, the most telling first; none where the archive has none of them."""
    unseen = [unit.words for unit in units if not unit.seen][UNSEEN:]
    known = [unit for unit in units if unit.words not in unseen][:UNITS]
    return known if any(unit.seen for unit in known) else []


def _profiles(known: list[Unit], read: Sequence[int], *, counted: bool) -> list[tuple[Quorum, ...]]:
    """For each width, the widest quorums that find no more posts than one wants to read; at least one post, if any."""
    if not known:
        return [()] * len(read)
    if not counted:
        fixed = ((3, 5), (2, 4), (2, 6))
        return [(Quorum(min(least, len(known)), min(of, len(known))),) for least, of in fixed]
    has_unit = posts_by_units(known)
    found = [(quorums, count) for quorums in thresholds(known) if (count := _count(has_unit, quorums))]
    return [
        max((entry for entry in found if entry[1] <= size), key=lambda entry: entry[1], default=found[0])[0]
        for size in read
    ]


def thresholds(known: list[Unit]) -> Iterator[tuple[Quorum, ...]]:
    """Quorums from narrow to wide: k of the units that weigh t / k, for every t at which something changes."""
    weights = [unit.weight for unit in known]
    before: tuple[Quorum, ...] = ()
    for least_sum in sorted({k * weight for k in range(1, LARGEST + 1) for weight in weights}, reverse=True):
        quorums: list[Quorum] = []
        for k in range(1, LARGEST + 1):
            enough = sum(weight >= least_sum / k - 1e-9 for weight in weights)
            quorum = Quorum(k, enough)
            further = not quorums or enough > quorums[-1].of
            if (
                len(quorum.asks(known)) >= k
                and further
                and not any(quorum.is_in(other, known) for other in quorums)
            ):
                quorums.append(quorum)
        if quorums and tuple(quorums) != before:
            before = tuple(quorums)
            yield before


def posts_by_units(known: list[Unit]) -> NDArray[np.int8]:
    """For each post with any unit, how many of the first 1, 2, … units it has."""
    posts = np.unique(np.concatenate([unit.rows for unit in known]))
    has_unit = np.zeros((len(posts), len(known)), np.int8)
    for column, unit in enumerate(known):
        has_unit[np.searchsorted(posts, unit.rows), column] = 1
    return has_unit.cumsum(axis=1, dtype=np.int8)


def _count(has_unit: NDArray[np.int8], quorums: Sequence[Quorum]) -> int:
    return int(np.logical_or.reduce([has_unit[:, of - 1] >= least for least, of in quorums]).sum())


def bounded(known: list[Unit], quorums: Sequence[Quorum]) -> Node:
    """The query of these quorums; forms of words are omitted, the rarest first, while it represents too many searches."""
    ways = [list(unit.ways) for unit in known]
    while True:
        parts = [joined(Or, forms) for forms in ways]
        node = joined(
            Or, [at_least(quorum.least, [parts[at] for at in quorum.asks(known)]) for quorum in quorums]
        )
        longest = max(ways, key=len)
        if conjunction_count(node) <= MOST_CONJUNCTIONS or len(longest) == 1:
            return node
        longest.pop()


def _of_unknown(text: str, units: list[Unit]) -> Node | None:
    """Of a claim whose units nobody wrote yet: half of them, at most three; of one without units, its words side by side."""
    if units:
        few = units[:UNITS]
        return at_least(min(LARGEST, (len(few) + 1) // 2), [unit.node for unit in few])
    cut = tuple(tokens(text))
    return Term(cut) if cut else None


def _reason(known: list[Unit], quorums: Sequence[Quorum], posts: int | None) -> str:
    """Why this query, in a line."""
    said = []
    for quorum in quorums:
        asked = [known[at].shown for at in quorum.asks(known)]
        how = f"{quorum.least} of" if quorum.least < len(asked) else "all of" if quorum.least > 1 else "has"
        said.append(f"{how} {', '.join(asked)}")
    finds = so_many(posts, "posts") if posts is not None else "no archive yet, rarity from the claim list"
    return f"{finds}: {'; or '.join(said)}"
