"""Accuracy: the share of correct items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.evaluation.measure import Citation, Measure
from covmis_build.stats.confusion import ratio

if TYPE_CHECKING:
    from covmis_build.evaluation.measure import Array
    from covmis_build.stats.confusion import Counts


def accuracy(counts: Counts) -> Array:
    """The share of correct items."""
    return ratio(counts.correct, counts.total)


MEASURES = (
    Measure("accuracy", "ACC", "Accuracy", Citation("scarton2020"), accuracy, "Σ TP / N", latex="ACC"),
)
