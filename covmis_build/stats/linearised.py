"""Variances of measures of a confusion matrix when items had different probabilities.

Two matrices say all that a Poisson sample says: A, the weights 1/π summed by cell, and S, (1-π)/π² summed by cell.
A measure f(A) has the variance Σ G² S with G its gradient; other designs need each item's own G instead.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from covmis_build.errors import InputError
from covmis_build.stats.horvitz_thompson import Design, Estimate
from covmis_build.stats.intervals import ROUNDING, Over, measure_interval

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
    return np.array([at[right] * len(labels) + at[said] for right, said in pairs], dtype=np.intp)


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
    slopes_of = {}
    for name, values in measures(moved.reshape(-1, *matrix.shape)).items():
        up, down, up2, down2, up3, down3 = np.split(values[1:], 6)
        slopes = np.zeros(matrix.size)
        slopes[used] = (45 * (up - down) - 9 * (up2 - down2) + (up3 - down3)) / (60 * steps)
        slopes_of[name] = (float(values[0]), slopes.reshape(matrix.shape))
    return slopes_of


def gradient(measure: Measure, matrix: Floats, n: float) -> tuple[float, Floats]:
    """`gradients` of one measure that takes one matrix."""
    return gradients(lambda stack: {"": np.array([float(measure(table)) for table in stack])}, matrix, n)[""]


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
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
) -> Estimate:
    """`weighted_measures` of one measure that takes one matrix, and of labels by their names."""
    estimates = weighted_measures(
        lambda stack: {"": np.array([float(measure(table)) for table in stack])},
        {"": bounds},
        [cells(labels, gold, predicted)],
        (len(labels), len(labels)),
        design,
        level=level,
    )
    return estimates[""]


def weighted_measures(
    measures: Measures,
    ranges: Mapping[str, tuple[float, float]],
    runs: Sequence[NDArray[np.intp]],
    shape: tuple[int, int],
    design: Design,
    *,
    claims: NDArray[np.int64] | None = None,
    copies: Floats | None = None,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """Measures of a system over the population that the items were drawn from: the one way of scores and estimates.

    `runs` has each item's cell of the flattened confusion matrix of this `shape`, for each run of the system; a value
    is the mean over runs. With `claims` (each item's number), every claim counts the same, whatever its posts;
    with `copies`, every item as often as it was posted. Intervals stay within a measure's range. The design effect
    compares with as many items drawn with equal chances.
    """
    scale = _scale(design.weights, claims, copies)
    n, shares = len(scale), design.weights * scale
    worth = design.worth(shares)
    per_run = [_linearised(measures, where, shape, design, scale, claims) for where in runs]
    estimates = {}
    for name, bounds in ranges.items():
        parts = [run[name] for run in per_run]
        value = float(np.mean([part.value for part in parts]))
        # Runs share their items: their errors go together, so the standard errors are averaged, not divided.
        variance = float(np.mean([math.sqrt(part.variance) for part in parts])) ** 2
        even = float(np.mean([np.sum(shares * part.linear**2) for part in parts]))
        # The floor is the variance of errors that have nothing to do with the weights; for accuracy p(1-p)/worth.
        low, high, effective = measure_interval(
            value, max(variance, even / worth), bounds, worth=worth, level=level
        )
        effect = variance * n / even if even > ROUNDING else math.nan
        estimates[name] = Estimate(value, variance, low, high, n, effective, Over.POSTS, worth, effect)
    return estimates


class _Linear(NamedTuple):
    """A measure of one run, linear in its items."""

    value: float
    linear: Floats
    """Each item's pull, per unit of its share in the whole."""
    variance: float


def _scale(weights: Floats, claims: NDArray[np.int64] | None, copies: Floats | None) -> Floats:
    """What each item stands for, so that the scales over the probabilities have the sum 1."""
    sizes = np.ones(len(weights)) if copies is None else copies
    if claims is None:
        return np.asarray(sizes / (weights * sizes).sum(), dtype=np.float64)
    mass = np.bincount(claims, weights=weights * sizes)
    return np.asarray(sizes / mass[claims] / len(mass), dtype=np.float64)


def _linearised(
    measures: Measures,
    where: NDArray[np.intp],
    shape: tuple[int, int],
    design: Design,
    scale: Floats,
    claims: NDArray[np.int64] | None,
) -> dict[str, _Linear]:
    """Each measure of one run from its gradient over the cells of the weighted matrix."""
    shares = design.weights * scale
    matrix = np.asarray(np.bincount(where, shares, minlength=math.prod(shape)), dtype=np.float64)
    parts = {}
    for name, (value, slopes) in gradients(measures, matrix.reshape(shape), len(where)).items():
        linear = slopes.ravel()[where]
        if claims is not None:  # each claim's total is 1 by construction: only deviations within it count
            within = np.bincount(claims, shares * linear) / np.bincount(claims, shares)
            linear -= within[claims]
        parts[name] = _Linear(value, linear, design.variance(linear * scale))
    return parts
