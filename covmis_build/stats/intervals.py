"""Intervals from a value and its variance that stay where the value can be."""

from __future__ import annotations

import math
from statistics import NormalDist

from covmis_build.errors import InputError


def logit_interval(
    share: float,
    variance: float,
    *,
    level: float = 0.95,
    effective: float = math.inf,
    degrees: float = math.inf,
) -> tuple[float, float]:
    """An interval for a share that stays between 0 and 1.

    On the logit scale, where that exists. At 0 and 1 it does not, and a width of zero would be a lie: there it is
    Wilson's, for as many units as the sample is worth (`effective`).
    """
    if 0 < share < 1:
        middle = math.log(share / (1 - share))
        reach = reach_of(level, degrees) * math.sqrt(variance) / (share * (1 - share))
        return _expit(middle - reach), _expit(middle + reach)
    z = reach_of(level)
    beyond = z**2 / (effective + z**2)
    return (0.0, beyond) if share <= 0 else (1 - beyond, 1.0)


def effective_size(worth: float, extra: float = 0.0) -> float:
    """How many independent units a sample is worth where nothing in it varies.

    `worth` is the variance of the sum of all units' shares in the whole. `extra` is what a later phase of m units
    without a deviation adds, about (part/m)²/2 for the part of the whole it stands for.
    """
    doubt = worth + math.sqrt(2 * extra)
    return 1 / doubt if doubt else math.inf


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


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


def bounded_interval(
    value: float,
    variance: float,
    bounds: tuple[float, float],
    *,
    level: float = 0.95,
    effective: float = math.inf,
    degrees: float = math.inf,
) -> tuple[float, float]:
    """An interval of a measure that stays in its range: logit between two bounds, log above a single one.

    At one of two bounds it is Wilson's, at a single one there is none.

    >>> low, high = bounded_interval(0.9, 0.05**2, (0.0, 1.0))
    >>> round(low, 3), round(high, 3)
    (0.752, 0.964)
    """
    low, high = bounds
    if not (math.isfinite(value) and math.isfinite(variance)):
        return math.nan, math.nan
    if math.isinf(high):
        if value <= low:
            return value, value
        reach = reach_of(level, degrees) * math.sqrt(variance) / (value - low)
        factor = math.exp(min(reach, 100.0))
        return low + (value - low) / factor, low + (value - low) * factor
    wide = high - low
    share, variance = (value - low) / wide, variance / wide**2
    ends = logit_interval(share, variance, level=level, effective=effective, degrees=degrees)
    return low + wide * ends[0], low + wide * ends[1]
