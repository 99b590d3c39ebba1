"""The closeness evaluation measure for ordered classes: errors across rare classes cost little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from covmis_build.evaluation.measure import Citation, Measure, Need
from covmis_build.stats.confusion import ratio

if TYPE_CHECKING:
    from covmis_build.evaluation.measure import Array
    from covmis_build.stats.confusion import Counts


def cem_ord(counts: Counts) -> Array:
    """The closeness of the predictions to gold, divided by the closeness of gold to itself (Amigó et al. 2020)."""
    gained = np.zeros_like(counts.total)
    attainable = np.zeros_like(counts.total)
    for g in range(counts.classes):
        attainable += _weighted(_proximity(counts, g, g), counts.gold[g])
        for p in range(counts.classes):
            gained += _weighted(_proximity(counts, p, g), counts.cells[g, p])
    return ratio(gained, attainable)


def _proximity(counts: Counts, said: int, gold: int) -> Array:
    """-log2 of the share of items in between: half of the predicted class, and all classes after it up to gold's."""
    between = counts.gold[said] / 2
    step = 1 if gold > said else -1
    for c in range(said + step, gold + step, step) if gold != said else ():
        between = between + counts.gold[c]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-np.log2(between / counts.total))


def _weighted(proximity: Array, cell: Array) -> Array:
    # An empty cell may have infinite proximity; its weight is zero.
    return np.where(cell > 0, np.where(cell > 0, proximity, 0.0) * cell, 0.0)


MEASURES = (
    Measure(
        "cem_ord",
        "CEM-ORD",
        "Closeness evaluation measure",
        Citation("amemiya2021", about="CEM-ORD, of Amigó et al. 2020"),
        cem_ord,
        "Σ prox M / Σ prox G; prox(p, g) = -log2((G_p / 2 + Σ G after p, up to g) / N)",
        needs=frozenset({Need.ORDER}),
        latex="$CEM^{ORD}$",
    ),
)
