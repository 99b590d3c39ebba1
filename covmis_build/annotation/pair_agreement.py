"""Two people's agreement: their table, their kappa, and the tests of its symmetry and of equal use of the labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

from covmis_build.annotation.figure import number, over_items
from covmis_build.stats.symmetry import bowker, stuart_maxwell

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from covmis_build.annotation.label_matrix import LabelMatrix
    from covmis_build.stats.chi_square import ChiSquare


class CohenKappa(Struct, frozen=True):
    """Cohen's kappa of a table, its asymptotic standard error by statsmodels, and its interval over items."""

    value: float | None = None
    se: float | None = None
    low: float | None = None
    high: float | None = None


class PairAgreement(Struct, frozen=True):
    """How far two people agree; `table` has a row a label of the first, a column a label of the second."""

    first: str
    second: str
    items: int
    raw_agreement: float | None
    kappa: CohenKappa
    kappa_max: float | None
    table: list[list[int]]
    bowker: ChiSquare | None
    stuart_maxwell: ChiSquare | None


def cohen(table: NDArray[np.float64]) -> CohenKappa:
    """Cohen's kappa of this table."""
    import numpy as np
    from statsmodels.stats.inter_rater import cohens_kappa

    from covmis_build.stats.coefficients import cohen_chance, cohen_kappa

    if number(cohen_kappa(table)) is None:
        return CohenKappa()
    with np.errstate(invalid="ignore", divide="ignore"):  # a variance of zero may come out below it
        result = cohens_kappa(table)
    variance = float(result.var_kappa)
    error = math.sqrt(variance) if variance > 1e-15 else 0.0
    return CohenKappa(float(result.kappa), error, *over_items(cohen_chance(table), float(table.sum())))


def pair_agreement(matrix: LabelMatrix, first: int, second: int) -> PairAgreement:
    """Compare the labels of two people, given as columns."""
    from covmis_build.stats import coefficients as c

    classes = len(matrix.classes)
    table = c.pair_tables(matrix.codes[:, first], matrix.codes[:, second], max(classes, 2)).sum(0)
    return PairAgreement(
        first=matrix.people[first],
        second=matrix.people[second],
        items=int(table.sum()),
        raw_agreement=number(c.observed(table)),
        kappa=cohen(table),
        kappa_max=number(c.kappa_max(table)),
        table=table[:classes, :classes].astype(int).tolist(),
        bowker=bowker(table),
        stuart_maxwell=stuart_maxwell(table),
    )
