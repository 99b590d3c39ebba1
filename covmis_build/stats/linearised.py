"""Variances of measures of a confusion matrix when items had different probabilities (evaluation.md, 3).

Two matrices say all that a Poisson sample says: A, the weights 1/π summed by cell, and S, (1-π)/π² summed by cell.
A measure f(A) has the variance Σ G² S with G its gradient; other designs need each item's own G instead.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from covmis_build.errors import InputError
from covmis_build.stats.horvitz_thompson import Design, Estimate, effective_size, logit_interval, reach_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Measure = Callable[[Floats], float]

STEP = 1e-3
"""The relative step of the five-point derivative: its error is of order STEP⁴, as is that of rounding."""


def cells(labels: Sequence[str], gold: Sequence[str], predicted: Sequence[str]) -> NDArray[np.intp]:
    """Each item's cell in the flattened confusion matrix, gold in rows."""
    at = {label: number for number, label in enumerate(labels)}
    for label in (*gold, *predicted):
        if label not in at:
            raise InputError(f"the label '{label}' is not one of {', '.join(labels)}")
    pairs = zip(gold, predicted, strict=True)
    return np.array([at[one] * len(labels) + at[other] for one, other in pairs], dtype=np.intp)


def weighted_confusion(
    gold: Sequence[str], predicted: Sequence[str], probabilities: Floats, labels: Sequence[str]
) -> tuple[Floats, Floats]:
    """The two matrices A and S, gold in rows.

    >>> weighted_confusion(["a", "b"], ["a", "a"], np.array([0.5, 1.0]), ["a", "b"])[0].tolist()
    [[2.0, 0.0], [1.0, 0.0]]
    """
    where, size = cells(labels, gold, predicted), len(labels)
    pi = np.asarray(probabilities, dtype=float)
    return _sums(where, 1 / pi, size), _sums(where, (1 - pi) / pi**2, size)


def _sums(where: NDArray[np.intp], weights: Floats, size: int) -> Floats:
    counted = np.bincount(where, weights, minlength=size * size)
    return np.asarray(counted, dtype=np.float64).reshape(size, size)


def gradient(measure: Measure, matrix: Floats, n: float) -> tuple[float, Floats]:
    """The measure of the matrix scaled to sum n, and its derivative by each cell of the matrix as given.

    Scaling makes every measure free of the unit that weights are in, also those that depend on the number of items
    (α). Only cells that hold something get a derivative: no other one is multiplied by anything but zero.
    """
    if not (everyone := matrix.sum()):
        return math.nan, np.full_like(matrix, math.nan)

    def scaled(at: tuple[int, ...], change: float) -> float:
        moved = matrix.copy()
        moved[at] += change
        return float(measure(moved * (n / moved.sum())))

    slopes = np.zeros_like(matrix)
    for at in zip(*np.nonzero(matrix), strict=True):
        step = STEP * matrix[at]
        near, far = (scaled(at, by * step) - scaled(at, -by * step) for by in (1, 2))
        slopes[at] = (8 * near - far) / (12 * step)
    return float(measure(matrix * (n / everyone))), slopes


def variance_of_measure(
    measure: Measure, weights: Floats, spread: Floats, *, n: float
) -> tuple[float, float]:
    """The measure and its linearised variance under Poisson sampling, from A and S; n is the sample's size."""
    value, slopes = gradient(measure, np.asarray(weights, dtype=float), n)
    return value, float(np.sum(slopes**2 * np.asarray(spread, dtype=float)))


def measure_estimate(
    measure: Measure,
    gold: Sequence[str],
    predicted: Sequence[str],
    design: Design,
    labels: Sequence[str],
    *,
    bounds: tuple[float, float] | None = (0.0, 1.0),
    level: float = 0.95,
) -> Estimate:
    """A measure over the population that the items were drawn from, for either design.

    Its interval is on the logit scale within `bounds`, or plain where the measure has none. The design effect
    compares with as many items drawn with equal chances.
    """
    where, n = cells(labels, gold, predicted), len(gold)
    matrix = _sums(where, design.weights, len(labels))
    value, slopes = gradient(measure, matrix, n)
    pull = slopes.ravel()[where]
    variance = design.variance(pull)
    simple = float(np.sum(design.weights * pull**2) * np.sum(design.weights)) / n if n else 0.0
    effect = variance / simple if simple else math.nan
    if bounds is None or math.isnan(value):
        reach = reach_of(level) * math.sqrt(variance)
        return Estimate(value, variance, value - reach, value + reach, n, effect)
    low, wide = bounds[0], bounds[1] - bounds[0]
    effective = effective_size(design.variance(np.full(n, 1 / matrix.sum())))
    inside = logit_interval((value - low) / wide, variance / wide**2, level=level, effective=effective)
    return Estimate(value, variance, low + wide * inside[0], low + wide * inside[1], n, effect)
