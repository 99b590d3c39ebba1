"""Measures built from each class's precision, recall and false positives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from covmis_build.evaluation.measure import Measure, Need, Policy, mean_of
from covmis_build.stats.confusion import ratio

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from covmis_build.stats.confusion import Counts

    Array = NDArray[np.float64]

SCARTON = "Scarton et al. 2020"
AMEMIYA = "Amemiya & Sakai 2021"


def accuracy(counts: Counts, _undefined: Policy, _weights: Array | None) -> Array:
    """The share of right items."""
    return ratio(counts.correct, counts.total)


def macro_precision(counts: Counts, undefined: Policy, _weights: Array | None) -> Array:
    """The mean precision of the classes."""
    return mean_of(counts.precision, undefined)


def macro_recall(counts: Counts, undefined: Policy, _weights: Array | None) -> Array:
    """The mean recall of the classes."""
    return mean_of(counts.recall, undefined)


def macro_f1(counts: Counts, undefined: Policy, _weights: Array | None) -> Array:
    """The mean F1 of the classes."""
    return mean_of(counts.f1, undefined)


def macro_f2(counts: Counts, undefined: Policy, _weights: Array | None) -> Array:
    """The mean F2 of the classes."""
    return mean_of(counts.f2, undefined)


def f1_of_means(counts: Counts, undefined: Policy, _weights: Array | None) -> Array:
    """F1 of the mean precision and the mean recall: never below macro-F1."""
    precision, recall = mean_of(counts.precision, undefined), mean_of(counts.recall, undefined)
    both = precision + recall
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(both == 0, 0.0, 2 * precision * recall / both)


def gmr(counts: Counts, undefined: Policy, _weights: Array | None) -> Array:
    """The geometric mean of the recalls, by logarithms; exactly 0 where a class is never found."""
    recall = np.nan_to_num(counts.recall, nan=0.0) if undefined == "zero" else counts.recall
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(mean_of(np.log(recall), undefined)))


def wauc(counts: Counts, undefined: Policy, weights: Array | None) -> Array:
    """The weighted mean of each class's area under its one-point ROC polygon, (1 + recall - false positives) / 2.

    The paper lists the polygon's last vertex as (0, 1), whose area is the complement; (1, 0) is meant.
    """
    recall, false = counts.recall, counts.false_positive_rate
    if undefined == "zero":
        recall, false = np.nan_to_num(recall, nan=0.0), np.nan_to_num(false, nan=0.0)
    return mean_of((1 + recall - false) / 2, undefined, weights)


def wf1(counts: Counts, undefined: Policy, weights: Array | None) -> Array:
    """The weighted mean F1."""
    return mean_of(counts.f1, undefined, weights)


def wf2(counts: Counts, undefined: Policy, weights: Array | None) -> Array:
    """The weighted mean F2."""
    return mean_of(counts.f2, undefined, weights)


WEIGHTED: frozenset[Need] = frozenset({"class_weights"})
MEASURES = (
    Measure("accuracy", "ACC", "Accuracy", SCARTON, accuracy, latex="ACC"),
    Measure(
        "macro_precision", "P^M", "Macro precision", "COVMis-Stance 2022", macro_precision, latex="$P^M$"
    ),
    Measure("macro_recall", "R^M", "Macro recall", "COVMis-Stance 2022", macro_recall, latex="$R^M$"),
    Measure("macro_f1", "mF1", "Macro F1", SCARTON, macro_f1, latex="$\\mathcal{F}_1$"),
    Measure(
        "f1_of_means",
        "F1(P,R)",
        "F1 of the mean precision and recall",
        AMEMIYA,
        f1_of_means,
        latex="$\\mathbb{F}_1$",
    ),
    Measure("macro_f2", "mF2", "Macro F2", SCARTON, macro_f2, latex="$\\mathcal{F}_2$"),
    Measure("gmr", "GMR", "Geometric mean of recalls", SCARTON, gmr, latex="GMR"),
    Measure("wauc", "wAUC", "Weighted area under the curve", SCARTON, wauc, needs=WEIGHTED, latex="$w$AUC"),
    Measure("wf1", "wF1", "Weighted F1", SCARTON, wf1, needs=WEIGHTED, latex="$wF_1$"),
    Measure("wf2", "wF2", "Weighted F2", SCARTON, wf2, needs=WEIGHTED, latex="$wF_2$"),
)
