"""Variances of measures of a confusion matrix for items with unequal probabilities.

Two matrices are sufficient for a Poisson sample: A, the weights 1/π summed by cell, and S, (1-π)/π² summed by cell.
A measure f(A) has the variance Σ G² S, where G is its gradient. Other designs need G of each item.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from covmis_build.stats.intervals import ROUNDING, Estimate
from covmis_build.stats.over_claims import Probes
from covmis_build.stats.over_posts import NOTHING_KNOWN, Design, Expected, over_posts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Measures = Callable[[Floats], Mapping[str, Floats]]

STEP = 3e-3
"""Relative step of the seven-point derivative: its error of order STEP⁶ is similar to rounding error."""


def gradients(measures: Measures, matrix: Floats, n: float) -> dict[str, tuple[float, Floats]]:
    """Return each measure of the matrix scaled to sum n, and its derivative by each cell of the given matrix.

    `measures` takes a stack of matrices and returns each measure's values. Scaling makes measures independent of the unit
    of the weights, including those that depend on the number of items (α). Only non-empty cells have a derivative, because
    all others are multiplied by zero.
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


def weighted_measures(  # noqa: PLR0913 - a system, its items and how they were drawn, by name
    measures: Measures,
    ranges: Mapping[str, tuple[float, float]],
    runs: Sequence[NDArray[np.intp]],
    shape: tuple[int, int],
    design: Design,
    *,
    claims: NDArray[np.int64] | None = None,
    copies: Floats | None = None,
    expected: Expected = NOTHING_KNOWN,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """Compute a system's measures over the sampled population, for both scores and estimates.

    `runs` has each item's cell of the flattened confusion matrix of this `shape`, per run; a value is the mean over runs.
    With `claims` (each item's number), every claim has equal weight, whatever its number of posts. With `copies`, items are
    weighted by how often they were posted. `expected` has the population's expected weights. The design effect compares with
    an equal-probability sample of the same size.
    """
    scale = _scale(design.weights, claims, copies)
    n, shares = len(scale), design.weights * scale
    worth, degrees = design.worth(shares, expected.looseness), design.units(shares) - 1
    per_run = [_linearised(measures, where, shape, design, scale, claims) for where in runs]
    items = [_items_worth(measures, ranges, where, shares, shape, worth) for where in runs]
    estimates = {}
    for name, bounds in ranges.items():
        parts = [run[name] for run in per_run]
        value = float(np.mean([part.value for part in parts]))
        # Runs share their items, so errors are dependent: standard errors are averaged, not divided.
        variance = float(np.mean([math.sqrt(part.variance) for part in parts])) ** 2
        even = float(np.mean([np.sum(shares * part.linear**2) for part in parts]))
        share = min(max((value - bounds[0]) / (bounds[1] - bounds[0]), 0.0), 1.0)
        own = min(float(np.mean([run[name] for run in items])), expected.worth(share))
        effect = variance * n / even if even > ROUNDING else math.nan
        estimates[name] = over_posts(
            value, variance, n, own, degrees, bounds=bounds, level=level, design_effect=effect
        )
    return estimates


def _items_worth(
    measures: Measures,
    ranges: Mapping[str, tuple[float, float]],
    where: NDArray[np.intp],
    shares: Floats,
    shape: tuple[int, int],
    worth: float,
) -> dict[str, float]:
    """Return the effective size of the items that decide a measure, given that of the weights."""
    if math.isinf(worth):
        return dict.fromkeys(ranges, worth)
    counted = np.bincount(where, shares * worth, minlength=math.prod(shape))
    table = np.asarray(counted, dtype=np.float64).reshape(shape)
    probes = Probes.near(table)
    values = measures(probes.tables)
    return {name: probes.read(values[name], table, bounds).worth for name, bounds in ranges.items()}


class _Linear(NamedTuple):
    """A measure of one run, linearised in its items."""

    value: float
    linear: Floats
    """Influence of each item, per unit of its share."""
    variance: float


def _scale(weights: Floats, claims: NDArray[np.int64] | None, copies: Floats | None) -> Floats:
    """Return each item's scale, such that scale/probability sums to 1."""
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
    """Linearise each measure of one run by its gradient over the cells of the weighted matrix."""
    shares = design.weights * scale
    matrix = np.asarray(np.bincount(where, shares, minlength=math.prod(shape)), dtype=np.float64)
    parts = {}
    for name, (value, slopes) in gradients(measures, matrix.reshape(shape), len(where)).items():
        linear = slopes.ravel()[where]
        if claims is not None:  # each claim's total is fixed at 1: only deviations within claims count
            within = np.bincount(claims, shares * linear) / np.bincount(claims, shares)
            linear -= within[claims]
        parts[name] = _Linear(value, linear, design.variance(linear * scale))
    return parts
