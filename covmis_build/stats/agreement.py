"""A coefficient of agreement as it is reported: value, error, intervals over items and over claims, and words for them.

Rounds, releases, recounts and `agreement` ask here; both intervals are Wilson's interval of observed agreement, mapped
through the coefficient's own formula.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import UNSET, Struct, UnsetType

from covmis_build.stats.coefficients import (
    agreement_sums,
    cohen_chance,
    cohen_error,
    corrected,
    fleiss_chance,
    fleiss_pulls,
    label_counts,
    pair_tables,
    standard_error,
)
from covmis_build.stats.intervals import Interval, kappa_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from covmis_build.stats.coefficients import Array, Chance, Codes

    ByChance = Callable[[Array], Chance]

LEVEL = 0.95
LANDIS_KOCH = ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))


class Figure(Struct, frozen=True):
    """A coefficient of agreement: its value, its one interval, and in words why it has none.

    `low` and `high` are the interval over items, `low_by_claims` and `high_by_claims` that over claims.

    >>> print(Figure("Fleiss' kappa", 0.73, low=0.67, high=0.78, low_by_claims=0.64, high_by_claims=0.8))
    Fleiss' kappa 0.73 (0.64 to 0.80, 95% interval over claims)
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    se: float | UnsetType | None = UNSET
    """The asymptotic standard error, of those that have one."""
    low_by_claims: float | None = None
    high_by_claims: float | None = None
    why: str = ""
    words: str = ""

    @property
    def error(self) -> float | None:
        """The standard error, None where there is none."""
        return None if isinstance(self.se, UnsetType) else self.se

    @property
    def interval(self) -> Interval | None:
        """The one interval, wherever it is printed: over claims where there are enough of them, else over items."""
        # posts about one claim are not independent of one another
        if self.low_by_claims is not None and self.high_by_claims is not None:
            return Interval(self.low_by_claims, self.high_by_claims, "claims")
        if self.low is not None and self.high is not None:
            return Interval(self.low, self.high, "items")
        return None

    def __str__(self) -> str:
        if self.value is None:
            return self.why or f"{self.name} is not defined"
        told = ": ".join(str(part) for part in (self.interval, self.words) if part)
        return f"{self.name} {self.value:.2f}" + (f" ({told})" if self.interval else "")


def coefficient(
    name: str,
    sums: Array,
    chance: ByChance,
    codes: Codes,
    claims: Sequence[str] | None = None,
    *,
    se: float | None = None,
    why: str = "",
) -> Figure:
    """A coefficient with its intervals. `sums` has a row for each row of `codes`; `chance` takes their sum.

    `claims` are the items' claims; `why` says in words why there is no value, where there is none.
    """
    double = (codes >= 0).sum(1) > 1
    whole = chance(sums.sum(0))
    value = number(corrected(whole)) if double.any() else None
    error = UNSET if se is None else number(se)
    if value is None:
        return Figure(name, None, se=error, why=why)
    low, high, _ = kappa_interval(
        float(whole.observed), float(whole.expected), float(double.sum()), level=LEVEL
    )
    low_by_claims, high_by_claims = _over_claims(sums, chance, double, claims or ())
    return Figure(
        name, value, number(low), number(high), error, low_by_claims, high_by_claims,
        words=words(low_by_claims, high_by_claims) or words(number(low), number(high)),
    )  # fmt: skip


def headline(codes: Codes, classes: int, claims: Sequence[str] | None = None, *, why: str = "") -> Figure:
    """Cohen's kappa of two people, Fleiss' of more, from codes (items, people).

    >>> print(headline(np.array([[0, 0], [1, 1], [1, 0], [1, 1]]), 2))
    Cohen's kappa 0.50 (-0.40 to 0.91, 95% interval over items: poor to almost perfect)
    """
    if codes.shape[1] != 2:
        return fleiss(codes, classes, claims, why=why)
    tables = pair_tables(codes[:, 0], codes[:, 1], classes)
    se = cohen_error(tables.sum(0))
    return coefficient("Cohen's kappa", tables, cohen_chance, codes, claims, se=se, why=why)


def fleiss(codes: Codes, classes: int, claims: Sequence[str] | None = None, *, why: str = "") -> Figure:
    """Fleiss' kappa, from codes (items, people)."""
    counts = label_counts(codes, classes)
    sums = agreement_sums(counts)
    # where all items have as many labels, Gwet's generalisation is Fleiss' own
    name = "Fleiss' kappa, generalised (Gwet)" if len(set(counts.sum(1))) > 1 else "Fleiss' kappa"
    se = standard_error(sums, fleiss_chance(sums.sum(0)), fleiss_pulls(sums))
    return coefficient(name, sums, fleiss_chance, codes, claims, se=se, why=why)


def _over_claims(
    sums: Array, chance: ByChance, double: Array, claims: Sequence[str]
) -> tuple[float | None, float | None]:
    """The interval over claims; None if there are fewer than three, or two's worth."""
    names, at = np.unique(np.asarray(claims, dtype=str), return_inverse=True)
    if len(names) < 3:
        return None, None
    totals = np.zeros((len(names), *sums.shape[1:]))
    np.add.at(totals, at, sums)
    sizes = np.bincount(at, double.astype(float), minlength=len(names))
    left_out = corrected(chance(totals.sum(0) - totals))
    observed, expected = (float(part) for part in chance(totals.sum(0)))
    low, high, _ = kappa_interval(
        observed, expected, float(sizes.sum()), left_out=left_out, sizes=sizes, level=LEVEL
    )
    return number(low), number(high)


def number(value: Any) -> float | None:
    """A plain number, or None where there is none."""
    plain = float(value)
    return plain if math.isfinite(plain) else None


def landis_koch(value: float) -> str:
    """Landis and Koch's word for a kappa.

    >>> landis_koch(0.67), landis_koch(-0.1), landis_koch(0.81)
    ('substantial', 'poor', 'almost perfect')
    """
    return next((word for limit, word in LANDIS_KOCH if value <= limit), "almost perfect")


def words(low: float | None, high: float | None) -> str:
    """Landis and Koch's words for both ends of an interval, never for the value alone.

    >>> words(0.53, 0.74), words(0.65, 0.7)
    ('moderate to substantial', 'substantial')
    """
    if low is None or high is None:
        return ""
    both = dict.fromkeys([landis_koch(low), landis_koch(high)])
    return " to ".join(both)
