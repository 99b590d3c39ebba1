"""The best attainable soft score: what a system that knew each item's true shares could expect, if it answered wisely.

Under a distance the wise answer (the Bayes act) is rarely the true shares: if 60 of 100 people would say yes and two are asked,
one half has the least expected absolute distance. How the true shares are spread over items is estimated from the counts
themselves, without assuming a form (empirical Bayes, nonparametric maximum likelihood). Few people per item say little about it;
the interval covers every spread that the counts do not exclude.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from covmis_build.evaluation.soft_measures import People

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from covmis_build.evaluation.soft_measures import SoftMeasure

    Array = NDArray[np.float64]

POINTS = 600
"""Maximum number of points in the grid of possible true shares."""
FINEST = 100
"""Maximum number of steps from share 0 to share 1 in the grid."""
STEPS = 300
"""Steps towards the most likely spread."""
TILTS = 18
"""Spreads tried for each bound."""
ONE = 1e3
"""How strictly the weights of a spread sum to 1 in a Newton step."""


@dataclass(frozen=True)
class Attainable:
    """The best expected score, and the range that holds the score of a system that knew the true shares."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Spread:
    """The different counts of labels with the share of items that have them, and the possible true shares."""

    counts: Array
    """(different counts, C)."""
    of_items: Array
    """Share of the items with these counts; the sum is 1."""

    @classmethod
    def over(cls, counts: Array, weights: Array) -> Spread:
        """Gather items with equal counts; `weights` are the items'."""
        different, number = np.unique(counts, axis=0, return_inverse=True)
        shares = np.bincount(number.ravel(), weights=weights)
        return cls(different, shares / shares.sum())

    @cached_property
    def grid(self) -> Array:
        """Possible true shares: (points, C)."""
        classes = self.counts.shape[1]
        steps = FINEST
        while steps > 1 and comb(steps + classes - 1, classes - 1) > POINTS:
            steps -= 1
        return _compositions(steps, classes) / steps

    @cached_property
    def likelihood(self) -> Array:
        """Probability of each different counts at each point: (different counts, points)."""
        from scipy.special import gammaln, xlogy

        ways = gammaln(self.counts.sum(axis=1) + 1) - gammaln(self.counts + 1).sum(axis=1)
        logs = xlogy(self.counts[:, None], self.grid[None]).sum(axis=2)
        return np.asarray(np.exp(ways[:, None] + logs))

    @cached_property
    def likely(self) -> Array:
        """Weights of the points in the most likely spread, approached from even weights: a smooth one if several are."""
        weights = np.full(len(self.grid), 1 / len(self.grid))
        for _ in range(STEPS):
            weights = weights * (self.likelihood.T @ (self.of_items / (self.likelihood @ weights)))
        return np.asarray(weights / weights.sum())

    @cached_property
    def _most(self) -> float:
        """The largest log-likelihood of an item."""
        return self._log(self._climbed(self.likely, np.zeros(len(self.grid)), steps=8))

    def _log(self, weights: Array) -> float:
        with np.errstate(
            divide="ignore"
        ):  # weights on points that exclude what was counted: refused by the step's length
            return float(self.of_items @ np.log(self.likelihood @ weights))

    def _climbed(self, weights: Array, gain: Array, steps: int = 4) -> Array:
        """Maximise log-likelihood + gain · weights by Newton steps, each a non-negative least-squares problem."""
        from scipy.optimize import nnls

        def value(at: Array) -> float:
            return self._log(at) + float(gain @ at)

        # (a · weights - b)² / 2 with a small a and a large b is linear in the weights: its square is negligible
        small = 1e-3 * float(np.sqrt(gain.max())) if gain.max() > 0 else 0.0
        tilted = gain / gain.max() * small if small else gain
        root = np.sqrt(self.of_items)
        for _ in range(steps):
            slope = self.likelihood / (self.likelihood @ weights)[:, None]
            rows = np.vstack([root[:, None] * slope, np.full((1, len(gain)), ONE), tilted[None]])
            aims = np.concatenate([2 * root, [ONE], [gain.max() / small if small else 0.0]])
            aim = nnls(rows, aims)[0]
            aim = aim / aim.sum()
            length, before = 1.0, value(weights)
            while length > 1e-4 and value(weights + length * (aim - weights)) < before:
                length /= 2
            if length <= 1e-4:
                break
            weights = weights + length * (aim - weights)
        return weights

    def largest(self, values: Array, allowed: float) -> float:
        """Return the largest mean of the points' values over spreads that are at most so much less likely (per item)."""
        best = float(values @ self.likely)
        scaled = values - values.min()
        if scaled.max() <= 1e-12:
            return best
        scaled = scaled / scaled.max()
        low, high, weights = 0.0, np.inf, self.likely
        tilt = allowed
        for _ in range(TILTS):
            tried = self._climbed(weights, tilt * scaled)
            if self._most - self._log(tried) <= allowed:
                low, weights, best = tilt, tried, max(best, float(values @ tried))
            else:
                high = tilt
            if high - low < 0.05 * low or tilt > 1e6:
                break
            tilt = 4 * tilt if not np.isfinite(high) else (low + high) / 2 if low else high / 4
        return best

    def attainable(self, measure: SoftMeasure, items: float, level: float) -> Attainable:
        """Return the best expected score, with the range for as many items as these are worth (`items`)."""
        from scipy.stats import chi2, norm

        raters = self.counts.sum(axis=1).astype(int)
        values, squares = np.zeros(len(self.grid)), np.zeros(len(self.grid))
        for number in np.unique(raters):
            mine = np.flatnonzero(raters == number)
            share = self.of_items[mine].sum()
            answers = measure.act(self.grid, int(number))
            values += share * measure.risk(self.grid, answers, int(number))
            for at in mine:
                of_points = measure.formula(People(np.tile(self.counts[at], (len(answers), 1))), answers)
                squares += share * self.likelihood[at] * of_points**2
        value = float(values @ self.likely)
        if not np.isfinite(items):
            return Attainable(value, np.nan, np.nan)
        allowed = float(chi2.ppf(level, 1)) / 2 / items
        low, high = -self.largest(-values, allowed), self.largest(values, allowed)
        # the score of these very people differs from its expectation, too, and often the other way (more split answers raise the
        # estimate and lower the score of shares near one half): the two errors are added
        variance = max(self.largest(squares, allowed) - value**2, 0.0)
        noise = float(norm.ppf(0.5 + level / 2)) * (variance / items) ** 0.5
        return Attainable(value, low - noise, high + noise)


def _compositions(total: int, parts: int) -> Array:
    """Return all ways to write the total as a sum of so many numbers, in order."""
    if parts == 1:
        return np.array([[float(total)]])
    return np.vstack(
        [
            np.column_stack([np.full(comb(total - first + parts - 2, parts - 2), float(first)), rest])
            for first in range(total + 1)
            for rest in [_compositions(total - first, parts - 1)]
        ]
    )
