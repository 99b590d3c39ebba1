"""Poisson sampling: every item independently, by its permanent random number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.errors import InputError
from covmis_build.keyed import uniform

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from covmis_build.sampling.history import Past
    from covmis_build.sampling.inclusion import Allocation

NAME = "poisson"
FIXED_SIZE = False


def draw(kind_of: Mapping[str, str], allocation: Allocation, *, seed: int) -> set[str]:
    """Return the items whose permanent random number is below their kind's probability (appendix A.3).

    Strictly below, with numbers below 1: probability 1 always selects.
    """
    chance = {kind: float(allocation.chance(kind)) for kind in allocation.counts}
    return {item for item, kind in kind_of.items() if uniform(seed, "sampling", item) < chance[kind]}


def joins(
    claim: str,
    kind_of: Mapping[str, str],  # noqa: ARG001 - the designs' common signature
    allocation: Allocation,  # noqa: ARG001
    past: Past,
    drawn: set[str],  # noqa: ARG001
    *,
    seed: int,
) -> bool:
    """True for numbers with one seed: an item is in if its number is below any of its probabilities."""
    same_seed(claim, past, seed)
    return True


def variance(allocation: Allocation, kind: str) -> Fraction:
    """Return the variance of the number sampled of this kind."""
    p = allocation.chance(kind)
    return allocation.counts[kind] * p * (1 - p)


def same_seed(claim: str, past: Past, seed: int) -> None:
    """Check that a frozen Poisson item's number is below its probability; otherwise it came from another seed."""
    for item, row in past.items():
        if uniform(seed, "sampling", item) >= row["p_sample"]:
            raise InputError(
                f"claim {claim}: the frozen item {item} was not drawn with the seed {seed}: draws with different seeds have no known probability together",
                remedy="Set `seed` back to what it was when the round was opened",
            )
