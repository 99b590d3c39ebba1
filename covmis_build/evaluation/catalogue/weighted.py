"""Means over the classes with the user's class weights, for example higher ones for rare classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from covmis_build.evaluation.measure import Citation, Measure, Need, Undefined, mean_of

if TYPE_CHECKING:
    from covmis_build.evaluation.measure import Array
    from covmis_build.stats.confusion import Counts


def wauc(counts: Counts, policy: Undefined, weights: Array) -> Array:
    """The weighted mean of each class's area under its one-point ROC polygon, (1 + recall - false positives) / 2.

    The paper lists the polygon's last vertex as (0, 1), whose area is the complement; (1, 0) is meant.
    """
    recall, false = counts.recall, counts.false_positive_rate
    if policy is Undefined.ZERO:
        recall, false = np.nan_to_num(recall, nan=0.0), np.nan_to_num(false, nan=0.0)
    return mean_of((1 + recall - false) / 2, policy, weights)


def wf1(counts: Counts, policy: Undefined, weights: Array) -> Array:
    """The weighted mean F1."""
    return mean_of(counts.f1, policy, weights)


def wf2(counts: Counts, policy: Undefined, weights: Array) -> Array:
    """The weighted mean F2."""
    return mean_of(counts.f2, policy, weights)


SCARTON = Citation("scarton2020")
GIVEN = frozenset({Need.CLASS_WEIGHTS})
MEASURES = (
    Measure(
        "wauc",
        "wAUC",
        "Weighted area under the curve",
        SCARTON,
        wauc,
        "Σ w (1 + R - FPR) / 2",
        needs=GIVEN,
        latex="$w$AUC",
    ),
    Measure("wf1", "wF1", "Weighted F1", SCARTON, wf1, "Σ w F1", needs=GIVEN, latex="$wF_1$"),
    Measure("wf2", "wF2", "Weighted F2", SCARTON, wf2, "Σ w F2", needs=GIVEN, latex="$wF_2$"),
)
