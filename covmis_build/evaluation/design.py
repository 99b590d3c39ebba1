"""Scores of the population that was sampled: weights 1/p, and intervals by linearisation.

Two estimands, named wherever they are printed. `weighted`: all posts of the pool, each counting once. `balanced`:
all claims, each counting once, whatever the number of its posts. Both hold for designs that draw every item on its
own (Poisson, the paper's); a fixed-size design has smaller variances, so the intervals are then cautious.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from covmis_build.stats.confusion import cell_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from covmis_build.evaluation.setting import Setting

    Array = NDArray[np.float64]
    Codes = NDArray[np.int64]


def weighted_values(
    runs: Sequence[tuple[Codes, Codes]],
    chances: Array,
    owners: Codes | None,
    chosen: Setting,
    *,
    unanswered: bool,
    level: float,
) -> dict[str, dict[str, float]]:
    """Per measure: weighted, weighted_low, weighted_high; with owners (claims) also the three of balanced."""
    found: dict[str, dict[str, float]] = {measure.name: {} for measure in chosen.measures}
    kinds = [("weighted", None)] + ([("balanced", owners)] if owners is not None else [])
    for name, within in kinds:
        each = [_estimate(gold, run, chances, within, chosen, unanswered=unanswered) for gold, run in runs]
        for measure in chosen.measures:
            value = float(np.mean([one[measure.name][0] for one in each]))
            # Runs share their items: their errors go together, so the standard errors are averaged, not divided.
            error = float(np.mean([one[measure.name][1] for one in each]))
            low, high = interval(value, error, measure.range, level, _effective(chances, within))
            found[measure.name] |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return found


def _effective(chances: Array, owners: Codes | None) -> float:
    weights = _weights(chances, owners)
    return float(weights.sum() ** 2 / (weights**2).sum())


def _weights(chances: Array, owners: Codes | None) -> Array:
    weights = 1 / chances
    if owners is None:
        return weights
    return np.asarray(weights / np.bincount(owners, weights=weights)[owners])


def _estimate(
    gold: Codes,
    run: Codes,
    chances: Array,
    owners: Codes | None,
    chosen: Setting,
    *,
    unanswered: bool,
) -> dict[str, tuple[float, float]]:
    """Each measure's value and standard error, from its gradient over the cells of the weighted matrix."""
    classes = len(chosen.labels)
    columns = classes + unanswered
    cells = cell_codes(gold, run, classes, unanswered=unanswered)
    weights = _weights(chances, owners)
    weights = weights * (len(weights) / weights.sum())  # alpha wants the sample's size; others want no scale
    matrix = np.bincount(cells, weights=weights, minlength=classes * columns)
    used = np.flatnonzero(matrix > 0)
    steps = matrix[used] * 1e-5
    moved: Array = np.repeat(matrix[None], 2 * len(used) + 1, axis=0).astype(np.float64)
    moved[1 + 2 * np.arange(len(used)), used] += steps
    moved[2 + 2 * np.arange(len(used)), used] -= steps
    moved *= matrix.sum() / moved.sum(axis=1, keepdims=True)
    values = chosen.values(moved.reshape(-1, classes, columns))
    found = {}
    for name, all_values in values.items():
        gradient = np.zeros(classes * columns)
        gradient[used] = (all_values[1::2] - all_values[2::2]) / (2 * steps)
        linear = gradient[cells]
        if owners is not None:  # each claim's total is 1 by construction: only deviations within it count
            within = np.bincount(owners, weights=weights * linear) / np.bincount(owners, weights=weights)
            linear = linear - within[owners]
        variance = ((1 - chances) * (weights * linear) ** 2).sum()
        found[name] = (float(all_values[0]), float(np.sqrt(variance)))
    return found


def interval(
    value: float, error: float, bounds: tuple[float, float], level: float, effective: float
) -> tuple[float, float]:
    """An interval that stays in the measure's range: logit-like, and Wilson's where a proportion is 0 or 1.

    >>> low, high = interval(0.9, 0.05, (0.0, 1.0), 0.95, 100)
    >>> round(low, 3), round(high, 3)
    (0.752, 0.964)
    """
    from scipy.special import expit, ndtri

    z = float(ndtri((1 + level) / 2))
    low, high = bounds
    if not np.isfinite(value) or not np.isfinite(error):
        return np.nan, np.nan
    if low < value < high:
        if np.isinf(high):
            factor = np.exp(min(z * error / (value - low), 100.0))
            return float(low + (value - low) / factor), float(low + (value - low) * factor)
        share = (value - low) / (high - low)
        centre = np.log(share / (1 - share))
        half = z * error / ((high - low) * share * (1 - share))
        ends = expit([centre - half, centre + half])
        return float(low + (high - low) * ends[0]), float(low + (high - low) * ends[1])
    if bounds == (0.0, 1.0):
        edge = z**2 / (effective + z**2)
        return (0.0, edge) if value <= 0 else (1 - edge, 1.0)
    return value, value
