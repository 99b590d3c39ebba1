"""Agreement coefficients with errors, confidence intervals over items and over claims, and verbal categories.

Rounds, releases, recounts and `agreement` use this module. Both intervals are computed by `over_claims`.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import UNSET, Struct, UnsetType

from covmis_build.stats.coefficients import (
    agreement_sums,
    cohen_chance,
    cohen_details,
    coincidences,
    corrected,
    fleiss_chance,
    fleiss_pulls,
    label_counts,
    pair_tables,
    standard_error,
)
from covmis_build.stats.intervals import SIGNED, Estimate, Interval, Over
from covmis_build.stats.over_claims import Probes, Pulls, decided_by

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from covmis_build.stats.coefficients import Array, Chance, Codes, Weights

    ByChance = Callable[[Array], Chance]
    SumsOf = Callable[[Codes], Array]

LEVEL = 0.95
LANDIS_KOCH = ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))


class Figure(Struct, frozen=True):
    """An agreement coefficient: its value, its intervals, and the reason if it is undefined.

    `low` and `high` are the interval over items, `low_by_claims` and `high_by_claims` that over claims.

    >>> print(Figure("Fleiss' kappa", 0.73, low=0.67, high=0.78, low_by_claims=0.64, high_by_claims=0.8))
    Fleiss' kappa 0.73 (0.64 to 0.80, 95% interval over claims)
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    se: float | UnsetType | None = UNSET
    """The asymptotic standard error, for coefficients that have one."""
    low_by_claims: float | None = None
    high_by_claims: float | None = None
    why: str = ""
    words: str = ""

    def __float__(self) -> float:
        """The value; NaN if undefined."""
        return math.nan if self.value is None else self.value

    @property
    def error(self) -> float | None:
        """The standard error; None if there is none."""
        return None if isinstance(self.se, UnsetType) else self.se

    @property
    def interval(self) -> Interval | None:
        """The interval to print: over claims if there are enough, otherwise over items."""
        # posts about one claim are not independent
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


def coefficient(  # noqa: PLR0913 - a coefficient, its labels, and what is known of them, by name
    name: str,
    sums_of: SumsOf,
    chance: ByChance,
    codes: Codes,
    classes: int,
    claims: Sequence[str] | None = None,
    *,
    like: tuple[SumsOf, ByChance] | None = None,
    bounds: tuple[float, float] = SIGNED,
    se: float | None = None,
    why: str = "",
) -> Figure:
    """Compute a coefficient with its intervals. `sums_of` returns a row of sums per row of codes; `chance` takes their total.

    `claims` are the items' claims; `why` is the reason if the value is undefined. The intervals need the effect of an
    additional pair of labels, computed for this coefficient or a similar one (`like`).
    """
    double = codes[(codes >= 0).sum(1) > 1]
    value = number(corrected(chance(sums_of(codes).sum(0)))) if len(double) else None
    error = UNSET if se is None else number(se)
    if value is None:
        return Figure(name, None, se=error, why=why)
    own = _over_units(sums_of, chance, codes, classes, claims, value, like or (sums_of, chance), bounds)
    low, high, *by_claims = (number(end) for figure in own for end in (figure.low, figure.high))
    low_by_claims, high_by_claims = by_claims or (None, None)
    return Figure(
        name,
        value,
        low,
        high,
        error,
        low_by_claims,
        high_by_claims,
        words=words(low_by_claims, high_by_claims) or words(low, high),
    )


def headline_over(codes: Codes, classes: int, claims: Sequence[str] | None = None) -> Estimate | None:
    """Return the headline kappa over its widest units, claims if they are known; None if it is not defined."""
    two = codes.shape[1] == 2
    sums_of = partial(pairs_of if two else shares_of, classes=classes)
    chance: ByChance = cohen_chance if two else fleiss_chance
    value = number(corrected(chance(sums_of(codes).sum(0)))) if ((codes >= 0).sum(1) > 1).any() else None
    if value is None:
        return None
    return _over_units(sums_of, chance, codes, classes, claims, value, (sums_of, chance), SIGNED)[-1]


def _over_units(
    sums_of: SumsOf,
    chance: ByChance,
    codes: Codes,
    classes: int,
    claims: Sequence[str] | None,
    value: float,
    like: tuple[SumsOf, ByChance],
    bounds: tuple[float, float],
) -> list[Estimate]:
    """Return the figure over items, and over claims if they are known."""
    sums = sums_of(codes)
    pulls, labels = _pulls(codes, classes, *like, bounds)
    own = [_of_units(sums, labels, np.arange(len(codes)), value, chance, pulls, Over.ITEMS, bounds)]
    names, at = np.unique(np.asarray(claims or (), dtype=str), return_inverse=True)
    if len(names):
        own.append(_of_units(sums, labels, at, value, chance, pulls, Over.CLAIMS, bounds))
    return own


def _of_units(
    sums: Array,
    labels: Array,
    units: Codes,
    value: float,
    chance: ByChance,
    pulls: Pulls,
    over: Over,
    bounds: tuple[float, float],
) -> Estimate:
    """Return the figure over items, or over claims with `units` (claim number per row). Items with one label are excluded."""
    compared = np.unique(units[labels.any(1)])
    place = np.full(int(units.max()) + 1, -1)
    place[compared] = np.arange(len(compared))
    totals = np.zeros((len(compared), *sums.shape[1:]))
    held = np.zeros((len(compared), labels.shape[1]))
    inside = place[units] >= 0
    np.add.at(totals, place[units[inside]], sums[inside])
    np.add.at(held, place[units[inside]], labels[inside])
    left_out = corrected(chance(sums.sum(0) - totals))
    return decided_by(held, value, left_out, pulls, bounds=bounds, over=over, level=LEVEL)


def _pulls(
    codes: Codes, classes: int, sums_of: SumsOf, chance: ByChance, bounds: tuple[float, float]
) -> tuple[Pulls, Array]:
    """Return the items' influence from the table of all pairs of labels, and each item's share of each label.

    The two annotators are interchangeable: each pair counts in both orders.
    """
    counts = label_counts(codes, classes)
    if codes.shape[1] == 2:
        pairs = pair_tables(codes[:, 0], codes[:, 1], classes)
    else:
        pairs = coincidences(counts) / np.maximum(counts.sum(1), 1)[:, None, None]
    both = np.stack(np.meshgrid(np.arange(classes), np.arange(classes), indexing="ij"), -1).reshape(-1, 2)
    rows = sums_of(both)

    def pulls_of(table: Array) -> Pulls:
        probes = Probes.near(table)
        flat = probes.tables.reshape(len(probes.tables), -1) * table.sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            values = corrected(chance(np.tensordot(flat, rows, axes=1)))
        return probes.read(values, table, bounds)

    first, second = pulls_of(pairs.sum(0)), pulls_of(pairs.sum(0).T)
    pulls = first._replace(pull=(first.pull + second.pull) / 2)
    return pulls, (pairs.sum(1) + pairs.sum(2)) / 2


def headline(
    codes: Codes, classes: int, claims: Sequence[str] | None = None, *, why: str = "", error: bool = True
) -> Figure:
    """Return Cohen's kappa for two annotators, Fleiss' for more, from codes (items, annotators).

    `error=False` leaves out Cohen's standard error, for which statsmodels is loaded.

    >>> print(headline(np.array([[0, 0], [1, 1], [1, 0], [1, 1], [0, 0]]), 2))
    Cohen's kappa 0.62 (-0.56 to 0.97, 95% interval over items: poor to almost perfect)
    """
    if codes.shape[1] != 2:
        return fleiss(codes, classes, claims, why=why)
    se = cohen_details(pairs_of(codes, classes).sum(0)).error if error else None
    return coefficient(
        "Cohen's kappa",
        partial(pairs_of, classes=classes),
        cohen_chance,
        codes,
        classes,
        claims,
        se=se,
        why=why,
    )


def pairs_of(codes: Codes, classes: int) -> Array:
    """Return one table per item of the labels of two annotators."""
    return pair_tables(codes[:, 0], codes[:, 1], classes)


def shares_of(codes: Codes, classes: int, weights: Weights = "none") -> Array:
    """Return the summands of Fleiss' kappa and related coefficients, one row per item."""
    return agreement_sums(label_counts(codes, classes), weights)


def coincidences_of(codes: Codes, classes: int) -> Array:
    """Return Krippendorff's coincidences, one table per item."""
    return coincidences(label_counts(codes, classes))


def fleiss(codes: Codes, classes: int, claims: Sequence[str] | None = None, *, why: str = "") -> Figure:
    """Compute Fleiss' kappa from codes (items, annotators)."""
    counts = label_counts(codes, classes)
    sums = agreement_sums(counts)
    # if all items have equally many labels, Gwet's generalisation equals Fleiss' kappa
    name = "Fleiss' kappa, generalised (Gwet)" if len(set(counts.sum(1))) > 1 else "Fleiss' kappa"
    se = standard_error(sums, fleiss_chance(sums.sum(0)), fleiss_pulls(sums))
    return coefficient(
        name, partial(shares_of, classes=classes), fleiss_chance, codes, classes, claims, se=se, why=why
    )


def number(value: Any) -> float | None:
    """Return a plain number, or None for NaN."""
    plain = float(value)
    return plain if math.isfinite(plain) else None


def _landis_koch(value: float) -> str:
    """Return Landis and Koch's category of a kappa.

    >>> _landis_koch(0.67), _landis_koch(-0.1), _landis_koch(0.81)
    ('substantial', 'poor', 'almost perfect')
    """
    return next((word for limit, word in LANDIS_KOCH if value <= limit), "almost perfect")


def words(low: float | None, high: float | None) -> str:
    """Return Landis and Koch's categories of both ends of an interval, never of the value alone.

    >>> words(0.53, 0.74), words(0.65, 0.7)
    ('moderate to substantial', 'substantial')
    """
    if low is None or high is None:
        return ""
    both = dict.fromkeys([_landis_koch(low), _landis_koch(high)])
    return " to ".join(both)
