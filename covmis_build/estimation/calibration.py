"""Calibration: weights that reproduce known totals, and residuals that pass the gain to the variance."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from covmis_build.errors import InputError
from covmis_build.stats.intervals import Estimate
from covmis_build.stats.over_posts import NOTHING_KNOWN, Design, Expected, linear_estimate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ROUNDS = 200
FEWEST_IN_A_CELL = 20
"""Minimum number of units in a group that is calibrated separately (a rule of thumb)."""


class Calibrated(NamedTuple):
    """Calibration factors of the weights, and residuals of variables."""

    factors: Floats
    auxiliary: Floats
    weights: Floats

    def residual(self, values: Floats) -> Floats:
        """Return the residual of the weighted regression of these values on the auxiliary columns."""
        root = np.sqrt(self.weights)
        slopes = np.linalg.lstsq(self.auxiliary * root[:, None], values * root, rcond=None)[0]
        return np.asarray(values - self.auxiliary @ slopes, dtype=np.float64)


def calibrate(
    weights: Floats, auxiliary: Floats, totals: Floats, *, scale: Floats | None = None, raking: bool = False
) -> Calibrated:
    """Adjust weights so that they reproduce the totals of the auxiliary columns (Deville and Särndal 1992).

    Linear, g = 1 + q·x'λ (GREG), or `raking`, g = exp(q·x'λ), which keeps weights positive. `scale` is each unit's variance,
    1/q: one column x with scale x gives the ratio estimator.
    """
    q = np.ones(len(weights)) if scale is None else 1 / scale
    multiplier, factors = np.zeros(auxiliary.shape[1]), np.ones(len(weights))
    for _ in range(ROUNDS if raking else 1):
        gap = totals - (weights * factors) @ auxiliary
        if raking and np.abs(gap).max() < 1e-9 * np.abs(totals).max():
            break
        inner = weights * q * (factors if raking else 1.0)
        try:
            multiplier += np.linalg.solve((auxiliary * inner[:, None]).T @ auxiliary, gap)
        except np.linalg.LinAlgError:
            raise InputError(
                "the sample cannot meet these totals",
                remedy="Every group with a total needs units, and no column may repeat others",
            ) from None
        factors = np.exp(q * (auxiliary @ multiplier)) if raking else 1 + q * (auxiliary @ multiplier)
    return Calibrated(factors, auxiliary, weights * q)


def calibrate_to_groups(
    weights: Floats, sizes: Floats, groups: NDArray[np.str_], known: Mapping[str, float]
) -> Calibrated:
    """Adjust weights by one factor per group to reproduce its known size. Small groups are combined."""
    cells = _cells({name: int((groups == name).sum()) for name in known})
    columns = np.stack([np.isin(groups, cell) for cell in cells], axis=1) * sizes[:, None]
    return calibrate(
        weights, columns, np.array([sum(known[name] for name in cell) for cell in cells]), scale=sizes
    )


def _cells(units: dict[str, int]) -> list[list[str]]:
    """Combine groups with few units, because weights calibrated to a few units are mostly noise.

    >>> _cells({"title": 30, "news_url": 5, "keywords": 60, "fact_check_url": 4})
    [['keywords'], ['title', 'news_url', 'fact_check_url']]
    """
    cells: list[list[str]] = []
    for name in sorted(units, key=units.__getitem__):
        if not cells or sum(map(units.__getitem__, cells[-1])) >= FEWEST_IN_A_CELL:
            cells.append([])
        cells[-1].append(name)
    if len(cells) > 1 and sum(map(units.__getitem__, cells[-1])) < FEWEST_IN_A_CELL:
        cells[-2] += cells.pop()
    return [list(reversed(cell)) for cell in reversed(cells)]


def calibrated_mean(
    y: Floats,
    sizes: Floats,
    design: Design,
    fit: Calibrated,
    *,
    n: int,
    extra: float = 0.0,
    expected: Expected = NOTHING_KNOWN,
    level: float = 0.95,
) -> Estimate:
    """Return the mean with calibrated weights. `sizes` are 0 outside the domain; `n` units are within it.

    If groups explain everything, residuals vanish; the interval still uses at most the effective size of the weights.
    """
    weights = design.weights * fit.factors * sizes
    everyone = float(weights.sum())
    if everyone == 0:
        return Estimate(math.nan, math.nan, n, why="no item")
    centre = np.full(len(y), float(np.sum(weights * y)) / everyone)
    linear = fit.residual((y - centre) * sizes / everyone) * fit.factors
    return linear_estimate(
        y,
        centre,
        fit.factors * sizes / everyone,
        design,
        n=n,
        extra=extra,
        expected=expected,
        level=level,
        linear=linear,
    )
