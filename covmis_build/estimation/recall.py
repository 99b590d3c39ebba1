"""Recall: of the posts of a frame that are about the claim, the share that the queries find, with an interval.

The unit is a pair of a claim and a post. The found ones are known by number, and a sample of them says how many take up
their claim; the missed ones are estimated from a guided Poisson sample of the pairs that no query found. The gamma
interval holds also where few or none of those were drawn, where a normal one has no width. It is conservative, so its
mid-P form is used.
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
"""Missed pairs that must have been drawn before a claim has a recall of its own."""


class Figure(NamedTuple):
    """A value with its interval."""

    value: float
    low: float
    high: float


class Drawn(NamedTuple):
    """Labelled pairs: whether each is about its claim (1, 0, or nan where nobody has said), and its probability.

    Where rounds have learned it is one by what the pair represents, and may be above 1.
    """

    relevant: Floats
    probability: Floats

    def only(self, rows: Mask) -> Drawn:
        """These of them."""
        return Drawn(self.relevant[rows], self.probability[rows])


@dataclass(frozen=True, slots=True)
class RecallFigures:
    """Recall, and the numbers of relevant pairs found and missed that it is made of."""

    recall: Figure
    found: Figure
    missed: Figure
    labels: int
    """Labelled pairs that no query found."""
    relevant: int
    """How many of these are about their claim."""
    unanswered: int


def recall(
    found: Drawn, pairs_found: int, missed: Drawn, chances: Floats, *, level: float = 0.95, unseen: str = "mean"
) -> RecallFigures:  # fmt: skip
    """Recall within a frame of `pairs_found` matched pairs, and unmatched ones with these `chances` of being drawn.

    Pairs that nobody has answered are omitted from the values, and take whichever answer is worse in the intervals.
    """
    weight = unseen_weight(chances, unseen)
    found_at, missed_at = (
        found_total(found, pairs_found, level=level),
        missed_total(missed, weight, level=level),
    )
    unanswered = int(np.isnan(found.relevant).sum() + np.isnan(missed.relevant).sum())
    relevant = int(np.nansum(missed.relevant))
    return RecallFigures(
        part_of_both(found_at, missed_at), found_at, missed_at, len(missed.relevant), relevant, unanswered
    )


def part_of_both(part: Figure, rest: Figure) -> Figure:
    """The share of one of two independent totals in both together; nan of nothing."""
    value = share_found(part.value, rest.value)
    if math.isnan(value):
        return Figure(value, 0.0, 1.0)
    if not part.value:
        return Figure(value, 0.0, share_found(part.high, rest.low))
    low, high = ratio_interval(rest, part)
    return Figure(value, 1 / (1 + high), 1 / (1 + max(low, 0.0)))


def share_found(found: float, missed: float) -> float:
    """A part of both; nan of nothing."""
    return found / (found + missed) if found + missed else math.nan


def unseen_weight(chances: Floats, kind: str = "mean") -> float:
    """What a relevant pair that was not drawn represents: the mean weight of the frame, or the largest (`largest`)."""
    open_to_chance = chances[(chances > 0) & (chances < 1)]
    if not len(open_to_chance):
        return 0.0
    return float(1 / open_to_chance.min() if kind == "largest" else (1 / open_to_chance).mean())


def stands_for(chances: Sequence[Floats], drawn_by: NDArray[np.int64], asked: Sequence[float]) -> Floats:
    """What each drawn pair represents, where the probabilities of later rounds have learned from the labels of earlier ones.

    `chances` has each round's cumulated probabilities of the missed pairs, `drawn_by` the round that drew each, from 0; -1 of none.
    Round r on its own estimates what was labelled before and, of the rest, Horvitz and Thompson's total: given the past its
    mean is the truth. The rounds are averaged by the labels that were `asked` for, which no outcome changes. One by the
    cumulated probability is biased: whether a pair's probability grows depends on who was drawn before.
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
    """How many relevant pairs no query found: Horvitz and Thompson's total, Fay and Feuer's interval."""
    answered = ~np.isnan(drawn.relevant)
    scale = len(answered) / answered.sum() if answered.any() else 1.0
    total = weighted_total(drawn, unseen, level=level)
    return total._replace(value=total.value * scale)


def weighted_total(drawn: Drawn, unseen: float, *, level: float = 0.95) -> Figure:
    """The total of what is known; what nobody has said widens it on the side where it would."""
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


def both_totals(first: Figure, second: Figure) -> Figure:
    """The sum of two independent totals: how far each reaches, as right triangles."""
    value = first.value + second.value
    low = math.hypot(first.value - first.low, second.value - second.low)
    high = math.hypot(first.high - first.value, second.high - second.value)
    return Figure(value, max(value - low, 0.0), value + high)


class StanceFigures(NamedTuple):
    """Of the relevant pairs of a frame, found or not: the share with a label, their number, and how many were drawn."""

    share: Figure
    total: Figure
    drawn: int


def stance(
    found: tuple[Drawn, Floats], missed: tuple[Drawn, Floats], of: Floats, among: Floats, every: float, *,
    level: float = 0.95,
) -> StanceFigures:  # fmt: skip
    """The share of the relevant pairs that have a label: `of` and `among` say it of the drawn pairs, found ones first.

    `of`: 1 if a pair is relevant and has the label, 0 if not, nan if nobody knows; `among`: the same of all other labels.
    Each of `found` and `missed` are the drawn pairs and the probabilities of all. Under Poisson sampling the totals of both
    labels are independent; so their intervals join as those of found and missed do. `every` is how many relevant pairs
    there are, as recall has it, which knows the number of found ones: the totals add up to it.
    """
    cut = len(found[0].relevant)

    def total(which: Floats) -> Figure:
        parts = [
            weighted_total(Drawn(values, drawn.probability), unseen_weight(chances), level=level)
            for values, (drawn, chances) in ((which[:cut], found), (which[cut:], missed))
        ]
        return both_totals(*parts)

    ours, others = total(of), total(among)
    share = part_of_both(ours, others)
    scale = share.value * every / ours.value if ours.value and not math.isnan(every) else 1.0
    return StanceFigures(share, Figure(*(scale * end for end in ours)), int(np.nansum(of)))


def found_total(drawn: Drawn, pairs: int, *, level: float = 0.95) -> Figure:
    """How many of the pairs found are about their claim: their known number times the weighted share, Wilson's interval."""
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
    """The share of all relevant pairs that queries of one kind find: recall times their part of what is found.

    Both are estimated; their reaches are joined on the log scale.
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
    """What a draw will tell if the guess is right: the relevant missed pairs that it draws, and recall with its interval."""
    missed = float(guess.sum())
    at_chance = (chances > 0) & (chances < 1)
    certain = float(guess[chances >= 1].sum())
    square = float(np.sum(guess[at_chance] / chances[at_chance]))
    low, high = gamma_from_moments(missed - certain, square, unseen_weight(chances), level=level, mid_p=True)
    ends = (share_found(found, certain + high), share_found(found, certain + low))
    return float(np.sum(guess * chances)), Figure(share_found(found, missed), *ends)


def room_beyond(pairs: float, labels: int, *, level: float = 0.95) -> float:
    """How many relevant pairs there may be among so many, after so many labels spread evenly found none.

    >>> round(room_beyond(10_000_000, 600), -3)
    61000.0
    """
    return gamma_interval([], pairs / labels, level=level)[1] if labels else math.inf
