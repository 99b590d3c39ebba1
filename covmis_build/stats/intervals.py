"""Confidence intervals for all figures, with consistent p-values (docs/explanation/intervals.md).

It is Wilson's interval, scaled to the figure's range, for n = min(u(1-u)/v, effective size) units, with Student's t
instead of the normal quantile. Inputs come from `over_claims` (generalising to claims) or `over_posts` (to the target
population).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import stdtr, stdtrit

from covmis_build.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

ROUNDING = 1e-18
"""A smaller variance, in units of the range, is rounding error."""
FEWEST = 2.0
"""Minimum effective size for an interval."""
SMALL_WORTH = 10.0
"""Figures with a smaller effective size are flagged: a label may be missing in the sample."""
UNEVEN = 10.0
"""Figures whose effective size is below n divided by this are flagged: a few items have most of the weight."""
MANY = 1e12
"""As many degrees of freedom as infinity in practice."""
UNIT, SIGNED = (0.0, 1.0), (-1.0, 1.0)
"""The range of a share; and of kappa and related coefficients, MCC, and differences."""
FEW_DECIDE = (
    "too few posts, or a few with large weights or many near-duplicates, decide: no interval is known"
)
FEW_UNCERTAIN = (
    "nearly all posts were certain to be sampled, and the others are too few: no interval is known"
)


class Over(StrEnum):
    """The population that an interval generalises to; printed with every interval."""

    POSTS = "over posts"
    CLAIMS = "over claims"
    ITEMS = "over items"
    PEOPLE = "over posts and people like these"
    THESE_TWO = "over posts and these two people"


def reach_of(level: float, degrees: float = math.inf) -> float:
    """Return the half-width of an interval of this level in standard errors: normal or Student's quantile.

    >>> round(reach_of(0.95), 3), round(reach_of(0.95, 20), 3)
    (1.96, 2.086)
    """
    if not 0 < level < 1:
        raise InputError(f"the level {level} is not between 0 and 1", remedy="0.95 is usual")
    return float(stdtrit(min(max(degrees, 1.0), MANY), (1 + level) / 2))


def units(value: float, variance: float, worth: float, bounds: tuple[float, float] = UNIT) -> float:
    """Return the number of independent units for a figure's interval, at most the effective size `worth`."""
    low, high = bounds
    u, s = (value - low) / (high - low), variance / (high - low) ** 2
    own = u * (1 - u) / s if 0 < u < 1 and s > ROUNDING else math.inf
    return max(min(own, worth), 1.0)


def interval(
    value: float,
    variance: float,
    worth: float,
    degrees: float = math.inf,
    *,
    bounds: tuple[float, float] = UNIT,
    level: float = 0.95,
) -> tuple[float, float]:
    """Return both ends; NaN if the effective size `worth` or the number of units is below two.

    A variance of 0 means that of `worth` independent units. A figure with an unbounded range has Student's interval.

    >>> [round(end, 3) for end in interval(0.0, 0.0, 30)], [round(end, 3) for end in interval(1.0, 0.0, 6, 2)]
    ([0.0, 0.114], [0.245, 1.0])
    """
    t = reach_of(level, degrees)
    if math.isnan(value) or math.isnan(variance) or worth < FEWEST or degrees < FEWEST - 1 - 1e-9:
        return math.nan, math.nan
    low, high = bounds
    if math.isinf(low) or math.isinf(high):
        reach = t * math.sqrt(variance)
        return max(low, value - reach), min(high, value + reach)
    u = min(max((value - low) / (high - low), 0.0), 1.0)
    a = t * t / units(value, variance, worth, bounds)
    middle, half = (u + a / 2) / (1 + a), math.sqrt(u * (1 - u) * a + a * a / 4) / (1 + a)
    # at 0 and 1 the end is exact; rounding must not move it
    ends = 0.0 if u <= 0 else max(0.0, middle - half), 1.0 if u >= 1 else min(1.0, middle + half)
    return low + (high - low) * ends[0], low + (high - low) * ends[1]


def p_value(
    value: float,
    variance: float,
    worth: float,
    degrees: float = math.inf,
    *,
    bounds: tuple[float, float] = SIGNED,
    null: float = 0.0,
) -> float:
    """Two-sided p of `null`: below 1 - level exactly if the interval of that level excludes `null`.

    >>> round(p_value(0.2, 0.01, 50, 11), 3)
    0.185
    """
    if math.isnan(value) or math.isnan(variance) or worth < FEWEST or degrees < FEWEST - 1 - 1e-9:
        return math.nan
    low, high = bounds
    if math.isinf(low) or math.isinf(high):
        distance, error = abs(value - null), math.sqrt(variance)
        z = distance / error if error > 0 else math.inf if distance else 0.0
    else:
        u, u0 = (min(max((x - low) / (high - low), 0.0), 1.0) for x in (value, null))
        z = abs(u - u0) / math.sqrt(u0 * (1 - u0) / units(value, variance, worth, bounds))
    return float(2 * stdtr(min(max(degrees, 1.0), MANY), -z))


def of_items(share: float, n: float, level: float = 0.95) -> tuple[float | None, float | None]:
    """Return the interval of a share of n independent items; none for fewer than two.

    >>> of_items(1.0, 1), [round(end, 3) for end in of_items(0.0, 30)]
    ((None, None), [0.0, 0.114])
    """
    from statsmodels.stats.proportion import proportion_confint

    if math.isnan(share) or n < FEWEST:
        return None, None
    low, high = proportion_confint(share * n, n, 1 - level, method="wilson")
    return max(0.0, float(low)) if share > 0 else 0.0, min(1.0, float(high)) if share < 1 else 1.0


def in_percent(low: float | None, high: float | None, digits: int = 0) -> str:
    """Format a 95% interval of a share in percent.

    >>> in_percent(0.25, 0.5), in_percent(None, None)
    ('95% interval 25% to 50%', 'too few for an interval')
    """
    told = between(low, high, f".{digits}%")
    return f"95% interval {told}" if told else "too few for an interval"


def effective(sizes: ArrayLike, multiplicity: ArrayLike = 1.0) -> float:
    """Return the effective number of equal sizes: a few large ones reduce it.

    >>> effective([10, 10, 10]), round(effective([100, 1, 1]), 2), effective([0])
    (3.0, 1.04, 0.0)
    """
    x, m = np.asarray(sizes, dtype=float), np.asarray(multiplicity, dtype=float)
    return float(np.sum(m * x) ** 2 / np.sum(m * x**2)) if x.any() else 0.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its uncertainty: a mean (Hájek), a total, a measure, or a difference of two."""

    value: float
    variance: float
    n: int
    """Number of items in the computation."""
    worth: float = math.inf
    """Effective size: how many independent units correspond to the weights, or to the influential items."""
    degrees: float = math.inf
    """Degrees of freedom: the randomly sampled units, or the claims, minus one."""
    bounds: tuple[float, float] = UNIT
    interval: str = Over.POSTS
    """The population that the interval generalises to."""
    level: float = 0.95
    why: str = ""
    """Why there is no interval, if so."""
    floor: float = 0.0
    """Minimum variance for the interval of a figure without bounds."""
    design_effect: float = math.nan
    """Variance relative to a simple random sample of n with replacement; NaN if nothing varies."""
    strength: float = 0.0
    """λ: the estimate's shift per unit of difference in predictions; 0 without predictions."""
    r_squared: float = 0.0
    """Share of the variance removed by predictions."""
    possible: tuple[float, float] = (-math.inf, math.inf)
    """Possible range of the value, given the known labels of some posts."""
    lone: tuple[bool, bool] = (False, False)
    """True if fewer than two units have (lack) the property: then the interval starts (ends) at the possible limit."""

    def ends(self, level: float) -> tuple[float, float]:
        """Return both ends of the interval of this level; NaN if there is none."""
        if self.why:
            return math.nan, math.nan
        variance = max(self.variance, self.floor)
        low, high = interval(self.value, variance, self.worth, self.degrees, bounds=self.bounds, level=level)
        if math.isnan(low):
            return low, high
        least, most = self._limits
        return least if self.lone[0] else max(low, least), most if self.lone[1] else min(high, most)

    @property
    def _limits(self) -> tuple[float, float]:
        """Return the possible range; an estimate outside replaces the limit."""
        least, most = max(self.possible[0], self.bounds[0]), min(self.possible[1], self.bounds[1])
        return min(least, self.value), max(most, self.value)

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.ends(self.level)[0]

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.ends(self.level)[1]

    @property
    def effective_n(self) -> float:
        """Effective sample size, at most the number of items."""
        if math.isnan(self.value) or math.isinf(self.bounds[0]) or math.isinf(self.bounds[1]):
            return min(self.worth, self.n)
        return min(units(self.value, self.variance, self.worth, self.bounds), self.n)

    @property
    def standard_error(self) -> float:
        """Square root of the variance."""
        return math.sqrt(self.variance)

    @property
    def flagged(self) -> bool:
        """True if a few units have so much weight that the interval needs a warning."""
        return self.worth < max(SMALL_WORTH, self.n / UNEVEN)

    def p(self, null: float = 0.0) -> float:
        """Two-sided p of this value: below 1 - level exactly if the interval of that level excludes it."""
        if self.why:
            return math.nan
        least, most = self._limits
        if null < least or null > most:
            return 0.0
        if (self.lone[0] and null < self.value) or (self.lone[1] and null > self.value):
            return 1.0
        variance = max(self.variance, self.floor)
        return p_value(self.value, variance, self.worth, self.degrees, bounds=self.bounds, null=null)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        names = (
            "value",
            "variance",
            "low",
            "high",
            "level",
            "n",
            "effective_n",
            "interval",
            "worth",
            "design_effect",
            "strength",
            "r_squared",
            "why",
        )
        return {name: getattr(self, name) for name in names} | {"interval": str(self.interval)}

    def to_frame(self) -> Any:
        """Return one row."""
        import pandas as pd

        return pd.DataFrame([self.to_dict()])

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False))


def between(low: float | None, high: float | None, form: str = "z.3f") -> str:
    """Format an interval; empty if there is none.

    >>> between(0.25, 0.5), between(None, None), between(1200.0, 3400.0, ",.0f")
    ('0.250 to 0.500', '', '1,200 to 3,400')
    """
    if low is None or high is None or not math.isfinite(high - low):
        return ""
    return f"{low:{form}} to {high:{form}}"


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval and its units: posts or claims."""

    low: float
    high: float
    over: Literal["claims", "items"]

    def __str__(self) -> str:
        return f"{self.low:.2f} to {self.high:.2f}, 95% interval over {self.over}"
