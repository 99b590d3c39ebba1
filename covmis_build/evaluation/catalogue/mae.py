"""The mean absolute error of ordered classes: over items, or over gold classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from covmis_build.evaluation.measure import Citation, Measure, Need, Undefined, mean_of
from covmis_build.stats.confusion import ratio

if TYPE_CHECKING:
    from covmis_build.evaluation.measure import Array
    from covmis_build.stats.confusion import Counts


def _distances(counts: Counts) -> Array:
    """Sum of the distances per gold class; a missing prediction has the largest possible distance."""
    rows = [
        sum((abs(g - p) * counts.cells[g, p] for p in range(counts.classes)), np.zeros_like(counts.total))
        for g in range(counts.classes)
    ]
    if counts.unanswered is not None:
        far = [max(g, counts.classes - 1 - g) for g in range(counts.classes)]
        rows = [row + far[g] * counts.unanswered[g] for g, row in enumerate(rows)]
    return np.stack(rows)


def mae_micro(counts: Counts) -> Array:
    """The mean distance between prediction and gold over all items."""
    return ratio(_distances(counts).sum(axis=0), counts.total)


def mae_macro(counts: Counts, policy: Undefined) -> Array:
    """The mean over gold classes of their mean distance; a class without gold items is left out."""
    # 0 would reward a class for being absent
    without_absent = Undefined.NAN if policy is Undefined.NAN else Undefined.SKIP
    return mean_of(ratio(_distances(counts), counts.gold), without_absent)


UNBOUNDED = (0.0, float("inf"))
ORDERED = frozenset({Need.ORDER})
AMEMIYA = Citation("amemiya2021")
MEASURES = (
    Measure(
        "mae_macro",
        "MAE^M",
        "Macro-averaged mean absolute error",
        AMEMIYA,
        mae_macro,
        "mean over gold classes of their mean distance",
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
        "mean distance over items",
        range=UNBOUNDED,
        higher_is_better=False,
        needs=ORDERED,
        latex="$MAE^\\mu$",
    ),
)
