"""Exact inclusion probabilities of the paper (appendix A.3), and joint probabilities for fixed-size sampling.

Both designs give each kind its quota and then fill the claim up to its target from the rest. `poisson` decides every post
independently with probability p; `two_phase` samples the quota and then the rest without replacement. Probabilities and
expected sizes are equal, but the size of `two_phase` is fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError

if TYPE_CHECKING:
    Quota = int | Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Allocation:
    """The allocation for one claim, in exact numbers; kinds without posts are omitted."""

    counts: dict[str, int]
    first: dict[str, int]
    """Number of posts of each kind in the first phase: its quota, or all."""
    more: int
    """Number missing to the target, at most what remains (the paper's m)."""
    remaining: int
    """Number of posts left after the first phase (the paper's N_r)."""

    @property
    def fill(self) -> Fraction:
        """The probability of a remaining post in the second phase."""
        return Fraction(self.more, self.remaining) if self.more else Fraction(0)

    @property
    def size(self) -> int:
        """The expected size; exact for two_phase."""
        return sum(self.first.values()) + self.more

    def chance(self, kind: str) -> Fraction:
        """Return the inclusion probability of a post of this kind."""
        # p1 + p2 with p1 = 6/N and p2 = (1 - p1) m/N_r (A.3)
        first = Fraction(self.first[kind], self.counts[kind])
        return first + (1 - first) * self.fill

    def together(self, first_kind: str, second_kind: str) -> Fraction:
        """Return the probability that a two-phase draw includes two given posts, one of each of these kinds."""
        fill = self.fill
        both = Fraction(0)
        if self.remaining > 1:
            both = Fraction(self.more * (self.more - 1), self.remaining * (self.remaining - 1))
        if first_kind != second_kind:
            a, b = (Fraction(self.first[kind], self.counts[kind]) for kind in (first_kind, second_kind))
            return a * b + (a * (1 - b) + b * (1 - a)) * fill + (1 - a) * (1 - b) * both
        n, k = self.counts[first_kind], self.first[first_kind]
        if n < 2:
            raise InputError(f"the kind '{first_kind}' has one post; a pair needs two")
        pairs = k * (k - 1) + 2 * k * (n - k) * fill + (n - k) * (n - k - 1) * both
        return Fraction(pairs) / (n * (n - 1))


def allocate(counts: Mapping[str, int], per_kind: Quota = 6, per_claim: int = 24) -> Allocation:
    """Return the allocation for these counts.

    All posts of a claim with fewer than its target are taken. Quotas take precedence over the target: if they exceed it,
    the sum of quotas is the size.
    """
    counts = {kind: _count(number, f"the kind '{kind}'") for kind, number in counts.items()}
    counts = {kind: number for kind, number in counts.items() if number}
    target = _count(per_claim, "per_claim")
    # A kind with at most 6 posts is taken completely; of others 6, and the rest up to 24 from all that remain (A.3).
    first = {kind: min(number, _quota(per_kind, kind)) for kind, number in counts.items()}
    remaining = sum(counts.values()) - sum(first.values())
    more = min(max(target - sum(first.values()), 0), remaining)
    return Allocation(counts, first, more, remaining)


def inclusion_probabilities(
    counts: Mapping[str, int], per_kind: Quota = 6, per_claim: int = 24
) -> dict[str, float]:
    """Return each kind's probability of a post to be in the sample (appendix A.3).

    Computed with exact fractions and rounded once. A kind without posts has none.

    >>> inclusion_probabilities({"title": 3, "keywords": 63})
    {'title': 1.0, 'keywords': 0.3333333333333333}
    """
    drawn = allocate(counts, per_kind, per_claim)
    return {kind: float(drawn.chance(kind)) for kind in drawn.counts}


def joint_probabilities(
    counts: Mapping[str, int], per_kind: Quota = 6, per_claim: int = 24
) -> dict[tuple[str, str], float]:
    """Return the probability that a two-phase draw includes two given posts, for each pair of kinds.

    Two posts of one kind are under `(kind, kind)`, which exists only if the kind has two.

    >>> joint_probabilities({"title": 4, "news_url": 3, "keywords": 5}, per_kind=2, per_claim=7)["keywords", "keywords"]
    0.2
    """
    drawn = allocate(counts, per_kind, per_claim)
    return {
        (stratum, other): float(drawn.together(stratum, other))
        for stratum in drawn.counts
        for other in drawn.counts
        if stratum != other or drawn.counts[stratum] > 1
    }


def _quota(per_kind: Quota, kind: str) -> int:
    if isinstance(per_kind, Mapping):
        if kind not in per_kind:
            raise InputError(
                f"per_kind gives no quota for the kind '{kind}'", remedy="0 means no quota of its own"
            )
        return _count(per_kind[kind], f"the quota of '{kind}'")
    return _count(per_kind, "per_kind")


def _count(number: Any, what: str) -> int:
    """Check a number of posts. Counts from pandas may be floats, but must be whole."""
    try:
        whole = int(number)
    except (TypeError, ValueError, OverflowError):
        whole = -1
    if whole < 0 or whole != number:
        raise InputError(
            f"{what}: {number!r} is not a number of posts", remedy="Give a whole number, 0 or more"
        )
    return whole
