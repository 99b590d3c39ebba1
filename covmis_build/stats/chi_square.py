"""Chi-square tests: equality of several estimates; symmetry and marginal homogeneity of a table of two annotators."""

from __future__ import annotations

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
    import numpy as np
    from statsmodels.stats.meta_analysis import combine_effects

    values, errors = np.array(estimates, dtype=float).T
    with np.errstate(all="ignore"):  # it also fits random effects
        pooled = combine_effects(values, errors**2, method_re="dl")
    statistic = max(float(pooled.q), 0.0)  # a difference of two sums: rounding may leave less than 0
    return chi_square(statistic, len(estimates) - 1), float(pooled.mean_effect_fe)


def bowker(table: Array) -> ChiSquare | None:
    """Bowker's test of symmetry: whether both annotators confuse labels in the same way."""
    import numpy as np
    from statsmodels.stats.contingency_tables import SquareTable

    # statsmodels counts a degree of freedom for every two labels, also for those that nobody confused
    df = int(np.count_nonzero(np.triu(table + table.T, 1)))
    return chi_square(float(SquareTable(table, shift_zeros=False).symmetry().statistic), df) if df else None


def stuart_maxwell(table: Array) -> ChiSquare | None:
    """Stuart and Maxwell's test: whether both annotators use each label equally often."""
    import numpy as np
    from statsmodels.stats.contingency_tables import SquareTable

    # statsmodels has no answer if a label was never confused
    met = np.flatnonzero(table.sum(0) + table.sum(1) - 2 * np.diag(table) > 0)
    if len(met) < 2:
        return None
    cells = table[np.ix_(met, met)]
    spread = np.diag(cells.sum(1) + cells.sum(0)) - cells - cells.T
    if np.linalg.matrix_rank(spread[:-1, :-1]) < len(met) - 1:
        return None
    return chi_square(float(SquareTable(cells, shift_zeros=False).homogeneity().statistic), len(met) - 1)
