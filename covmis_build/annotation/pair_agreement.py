"""Two people's agreement: their table, their kappa, and the tests of its symmetry and of equal use of the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from covmis_build.stats import coefficients as c
from covmis_build.stats.agreement import headline, number
from covmis_build.stats.chi_square import bowker, stuart_maxwell

if TYPE_CHECKING:
    from covmis_build.annotation.label_matrix import LabelMatrix
    from covmis_build.stats.chi_square import ChiSquare


class PairKappa(Struct, frozen=True):
    """Cohen's kappa of two people, its standard error and its interval, over items."""

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
    kappa: PairKappa
    kappa_max: float | None
    table: list[list[int]]
    bowker: ChiSquare | None
    stuart_maxwell: ChiSquare | None


def pair_agreement(matrix: LabelMatrix, first: int, second: int) -> PairAgreement:
    """Compare the labels of two people, given as columns."""
    classes = len(matrix.classes)
    codes = matrix.codes[:, [first, second]]
    table = c.pair_tables(codes[:, 0], codes[:, 1], max(classes, 2)).sum(0)
    kappa = headline(codes, max(classes, 2))
    return PairAgreement(
        first=matrix.people[first],
        second=matrix.people[second],
        items=int(table.sum()),
        raw_agreement=number(c.observed(table)),
        kappa=PairKappa(kappa.value, kappa.error, kappa.low, kappa.high),
        kappa_max=number(c.kappa_max(table)),
        table=table[:classes, :classes].astype(int).tolist(),
        bowker=bowker(table),
        stuart_maxwell=stuart_maxwell(table),
    )
