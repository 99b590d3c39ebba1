"""Dawid and Skene's model, as a check where three or more people labelled. Gold does not come from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from covmis_build.annotation.label_matrix import LabelMatrix


class EstimatedAccuracy(Struct, frozen=True):
    """How often the model thinks that somebody is right."""

    annotator: str
    estimated_accuracy: float


class Doubt(Struct, frozen=True):
    """An item for which the model prefers another label than most people."""

    item: str
    label: str
    probability: float


class SecondOpinion(Struct, frozen=True):
    """What the model says of people, and of items."""

    annotators: list[EstimatedAccuracy]
    against_most: list[Doubt]


def second_opinion(matrix: LabelMatrix) -> SecondOpinion | None:
    """Fit the model to these labels; None where fewer than three people labelled."""
    import numpy as np

    from covmis_build.stats.coefficients import label_counts
    from covmis_build.stats.dawid_skene import dawid_skene

    if len(matrix.people) < 3 or len(matrix.classes) < 2:
        return None
    counts = label_counts(matrix.codes, len(matrix.classes))
    fitted = dawid_skene(matrix.codes, len(matrix.classes))
    best = fitted.labels.argmax(1)
    most = counts.max(1)
    doubted = np.flatnonzero((counts.sum(1) > 2) & (counts[np.arange(len(best)), best] < most))
    return SecondOpinion(
        [
            EstimatedAccuracy(who, float(value))
            for who, value in zip(matrix.people, fitted.accuracy, strict=True)
        ],
        [
            Doubt(matrix.items[at], matrix.classes[best[at]], float(fitted.labels[at, best[at]]))
            for at in doubted
        ],
    )
