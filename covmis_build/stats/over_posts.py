"""Figures on the target population, from samples with known probabilities: Horvitz-Thompson totals and Hájek means.

Every estimate is a sum over the sample of z/π with z linear in the observations (for ratios, after linearisation),
so `Design.variance` serves all. An interval uses at most the effective size of the weights: those of the sample, and those
of the target population, which may contain large clusters that were not sampled.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from covmis_build.errors import InputError, nearest
from covmis_build.stats.intervals import (
    FEW_DECIDE,
    FEW_UNCERTAIN,
    FEWEST,
    Estimate,
    Over,
    effective,
    reach_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Joint = ArrayLike | Mapping[Any, ArrayLike]

DESIGNS = ("poisson", "two_phase")
MOST_EXPLAINED = 0.95
"""Largest share of a figure's variance that is credited to what is known of the population."""
SELDOM = 0.05
"""Probability that a sample misses more of the target population than `Expected.missed`."""


class Expected(NamedTuple):
    """Expected properties of a figure's weights given the target population, including posts not sampled. Needs no labels."""

    looseness: float = 0.0
    """Variance of the figure, relative to that of one item, if observations are unrelated to the weights."""
    missed: float = 0.0
    """Largest share of the whole that is missed with probability SELDOM."""

    def worth(self, share: float) -> float:
        """Effective size for which Wilson's interval of this share covers both extremes for the missed part."""
        if self.missed <= 0:
            return math.inf
        odds = min(share, 1 - share) / max(share, 1 - share)
        units = reach_of(1 - SELDOM) ** 2 * (1 - self.missed) / self.missed * (1 + odds / self.missed)
        return max(units, 1.0)


NOTHING_KNOWN = Expected()
"""For an unknown target population."""


class Seen(NamedTuple):
    """What people labelled, where a later phase chose among the sample: this alone tells how much a figure can be trusted."""

    y: Floats
    shares: Floats
    """Each unit's share of the figure; 0 for those that nobody labelled."""
    probabilities: Floats
    """Probabilities of this draw and of being labelled."""
    credited: bool = True
    """Whether a figure may be more precise than these labels are by themselves."""


@dataclass(frozen=True, slots=True)
class PostStrata:
    """Cells of the population whose sizes are known: the weights of the units of a cell sum to its size."""

    cells: NDArray[np.intp]
    """The cell of each unit."""
    factors: Floats
    """By how much the weight of each unit changes."""
    sizes: Floats
    """How many posts each unit stands for."""
    first_phase: Floats
    """For each cell, the variance of its size, which an earlier phase determined."""
    names: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    """Claims with too few units of their own, which are weighted together with others."""
    merged_share: float = 0.0
    """The share of the population that belongs to these claims."""

    def slopes(self, z: Floats, weights: Floats) -> Floats:
        """Return for each cell the mean of z per post."""
        count = len(self.first_phase)
        return np.bincount(self.cells, weights * z, count) / np.bincount(
            self.cells, weights * self.sizes, count
        )

    def explained(self, y: Floats, shares: Floats) -> float:
        """Return the part of the variance of y that lies between cells: their sizes are known, so it causes no error."""
        count = len(self.first_phase)
        whole = np.bincount(self.cells, shares, count)
        means = np.divide(
            np.bincount(self.cells, shares * y, count), whole, out=np.zeros(count), where=whole > 0
        )
        total = float(np.sum(shares * (y - float(np.sum(shares * y))) ** 2))
        within = float(np.sum(shares * (y - means[self.cells]) ** 2))
        return min(MOST_EXPLAINED, max(0.0, 1 - within / total)) if total > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Design:
    """The sampling design of the units; created and checked by `made_design`."""

    probabilities: Floats
    """Probabilities of this draw."""
    names: NDArray[np.str_]
    """The design of each unit."""
    blocks: tuple[tuple[NDArray[np.intp], Floats | None], ...] = ()
    """Fixed-size units by stratum, each with (π_i·π_j - π_ij)/π_ij of its pairs if known."""
    first: Floats | None = None
    """Probabilities of an earlier, independent Bernoulli phase (one claim kept per post)."""
    strata: PostStrata | None = None
    """Cells of known size, if the population is known."""
    pool: Mapping[str, Expected] = field(default_factory=dict)
    """Expected properties given the whole target population, for unique posts and for all posts, if known."""

    @property
    def weights(self) -> Floats:
        """1 divided by each unit's total probability, times its factor if sizes of cells are known."""
        return 1 / self.chance if self.strata is None else self.strata.factors / self.chance

    def variance(self, z: Floats) -> float:
        """Estimated variance of the sum of z times the weights."""
        if self.strata is None:
            return self._weighted(z)
        slopes = self.strata.slopes(z, 1 / self.chance)
        residuals = z - self.strata.sizes * slopes[self.strata.cells]
        return self._weighted(self.strata.factors * residuals) + float(
            np.sum(self.strata.first_phase * slopes**2)
        )

    def _weighted(self, z: Floats) -> float:
        if self.first is None:
            return self._drawn(z)
        return self._drawn(z / self.first) + float(np.sum(self._first_parts(z)))

    @property
    def chance(self) -> Floats:
        """Each unit's total probability."""
        return self.probabilities if self.first is None else self.probabilities * self.first

    def worth(self, shares: Floats, looseness: float = 0.0) -> float:
        """Return the effective size of weighted units, given each unit's share (shares sum to 1).

        It is 1 divided by the variance of the estimate if observations were unrelated to the weights: the larger of the
        sample's variance and the population's expected one (`Expected.looseness`).
        """
        loose = max(float(np.sum((1 - self.chance) * shares**2)), looseness)
        return 1 / loose if loose > 0 else math.inf

    def units(self, shares: Floats) -> float:
        """Return Kish's effective number of randomly sampled units. Certain units do not lower it; infinite without random ones."""
        pull = np.sqrt(1 - self.chance) * shares
        return effective(pull) if np.any(pull > 0) else math.inf

    def degrees(self, shares: Floats) -> float:
        """Return the degrees of freedom: the effective number of random units, less one; over cells, one less for each."""
        degrees = self.units(shares) - 1
        if self.strata is None or math.isinf(degrees):
            return degrees
        random = self.chance < 1
        return min(degrees, float(random.sum() - len(np.unique(self.strata.cells[random]))))

    def part(self, kept: NDArray[np.bool_]) -> Design:
        """Return the design for some of the units, as if the others did not exist."""
        place = np.cumsum(kept) - 1
        blocks = tuple(
            (place[rows[kept[rows]]], None if pairs is None else pairs[np.ix_(kept[rows], kept[rows])])
            for rows, pairs in self.blocks
            if kept[rows].any()
        )
        first = None if self.first is None else self.first[kept]
        return Design(self.probabilities[kept], self.names[kept], blocks, first)

    def _first_parts(self, z: Floats) -> Floats:
        """Return each unit's contribution to the first phase's variance."""
        assert self.first is not None
        return np.asarray((1 - self.first) / self.first**2 * z**2 / self.probabilities, dtype=np.float64)

    def _drawn(self, z: Floats) -> float:
        """Return this draw's variance: Poisson units are independent; fixed-size units vary within their stratum."""
        pi = self.probabilities
        alone = float(np.sum(((1 - pi) / pi**2 * z**2)[self.names == "poisson"]))
        return alone + math.fsum(
            _fixed_size(z[rows], pi[rows], joint) for rows, joint in self.blocks if z[rows].any()
        )


def _fixed_size(z: Floats, pi: Floats, pairs: Floats | None) -> float:
    """Return the Sen-Yates-Grundy variance with joint probabilities, otherwise Hájek's approximation."""
    if pairs is not None:
        apart = np.subtract.outer(z / pi, z / pi)
        return max(0.0, float(np.sum(pairs * apart * apart)) / 2)
    chance, n = 1 - pi, len(pi)
    if n < 2 or not chance.any():
        return 0.0  # certain or single units do not vary
    centre = np.sum(chance * z / pi) / chance.sum()
    return float(n / (n - 1) * np.sum(chance * (z / pi - centre) ** 2))


def made_design(
    probabilities: ArrayLike,
    *,
    design: str | Sequence[str] = "poisson",
    strata: ArrayLike | None = None,
    joint: Joint | None = None,
    first: ArrayLike | None = None,
) -> Design:
    """Return a checked `Design`; `design` is one name, or one per unit.

    `strata` name groups that were sampled independently. `joint` has the probabilities of pairs, as one matrix over all
    units or one per stratum. Without `joint`, the variance of fixed-size designs is Hájek's approximation.
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
    """Return the rows of each stratum of fixed-size units, with their part of the joint probabilities."""
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
    """Return the factors of squared differences in Sen-Yates-Grundy; zero on the diagonal."""
    off = ~np.eye(len(pi), dtype=bool)
    if joint.shape != off.shape or np.any(joint[off] <= 0):
        raise InputError("a pair in the sample has no joint probability above 0", remedy="Check `joint`")
    covariances = np.zeros_like(joint)
    covariances[off] = ((np.multiply.outer(pi, pi) - joint)[off]) / joint[off]
    return covariances


def total(y: Floats, design: Design) -> tuple[float, float]:
    """Return the Horvitz-Thompson total and its variance. Its own interval covers too rarely; `estimation` uses N x share."""
    return float(np.sum(design.weights * y)), design.variance(y)


def expected_of(chances: Floats, scale: Floats, first: Floats | float = 1.0) -> Expected:
    """Return expected properties given all probabilities in the population (`chances`), with each unit's `scale`.

    `first` are the probabilities of an earlier phase, by which each also represents others that did not come so far.

    >>> [round(number, 3) for number in expected_of(np.full(100, 0.2), np.full(100, 0.01))]
    [0.04, 0.134]
    >>> round(expected_of(np.full(100, 0.2), np.full(100, 0.01), 0.5).looseness, 3)
    0.08
    """
    open_to_chance = chances < 1
    p, share, times = (
        x[open_to_chance] for x in (chances, scale, np.broadcast_to(1 / np.asarray(first), chances.shape))
    )
    looseness = float(np.sum((1 - p) / p * share**2 * times))
    # A set is missed with the product of 1 - p; choose the units with the largest share per factor.
    each = -np.log1p(-p)
    order = np.argsort(-share / each, kind="stable")
    cost = (each * times)[order]
    left = -math.log(SELDOM) - (np.cumsum(cost) - cost)
    return Expected(looseness, float(np.sum((share * times)[order] * np.clip(left / cost, 0, 1))))


def mean(
    y: Floats,
    design: Design,
    *,
    sizes: Floats | None = None,
    domain: NDArray[np.bool_] | None = None,
    extra: float = 0.0,
    expected: Expected = NOTHING_KNOWN,
    level: float = 0.95,
    bounded: bool = True,
) -> Estimate:
    """Return the Hájek mean: the total of y·size divided by that of size, within the domain if given.

    For fixed-size designs the variance uses the whole sample; units outside the domain count as zero. `extra` is the variance
    of a later phase, `expected` that of the domain's population (`expected_of`).
    """
    here = np.ones(len(y), dtype=bool) if domain is None else domain
    scale = here * (np.ones(len(y)) if sizes is None else sizes)
    everyone, n = float(np.sum(design.weights * scale)), int(here.sum())
    if everyone == 0:
        return Estimate(math.nan, math.nan, n, why="no item")
    return linear_estimate(
        y,
        np.full(len(y), float(np.sum(design.weights * scale * y)) / everyone),
        scale / everyone,
        design,
        n=n,
        extra=extra,
        expected=expected,
        level=level,
        bounded=bounded,
    )


def linear_estimate(  # noqa: PLR0913 - a sample and what is known of its pool, by name
    y: Floats,
    centre: Floats,
    scale: Floats,
    design: Design,
    *,
    n: int,
    extra: float = 0.0,
    expected: Expected = NOTHING_KNOWN,
    level: float = 0.95,
    linear: Floats | None = None,
    seen: Seen | None = None,
    bounded: bool = True,
) -> Estimate:
    """Return the sum of scale·y/π, where scale/π sums to 1, with its interval.

    `centre` is subtracted from each unit: the mean, or its claim's mean if claims have equal weight. `linear` overrides the
    linearised deviations (y - centre)·scale. `seen` are labels of a later phase. `bounded` values lie between 0 and 1.
    """
    shares = design.weights * scale
    value = float(np.sum(shares * y))
    variance = design.variance((y - centre) * scale if linear is None else linear) + extra
    inside = scale > 0
    if seen is not None:
        y, shares = seen.y, seen.shares
        value, inside = min(max(value, 0.0), 1.0), inside & (shares > 0)
        design = replace(design, probabilities=seen.probabilities)
    worth, spread = design.worth(shares, expected.looseness), float(np.sum(shares * (y - value) ** 2))
    explained = 0.0 if design.strata is None else design.strata.explained(y, shares)
    if seen is not None and seen.credited:
        alone = float(np.sum((1 - design.chance) * (shares * (y - value)) ** 2))
        explained = max(explained, min(MOST_EXPLAINED, 1 - variance / alone if alone > 0 else 0.0))
    worth /= 1 - explained
    bounds, floor = (0.0, 1.0), 0.0
    if not bounded:
        bounds, floor = (-math.inf, math.inf), spread / worth
    else:
        worth = min(worth, expected.worth(min(max(value, 0.0), 1.0)))
        if extra and not 0 < value < 1:
            # If nothing varies, a later phase of m units without deviations adds about (part/m)²/2 (see audit.py).
            worth = 1 / (1 / worth + math.sqrt(2 * extra))
    effect = variance * n / spread if spread else math.nan
    degrees = design.degrees(shares)
    if math.isinf(degrees) and expected.looseness > 0:
        degrees = 0.0  # only posts sampled with certainty were labelled
    return over_posts(
        value, variance, n, worth, degrees, bounds=bounds, level=level, design_effect=effect, floor=floor
    )


class Difference(NamedTuple):
    """The difference of two figures."""

    value: float
    low: float
    high: float
    p: float


def difference(
    first: Estimate, second: Estimate, covariance: float = 0.0, *, level: float = 0.95
) -> Difference:
    """Return the difference of two figures of this population, with an interval from their own ends (MOVER; Zou and Donner 2008).

    The covariance comes from the design: 0 for domains of a Poisson sample without common units. p is 1 minus the largest
    level whose interval excludes 0. Both are undefined if one figure has no interval.
    """
    value, error = first.value - second.value, first.standard_error * second.standard_error
    together = max(-1.0, min(1.0, covariance / error)) if error > 0 else 0.0

    def reach(x: float, y: float) -> float:
        return math.sqrt(max(x * x + y * y - 2 * together * x * y, 0.0))

    def ends(level: float) -> tuple[float, float]:
        (a, b), (c, d) = first.ends(level), second.ends(level)
        low = value - reach(first.value - a, d - second.value)
        high = value + reach(b - first.value, second.value - c)
        return max(low, first.bounds[0] - second.bounds[1]), min(high, first.bounds[1] - second.bounds[0])

    low, high = ends(level)
    if math.isnan(low) or math.isnan(high):
        return Difference(value, math.nan, math.nan, math.nan)
    outside, inside = 0.0, 1 - 1e-12
    for _ in range(60):
        middle = (outside + inside) / 2
        a, b = ends(middle) if middle > 0 else (value, value)
        outside, inside = (outside, middle) if a <= 0 <= b else (middle, inside)
    return Difference(value, low, high, 1 - outside)


def over_posts(
    value: float,
    variance: float,
    n: int,
    worth: float,
    degrees: float,
    *,
    bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95,
    **more: Any,
) -> Estimate:
    """Return a figure on the target population; without interval if a few units have most of the weight."""
    few = worth < FEWEST or degrees < FEWEST - 1 - 1e-9
    why = FEW_UNCERTAIN if worth >= FEWEST and n < 2 * worth else FEW_DECIDE
    return Estimate(value, variance, n, worth, degrees, bounds, Over.POSTS, level, why if few else "", **more)
