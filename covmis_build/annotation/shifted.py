"""Find label columns that were shifted by up to three rows, from any row on, and say from where.

The labels are compared with what other annotators said of the posts around. Row j predicts a label with probability

    P(label | row j) = c f_j + (1 - c) [b near_j + (1 - b) own]

f_j: share of the label among the others' labels of the post in row j; near_j: the same for the rows around it, because
posts of one claim stand together and get similar labels; own: how often this person uses the label. c and b are averaged
over a grid, so no accuracy is assumed. The evidence is a Bayes factor: the mean likelihood of all shifts and starts,
divided by the likelihood in place. For honest labels of this model its expectation is 1, so at most one of 400 sheets
reaches 400 (Markov's inequality). Long runs break the model: before a sheet is refused, each post's labels are dealt again
among its people, and no deal may show as much evidence (exact: one of 401).

Without another annotator's labels of the same posts nothing can be found. Two people with the same order of posts accuse
each other: labels do not tell whose column was shifted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REFUSED, NOTED = 400.0, 40.0
"""Evidence from which a sheet is not imported, and from which it is noted."""
SHIFTS = {-3: 0.03, -2: 0.07, -1: 0.4, 1: 0.4, 2: 0.07, 3: 0.03}
"""Rows → how likely a shift by so many is, if there is one."""
WHOLE = 0.2
"""How likely a shift begins in the first row. All other rows are equally likely."""
PART = 0.2
"""How likely it ends before the last row: a cell was deleted here and one inserted there."""
GRID = [(c, b) for c in (0.0, 0.1, 0.3, 0.5, 0.7, 0.85) for b in (0.0, 0.5, 0.9)]
NEAR = 4
"""Rows above and below that count as near."""
DEALS = 400


@dataclass(frozen=True, slots=True)
class Shift:
    """The likeliest shift: labels in rows `start` up to (not including) `end` belong `by` rows further down."""

    evidence: float
    """Logarithm of the Bayes factor."""
    start: int
    end: int
    by: int

    def reaches(self, limit: float) -> bool:
        """True if there is at least so much evidence."""
        return self.evidence >= math.log(limit)


NO_SHIFT = Shift(0.0, 0, 0, 0)


def shifted(rows: Sequence[tuple[str, str]], others: Mapping[str, Mapping[str, str]]) -> tuple[Shift, bool]:
    """Return the likeliest shift of a sheet's labels, and whether the sheet has to be refused.

    `rows`: item and label ("" if blank) of every row, in the sheet's order: blank rows keep their place. `others`: the
    labels of each other annotator, by item.
    """
    import numpy as np

    names = sorted(
        {label for _, label in rows if label}
        | {said for own in others.values() for said in own.values()} - {""}
    )
    code = {name: at for at, name in enumerate(names)}
    own = np.array([code.get(label, -1) for _, label in rows], dtype=np.int64)
    said = [[code.get(theirs.get(item, ""), -1) for item, _ in rows] for theirs in others.values()]
    table = np.array(said, dtype=np.int64).reshape(len(said), len(rows))
    shift = scan(own, table, len(names))
    return shift, shift.reaches(REFUSED) and _confirmed(shift, own, table, len(names))


def scan(own: Any, others: Any, classes: int) -> Shift:
    """Compare a person's labels (-1: none), in the rows of their sheet, with the others' (people x rows, -1: none)."""
    import numpy as np

    rows = len(own)
    votes = (
        np.stack([(others == label).sum(0) for label in range(classes)], axis=1).astype(float)
        if classes
        else np.zeros((rows, 0))
    )
    given = own >= 0
    if rows < 2 or not (given & (votes.sum(1) > 0)).any():
        return NO_SHIFT
    share, near, usual = _said_of_rows(own, votes)
    label, at = np.where(given, own, 0), np.arange(rows)
    certainty, nearness = (np.array(part)[:, None] for part in zip(*GRID, strict=True))

    def gains(by: int) -> Any:
        """Sum log P(label in row k | row k + by) up to each row, for all of the grid; beyond the sheet only `own` is known."""
        to = np.clip(at + by, 0, rows - 1)
        exact, around, alone = share[to, label], near[to, label], usual[label]
        p = certainty * exact + (1 - certainty) * (nearness * around + (1 - nearness) * alone)
        logs = np.where(given, np.log(np.maximum(np.where(to == at + by, p, alone), 1e-3)), 0.0)
        return np.concatenate([np.zeros((len(GRID), 1)), logs.cumsum(1)], axis=1)

    place = gains(0)
    starts = np.where(at == 0, WHOLE, (1 - WHOLE) / (rows - 1))
    tails, parts = np.empty((len(SHIFTS), rows)), np.empty((len(SHIFTS), rows))
    begun = np.empty((len(SHIFTS), rows), dtype=np.int64)
    for number, (by, prior) in enumerate(SHIFTS.items()):
        gain = gains(by) - place
        tails[number] = _log_mean(place[:, -1:] + gain[:, -1:] - gain[:, :-1]) + np.log(
            (1 - PART) * prior * starts
        )
        up_to = np.logaddexp.accumulate(-gain[:, :-1], axis=1)  # all starts before each end
        ends = math.log(PART * prior * 2 / (rows * (rows + 1)))
        parts[number] = _log_mean(place[:, -1:] + gain[:, 1:] + up_to) + ends
        middle = np.median(gain, axis=0)[:-1]
        lowest = np.minimum.accumulate(middle)
        begun[number] = np.maximum.accumulate(np.where(middle == lowest, at, 0))
    evidence = float(np.logaddexp.reduce(np.array([tails, parts]), axis=None) - _log_mean(place[:, -1]))
    to_the_end = bool(tails.max() >= parts.max())
    best, row = divmod(int((tails if to_the_end else parts).argmax()), rows)
    start, end = (row, rows) if to_the_end else (int(begun[best, row]), row + 1)
    return Shift(evidence, start, end, list(SHIFTS)[best])


def _said_of_rows(own: Any, votes: Any) -> tuple[Any, Any, Any]:
    """Return the share of each label among the others' labels of each row, around it, and in this person's labels."""
    import numpy as np

    rows, classes = votes.shape
    overall = (votes.sum(0) + 1) / (votes.sum() + classes)
    usual = np.bincount(own[own >= 0], minlength=classes) + 1.0
    sums = np.vstack([np.zeros(classes), votes.cumsum(0)])
    at = np.arange(rows)
    around = sums[np.minimum(at + NEAR + 1, rows)] - sums[np.maximum(at - NEAR, 0)] - votes
    near = (around + 2 * overall) / (around.sum(1, keepdims=True) + 2)
    total = votes.sum(1, keepdims=True)
    share = np.where(total > 0, votes / np.maximum(total, 1), near)
    return share, near, usual / usual.sum()


def _log_mean(values: Any) -> Any:
    """Return the logarithm of the mean over the grid of these logarithms."""
    import numpy as np

    return np.logaddexp.reduce(values, axis=0) - math.log(len(values))


def _confirmed(shift: Shift, own: Any, others: Any, classes: int) -> bool:
    """Return False if a deal of each post's labels among its people shows as much evidence."""
    import numpy as np

    rng, table = np.random.default_rng(0), np.vstack([own, others])
    to = (table < 0).argsort(0, kind="stable")
    for _ in range(DEALS):
        dealt = table.copy()
        mixed = np.where(table >= 0, rng.random(table.shape), 2.0).argsort(0, kind="stable")
        np.put_along_axis(dealt, to, np.take_along_axis(table, mixed, 0), 0)
        if scan(dealt[0], dealt[1:], classes).evidence >= shift.evidence:
            return False
    return True
