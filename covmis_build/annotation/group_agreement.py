"""Agreement by round, claim and query type, and a test whether all rounds have the same kappa."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct, field

from covmis_build.annotation.label_matrix import label_matrix
from covmis_build.stats.agreement import headline
from covmis_build.stats.chi_square import ChiSquare, one_mean
from covmis_build.stats.coefficients import agreement_sums, label_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd


class RoundAgreement(Struct, frozen=True):
    """A round's headline kappa: Cohen's for two annotators, Fleiss' for more."""

    round: str
    items: int
    items_with_two_labels: int
    value: float | None
    low: float | None
    high: float | None
    se: float | None
    raw_agreement: float | None
    words: str


class GroupAgreement(Struct, frozen=True):
    """Agreement in a group of items."""

    name: str
    items_with_two_labels: int
    raw_agreement: float | None
    value: float | None
    low: float | None
    high: float | None


class ClaimAgreement(GroupAgreement, frozen=True):
    """Agreement on one claim."""

    name: str = field(name="claim")


class KindAgreement(GroupAgreement, frozen=True):
    """Agreement on the posts that one query type matched."""

    name: str = field(name="kind")


class Homogeneity(ChiSquare, frozen=True):
    """Test that all rounds have the same kappa (Fleiss' chi-square over inverse variances), and the pooled kappa."""

    common_kappa: float


def by_round(rows: pd.DataFrame, classes: Sequence[str], column: str = "round") -> list[RoundAgreement]:
    """Kappa of each round, with its interval."""
    if column not in rows.columns:
        return []
    error = column == "round"  # the test whether rounds are equal needs it; other groups do not show it
    return [
        _agreement(str(name), part, classes, error=error) for name, part in rows.groupby(column, sort=True)
    ]


def by_group(
    rows: pd.DataFrame, classes: Sequence[str], column: str, group: type[GroupAgreement]
) -> list[GroupAgreement]:
    """Agreement within each group of this column."""
    return [
        group(each.round, each.items_with_two_labels, each.raw_agreement, each.value, each.low, each.high)
        for each in by_round(rows, classes, column)
    ]


def _agreement(round_: str, rows: pd.DataFrame, classes: Sequence[str], *, error: bool) -> RoundAgreement:
    matrix = label_matrix(rows, classes)
    size = max(len(classes), 2)
    counts = label_counts(matrix.codes, size)
    agree, pairs = agreement_sums(counts).sum(0)[[1, 0]]
    kappa = headline(matrix.codes, size, error=error)
    return RoundAgreement(
        round=round_,
        items=len(matrix.items),
        items_with_two_labels=int(pairs),
        value=kappa.value,
        low=kappa.low,
        high=kappa.high,
        se=kappa.error,
        raw_agreement=float(agree / pairs) if pairs else None,
        words=kappa.words,
    )


def too_small(rounds: Sequence[RoundAgreement]) -> list[str]:
    """Return the warning that single rounds are too small for a comparison."""
    errors = [round_.se for round_ in rounds if round_.se]
    if len(rounds) < 2 or not errors:
        return []
    apart = 1.96 * math.sqrt(2) * sum(errors) / len(errors)
    told = (
        f"With rounds of this size, only differences of about {apart:.2f} or more between two kappas are detectable. "
        "With 144 labels, a round cannot distinguish 0.61 from 0.67."
    )
    return [told]


def homogeneity(rounds: Sequence[RoundAgreement]) -> tuple[Homogeneity | None, list[str]]:
    """Test that all rounds have the same kappa, with the result as text."""
    kappas = [(round_.value, round_.se) for round_ in rounds if round_.value is not None and round_.se]
    if len(kappas) < 2:
        return None, []
    test, common = one_mean(kappas)
    told = "differ significantly" if test.p < 0.05 else "show no evidence of a difference"
    return Homogeneity(test.statistic, test.df, test.p, common), [
        f"The kappas of {len(kappas)} rounds {told} (chi-square {test.statistic:.2f} on {test.df}, p = {test.p:.3f})."
    ]
