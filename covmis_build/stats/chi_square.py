"""A chi-square test's outcome, and the test that several estimates have one mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence


class ChiSquare(Struct, frozen=True):
    """What a chi-square test found."""

    statistic: float
    df: int
    p: float


def chi_square(statistic: float, df: int) -> ChiSquare:
    """The test with this statistic."""
    from scipy.stats import chi2

    return ChiSquare(statistic, df, float(chi2.sf(statistic, df)))


def one_mean(estimates: Sequence[tuple[float, float]]) -> tuple[ChiSquare, float]:
    """Whether these estimates, each with its standard error, have one mean (over inverse variances); and that mean.

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
