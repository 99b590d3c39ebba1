"""Krippendorff's alpha of system and gold: nominal, ordinal, interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from covmis_build.evaluation.measure import Citation, Measure, Need
from covmis_build.stats.coefficients import alpha_chance, corrected

if TYPE_CHECKING:
    from covmis_build.evaluation.measure import Array
    from covmis_build.stats.coefficients import Distance
    from covmis_build.stats.confusion import Counts


def _alpha(tables: Array, distance: Distance) -> Array:
    """Alpha of two raters without missing labels: each item's pair of labels counts in both orders."""
    return corrected(alpha_chance(tables + tables.swapaxes(-1, -2), distance))


def alpha_nominal(counts: Counts) -> Array:
    """Alpha in which all disagreements count the same. A missing prediction is an additional class, which gold never has."""
    tables = counts.tables
    if counts.unanswered is not None:
        tables = np.concatenate([tables, np.zeros_like(tables[..., :1, :])], axis=-2)
    return _alpha(tables, "nominal")


def alpha_ordinal(counts: Counts) -> Array:
    """Alpha with the squared difference of midranks."""
    return _alpha(np.moveaxis(counts.farthest_filled, (0, 1), (-2, -1)), "ordinal")


def alpha_interval(counts: Counts) -> Array:
    """Alpha with the squared distance of the classes."""
    return _alpha(np.moveaxis(counts.farthest_filled, (0, 1), (-2, -1)), "interval")


BEYOND = (-1.0, 1.0)
ORDERED = frozenset({Need.ORDER})
MEASURES = (
    Measure(
        "alpha_nominal",
        "α-NOM",
        "Krippendorff's alpha, nominal",
        Citation("krippendorff2018"),
        alpha_nominal,
        "1 - (2N - 1) Σ O d² / Σ n n d², d² = 1",
        range=BEYOND,
        latex="$\\alpha$-NOM",
    ),
    Measure(
        "alpha_ordinal",
        "α-ORD",
        "Krippendorff's alpha, ordinal",
        Citation("amemiya2021"),
        alpha_ordinal,
        "the same, d = difference of midranks",
        range=BEYOND,
        needs=ORDERED,
        latex="$\\alpha$-ORD",
    ),
    Measure(
        "alpha_interval",
        "α-INT",
        "Krippendorff's alpha, interval",
        Citation("amemiya2021"),
        alpha_interval,
        "the same, d = distance of the classes",
        range=BEYOND,
        needs=ORDERED,
        latex="$\\alpha$-INT",
    ),
)
