"""Which interval is read: one function for each branch of docs/explanation/intervals.md (the tree).

Shares and measures over the posts found: Wilson's, for as many units as the design's variance and the weights allow.
Over claims: Student's t with as many degrees of freedom as the claims' sizes are worth, less one. Kappa: Wilson's
interval of agreement, mapped through kappa's own formula. None of them has a width of zero unless everything is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

ROUNDING = 1e-18
"""The variance of what cannot be anything else, in units of its range: less is left by the derivative's rounding."""
CLIP = 1e-6
"""How near to its bounds a value may be on the logit scale."""
SMALL_WORTH = 10.0
"""Figures whose weights are worth fewer units than this are flagged: a label may be missing there."""
UNEVEN = 10.0
"""So are figures whose weights are worth less than the number of items over this: a few of them decide."""


class Over(StrEnum):
    """What an interval is a statement about; every printed one says it."""

    POSTS = "over posts"
    CLAIMS = "over claims"
    ITEMS = "over items"


class Bounds(NamedTuple):
    """Two ends, and how many independent units they stand for."""

    low: float
    high: float
    effective_n: float


def reach_of(level: float, degrees: float = math.inf) -> float:
    """How many standard errors an interval of this level reaches to each side: the normal quantile, or Student's.

    >>> round(reach_of(0.95), 3), round(reach_of(0.95, 20), 3)
    (1.96, 2.086)
    """
    if not 0 < level < 1:
        raise InputError(f"the level {level} is not between 0 and 1", remedy="0.95 is usual")
    if math.isinf(degrees):
        return NormalDist().inv_cdf((1 + level) / 2)
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2))


def wilson(share: float, n: float, *, level: float = 0.95, degrees: float = math.inf) -> tuple[float, float]:
    """Wilson's interval of a share of n independent units; n may be a fraction, or infinite.

    >>> low, high = wilson(0.0, 30)
    >>> round(low, 3), round(high, 3)
    (0.0, 0.114)
    """
    z = reach_of(level, degrees)
    if math.isinf(n):
        return share, share
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    # At 0 and 1 the end is exactly there; rounding may not move it.
    return 0.0 if share <= 0 else max(0.0, middle - reach), 1.0 if share >= 1 else min(1.0, middle + reach)


def share_interval(share: float, variance: float, worth: float, *, level: float = 0.95) -> Bounds:
    """The interval of a share over posts: Wilson's with n = min(p(1-p)/v, worth).

    `worth` is how many units the weights allow. The variance is estimated from few heavy weights; where these happen
    to agree it is far too small, and the minimum never claims more than the weights do.
    """
    inside = 0 < share < 1 and variance > 0
    n = max(min(share * (1 - share) / variance, worth) if inside else worth, 1.0)
    return Bounds(*wilson(min(max(share, 0.0), 1.0), n, level=level), n)


def measure_interval(
    value: float,
    variance: float,
    bounds: tuple[float, float],
    *,
    worth: float = math.inf,
    level: float = 0.95,
) -> Bounds:
    """The interval of a measure over posts, within its range: Wilson's where that has two ends.

    The variance is the greater of the design's and its floor, what errors unrelated to the weights would give. At
    one of two bounds the weights' worth counts. Above a single bound the interval is on the log scale; without
    bounds it is plain.

    >>> low, high, n = measure_interval(0.9, 0.05**2, (0.0, 1.0))
    >>> round(low, 3), round(high, 3), round(n)
    (0.761, 0.962, 36)
    """
    low, high = bounds
    if not (math.isfinite(value) and math.isfinite(variance)):
        return Bounds(math.nan, math.nan, math.nan)
    reach = reach_of(level) * math.sqrt(variance)
    if math.isinf(low):
        return Bounds(value - reach, value + reach, worth)
    if math.isinf(high):
        factor = math.exp(min(reach / (value - low), 100.0)) if value > low else 1.0
        return Bounds(low + (value - low) / factor, low + (value - low) * factor, worth)
    unit = (value - low) / (high - low)
    if 0 < unit < 1:
        share = variance / (high - low) ** 2
        n = max(unit * (1 - unit) / share, 1.0) if share > ROUNDING else math.inf
    else:
        n = max(worth, 1.0)
    ends = wilson(unit, n, level=level)
    return Bounds(low + (high - low) * ends[0], low + (high - low) * ends[1], n)


def between(low: float | None, high: float | None, form: str = "z.3f") -> str:
    """An interval as readers see it, empty if there is none.

    >>> between(0.25, 0.5), between(None, None), between(1200.0, 3400.0, ",.0f")
    ('0.250 to 0.500', '', '1,200 to 3,400')
    """
    if low is None or high is None or not math.isfinite(high - low):
        return ""
    return f"{low:{form}} to {high:{form}}"


def effective_claims(sizes: ArrayLike) -> float:
    """How many claims of equal size these are worth: few large ones are worth few.

    >>> effective_claims([10, 10, 10]), round(effective_claims([100, 1, 1]), 2)
    (3.0, 1.04)
    """
    counts = np.asarray(sizes, dtype=float)
    return float(counts.sum() ** 2 / np.sum(counts**2)) if counts.any() else 0.0


def claims_suffice(sizes: ArrayLike) -> bool:
    """Whether an interval over claims may be printed at all: three claims, and two's worth."""
    counts = np.asarray(sizes, dtype=float)
    return int((counts > 0).sum()) >= 3 and effective_claims(counts) >= 2


def jackknife_error(left_out: ArrayLike) -> float:
    """The standard error from the values with one claim left out each; undefined ones are left aside."""
    values = np.asarray(left_out, dtype=float)
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return 0.0
    return float(np.sqrt((len(values) - 1) / len(values) * np.sum((values - values.mean()) ** 2)))


def claims_interval(
    value: float,
    left_out: ArrayLike,
    sizes: ArrayLike,
    *,
    bounds: tuple[float, float] | None = None,
    level: float = 0.95,
) -> Bounds:
    """The interval of a score, or of a difference (no bounds), over claims: jackknife, t with G_eff - 1 degrees.

    `left_out` has the value without each claim, `sizes` the claims' items. Undefined below three claims, or two's
    worth.
    """
    if not claims_suffice(sizes) or math.isnan(value):
        return Bounds(math.nan, math.nan, effective_claims(sizes))
    quantile = reach_of(level, max(effective_claims(sizes) - 1, 1.0))
    if bounds is None or not all(math.isfinite(end) for end in bounds):
        reach = quantile * jackknife_error(left_out)
        return Bounds(value - reach, value + reach, effective_claims(sizes))
    low, high = bounds
    wide = high - low

    def logit(x: ArrayLike) -> Floats:
        unit = np.clip((np.asarray(x, dtype=float) - low) / wide, CLIP, 1 - CLIP)
        return np.asarray(np.log(unit / (1 - unit)), dtype=np.float64)

    middle, reach = float(logit(value)), quantile * jackknife_error(logit(left_out))
    lower, upper = (
        low + wide / (1 + math.exp(-min(max(x, -700.0), 700.0))) for x in (middle - reach, middle + reach)
    )
    return Bounds(lower, upper, effective_claims(sizes))


def kappa_interval(
    observed: float,
    expected: float,
    items: float,
    *,
    left_out: Sequence[float] | Floats | None = None,
    sizes: ArrayLike | None = None,
    level: float = 0.95,
) -> Bounds:
    """The one interval of kappa and its kin: Wilson's of observed agreement, mapped through 1 - (1-Po)/(1-Pe).

    Over `items` both labelled; or over claims, with the coefficient without each claim and the claims' items. It is
    never of width zero: full agreement of a few items is no proof. Undefined where chance agreement is complete.

    >>> low, high, n = kappa_interval(1.0, 0.5, 24)
    >>> round(low, 3), high
    (0.724, 1.0)
    """
    if math.isnan(observed) or math.isnan(expected) or expected >= 1 - 1e-12 or items < 1:
        return Bounds(math.nan, math.nan, math.nan)
    n, degrees = float(items), math.inf
    if left_out is not None and sizes is not None:
        if not claims_suffice(sizes):
            return Bounds(math.nan, math.nan, effective_claims(sizes))
        degrees = max(effective_claims(sizes) - 1, 1.0)
        error = jackknife_error(left_out)
        if error > 1e-12 and observed < 1:
            n = max(min(n, observed * (1 - observed) / (error**2 * (1 - expected) ** 2)), 1.0)
    low, high = wilson(observed, n, level=level, degrees=degrees)
    return Bounds(1 - (1 - low) / (1 - expected), 1 - (1 - high) / (1 - expected), n)


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95% interval, and what it is over: the units whose chance it holds."""

    low: float
    high: float
    over: Literal["claims", "items"]

    def __str__(self) -> str:
        return f"{self.low:.2f} to {self.high:.2f}, 95% interval over {self.over}"
