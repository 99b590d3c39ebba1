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
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Joint = ArrayLike | Mapping[Any, ArrayLike]

DESIGNS = ("poisson", "two_phase")
ESTIMATORS = ("hajek", "horvitz_thompson", "ht")


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
    """How the units at hand came into the sample; made and checked by `made_design`."""

    probabilities: Floats
    """Those of this draw."""
    names: NDArray[np.str_]
    """The design that drew each unit."""
    blocks: tuple[tuple[NDArray[np.intp], Floats | None], ...] = ()
    """The fixed-size units by stratum, each with (π_i·π_j - π_ij)/π_ij of its pairs if they are known."""
    first: Floats | None = None
    """Probabilities of an earlier, independent Bernoulli phase (one claim kept per post)."""

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
        """Poisson units vary on their own; fixed-size ones within their stratum."""
        pi = self.probabilities
        alone = float(np.sum(((1 - pi) / pi**2 * z**2)[self.names == "poisson"]))
        return alone + math.fsum(
            _fixed_size(z[rows], pi[rows], joint) for rows, joint in self.blocks if z[rows].any()
        )


def _fixed_size(z: Floats, pi: Floats, pairs: Floats | None) -> float:
    """Sen-Yates-Grundy with joint probabilities, Hájek's approximation without (evaluation.md, 3 and 4)."""
    if pairs is not None:
        apart = np.subtract.outer(z / pi, z / pi)
        return max(0.0, float(np.sum(pairs * apart * apart)) / 2)
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
    estimator: Literal["hajek", "horvitz_thompson", "ht"] = "hajek",
    strata: ArrayLike | None = None,
    joint: Joint | None = None,
    level: float = 0.95,
) -> Estimate:
    """What the sample's values say about the population that it was drawn from with these probabilities.

    `hajek` estimates the mean, `horvitz_thompson` (`ht` for short) the total. Means of values between 0 and 1 have logit intervals,
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
    design: str | Sequence[str] = "poisson",
    strata: ArrayLike | None = None,
    joint: Joint | None = None,
    first: ArrayLike | None = None,
) -> Design:
    """A checked `Design`; `design` is one name, or one for each unit.

    `strata` name groups that were drawn independently of each other; `joint` has the probabilities of pairs, as one
    matrix over all units or one per stratum. Without `joint`, the fixed-size variance is Hájek's approximation.
    """
    for name in {design} if isinstance(design, str) else set(design):
        if name not in DESIGNS:
            raise InputError(f"no design is called '{name}'", remedy=nearest(str(name), DESIGNS))
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
    names = np.broadcast_to(np.asarray(design, dtype=str), chances["probability"].shape)
    blocks = tuple(
        (rows, None if part is None else _pairs(chances["probability"][rows], part))
        for rows, part in _blocks(names == "two_phase", groups, joint)
    )
    return Design(chances["probability"], names, blocks, chances.get("first-phase probability"))


def _blocks(
    fixed: NDArray[np.bool_], groups: NDArray[np.object_] | None, joint: Joint | None
) -> Iterator[tuple[NDArray[np.intp], Floats | None]]:
    """The rows of each stratum of fixed-size units, with their part of the joint probabilities."""
    strata = np.zeros(len(fixed), dtype=str) if groups is None else groups.astype(str)
    matrix = None if joint is None or isinstance(joint, Mapping) else np.asarray(joint, dtype=float)
    if matrix is not None and matrix.shape != (len(fixed), len(fixed)):
        raise InputError(f"joint is not a matrix of {len(fixed)} rows and columns")
    for name in np.unique(strata[fixed]):
        rows = np.flatnonzero((strata == name) & fixed)
        if isinstance(joint, Mapping):
            yield rows, np.asarray(joint[str(name)], dtype=float) if str(name) in joint else None
        else:
            yield rows, None if matrix is None else matrix[np.ix_(rows, rows)]


def _pairs(pi: Floats, joint: Floats) -> Floats:
    """What Sen-Yates-Grundy multiplies each pair's squared difference with; nothing for a unit with itself."""
    off = ~np.eye(len(pi), dtype=bool)
    if joint.shape != off.shape or np.any(joint[off] <= 0):
        raise InputError("a pair in the sample has no joint probability above 0", remedy="Check `joint`")
    made = np.zeros_like(joint)
    made[off] = ((np.multiply.outer(pi, pi) - joint)[off]) / joint[off]
    return made


def total(y: Floats, design: Design, *, extra: float = 0.0, level: float = 0.95) -> Estimate:
    """The Horvitz-Thompson total; `extra` is variance from a later phase."""
    w = design.weights
    value, variance = float(np.sum(w * y)), design.variance(y) + extra
    reach = reach_of(level) * math.sqrt(variance)
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
        # Only needed where nothing varies, and as dear as the variance itself.
        effective = math.inf if 0 < value < 1 else effective_size(design.variance(scale), extra)
        low, high = logit_interval(value, variance, level=level, effective=effective)
    else:
        reach = reach_of(level) * math.sqrt(variance)
        low, high = value - reach, value + reach
    return Estimate(value, variance, low, high, n, variance / simple if simple else math.nan)


def logit_interval(
    share: float, variance: float, *, level: float = 0.95, effective: float = math.inf
) -> tuple[float, float]:
    """An interval for a share that stays between 0 and 1.

    On the logit scale, where that exists. At 0 and 1 it does not, and a width of zero would be a lie: there it is
    Wilson's, for as many units as the sample is worth (`effective`).
    """
    z = reach_of(level)
    if 0 < share < 1:
        middle = math.log(share / (1 - share))
        reach = z * math.sqrt(variance) / (share * (1 - share))
        return _expit(middle - reach), _expit(middle + reach)
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


def reach_of(level: float) -> float:
    """How many standard errors an interval of this level reaches to each side."""
    if not 0 < level < 1:
        raise InputError(f"the level {level} is not between 0 and 1", remedy="0.95 is usual")
    return NormalDist().inv_cdf((1 + level) / 2)


def _spread(y: Floats, w: Floats) -> float:
    """The population's variance, as far as the weights tell."""
    if not (everyone := float(np.sum(w))):
        return 0.0
    middle = np.sum(w * y) / everyone
    return float(np.sum(w * (y - middle) ** 2) / everyone)
