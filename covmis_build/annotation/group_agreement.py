"""Agreement by round, claim and query type, and a test whether all rounds have the same kappa.

Rounds are often of other claims, and claims differ: their kappas are compared over claims, as far as these are known.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct, field

from covmis_build.annotation.label_matrix import label_matrix
from covmis_build.errors import counted
from covmis_build.stats.agreement import headline, headline_over
from covmis_build.stats.coefficients import agreement_sums, label_counts
from covmis_build.stats.intervals import ROUNDING, Over, reach_of
from covmis_build.stats.welch import Measured, Welch, equal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

POWER = 0.8
"""The probability with which a detectable difference is found."""
MOST_APART = 1.0
"""Kappas of agreement that is better than chance differ by less."""
FEWEST_DEGREES = 1.0
"""With fewer, the error of a round's kappa is not known."""


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
    variance: float | None = None
    """Over claims, if they are known; otherwise over items. None if too few decide it."""
    degrees: float | None = None
    """The degrees of freedom of the variance."""
    over: str = ""
    claims: int | None = None


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


class Homogeneity(Welch, frozen=True):
    """Welch's test that all rounds have the same kappa, and the pooled kappa."""

    common_kappa: float
    rounds: int
    over: str


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
    spread = headline_over(matrix.codes, size, matrix.claims) if error else None
    known = spread is not None and not spread.why and spread.variance > ROUNDING
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
        variance=spread.variance if spread is not None and known else None,
        degrees=spread.degrees if spread is not None and known else None,
        over=str(spread.interval) if spread is not None else "",
        claims=len(set(matrix.claims)) if matrix.claims else None,
    )


def too_small(rounds: Sequence[RoundAgreement]) -> list[str]:
    """Return which difference between two rounds of this size would be found, as a sentence."""
    known = [(each.variance, each.degrees) for each in rounds if each.variance and each.degrees]
    if len(rounds) < 2 or not known:
        return []
    variance = sum(each for each, _ in known) / len(known)
    degrees = max(2 * sum(each for _, each in known) / len(known), 1.0)
    apart = (reach_of(0.95, degrees) + reach_of(2 * POWER - 1, degrees)) * math.sqrt(2 * variance)
    items = round(sum(each.items_with_two_labels for each in rounds) / len(rounds))
    claims = [each.claims for each in rounds if each.claims]
    size = counted(items, "posts") + (
        f" of {counted(round(sum(claims) / len(claims)), 'claims')}" if claims else ""
    )
    if apart >= MOST_APART:
        return [f"Rounds of {size} hardly tell two kappas apart, whatever they are."]
    sentence = (
        f"Rounds of {size}, as these on average, find a difference of {apart:.2f} between two kappas in {POWER:.0%} of studies, and "
        "smaller ones less often: no evidence of a difference does not mean that there is none."
    )
    return [sentence]


def homogeneity(rounds: Sequence[RoundAgreement]) -> tuple[Homogeneity | None, list[str]]:
    """Test that all rounds have the same kappa, with the result as text."""
    defined = [each for each in rounds if each.value is not None]
    known = [
        Measured(each.value, each.variance, each.degrees)
        for each in defined
        if each.value is not None and each.variance and each.degrees and each.degrees >= FEWEST_DEGREES
    ]
    if len(defined) < 2:
        return None, []
    over = "claims" if any(each.over == Over.CLAIMS for each in defined) else "items"
    if len(known) < 2:
        return None, [
            f"Whether the kappas of {len(defined)} rounds differ was not tested: too few {over} decide all but {len(known)} of them."
        ]
    test, common = equal(known)
    p = "p < 0.001" if test.p < 0.001 else f"p = {test.p:.3f}"
    finding = "differ significantly" if test.p < 0.05 else "show no evidence of a difference"
    left_out = (
        "" if len(known) == len(defined) else f"; {len(defined) - len(known)} with too few {over} left out"
    )
    sentence = (
        f"The kappas of {len(known)} rounds {finding} (Welch's test over {over}, F {test.statistic:.2f} on {test.df} and "
        f"{test.df_within:.1f}, {p}{left_out})."
    )
    return Homogeneity(test.statistic, test.df, test.df_within, test.p, common, len(known), over), [sentence]
