"""The two ways to draw: who is in, given an allocation and everyone's permanent numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.keyed import order, uniform

if TYPE_CHECKING:
    from collections.abc import Mapping

    from covmis_build.sampling.inclusion import Allocation


def poisson(kind_of: Mapping[str, str], drawn: Allocation, *, seed: int) -> set[str]:
    """The items whose permanent number is less than their kind's probability (appendix A.3).

    Strictly less, of numbers below 1: a probability of 1 always selects.
    """
    chance = {kind: float(drawn.chance(kind)) for kind in drawn.counts}
    return {item for item, kind in kind_of.items() if uniform(seed, "sampling", item) < chance[kind]}


def two_phase(kind_of: Mapping[str, str], drawn: Allocation, *, seed: int) -> set[str]:
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
        chosen.update(order(seed, "sampling", items)[: drawn.first[kind]])
    rest = order(seed, "sampling, second phase", kind_of.keys() - chosen)
    return chosen.union(rest[: drawn.more])
