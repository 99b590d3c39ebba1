"""Model-assisted estimates (PPI): predictions for all posts, labels for the sample.

θ = ŷ + λ (F̄ - f̂): the sample mean, shifted by the difference between predictions of the sample and of all posts. λ is
chosen by the design's variance, so useless predictions cost almost nothing and wrong ones cause no bias. Results
are not clipped to 0..1.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from covmis_build.stats.over_posts import MOST_EXPLAINED, NOTHING_KNOWN, Design, Expected, linear_estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from covmis_build.stats.intervals import Estimate
    from covmis_build.stats.over_posts import Seen

    Floats = NDArray[np.float64]

FEWEST_LABELS = 20
"""Minimum number of labels in a domain to use predictions (a rule of thumb)."""
ROUNDING = 1e-9
"""A smaller range of predictions is rounding noise."""


def strength(deviations: Floats, predicted: Floats, design: Design) -> float:
    """Return λ*: the covariance of both linearised means divided by the variance of the predictions', under the design.

    It uses (v(a + b) - v(a - b)) / 4 v(b), which needs only a design's variance of sums.
    """
    variance = design.variance(predicted)
    if variance <= ROUNDING**2 * float(np.sum(predicted**2)):
        return 0.0  # known sizes of groups explain all that the predictions tell
    together = design.variance(deviations + predicted) - design.variance(deviations - predicted)
    return together / (4 * variance)


def deviations(values: Floats, centre: Floats, scale: Floats, predicted: Floats | None = None) -> Floats:
    """Return the linearised mean of these values; zero if predictions do not vary."""
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
    linear: Floats | None = None,
    seen: Seen | None = None,
    bounded: bool = True,
) -> Estimate:
    """Return the share shifted by `moved` (λ) times the difference of predictions between population and sample.

    `centres` are subtracted from y and f; `scale`/π sums to 1; `extra` is variance of a later phase, `linear`, `seen` and
    `bounded` are those of `linear_estimate`.
    """
    linear = deviations(y, centres[0], scale) if linear is None else linear
    plain = linear_estimate(
        y,
        centres[0],
        scale,
        design,
        n=n,
        extra=extra,
        expected=expected,
        level=level,
        linear=linear,
        seen=seen,
        bounded=bounded,
    )
    if n <= 2 or math.isnan(plain.value):
        return plain
    shares = design.weights * scale
    value = plain.value + moved * (pool_mean - float(np.sum(shares * f)))
    z = linear - moved * deviations(f, centres[1], scale)
    # λ was chosen to minimise the variance: the factor n/(n-2) corrects for that, also for λ = 0
    variance = design.variance(z) * n / (n - 2) + extra
    explained = 1 - variance / plain.variance if plain.variance > 0 else 0.0
    explained = min(MOST_EXPLAINED, max(0.0, explained))
    edge = 1e-6 if variance > 0 else 0.0  # if nothing varies, 0 and 1 are ordinary values
    low, high = plain.bounds
    return replace(
        plain,
        value=min(max(value, low + edge), high - edge),
        variance=variance,
        worth=plain.worth / (1 - explained),
        strength=moved,
        r_squared=explained,
    )
