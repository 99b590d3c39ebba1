"""Figures about this pool, from samples with known probabilities: Horvitz-Thompson totals and Hájek means.

Every estimate here is a sum over the sample of z/π with z linear in what was observed (for ratios, after
linearisation), so one function, `Design.variance`, serves them all. The interval claims no more units than the weights
allow: those of the sample, and those of the pool, which show a cascade that was not drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from covmis_build.errors import InputError, nearest
from covmis_build.stats.intervals import FEW_DECIDE, FEWEST, Estimate, Over, effective, reach_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Joint = ArrayLike | Mapping[Any, ArrayLike]

DESIGNS = ("poisson", "two_phase")
SELDOM = 0.05
"""A sample that leaves out more of the pool than `Expected.missed` is one of twenty."""


class Expected(NamedTuple):
    """What the pool lets expect of a figure's weights; no label is needed, and what was not drawn counts."""

    looseness: float = 0.0
    """The variance of the figure if what is observed is unrelated to the weights, in units of that of one item."""
    missed: float = 0.0
    """The largest share of the whole that chance leaves out in one of twenty samples."""

    def worth(self, share: float) -> float:
        """The units for which Wilson's interval of this share holds what it is if all that was missed has the label, or nothing."""
        if self.missed <= 0:
            return math.inf
        odds = min(share, 1 - share) / max(share, 1 - share)
        units = reach_of(1 - SELDOM) ** 2 * (1 - self.missed) / self.missed * (1 + odds / self.missed)
        return max(units, 1.0)


NOTHING_KNOWN = Expected()
"""Of a pool that is not known."""


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
    pool: Mapping[str, Expected] = field(default_factory=dict)
    """What the whole pool lets expect, of unique posts and of all posts, where it is known."""

    @property
    def weights(self) -> Floats:
        """1 over each unit's whole probability."""
        return 1 / self.chance

    def variance(self, z: Floats) -> float:
        """The estimated variance of the sum of z over all phases' probabilities."""
        if self.first is None:
            return self._drawn(z)
        return self._drawn(z / self.first) + float(np.sum(self._first_parts(z)))

    @property
    def chance(self) -> Floats:
        """Each unit's whole probability."""
        return self.probabilities if self.first is None else self.probabilities * self.first

    def worth(self, shares: Floats, looseness: float = 0.0) -> float:
        """How many independent units the weights allow, for each unit's share in the whole (with the sum 1).

        It is 1 over the variance that the estimate would have if what was observed were unrelated to the weights: as the
        sample has it, or as the pool lets expect (`Expected.looseness`), whichever is greater.
        """
        loose = max(float(np.sum((1 - self.chance) * shares**2)), looseness)
        return 1 / loose if loose > 0 else math.inf

    def units(self, shares: Floats) -> float:
        """Kish's number of the units that chance decided; certain ones do not lower it, and it is infinite without any."""
        pull = np.sqrt(1 - self.chance) * shares
        return effective(pull) if np.any(pull > 0) else math.inf

    def part(self, kept: NDArray[np.bool_]) -> Design:
        """The same for some of the units, as if the others had not been there."""
        place = np.cumsum(kept) - 1
        blocks = tuple(
            (place[rows[kept[rows]]], None if pairs is None else pairs[np.ix_(kept[rows], kept[rows])])
            for rows, pairs in self.blocks
            if kept[rows].any()
        )
        first = None if self.first is None else self.first[kept]
        return Design(self.probabilities[kept], self.names[kept], blocks, first)

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
    """Sen-Yates-Grundy with joint probabilities, Hájek's approximation without."""
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
    covariances = np.zeros_like(joint)
    covariances[off] = ((np.multiply.outer(pi, pi) - joint)[off]) / joint[off]
    return covariances


def total(y: Floats, design: Design) -> tuple[float, float]:
    """The Horvitz-Thompson total and its variance. Its own interval covers too rarely: see `estimation` for N x share."""
    return float(np.sum(design.weights * y)), design.variance(y)


def expected_of(chances: Floats, scale: Floats, first: Floats | float = 1.0) -> Expected:
    """What the pool lets expect: of `chances`, those of all of the pool that had one, and `scale`, their shares in it.

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
    # All of a set are missed with the product of 1 - p: its largest sets have the most share for each factor.
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
) -> Estimate:
    """The Hájek mean: the total of y·size over that of size, within the domain if one is given.

    The whole sample stays in the variance of a fixed-size design; units outside the domain count as zero. `extra`
    is variance from a later phase, `expected` what the domain's pool lets expect (`expected_of`).
    """
    here = np.ones(len(y), dtype=bool) if domain is None else domain
    scale = here * (np.ones(len(y)) if sizes is None else sizes)
    everyone, n = float(np.sum(design.weights * scale)), int(here.sum())
    if everyone == 0:
        return Estimate(math.nan, math.nan, n, why="no item")
    return linear_estimate(
        y, np.full(len(y), float(np.sum(design.weights * scale * y)) / everyone), scale / everyone, design,
        n=n, extra=extra, expected=expected, level=level,
    )  # fmt: skip


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
) -> Estimate:
    """The sum of scale·y/π, with scale/π adding up to 1, and its interval.

    `centre` is what each unit deviates from: the mean, or its own claim's where every claim counts the same. `linear` are
    the linearised deviations where they are not (y - centre)·scale: residuals of calibrated weights.
    """
    shares = design.weights * scale
    value = float(np.sum(shares * y))
    variance = design.variance((y - centre) * scale if linear is None else linear) + extra
    inside = scale > 0
    worth, spread = design.worth(shares, expected.looseness), float(np.sum(shares * (y - value) ** 2))
    bounds, floor = (0.0, 1.0), 0.0
    if not np.all((y[inside] >= 0) & (y[inside] <= 1)):
        bounds, floor = (-math.inf, math.inf), spread / worth
    else:
        worth = min(worth, expected.worth(min(max(value, 0.0), 1.0)))
        if extra and not 0 < value < 1:
            # Where nothing varies, a later phase of m units without a deviation adds about (part/m)²/2 (see audit.py).
            worth = 1 / (1 / worth + math.sqrt(2 * extra))
    effect = variance * n / spread if spread else math.nan
    degrees = design.units(shares) - 1
    if math.isinf(degrees) and expected.looseness > 0:
        degrees = 0.0  # only certain posts were labelled, and none of those that chance decides
    return over_posts(
        value, variance, n, worth, degrees, bounds=bounds, level=level, design_effect=effect, floor=floor
    )


class Difference(NamedTuple):
    """One figure less another."""

    value: float
    low: float
    high: float
    p: float


def difference(
    first: Estimate, second: Estimate, covariance: float = 0.0, *, level: float = 0.95
) -> Difference:
    """One figure of this pool less another, with the interval from their own ends (MOVER; Zou and Donner 2008).

    The covariance is the design's: 0 for domains without a common unit of a Poisson sample. p is 1 less the greatest
    level whose interval leaves 0 out. Both are undefined where one of the figures has no interval.
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
    value: float, variance: float, n: int, worth: float, degrees: float, *, bounds: tuple[float, float] = (0.0, 1.0),
    level: float = 0.95, **more: Any,
) -> Estimate:  # fmt: skip
    """A figure about this pool; without an interval where a few units decide."""
    few = worth < FEWEST or degrees < FEWEST - 1 - 1e-9
    return Estimate(
        value, variance, n, worth, degrees, bounds, Over.POSTS, level, FEW_DECIDE if few else "", **more
    )
