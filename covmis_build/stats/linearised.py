"""Variances of measures of a confusion matrix when items had different probabilities (evaluation.md, 3).

Two matrices say all that a Poisson sample says: A, the weights 1/π summed by cell, and S, (1-π)/π² summed by cell.
A measure f(A) has the variance Σ G² S with G its gradient; other designs need each item's own G instead.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from covmis_build.errors import InputError
from covmis_build.stats.horvitz_thompson import Design, Estimate, share_degrees
from covmis_build.stats.intervals import bounded_interval, effective_size, reach_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Measure = Callable[[Floats], float]
    Measures = Callable[[Floats], Mapping[str, Floats]]

STEP = 3e-3
"""The relative step of the seven-point derivative: its error is of order STEP⁶, about that of rounding."""


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


def gradients(measures: Measures, matrix: Floats, n: float) -> dict[str, tuple[float, Floats]]:
    """Each measure of the matrix scaled to sum n, and its derivative by each cell of the matrix as given.

    `measures` takes a stack of matrices and gives each measure's values. Scaling makes every measure free of the
    unit that weights are in, also those that depend on the number of items (α). Only cells that hold something get
    a derivative: no other one is multiplied by anything but zero.
    """
    if not (everyone := matrix.sum()):
        names = measures(np.zeros((1, *matrix.shape)))
        return {name: (math.nan, np.full_like(matrix, math.nan)) for name in names}
    used = np.flatnonzero(matrix)
    steps = STEP * matrix.ravel()[used]
    moved = np.repeat(matrix.reshape(1, -1), 1 + 6 * len(used), axis=0)
    for at, by in enumerate((1, -1, 2, -2, 3, -3)):
        moved[1 + at * len(used) + np.arange(len(used)), used] += by * steps
    moved[1:] *= n / moved[1:].sum(axis=1, keepdims=True)
    moved[0] *= n / everyone
    found = {}
    for name, values in measures(moved.reshape(-1, *matrix.shape)).items():
        up, down, up2, down2, up3, down3 = np.split(values[1:], 6)
        slopes = np.zeros(matrix.size)
        slopes[used] = (45 * (up - down) - 9 * (up2 - down2) + (up3 - down3)) / (60 * steps)
        found[name] = (float(values[0]), slopes.reshape(matrix.shape))
    return found


def gradient(measure: Measure, matrix: Floats, n: float) -> tuple[float, Floats]:
    """`gradients` of one measure that takes one matrix."""
    return gradients(lambda stack: {"": np.array([float(measure(one)) for one in stack])}, matrix, n)[""]


def variance_of_measure(
    measure: Measure, weights: Floats, spread: Floats, *, n: float
) -> tuple[float, float]:
    """The measure and its linearised variance under Poisson sampling, from A and S; n is the sample's size.

    >>> weights, spread = np.array([[3.0, 2.0], [4.0, 6.0]]), np.array([[2.0, 2.0], [12.0, 14.0]])
    >>> value, variance = variance_of_measure(lambda m: float(np.trace(m) / m.sum()), weights, spread, n=6)
    >>> round(value, 3), round(variance, 6)
    (0.6, 0.033778)
    """
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

    Its interval stays within `bounds`, or is plain where the measure has none, with Student's t. The design effect
    compares with as many items drawn with equal chances.
    """
    where = cells(labels, gold, predicted)
    found = gradient(measure, _sums(where, design.weights, len(labels)), len(gold))
    return estimate_from(*found, where, design, bounds=bounds, level=level)


def estimate_from(
    value: float,
    slopes: Floats,
    where: NDArray[np.intp],
    design: Design,
    *,
    bounds: tuple[float, float] | None,
    level: float = 0.95,
) -> Estimate:
    """The estimate of a measure from its value and gradient over the weighted matrix; `where`: each item's cell."""
    n, pull = len(where), slopes.ravel()[where]
    variance = design.variance(pull)
    simple = float(np.sum(design.weights * pull**2) * np.sum(design.weights)) / n if n else 0.0
    effect = variance / simple if simple else math.nan
    degrees = degrees_within(bounds, value, pull, design, variance)
    if bounds is None or math.isnan(value):
        reach = reach_of(level, degrees) * math.sqrt(variance)
        return Estimate(value, variance, value - reach, value + reach, n, effect)
    effective = effective_size(design.variance(np.full(n, 1 / design.weights.sum())))
    low, high = bounded_interval(value, variance, bounds, level=level, effective=effective, degrees=degrees)
    return Estimate(value, variance, low, high, n, effect)


def degrees_within(
    bounds: tuple[float, float] | None, value: float, z: Floats, design: Design, variance: float
) -> float:
    """The degrees of freedom of a measure's variance, where its interval is on the scale of these bounds."""
    low, high = bounds or (-math.inf, math.inf)
    if not low < value < high:
        return math.inf
    if math.isinf(low):
        return design.degrees(z)
    if math.isinf(high):
        return design.degrees(z, design.weights * z / (value - low))
    wide = high - low
    return share_degrees((value - low) / wide, z / wide, design, variance / wide**2)
