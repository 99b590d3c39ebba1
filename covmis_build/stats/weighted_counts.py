"""Intervals of weighted totals of rare events, also valid for few observations or none."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike


def gamma_interval(
    weights: ArrayLike, unseen: float, *, level: float = 0.95, mid_p: bool = False
) -> tuple[float, float]:
    """Return the interval of a total, from the weights of the sampled ones (Fay and Feuer 1997).

    `unseen` is the weight of one that was not sampled: the mean one (Tiwari, Clegg and Zou 2006), or, to be conservative, the
    largest. With equal weights it is the exact Poisson interval; without observations, the weighted rule of three. `mid_p` is
    the shorter version of Fay and Kim (2017), in which the observation counts half for either end.

    >>> low, high = gamma_interval([], 1.0)
    >>> low, round(high, 3)
    (0.0, 3.689)
    >>> low, high = gamma_interval([], 1.0, mid_p=True)
    >>> low, round(high, 3)
    (0.0, 2.996)
    """
    drawn = np.asarray(weights, dtype=np.float64)
    return gamma_from_moments(float(drawn.sum()), float(np.sum(drawn**2)), unseen, level=level, mid_p=mid_p)


def gamma_from_moments(
    total: float, square: float, unseen: float, *, level: float = 0.95, mid_p: bool = False
) -> tuple[float, float]:
    """The same from the sum of weights and of squared weights, which a plan expects."""
    from scipy.special import chdtri, gammainc

    tail = (1 - level) / 2
    with_unseen = total + unseen, square + unseen**2

    def quantile(moments: tuple[float, float], below: float) -> float:
        mean, spread = moments
        return float(spread / (2 * mean) * chdtri(2 * mean**2 / spread, 1 - below)) if mean else 0.0

    low, high = quantile((total, square), tail), quantile(with_unseen, 1 - tail)
    if not mid_p:
        return low, high

    def below(x: float) -> float:
        """Return the probability below x under the mixture of both distributions (with and without the unseen one)."""
        both = [gammainc(m**2 / v, x * m / v) if m else 1.0 for m, v in ((total, square), with_unseen)]
        return float(sum(both)) / 2

    return _crossing(below, tail, low, high), _crossing(below, 1 - tail, low, high)


def _crossing(rising: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Find where a rising function passes a value, by bisection, identical on all machines; `low` if it always exceeds it."""
    if rising(low) >= wanted:
        return low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < wanted else (low, middle)
    return high


def ratio_interval(
    top: tuple[float, float, float], bottom: tuple[float, float, float]
) -> tuple[float, float]:
    """Return the interval of a ratio of two independent figures, each as value, low and high (Donner and Zou 2012).

    If the denominator is known, the numerator's interval is divided by it. If it may be 0, there is no upper end.

    >>> ratio_interval((4.0, 1.0, 9.0), (2.0, 2.0, 2.0))
    (0.5, 4.5)
    """
    (a, a_low, a_high), (b, b_low, b_high) = top, bottom
    return (
        _ratio_end(a, a_low, b, b_high, -1.0) if b_high > 0 else 0.0,
        _ratio_end(a, a_high, b, b_low, 1.0) if b_low > 0 else math.inf,
    )


def _ratio_end(a: float, a_end: float, b: float, b_end: float, side: float) -> float:
    """Combine one end of each figure by the method of variance estimates recovery (MOVER)."""
    whole = b_end * (2 * b - b_end)
    if abs(whole) < 1e-12 * b * b:  # the limit of the formula for a zero denominator
        return a_end * (2 * a - a_end) / (2 * a * b) if a else a_end / b_end
    under = max((a * b) ** 2 - a_end * b_end * (2 * a - a_end) * (2 * b - b_end), 0.0)
    return (a * b + side * math.sqrt(under)) / whole
