"""Two phases: as many of each kind as its quota, then as many of the rest as the target lacks."""

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
    """Each kind's quota, then as many of the rest as the target lacks; the size is always the same.

    First phase: the items of a kind with the smallest permanent numbers. Second phase: the smallest numbers of
    their own among the rest; with those of the first phase again, small kinds' leftovers would be held back. A
    greater target keeps everyone a smaller one drew.
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
    seed: int,  # noqa: ARG001 - as all designs are called
) -> bool:
    """Whether this draw contains the earlier one by its construction; refuse if neither ends it."""
    if not past or (past.keys() <= drawn and _same_posts(kind_of, allocation, past)):
        return True
    if len(past) >= allocation.size:
        return False
    raise InputError(
        f"claim {claim} has {len(past)} frozen items and should have {allocation.size}, but its posts, the seed, per_kind or strata_by changed since they were drawn: nobody knows the probabilities of both two-phase draws together",
        remedy="Set per_claim back to what it was, or use the design poisson from the start",
    )


def variance(allocation: Allocation, kind: str) -> Fraction:
    """Of the number drawn of this kind, whose items are not drawn independently."""
    p, number = allocation.chance(kind), allocation.counts[kind]
    return number * p * (1 - p) + number * (number - 1) * (
        allocation.together(kind, kind) - p * p if number > 1 else 0
    )


def _same_posts(kind_of: Mapping[str, str], allocation: Allocation, past: Past) -> bool:
    """Whether the frozen probabilities are each those of some target, no greater, over exactly these posts."""
    fills = set()
    for item, row in past.items():
        kind, p = kind_of[item], row["p_sample"]
        first = allocation.first[kind] / allocation.counts[kind]
        if first < 1:
            fills.add(round((p - first) / (1 - first) * allocation.remaining, 6))
        elif p < 1 - CLOSE:
            return False
    return all(fill == round(fill) and 0 <= fill <= allocation.more for fill in fills)
