"""Measures of how far off a prediction is, for classes in an order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from covmis_build.evaluation.measure import Measure, Need, Policy, mean_of
from covmis_build.stats.confusion import ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from covmis_build.stats.confusion import Counts

    Array = NDArray[np.float64]

AMEMIYA = "Amemiya & Sakai 2021"


def _distances(counts: Counts) -> Array:
    """Per gold class, the sum of the distances of its items; an unanswered item is as far off as can be."""
    rows = [
        sum((abs(g - p) * counts.cells[g, p] for p in range(counts.classes)), np.zeros_like(counts.total))
        for g in range(counts.classes)
    ]
    if counts.unanswered is not None:
        far = [max(g, counts.classes - 1 - g) for g in range(counts.classes)]
        rows = [row + far[g] * counts.unanswered[g] for g, row in enumerate(rows)]
    return np.stack(rows)


def mae_micro(counts: Counts, _undefined: Policy, _weights: Array | None) -> Array:
    """The mean distance between prediction and gold over all items."""
    return ratio(_distances(counts).sum(axis=0), counts.total)


def mae_macro(counts: Counts, undefined: Policy, _weights: Array | None) -> Array:
    """The mean over the gold classes of their mean distance; a class that gold lacks has none to add."""
    policy: Policy = "nan" if undefined == "nan" else "skip"  # 0 would reward a class for being absent
    return mean_of(ratio(_distances(counts), counts.gold), policy)


def cem_ord(counts: Counts, _undefined: Policy, _weights: Array | None) -> Array:
    """The closeness evaluation measure (Amigó et al. 2020): errors across rare classes cost little information."""
    gained = np.zeros_like(counts.total)
    attainable = np.zeros_like(counts.total)
    for g in range(counts.classes):
        attainable += _weighted(_proximity(counts, g, g), counts.gold[g])
        for p in range(counts.classes):
            gained += _weighted(_proximity(counts, p, g), counts.cells[g, p])
    return ratio(gained, attainable)


def _proximity(counts: Counts, said: int, gold: int) -> Array:
    """-log2 of the share of items between: half of the class said, and all after it up to the gold class."""
    between = counts.gold[said] / 2
    step = 1 if gold > said else -1
    for c in range(said + step, gold + step, step) if gold != said else ():
        between = between + counts.gold[c]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-np.log2(between / counts.total))


def _weighted(proximity: Array, cell: Array) -> Array:
    # An empty cell may stand beside an infinite proximity; it weighs nothing.
    return np.where(cell > 0, np.where(cell > 0, proximity, 0.0) * cell, 0.0)


ORDERED: frozenset[Need] = frozenset({"order"})
UNBOUNDED = (0.0, float("inf"))
MEASURES = (
    Measure(
        "mae_macro",
        "MAE^M",
        "Macro-averaged mean absolute error",
        AMEMIYA,
        mae_macro,
        range=UNBOUNDED,
        higher_is_better=False,
        needs=ORDERED,
        latex="$MAE^M$",
    ),
    Measure(
        "mae_micro",
        "MAE^μ",
        "Mean absolute error",
        AMEMIYA,
        mae_micro,
        range=UNBOUNDED,
        higher_is_better=False,
        needs=ORDERED,
        latex="$MAE^\\mu$",
    ),
    Measure(
        "cem_ord",
        "CEM-ORD",
        "Closeness evaluation measure",
        AMEMIYA,
        cem_ord,
        needs=ORDERED,
        latex="$CEM^{ORD}$",
    ),
)
