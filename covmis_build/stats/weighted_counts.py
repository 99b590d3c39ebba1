"""Intervals of totals of rare things, counted by weights: valid with few of them, and with none."""

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
    """The interval of a total, from the weights of those that chance has drawn (Fay and Feuer 1997).

    `unseen` is the weight of one that was not drawn: the mean one (Tiwari, Clegg and Zou 2006), or the largest, to be
    on the safe side. With equal weights it is the exact Poisson interval; with nothing drawn, the weighted rule of three.
    `mid_p` is the shorter form of Fay and Kim (2017): half of what was seen counts for either end.

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
    """The same from the sum of the weights and of their squares: what a plan expects of them."""
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
        """The share of both distributions together, the one with the unseen and the one without, that is below x."""
        both = [gammainc(m**2 / v, x * m / v) if m else 1.0 for m, v in ((total, square), with_unseen)]
        return float(sum(both)) / 2

    return _crossing(below, tail, low, high), _crossing(below, 1 - tail, low, high)


def _crossing(rising: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Where a rising function passes a value, by halving: the same on every machine; `low` where it is above all along."""
    if rising(low) >= wanted:
        return low
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < wanted else (low, middle)
    return high


def ratio_interval(
    top: tuple[float, float, float], bottom: tuple[float, float, float]
) -> tuple[float, float]:
    """The interval of a ratio of two independent figures, each given as value, low and high (Donner and Zou 2012).

    Where the lower figure is known it is the upper one's interval over it; where it may be 0, there is no upper end.

    >>> ratio_interval((4.0, 1.0, 9.0), (2.0, 2.0, 2.0))
    (0.5, 4.5)
    """
    (a, a_low, a_high), (b, b_low, b_high) = top, bottom
    return (
        _ratio_end(a, a_low, b, b_high, -1.0) if b_high > 0 else 0.0,
        _ratio_end(a, a_high, b, b_low, 1.0) if b_low > 0 else math.inf,
    )


def _ratio_end(a: float, a_end: float, b: float, b_end: float, side: float) -> float:
    """The end that combines one end of each: how far each reaches, as right triangles (the method of recovered variances)."""
    whole = b_end * (2 * b - b_end)
    if abs(whole) < 1e-12 * b * b:  # the limit of the formula where its denominator is nought
        return a_end * (2 * a - a_end) / (2 * a * b) if a else a_end / b_end
    under = max((a * b) ** 2 - a_end * b_end * (2 * a - a_end) * (2 * b - b_end), 0.0)
    return (a * b + side * math.sqrt(under)) / whole
