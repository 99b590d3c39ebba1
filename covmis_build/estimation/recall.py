"""Recall: the share of a frame's relevant posts that the queries match, with an interval.

The unit is a claim-post pair. The number of matched pairs is known, and a sample of them gives the share of relevant
ones. Missed relevant pairs are estimated from a guided Poisson sample of unmatched pairs. The gamma interval is valid
even if few or none of those were sampled, where a normal interval has zero width. It is conservative, so its mid-P form is
used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from covmis_build.stats.intervals import effective, interval
from covmis_build.stats.weighted_counts import gamma_from_moments, gamma_interval, ratio_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

ENOUGH = 10
"""Minimum number of sampled missed pairs for a claim's own recall."""


class Figure(NamedTuple):
    """A value with its interval."""

    value: float
    low: float
    high: float


class Drawn(NamedTuple):
    """Labelled pairs: whether each is relevant (1, 0, or NaN if unlabelled), and its probability.

    With adaptive rounds the probability is 1 divided by the number of represented pairs, and may exceed 1.
    """

    relevant: Floats
    probability: Floats

    def only(self, rows: Mask) -> Drawn:
        """Return these rows."""
        return Drawn(self.relevant[rows], self.probability[rows])


@dataclass(frozen=True, slots=True)
class RecallFigures:
    """Recall, with the numbers of relevant matched and missed pairs."""

    recall: Figure
    found: Figure
    missed: Figure
    labels: int
    """Number of labelled unmatched pairs."""
    relevant: int
    """Number of relevant pairs among them."""
    unanswered: int


def recall(
    found: Drawn,
    pairs_found: int,
    missed: Drawn,
    chances: Floats,
    *,
    level: float = 0.95,
    unseen: str = "mean",
) -> RecallFigures:
    """Return recall within a frame of `pairs_found` matched pairs, and unmatched ones with probabilities `chances`.

    Unlabelled pairs are omitted from the values; in the intervals they count as the worse of both answers.
    """
    weight = unseen_weight(chances, unseen)
    found_at, missed_at = (
        found_total(found, pairs_found, level=level),
        missed_total(missed, weight, level=level),
    )
    unanswered = int(np.isnan(found.relevant).sum() + np.isnan(missed.relevant).sum())
    relevant = int(np.nansum(missed.relevant))
    return RecallFigures(
        _part_of_both(found_at, missed_at), found_at, missed_at, len(missed.relevant), relevant, unanswered
    )


def _part_of_both(part: Figure, rest: Figure) -> Figure:
    """Return the share of one of two independent totals in their sum; NaN for zero."""
    value = share_found(part.value, rest.value)
    if math.isnan(value):
        return Figure(value, 0.0, 1.0)
    if not part.value:
        return Figure(value, 0.0, share_found(part.high, rest.low))
    low, high = ratio_interval(rest, part)
    return Figure(value, 1 / (1 + high), 1 / (1 + max(low, 0.0)))


def share_found(found: float, missed: float) -> float:
    """Return the matched share of both; NaN for zero."""
    return found / (found + missed) if found + missed else math.nan


def unseen_weight(chances: Floats, kind: str = "mean") -> float:
    """Return the weight of a relevant pair that was not sampled: the frame's mean weight, or the `largest`."""
    open_to_chance = chances[(chances > 0) & (chances < 1)]
    if not len(open_to_chance):
        return 0.0
    return float(1 / open_to_chance.min() if kind == "largest" else (1 / open_to_chance).mean())


def stands_for(chances: Sequence[Floats], drawn_by: NDArray[np.int64], asked: Sequence[float]) -> Floats:
    """Return how many pairs each sampled pair represents if later rounds' probabilities depend on earlier labels.

    `chances` has each round's cumulated probabilities of the missed pairs, `drawn_by` the round that sampled each, from 0; -1 for
    none. Each round's estimate is the pairs labelled before plus the Horvitz-Thompson total of the rest, which is
    unbiased given the past. The rounds are averaged by the number of labels `asked`, which does not depend on outcomes.
    1/(cumulated probability) would be biased, because a pair's later probability depends on earlier samples.
    """
    before, own = np.zeros(len(drawn_by)), []
    for at, cumulated in enumerate(chances):
        left = ((drawn_by < 0) | (drawn_by >= at)) & (before < 1)
        own.append(np.divide(cumulated - before, 1 - before, out=np.zeros(len(before)), where=left))
        before = cumulated
    part = np.asarray(asked, dtype=np.float64) / sum(asked)
    weight = np.ones(len(drawn_by))
    for at, q in enumerate(own):
        here = drawn_by == at
        weight[here] = part[at] / q[here] + part[at + 1 :].sum()
    return weight


def missed_total(drawn: Drawn, unseen: float, *, level: float = 0.95) -> Figure:
    """Return the number of relevant unmatched pairs: Horvitz-Thompson total, Fay and Feuer's interval."""
    answered = ~np.isnan(drawn.relevant)
    scale = len(answered) / answered.sum() if answered.any() else 1.0
    total = _weighted_total(drawn, unseen, level=level)
    return total._replace(value=total.value * scale)


def _weighted_total(drawn: Drawn, unseen: float, *, level: float = 0.95) -> Figure:
    """Return the total of the labelled ones; unlabelled ones widen the interval on the side that they could affect."""
    value = float(np.nansum(drawn.relevant / drawn.probability))
    worst, best = np.nan_to_num(drawn.relevant, nan=1.0), np.nan_to_num(drawn.relevant, nan=0.0)
    return Figure(
        value, _gamma_ends(best, drawn, unseen, level)[0], _gamma_ends(worst, drawn, unseen, level)[1]
    )


def _gamma_ends(relevant: Floats, drawn: Drawn, unseen: float, level: float) -> tuple[float, float]:
    sure = np.isclose(drawn.probability, 1.0, rtol=0.0, atol=1e-9)
    certain = float(relevant[sure].sum())
    low, high = gamma_interval(1 / drawn.probability[~sure & (relevant > 0)], unseen, level=level, mid_p=True)
    return certain + low, certain + high


def _both_totals(first: Figure, second: Figure) -> Figure:
    """Return the sum of two independent totals, with half-widths added in quadrature."""
    value = first.value + second.value
    low = math.hypot(first.value - first.low, second.value - second.low)
    high = math.hypot(first.high - first.value, second.high - second.value)
    return Figure(value, max(value - low, 0.0), value + high)


class StanceFigures(NamedTuple):
    """For a frame's relevant pairs, matched or not: the share with a label, their number, and the sampled number."""

    share: Figure
    total: Figure
    drawn: int


def stance(
    found: tuple[Drawn, Floats],
    missed: tuple[Drawn, Floats],
    of: Floats,
    among: Floats,
    every: float,
    *,
    level: float = 0.95,
) -> StanceFigures:
    """Return the share of relevant pairs that have a label: `of` and `among` are the sampled pairs, matched ones first.

    `of`: 1 if a pair is relevant and has the label, 0 if not, NaN if unknown; `among`: the same for all other labels.
    `found` and `missed` are each the sampled pairs and all pairs' probabilities. Under Poisson sampling the totals of both
    are independent, so their intervals are combined like those of matched and missed. `every` is the number of relevant pairs
    according to recall, which uses the known number of matched ones: the totals sum to it.
    """
    cut = len(found[0].relevant)

    def total(which: Floats) -> Figure:
        parts = [
            _weighted_total(Drawn(values, drawn.probability), unseen_weight(chances), level=level)
            for values, (drawn, chances) in ((which[:cut], found), (which[cut:], missed))
        ]
        return _both_totals(*parts)

    ours, others = total(of), total(among)
    share = _part_of_both(ours, others)
    scale = share.value * every / ours.value if ours.value and not math.isnan(every) else 1.0
    return StanceFigures(share, Figure(*(scale * end for end in ours)), int(np.nansum(of)))


def found_total(drawn: Drawn, pairs: int, *, level: float = 0.95) -> Figure:
    """Return the number of relevant matched pairs: their known number times the weighted share, Wilson's interval."""
    if not pairs:
        return Figure(0.0, 0.0, 0.0)
    answered = ~np.isnan(drawn.relevant)
    if not answered.any():
        return Figure(math.nan, 0.0, float(pairs))
    share = _share(drawn.only(answered), level)
    worst = _share(Drawn(np.nan_to_num(drawn.relevant, nan=0.0), drawn.probability), level)
    best = _share(Drawn(np.nan_to_num(drawn.relevant, nan=1.0), drawn.probability), level)
    return Figure(pairs * share.value, pairs * worst.low, pairs * best.high)


def _share(drawn: Drawn, level: float) -> Figure:
    weight = 1 / drawn.probability
    part = weight / weight.sum()
    share = float(np.sum(part * drawn.relevant))
    loose = (1 - drawn.probability) * part**2
    variance = float(np.sum(loose * (drawn.relevant - share) ** 2))
    worth = float(1 / loose.sum()) if loose.sum() else math.inf
    if math.isinf(worth):
        return Figure(share, share, share)
    units = effective(np.sqrt(1 - drawn.probability) * part)
    low, high = interval(share, variance, worth, units - 1, level=level)
    return (
        Figure(share, 0.0, 1.0) if math.isnan(low) else Figure(share, low, high)
    )  # too few: any share is possible


def of_a_kind(whole: RecallFigures, found: Drawn, here: Mask, *, level: float = 0.95) -> Figure:
    """Return the share of all relevant pairs that queries of one type match: recall times their share of the matched ones.

    Both are estimates; half-widths are combined on the log scale.
    """
    answered = (found.relevant > 0) & ~np.isnan(found.relevant)
    if not answered.any() or math.isnan(whole.recall.value):
        return Figure(math.nan, 0.0, 1.0)
    part = _share(Drawn(here[answered].astype(np.float64), found.probability[answered]), level)
    value = whole.recall.value * part.value
    if not value:
        return Figure(0.0, 0.0, whole.recall.high * part.high)
    ends = []
    for side, end, part_end in ((-1, whole.recall.low, part.low), (1, whole.recall.high, part.high)):
        if not end * part_end:
            ends.append(0.0)
            continue
        reach = math.hypot(math.log(end / whole.recall.value), math.log(part_end / part.value))
        ends.append(min(value * math.exp(side * reach), 1.0))
    return Figure(value, *ends)


def expected(found: float, guess: Floats, chances: Floats, *, level: float = 0.95) -> tuple[float, Figure]:
    """Return a draw's expected results if the scores are right: sampled relevant missed pairs, and recall with interval."""
    missed = float(guess.sum())
    at_chance = (chances > 0) & (chances < 1)
    certain = float(guess[chances >= 1].sum())
    square = float(np.sum(guess[at_chance] / chances[at_chance]))
    low, high = gamma_from_moments(missed - certain, square, unseen_weight(chances), level=level, mid_p=True)
    ends = (share_found(found, certain + high), share_found(found, certain + low))
    return float(np.sum(guess * chances)), Figure(share_found(found, missed), *ends)


def room_beyond(pairs: float, labels: int, *, level: float = 0.95) -> float:
    """Return the possible number of relevant pairs among `pairs` if `labels` random labels found none.

    >>> round(room_beyond(10_000_000, 600), -3)
    61000.0
    """
    return gamma_interval([], pairs / labels, level=level)[1] if labels else math.inf
