"""Two-phase sampling: each kind's quota, then as many of the rest as are missing to the target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.errors import InputError
from covmis_build.keyed import order

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from covmis_build.sampling.history import Past
    from covmis_build.sampling.inclusion import Allocation

NAME = "two_phase"
FIXED_SIZE = True
CLOSE = 1e-9


def draw(kind_of: Mapping[str, str], allocation: Allocation, *, seed: int) -> set[str]:
    """Return each kind's quota, then as many of the rest as are missing to the target; the size is fixed.

    First phase: a kind's items with the smallest permanent random numbers. Second phase: the smallest of separate numbers among
    the rest; the first numbers again would disadvantage the rest of small kinds. A larger target includes everything that
    a smaller one sampled.
    """
    members: dict[str, list[str]] = {}
    for item, kind in kind_of.items():
        members.setdefault(kind, []).append(item)
    chosen: set[str] = set()
    for kind, items in members.items():
        chosen.update(order(seed, "sampling", items)[: allocation.first[kind]])
    rest = order(seed, "sampling, second phase", kind_of.keys() - chosen)
    return chosen.union(rest[: allocation.more])


def joins(
    claim: str,
    kind_of: Mapping[str, str],
    allocation: Allocation,
    past: Past,
    drawn: set[str],
    *,
    seed: int,  # noqa: ARG001 - the designs' common signature
) -> bool:
    """True if this draw includes the earlier one by construction. Refuses if neither is part of the other."""
    if not past or (past.keys() <= drawn and _same_posts(kind_of, allocation, past)):
        return True
    if len(past) >= allocation.size:
        return False
    raise InputError(
        f"claim {claim} has {len(past)} frozen items and should have {allocation.size}, but its posts, the seed, per_kind or strata_by changed since they were drawn: the probabilities of two such two-phase draws together are not known",
        remedy="Set per_claim back to what it was, or use the design poisson from the start",
    )


def variance(allocation: Allocation, kind: str) -> Fraction:
    """Return the variance of the number sampled of this kind, whose items are dependent."""
    p, number = allocation.chance(kind), allocation.counts[kind]
    return number * p * (1 - p) + number * (number - 1) * (
        allocation.together(kind, kind) - p * p if number > 1 else 0
    )


def _same_posts(kind_of: Mapping[str, str], allocation: Allocation, past: Past) -> bool:
    """True if the frozen probabilities belong to some target, not larger, over exactly these posts."""
    fills = set()
    for item, row in past.items():
        kind, p = kind_of[item], row["p_sample"]
        first = allocation.first[kind] / allocation.counts[kind]
        if first < 1:
            fills.add(round((p - first) / (1 - first) * allocation.remaining, 6))
        elif p < 1 - CLOSE:
            return False
    return all(fill == round(fill) and 0 <= fill <= allocation.more for fill in fills)
