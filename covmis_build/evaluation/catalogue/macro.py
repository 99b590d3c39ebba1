"""Unweighted means over the classes: precision, recall, F1, F2, and F1 of the two means."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from covmis_build.evaluation.measure import Citation, Measure, Undefined, mean_of

if TYPE_CHECKING:
    from covmis_build.evaluation.measure import Array
    from covmis_build.stats.confusion import Counts


def macro_precision(counts: Counts, policy: Undefined) -> Array:
    """The mean precision of the classes."""
    return mean_of(counts.precision, policy)


def macro_recall(counts: Counts, policy: Undefined) -> Array:
    """The mean recall of the classes."""
    return mean_of(counts.recall, policy)


def macro_f1(counts: Counts, policy: Undefined) -> Array:
    """The mean F1 of the classes."""
    return mean_of(counts.f1, policy)


def macro_f2(counts: Counts, policy: Undefined) -> Array:
    """The mean F2 of the classes."""
    return mean_of(counts.f2, policy)


def f1_of_means(counts: Counts, policy: Undefined) -> Array:
    """F1 of the mean precision and the mean recall: never below macro-F1."""
    precision, recall = mean_of(counts.precision, policy), mean_of(counts.recall, policy)
    both = precision + recall
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(both == 0, 0.0, 2 * precision * recall / both)


SCARTON = Citation("scarton2020")
COVMIS = Citation("covmis2022")
MEASURES = (
    Measure("macro_precision", "P^M", "Macro precision", COVMIS, macro_precision, "mean of P", latex="$P^M$"),
    Measure("macro_recall", "R^M", "Macro recall", COVMIS, macro_recall, "mean of R", latex="$R^M$"),
    Measure("macro_f1", "mF1", "Macro F1", SCARTON, macro_f1, "mean of F1", latex="$\\mathcal{F}_1$"),
    Measure(
        "f1_of_means",
        "F1(P,R)",
        "F1 of the mean precision and recall",
        Citation("amemiya2021"),
        f1_of_means,
        "F1 of mean P and mean R; 0 if both are 0",
        latex="$\\mathbb{F}_1$",
    ),
    Measure("macro_f2", "mF2", "Macro F2", SCARTON, macro_f2, "mean of F2", latex="$\\mathcal{F}_2$"),
)
