"""Estimates from samples with known probabilities: Horvitz-Thompson totals and Hájek means.

Every estimate here is a sum over the sample of z/π with z linear in what was observed (for ratios, after
linearisation), so one function, `Design.variance`, serves them all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError, nearest
from covmis_build.stats.intervals import SMALL_WORTH, UNEVEN, Bounds, Over, reach_of, share_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Joint = ArrayLike | Mapping[Any, ArrayLike]

DESIGNS = ("poisson", "two_phase")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its uncertainty: a mean (Hájek), a total, or a measure."""

    value: float
    variance: float
    """The design's, as it was estimated; the interval may rest on a greater one, where few items carry the weight."""
    low: float
    high: float
    n: int
    effective_n: float = math.nan
    """How many independent units the interval stands for."""
    interval: str = Over.POSTS
    """What the interval is over."""
    worth: float = math.inf
    """How many independent units the weights allow, whatever was observed."""
    design_effect: float = math.nan
    """The variance over that of a simple random sample of n drawn with replacement; nan if nothing varies."""
    strength: float = 0.0
    """λ: how far predictions moved the estimate, per unit of their difference; 0 without predictions."""
    r_squared: float = 0.0
    """The part of the variance that predictions took away."""

    @property
    def standard_error(self) -> float:
        """The square root of the variance."""
        return math.sqrt(self.variance)

    @property
    def flagged(self) -> bool:
        """Whether so few items carry the weight that the interval deserves a warning."""
        return self.worth < max(SMALL_WORTH, self.n / UNEVEN)

    def to_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self) | {"interval": str(self.interval)}

    def to_frame(self) -> pd.DataFrame:
        """One row."""
        import pandas as pd

        return pd.DataFrame([self.to_dict()])

    def _repr_html_(self) -> str:
        return str(self.to_frame().to_html(index=False))


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

    def worth(self, shares: Floats) -> float:
        """How many independent units the weights allow, for each unit's share in the whole (with the sum 1).

        It is 1 over the variance that the estimate would have if what was observed were unrelated to the weights.
        """
        chance = self.probabilities if self.first is None else self.probabilities * self.first
        loose = float(np.sum((1 - chance) * shares**2))
        return 1 / loose if loose > 0 else math.inf

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
    is variance from a later phase. Shares have Wilson's interval, other means a plain one; neither is narrower than
    the weights allow.
    """
    here = np.ones(len(y), dtype=bool) if domain is None else domain
    scale = here * (np.ones(len(y)) if sizes is None else sizes)
    everyone, n = float(np.sum(design.weights * scale)), int(here.sum())
    if everyone == 0:
        return Estimate(math.nan, math.nan, math.nan, math.nan, n)
    return linear_estimate(
        y, np.full(len(y), float(np.sum(design.weights * scale * y)) / everyone), scale / everyone, design,
        n=n, extra=extra, level=level,
    )  # fmt: skip


def linear_estimate(
    y: Floats,
    centre: Floats,
    scale: Floats,
    design: Design,
    *,
    n: int,
    extra: float = 0.0,
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
    loose = 1 / design.worth(shares)
    if np.all((y[inside] >= 0) & (y[inside] <= 1)):
        # Where nothing varies, a later phase of m units without a deviation adds about (part/m)²/2 (see audit.py).
        doubt = loose + math.sqrt(2 * extra) if not 0 < value < 1 else loose
        low, high, effective = share_interval(value, variance, 1 / doubt if doubt else math.inf, level=level)
    else:
        floor = float(np.sum(shares * (y - value) ** 2)) * loose
        reach = reach_of(level) * math.sqrt(max(variance, floor))
        low, high, effective = Bounds(value - reach, value + reach, 1 / loose if loose else math.inf)
    simple = float(np.sum(shares * (y - value) ** 2)) / n
    effect = variance / simple if simple else math.nan
    return Estimate(
        value, variance, low, high, n, effective, Over.POSTS, 1 / loose if loose else math.inf, effect
    )
