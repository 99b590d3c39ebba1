"""Tests on the square table of two people's labels: is it symmetric, and do both use each label equally often."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from covmis_build.stats.chi_square import ChiSquare, chi_square

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def bowker(table: Array) -> ChiSquare | None:
    """Bowker's test of symmetry: do both people confuse the labels in the same way."""
    cells = [
        (float(table[a, b]), float(table[b, a])) for a, b in itertools.combinations(range(len(table)), 2)
    ]
    met = [(there, back) for there, back in cells if there + back > 0]
    if not met:
        return None
    statistic = sum((there - back) ** 2 / (there + back) for there, back in met)
    return chi_square(statistic, len(met))


def stuart_maxwell(table: Array) -> ChiSquare | None:
    """Stuart and Maxwell's test: do both people use each label equally often."""
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
