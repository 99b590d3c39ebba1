"""Estimates from samples with known probabilities: Horvitz-Thompson totals and Hájek means.

Every estimate here is a sum over the sample of z/π with z linear in what was observed (for ratios, after
linearisation), so one function, `Design.variance`, serves them all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from covmis_build.errors import InputError, nearest
from covmis_build.stats.intervals import effective_size, logit_interval, reach_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Quantile = Literal["t", "normal"]
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


FEWEST = 4.0
"""Degrees of freedom of a variance that one item brings: Satterthwaite's, where it was drawn with one chance in two."""


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
        return self._drawn(z / self.first) + float(np.sum(self._first_parts(z)))

    def degrees(self, z: Floats, tied: Floats | float = 0.0) -> float:
        """How many degrees of freedom the variance of the sum of z has (docs/decisions/0042).

        Each unit's part in the variance, less `tied`, what the interval's own scale takes account of already; as
        many units with equal parts would vary as much. One less, as for a mean of so many; but never below FEWEST.
        """
        parts = self._parts(z)
        if not (everything := parts.sum()):
            return math.inf
        chance = self.probabilities if self.first is None else self.probabilities * self.first
        loose = float(np.sum((1 - chance) * (parts / everything - tied) ** 2))
        return max(1 / loose - 1, FEWEST) if loose else math.inf

    def _parts(self, z: Floats) -> Floats:
        """What each unit adds to the variance; for fixed-size units by Hájek's approximation."""
        pi, within = self.probabilities, z if self.first is None else z / self.first
        parts = (1 - pi) / pi**2 * within**2
        if self.blocks:
            block = np.repeat(np.arange(len(self.blocks)), [len(rows) for rows, _ in self.blocks])
            fixed = np.concatenate([rows for rows, _ in self.blocks])
            parts[fixed] = _hajek_parts(within[fixed], pi[fixed], block)
        return parts if self.first is None else parts + self._first_parts(z)

    def _first_parts(self, z: Floats) -> Floats:
        """What each unit adds by the earlier phase."""
        assert self.first is not None
        return np.asarray((1 - self.first) / self.first**2 * z**2 / self.probabilities, dtype=np.float64)

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
    return float(np.sum(_hajek_parts(z, pi, np.zeros(len(pi), dtype=np.intp))))


def _hajek_parts(z: Floats, pi: Floats, block: NDArray[np.intp]) -> Floats:
    """Each fixed-size unit's part in Hájek's approximation, block by block; certain or single units have none."""
    chance, n = 1 - pi, np.bincount(block)
    mass = np.bincount(block, chance)
    centre = np.bincount(block, chance * z / pi) / np.where(mass > 0, mass, 1.0)
    scale = np.where(n > 1, n / np.maximum(n - 1, 1), 0.0)
    return np.asarray(scale[block] * chance * (z / pi - centre[block]) ** 2, dtype=np.float64)


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
    all else plain ones, with the textbook's normal quantile (`estimates` of a corpus use Student's t). For the
    fixed-size design, `strata` (claims) are drawn apart from each other.

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
    of = mean if estimator == "hajek" else total
    return of(y, made, level=level, quantile="normal")


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


def total(
    y: Floats, design: Design, *, extra: float = 0.0, level: float = 0.95, quantile: Quantile = "t"
) -> Estimate:
    """The Horvitz-Thompson total of values of one sign; `extra` is variance from a later phase."""
    w = design.weights
    value, variance = float(np.sum(w * y)), design.variance(y) + extra
    degrees = math.inf
    if quantile == "t" and value:
        degrees = _joined(design.degrees(y, w * y / value), variance, extra)
    reach = reach_of(level, degrees) * math.sqrt(variance)
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
    quantile: Quantile = "t",
) -> Estimate:
    """The Hájek mean: the total of y·size over that of size, within the domain if one is given.

    The whole sample stays in the variance of a fixed-size design; units outside the domain count as zero. `extra`
    is variance from a later phase. The interval's quantile is normal, or Student's t with the degrees of freedom
    that the estimated variance has.
    """
    here = np.ones(len(y), dtype=bool) if domain is None else domain
    scale = here * (np.ones(len(y)) if sizes is None else sizes)
    w = design.weights * scale
    everyone, n = float(np.sum(w)), int(here.sum())
    if everyone == 0:
        return Estimate(math.nan, math.nan, math.nan, math.nan, n, math.nan)
    value = float(np.sum(w * y)) / everyone
    scale = scale / everyone
    z = (y - value) * scale
    variance = design.variance(z) + extra
    simple = _spread(y, w) / n
    if np.all((y[here] >= 0) & (y[here] <= 1)):
        # Only needed where nothing varies, and as dear as the variance itself.
        effective = math.inf if 0 < value < 1 else effective_size(design.variance(scale), extra)
        degrees = share_degrees(value, z, design, variance, extra) if quantile == "t" else math.inf
        low, high = logit_interval(value, variance, level=level, effective=effective, degrees=degrees)
    else:
        degrees = _joined(design.degrees(z), variance, extra) if quantile == "t" else math.inf
        reach = reach_of(level, degrees) * math.sqrt(variance)
        low, high = value - reach, value + reach
    return Estimate(value, variance, low, high, n, variance / simple if simple else math.nan)


def share_degrees(share: float, z: Floats, design: Design, variance: float, extra: float = 0.0) -> float:
    """The degrees of freedom of a share's variance; z is linear in it, `extra` the later phase's part.

    That a variance moves with the share as share·(1 - share) does is no doubt about it: the logit knows.
    """
    if not 0 < share < 1:
        return math.inf
    tied = (1 - 2 * share) / (share * (1 - share)) * design.weights * z
    return _joined(design.degrees(z, tied), variance, extra)


def _joined(degrees: float, variance: float, extra: float) -> float:
    """Degrees of freedom where a part of the variance is taken as known (Satterthwaite)."""
    return degrees * (variance / (variance - extra)) ** 2 if variance > extra else math.inf


def _spread(y: Floats, w: Floats) -> float:
    """The population's variance, as far as the weights tell."""
    if not (everyone := float(np.sum(w))):
        return 0.0
    middle = np.sum(w * y) / everyone
    return float(np.sum(w * (y - middle) ** 2) / everyone)
