"""Estimates with the help of predictions: a model has seen all posts, people the sample (model-assisted, PPI).

θ = ŷ + λ (F̄ - f̂): the sample's mean, moved by as much as the sample's predictions differ from all posts'. λ is chosen
by the design's own variance, so useless predictions cost next to nothing, and wrong ones bias nothing. Not clipped to
0..1: it is printed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from covmis_build.stats.over_posts import NOTHING_KNOWN, Design, Expected, linear_estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from covmis_build.stats.intervals import Estimate

    Floats = NDArray[np.float64]

FEWEST_LABELS = 20
"""A domain with fewer labels is not moved by predictions (a rule of thumb)."""
MOST_EXPLAINED = 0.95
"""The part of the variance that predictions can be credited with."""
ROUNDING = 1e-9
"""A range of predictions below this is rounding noise, and not divided by."""


def strength(deviations: Floats, predicted: Floats, design: Design) -> float:
    """λ*: the covariance of both linearised means over the variance of the predictions', as the design gives them.

    By polarisation, (v(a + b) - v(a - b)) / 4 v(b): so it works for every design that knows the variance of a sum.
    """
    variance = design.variance(predicted)
    if variance <= 0:
        return 0.0
    together = design.variance(deviations + predicted) - design.variance(deviations - predicted)
    return together / (4 * variance)


def deviations(values: Floats, centre: Floats, scale: Floats, predicted: Floats | None = None) -> Floats:
    """The linearised mean of these values; nothing where predictions do not vary."""
    if predicted is not None and np.ptp(predicted) <= ROUNDING * max(1.0, float(np.abs(predicted).max())):
        return np.zeros(len(values))
    return (values - centre) * scale


def assisted_estimate(  # noqa: PLR0913 - the sample, its predictions, the design and the pool, by name
    y: Floats,
    f: Floats,
    centres: tuple[Floats, Floats],
    scale: Floats,
    design: Design,
    *,
    n: int,
    pool_mean: float,
    moved: float,
    extra: float = 0.0,
    expected: Expected = NOTHING_KNOWN,
    level: float = 0.95,
) -> Estimate:
    """The share moved by `moved` (λ) times what the pool's predictions differ from the sample's.

    `centres` are what y and f deviate from; `scale`/π adds up to 1; `extra` is variance from a later phase.
    """
    plain = linear_estimate(y, centres[0], scale, design, n=n, extra=extra, expected=expected, level=level)
    if n <= 2 or math.isnan(plain.value):
        return plain
    shares = design.weights * scale
    value = plain.value + moved * (pool_mean - float(np.sum(shares * f)))
    z = deviations(y, centres[0], scale) - moved * deviations(f, centres[1], scale)
    # λ was chosen to make the variance small: n/(n-2) is the price of that, also where it came out as 0
    variance = design.variance(z) * n / (n - 2) + extra
    explained = 1 - variance / plain.variance if plain.variance > 0 else 0.0
    explained = min(MOST_EXPLAINED, max(0.0, explained))
    edge = 1e-6 if variance > 0 else 0.0  # where nothing varies, 0 and 1 are values like others
    low, high = plain.bounds
    return replace(
        plain, value=min(max(value, low + edge), high - edge), variance=variance, worth=plain.worth / (1 - explained),
        strength=moved, r_squared=explained,
    )  # fmt: skip
