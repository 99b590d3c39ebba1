"""Estimates from samples with known probabilities: Horvitz-Thompson totals and Hájek means.

Every estimate here is a sum over the sample of z/π with z linear in what was observed (for ratios, after
linearisation), so one function, `Design.variance`, serves them all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from covmis_build.errors import InputError, nearest

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Joint = ArrayLike | Mapping[Any, ArrayLike]

DESIGNS = ("poisson", "two_phase")
ESTIMATORS = ("hajek", "horvitz_thompson")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its uncertainty; `value` is a mean (Hájek) or a total (Horvitz-Thompson)."""

    value: float
    variance: float
    low: float
    high: float
    n: int
    design_effect: float
    """The variance over that of a simple random sample of n drawn with replacement; nan if nothing varies."""

    @property
    def standard_error(self) -> float:
        """The square root of the variance."""
        return math.sqrt(self.variance)


@dataclass(frozen=True, slots=True)
class Design:
    """How the units at hand came into the sample.

    `probabilities` are those of this draw. `first` are those of an earlier, independent Bernoulli phase (one claim
    kept per post). `strata` name groups that were drawn independently of each other; `joint` has the probabilities
    of pairs, as a matrix over all units or one per stratum. Without `joint`, the fixed-size variance is Hájek's
    approximation.
    """

    probabilities: Floats
    name: Literal["poisson", "two_phase"] = "poisson"
    strata: NDArray[np.object_] | None = None
    joint: Joint | None = None
    first: Floats | None = None

    @property
    def weights(self) -> Floats:
        """1 over each unit's whole probability."""
        return 1 / (self.probabilities if self.first is None else self.probabilities * self.first)

    def variance(self, z: Floats) -> float:
        """The estimated variance of the sum of z over all phases' probabilities."""
        if self.first is None:
            return self._drawn(z)
        earlier = np.sum((1 - self.first) / self.first**2 * z**2 / self.probabilities)
        return self._drawn(z / self.first) + float(earlier)

    def _drawn(self, z: Floats) -> float:
        pi = self.probabilities
        if self.name == "poisson":
            return float(np.sum((1 - pi) / pi**2 * z**2))
        if self.strata is None:
            return _fixed_size(z, pi, self._matrix(None, np.arange(len(pi))))
        names, inverse = np.unique(self.strata.astype(str), return_inverse=True)
        parts = ((name, np.flatnonzero(inverse == at)) for at, name in enumerate(names))
        return math.fsum(_fixed_size(z[rows], pi[rows], self._matrix(name, rows)) for name, rows in parts)

    def _matrix(self, stratum: str | None, rows: NDArray[np.intp]) -> Floats | None:
        if self.joint is None:
            return None
        if isinstance(self.joint, Mapping):
            return None if stratum not in self.joint else np.asarray(self.joint[stratum], dtype=float)
        return np.asarray(self.joint, dtype=float)[np.ix_(rows, rows)]


def _fixed_size(z: Floats, pi: Floats, joint: Floats | None) -> float:
    """Sen-Yates-Grundy with joint probabilities, Hájek's approximation without (evaluation.md, 3 and 4)."""
    if joint is not None:
        apart = (z / pi)[:, None] - (z / pi)[None, :]
        product = pi[:, None] * pi[None, :]
        off = ~np.eye(len(pi), dtype=bool)
        if np.any(joint[off] <= 0):
            raise InputError("a pair in the sample has the joint probability 0", remedy="Check `joint`")
        return max(0.0, float(np.sum(((product - joint)[off] / joint[off]) * apart[off] ** 2)) / 2)
    chance = 1 - pi
    if len(pi) < 2 or chance.sum() == 0:
        return 0.0
    centre = np.sum(chance * z / pi) / chance.sum()
    return float(len(pi) / (len(pi) - 1) * np.sum(chance * (z / pi - centre) ** 2))


def estimate(
    values: ArrayLike,
    probabilities: ArrayLike,
    *,
    design: Literal["poisson", "two_phase"] = "poisson",
    estimator: Literal["hajek", "horvitz_thompson"] = "hajek",
    strata: ArrayLike | None = None,
    joint: Joint | None = None,
    level: float = 0.95,
) -> Estimate:
    """What the sample's values say about the population that it was drawn from with these probabilities.

    `hajek` estimates the mean, `horvitz_thompson` the total. Means of values between 0 and 1 have logit intervals,
    all else normal ones. For the fixed-size design, `strata` (claims) are drawn apart from each other.

    >>> found = estimate([1, 1, 1, 0, 1, 0], [1, .5, .5, .5, .25, .25])
    >>> round(found.value, 6), round(found.variance, 6), round(found.low, 6), round(found.high, 6)
    (0.6, 0.033778, 0.250596, 0.87061)
    """
    if estimator not in ESTIMATORS:
        raise InputError(f"no estimator is called '{estimator}'", remedy=nearest(estimator, ESTIMATORS))
    y = np.asarray(values, dtype=float)
    made = made_design(probabilities, design=design, strata=strata, joint=joint)
    if y.shape != made.probabilities.shape:
        raise InputError(f"{y.size} values have {made.probabilities.size} probabilities")
    if not np.all(np.isfinite(y)):
        raise InputError("a value is missing or infinite")
    return mean(y, made, level=level) if estimator == "hajek" else total(y, made, level=level)


def made_design(
    probabilities: ArrayLike,
    *,
    design: Literal["poisson", "two_phase"] = "poisson",
    strata: ArrayLike | None = None,
    joint: Joint | None = None,
    first: ArrayLike | None = None,
) -> Design:
    """A checked `Design`."""
    if design not in DESIGNS:
        raise InputError(f"no design is called '{design}'", remedy=nearest(design, DESIGNS))
    chances = {"probability": np.asarray(probabilities, dtype=float)}
    if first is not None:
        chances["first-phase probability"] = np.asarray(first, dtype=float)
    for what, pi in chances.items():
        if pi.ndim != 1 or not np.all((pi > 0) & (pi <= 1)):
            raise InputError(f"every unit in the sample needs a {what} above 0 and at most 1")
    groups = None if strata is None else np.asarray(strata, dtype=object)
    if any(
        len(part) != len(chances["probability"]) for part in (*chances.values(), groups) if part is not None
    ):
        raise InputError("probabilities, strata and first-phase probabilities differ in length")
    return Design(chances["probability"], design, groups, joint, chances.get("first-phase probability"))


def total(y: Floats, design: Design, *, level: float = 0.95) -> Estimate:
    """The Horvitz-Thompson total."""
    w = design.weights
    value, variance = float(np.sum(w * y)), design.variance(y)
    reach = _reach(level) * math.sqrt(variance)
    everyone = float(np.sum(w))
    simple = _spread(y, w) * everyone**2 / len(y) if len(y) else 0.0
    return Estimate(
        value, variance, value - reach, value + reach, len(y), variance / simple if simple else math.nan
    )


def mean(
    y: Floats,
    design: Design,
    *,
    sizes: Floats | None = None,
    domain: NDArray[np.bool_] | None = None,
    extra: float = 0.0,
    level: float = 0.95,
) -> Estimate:
    """The Hájek mean: the total of y·size over that of size, within the domain if one is given.

    The whole sample stays in the variance of a fixed-size design; units outside the domain count as zero. `extra`
    is variance from a later phase.
    """
    here = np.ones(len(y), dtype=bool) if domain is None else domain
    scale = here * (np.ones(len(y)) if sizes is None else sizes)
    w = design.weights * scale
    everyone, n = float(np.sum(w)), int(here.sum())
    if everyone == 0:
        return Estimate(math.nan, math.nan, math.nan, math.nan, n, math.nan)
    value = float(np.sum(w * y)) / everyone
    scale = scale / everyone
    variance = design.variance((y - value) * scale) + extra
    simple = _spread(y, w) / n
    if np.all((y[here] >= 0) & (y[here] <= 1)):
        worth = design.variance(scale)
        low, high = logit_interval(value, variance, level=level, effective=1 / worth if worth else math.inf)
    else:
        reach = _reach(level) * math.sqrt(variance)
        low, high = value - reach, value + reach
    return Estimate(value, variance, low, high, n, variance / simple if simple else math.nan)


def logit_interval(
    share: float, variance: float, *, level: float = 0.95, effective: float = math.inf
) -> tuple[float, float]:
    """An interval for a share that stays between 0 and 1.

    On the logit scale, where that exists. At 0 and 1 it does not, and a width of zero would be a lie: there it is
    Wilson's, for as many units as the sample is worth (`effective`).
    """
    z = _reach(level)
    if 0 < share < 1:
        middle = math.log(share / (1 - share))
        reach = z * math.sqrt(variance) / (share * (1 - share))
        return _expit(middle - reach), _expit(middle + reach)
    beyond = z**2 / (effective + z**2)
    return (0.0, beyond) if share <= 0 else (1 - beyond, 1.0)


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _reach(level: float) -> float:
    if not 0 < level < 1:
        raise InputError(f"the level {level} is not between 0 and 1", remedy="0.95 is usual")
    return NormalDist().inv_cdf((1 + level) / 2)


def _spread(y: Floats, w: Floats) -> float:
    """The population's variance, as far as the weights tell."""
    if not (everyone := float(np.sum(w))):
        return 0.0
    middle = np.sum(w * y) / everyone
    return float(np.sum(w * (y - middle) ** 2) / everyone)
