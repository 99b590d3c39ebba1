"""Welch's test that estimates with different, estimated errors are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence


class Welch(Struct, frozen=True):
    """The result of Welch's F-test."""

    statistic: float
    df: int
    df_within: float
    p: float


class Measured(NamedTuple):
    """An estimate, its variance, and the degrees of freedom of that variance."""

    value: float
    variance: float
    degrees: float


def equal(estimates: Sequence[Measured]) -> tuple[Welch, float]:
    """Test whether independent estimates are equal. Also return their common mean (inverse-variance weights).

    >>> test, mean = equal([Measured(0.6, 0.01, 11), Measured(0.8, 0.01, 11)])
    >>> round(test.statistic, 6), test.df, round(test.df_within, 6), round(test.p, 3), round(mean, 6)
    (2.0, 1, 22.0, 0.171, 0.7)
    """
    import numpy as np
    from statsmodels.stats.oneway import anova_generic

    values, variances, degrees = np.array(estimates, dtype=float).T
    many = degrees + 1
    test = anova_generic(values, variances * many, many, use_var="unequal", welch_correction=True)
    mean = float(np.sum(values / variances) / np.sum(1 / variances))
    return Welch(float(test.statistic), len(estimates) - 1, float(test.df_denom), float(test.pvalue)), mean
