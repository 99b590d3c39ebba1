"""Chi-square tests: equality of several estimates; symmetry and marginal homogeneity of a table of two annotators."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class ChiSquare(Struct, frozen=True):
    """The result of a chi-square test."""

    statistic: float
    df: int
    p: float


def chi_square(statistic: float, df: int) -> ChiSquare:
    """Return the test with this statistic."""
    from scipy.special import chdtrc

    return ChiSquare(statistic, df, float(chdtrc(df, statistic)))


def one_mean(estimates: Sequence[tuple[float, float]]) -> tuple[ChiSquare, float]:
    """Test whether estimates with standard errors have a common mean (inverse-variance weights). Also return the mean.

    >>> test, mean = one_mean([(0.6, 0.1), (0.8, 0.1)])
    >>> round(test.statistic, 6), test.df, round(test.p, 3), round(mean, 6)
    (2.0, 1, 0.157, 0.7)
    """
    weights = [1 / error**2 for _, error in estimates]
    mean = sum(weight * value for weight, (value, _) in zip(weights, estimates, strict=True)) / sum(weights)
    statistic = sum(
        weight * (value - mean) ** 2 for weight, (value, _) in zip(weights, estimates, strict=True)
    )
    return chi_square(statistic, len(estimates) - 1), mean


def bowker(table: Array) -> ChiSquare | None:
    """Bowker's test of symmetry: whether both annotators confuse labels in the same way."""
    cells = [
        (float(table[a, b]), float(table[b, a])) for a, b in itertools.combinations(range(len(table)), 2)
    ]
    met = [(there, back) for there, back in cells if there + back > 0]
    if not met:
        return None
    statistic = sum((there - back) ** 2 / (there + back) for there, back in met)
    return chi_square(statistic, len(met))


def stuart_maxwell(table: Array) -> ChiSquare | None:
    """Stuart and Maxwell's test: whether both annotators use each label equally often."""
    import numpy as np

    met = np.flatnonzero(table.sum(0) + table.sum(1) - 2 * np.diag(table) > 0)
    if len(met) < 2:
        return None
    cells = table[np.ix_(met, met)]
    apart = (cells.sum(1) - cells.sum(0))[:-1]
    spread = -(cells + cells.T)[:-1, :-1]
    np.fill_diagonal(spread, (cells.sum(1) + cells.sum(0) - 2 * np.diag(cells))[:-1])
    if np.linalg.matrix_rank(spread) < len(spread):
        return None
    statistic = float(apart @ np.linalg.solve(spread, apart))
    return chi_square(statistic, len(apart))
