"""Agreement beyond chance between system and gold: kappa, alpha, MCC."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from covmis_build.evaluation.measure import Measure, Need, Policy
from covmis_build.stats.confusion import ratio

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from covmis_build.stats.confusion import Counts

    Array = NDArray[np.float64]
    Distance = Callable[[int, int], float]

AMEMIYA = "Amemiya & Sakai 2021"


def _kappa(counts: Counts, distance: Distance) -> Array:
    """1 - N·sum(W M) / sum(W G Q): undefined only if both margins are one and the same class."""
    observed = np.zeros_like(counts.total)
    expected = np.zeros_like(counts.total)
    for g in range(counts.classes):
        for p in range(counts.classes):
            if g != p:
                observed += distance(g, p) * counts.cells[g, p]
                expected += distance(g, p) * counts.gold[g] * counts.predicted[p]
    if counts.unanswered is not None:  # an answer of its own, as far from the gold class as a class can be
        silent = counts.unanswered.sum(axis=0)
        for g in range(counts.classes):
            far = max(distance(g, 0), distance(g, counts.classes - 1))
            observed += far * counts.unanswered[g]
            expected += far * counts.gold[g] * silent
    return 1 - ratio(counts.total * observed, expected)


def kappa(counts: Counts, _undefined: Policy, _weights: Array | None) -> Array:
    """Cohen's kappa."""
    return _kappa(counts, lambda _g, _p: 1.0)


def kappa_linear(counts: Counts, _undefined: Policy, _weights: Array | None) -> Array:
    """Kappa with the distance of the classes as weight."""
    return _kappa(counts, lambda g, p: float(abs(g - p)))


def kappa_quadratic(counts: Counts, _undefined: Policy, _weights: Array | None) -> Array:
    """Kappa with the squared distance of the classes as weight."""
    return _kappa(counts, lambda g, p: float((g - p) ** 2))


def _alpha(cells: Array, squared: Callable[[Array, int, int], Array | float]) -> Array:
    """Krippendorff's alpha of two raters without gaps; undefined if all 2N values are one class."""
    values = cells.sum(axis=0) + cells.sum(axis=1)
    pairs = values.sum(axis=0) - 1  # 2N - 1
    observed = np.zeros_like(pairs)
    expected = np.zeros_like(pairs)
    for c in range(len(cells)):
        for d in range(c + 1, len(cells)):
            distance = squared(values, c, d)
            observed += (cells[c, d] + cells[d, c]) * distance
            expected += values[c] * values[d] * distance
    return 1 - ratio(observed * pairs, expected)


def alpha_nominal(counts: Counts, _undefined: Policy, _weights: Array | None) -> Array:
    """Alpha where every disagreement counts the same."""
    cells = counts.cells
    if counts.unanswered is not None:  # one more class, which gold never has
        shape = (counts.classes + 1, counts.classes + 1, *counts.total.shape)
        cells = np.zeros(shape)
        cells[:-1, :-1], cells[:-1, -1] = counts.cells, counts.unanswered
    return _alpha(cells, lambda _values, _c, _d: 1.0)


def alpha_ordinal(counts: Counts, _undefined: Policy, _weights: Array | None) -> Array:
    """Alpha with the squared difference of midranks."""
    return _alpha(
        counts.farthest_filled,
        lambda values, c, d: (values[c : d + 1].sum(axis=0) - (values[c] + values[d]) / 2) ** 2,
    )


def alpha_interval(counts: Counts, _undefined: Policy, _weights: Array | None) -> Array:
    """Alpha with the squared distance of the classes."""
    return _alpha(counts.farthest_filled, lambda _values, c, d: float((c - d) ** 2))


def mcc(counts: Counts, _undefined: Policy, _weights: Array | None) -> Array:
    """Matthews' correlation for any number of classes (R_K); undefined if either margin is one class."""
    n = counts.total
    given = (counts.predicted**2).sum(axis=0)
    if counts.unanswered is not None:
        given = given + counts.unanswered.sum(axis=0) ** 2
    covariance = n * counts.correct - (counts.gold * counts.predicted).sum(axis=0)
    spread = (n**2 - given) * (n**2 - (counts.gold**2).sum(axis=0))
    return ratio(covariance, np.sqrt(np.maximum(spread, 0.0)))


ORDERED: frozenset[Need] = frozenset({"order"})
BEYOND = (-1.0, 1.0)
MEASURES = (
    Measure("kappa", "κ", "Cohen's kappa", "Cohen 1960", kappa, range=BEYOND, latex="$\\kappa$"),
    Measure(
        "kappa_linear",
        "κ-LIN",
        "Linearly weighted kappa",
        AMEMIYA,
        kappa_linear,
        range=BEYOND,
        needs=ORDERED,
        latex="$\\kappa_{lin}$",
    ),
    Measure(
        "kappa_quadratic",
        "κ-QUAD",
        "Quadratically weighted kappa",
        "Cohen 1968",
        kappa_quadratic,
        range=BEYOND,
        needs=ORDERED,
        latex="$\\kappa_{quad}$",
    ),
    Measure(
        "alpha_nominal",
        "α-NOM",
        "Krippendorff's alpha, nominal",
        "Krippendorff 2018",
        alpha_nominal,
        range=BEYOND,
        latex="$\\alpha$-NOM",
    ),
    Measure(
        "alpha_ordinal",
        "α-ORD",
        "Krippendorff's alpha, ordinal",
        AMEMIYA,
        alpha_ordinal,
        range=BEYOND,
        needs=ORDERED,
        latex="$\\alpha$-ORD",
    ),
    Measure(
        "alpha_interval",
        "α-INT",
        "Krippendorff's alpha, interval",
        AMEMIYA,
        alpha_interval,
        range=BEYOND,
        needs=ORDERED,
        latex="$\\alpha$-INT",
    ),
    Measure("mcc", "MCC", "Matthews correlation (R_K)", "Gorodkin 2004", mcc, range=BEYOND, latex="MCC"),
)
