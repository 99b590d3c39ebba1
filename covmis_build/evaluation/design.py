"""Scores of the population that was sampled: weights 1/p, and intervals by linearisation.

Two estimands, named wherever they are printed. `weighted`: all posts of the pool, each counting once. `balanced`:
all claims, each counting once, whatever the number of its posts. Both hold for designs that draw every item on its
own (Poisson, the paper's); a fixed-size design has smaller variances, so the intervals are then cautious.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from covmis_build.stats.confusion import cell_codes
from covmis_build.stats.horvitz_thompson import made_design
from covmis_build.stats.intervals import bounded_interval, effective_size
from covmis_build.stats.linearised import degrees_within, gradients

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from covmis_build.evaluation.setting import Setting
    from covmis_build.stats.horvitz_thompson import Design

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
    design = made_design(chances)
    for name, within in kinds:
        scale = _scale(design.weights, within)
        effective = effective_size(design.variance(scale))
        each = [
            _linearised(gold, run, design, scale, within, chosen, unanswered=unanswered) for gold, run in runs
        ]
        for measure in chosen.measures:
            of = [one[measure.name] for one in each]
            value = float(np.mean([one.value for one in of]))
            # Runs share their items: their errors go together, so the standard errors are averaged, not divided.
            error = float(np.mean([one.error for one in of]))
            low, high = bounded_interval(
                value, error**2, measure.range, effective=effective, level=level,
                degrees=min(one.degrees for one in of),
            )  # fmt: skip
            found[measure.name] |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return found


class _Linear(NamedTuple):
    """A measure's value, its standard error, and the degrees of freedom of that."""

    value: float
    error: float
    degrees: float


def _scale(weights: Array, owners: Codes | None) -> Array:
    """What each item stands for, so that the scales over the probabilities have the sum 1."""
    if owners is None:
        return np.full(len(weights), 1 / weights.sum())
    mass = np.bincount(owners, weights=weights)
    return np.asarray(1 / mass[owners] / len(mass), dtype=np.float64)


def _linearised(
    gold: Codes,
    run: Codes,
    design: Design,
    scale: Array,
    owners: Codes | None,
    chosen: Setting,
    *,
    unanswered: bool,
) -> dict[str, _Linear]:
    """Each measure from its gradient over the cells of the weighted matrix."""
    classes = len(chosen.labels)
    columns = classes + unanswered
    cells = cell_codes(gold, run, classes, unanswered=unanswered)
    weights = design.weights * scale
    sums = np.bincount(cells, weights=weights, minlength=classes * columns)
    matrix = np.asarray(sums, dtype=np.float64).reshape(classes, columns)
    found = {}
    ranges = {measure.name: measure.range for measure in chosen.measures}
    for name, (value, slopes) in gradients(chosen.values, matrix, len(cells)).items():
        linear = slopes.ravel()[cells]
        if owners is not None:  # each claim's total is 1 by construction: only deviations within it count
            within = np.bincount(owners, weights=weights * linear) / np.bincount(owners, weights=weights)
            linear -= within[owners]
        z = linear * scale
        variance = design.variance(z)
        degrees = degrees_within(ranges[name], value, z, design, variance)
        found[name] = _Linear(value, math.sqrt(variance), degrees)
    return found
