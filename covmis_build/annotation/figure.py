"""A coefficient of agreement: its value, its intervals, and Landis and Koch's words for them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Struct, UnsetType

from covmis_build.stats.intervals import Interval, kappa_interval

if TYPE_CHECKING:
    from covmis_build.stats.coefficients import Chance

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


def over_items(chance: Chance, items: float) -> tuple[float | None, float | None]:
    """A coefficient's interval over the items that two people labelled."""
    low, high, _ = kappa_interval(float(chance.observed), float(chance.expected), items, level=LEVEL)
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
