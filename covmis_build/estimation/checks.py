"""Automatic labels and their audit, as a second phase of the draw: people's labels count for the part that they are from.

An automatic item counts as what the rule says of it; a checked one counts for those of its cell that nobody checked, and moves
the figure by the difference between people and rule. A cell is what one rule labelled in one claim, or in the part that a figure
is of. No other part's error rate stands in place of a label that people gave.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from covmis_build.estimation.post_strata import FEWEST_OF_A_CELL, merged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from covmis_build.sampling.audit import Audit

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

FEW_CHECKED = "people checked at most one of the automatic labels here: no interval is known"
MOST_UNCHECKED = 0.1
"""The largest share of a part that automatic labels may be, if too few of them were checked there, for an interval."""
FEWEST_CREDITED = 20
"""With fewer checked labels in a part, what the rule explains does not make its interval narrower."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The second phase of a figure: which automatic items were checked, and how many of its cell each of these counts for."""

    rules: NDArray[np.object_]
    """Each item's automatic label, of rules that were audited; else empty."""
    checked: Mask
    cells: NDArray[np.intp]
    """The cell of each automatic item; -1 for others."""
    counts: Floats
    """How often an item's own label counts: a checked one for its cell; one labelled by people only, once; others not at all."""
    omega: Floats
    """How many posts each item represents in the first phase."""
    chance: Floats
    """Probabilities of the first phase."""

    def values(self, y: Floats, rule: Floats) -> Floats:
        """Return each item's value: what the rule says, and for checked ones what people add to it."""
        return np.asarray(rule + self.counts * (y - rule), dtype=np.float64)

    def linear(self, y: Floats, rule: Floats, shares: Floats) -> Floats:
        """Return each item's part of the figure Σ shares · value, with what the size of its cell explains put in its place."""
        own = self.omega * self._slopes(y, rule, shares)
        return np.asarray(
            shares * rule + own + self.counts * self._residuals(y, rule, shares), dtype=np.float64
        )

    def later(self, y: Floats, rule: Floats, shares: Floats) -> Floats:
        """Return each item's contribution to the second phase's deviation; the sum of their squares is its variance.

        The items' parts of the figure (`linear`) vary with who was checked, too: this is what their variance lacks.
        """
        spread = self.chance * self.counts * np.maximum(self.counts - 1, 0.0)
        return np.asarray(np.where(self.checked, np.sqrt(spread) * self._residuals(y, rule, shares), 0.0))

    def doubt(self, y: Floats, shares: Floats) -> float:
        """Return the variance that is to be added where all checked ones of a rule agree, which does not prove that all do."""
        added = []
        for rule in sorted(set(self.rules[shares > 0]) - {""}):
            here = (self.rules == rule) & (shares > 0)
            rows = here & self.checked
            part = float(shares[here].sum())
            if rows.any() and np.ptp(y[rows]) > 0:
                continue
            loose = 1.0
            if rows.any():
                weight = shares[rows] * self.counts[rows]
                loose = float(np.sum((weight / weight.sum()) ** 2 * np.maximum(1 - 1 / self.counts[rows], 0)))
            if loose > 0:  # half an additional item that differs
                guess = 0.5 / (1 / loose + 1)
                added.append(part**2 * guess * (1 - guess) * loose)
        return math.fsum(added)

    def why(self, shares: Floats) -> str:
        """Return why a part has no interval: too few of its automatic labels were checked; empty if enough were."""
        few = 0.0
        for rule in sorted(set(self.rules[shares > 0]) - {""}):
            here = (self.rules == rule) & (shares > 0)
            rows = int((here & self.checked).sum())
            if rows < min(FEWEST_OF_A_CELL, int(here.sum())):
                few += float(shares[here].sum())
        return FEW_CHECKED if few > MOST_UNCHECKED else ""

    def credited(self, shares: Floats) -> bool:
        """Whether enough labels were checked in a part to trust what the rule explains."""
        return int((self.checked & (shares > 0)).sum()) >= FEWEST_CREDITED

    def _residuals(self, y: Floats, rule: Floats, shares: Floats) -> Floats:
        """Return how far people's differences from the rule are from their cell's mean, with n - 1 in place of n."""
        at = np.maximum(self.cells, 0)
        n = np.maximum(np.bincount(at, self.checked)[at], 2)
        residuals = shares * (y - rule) - self.omega * self._slopes(y, rule, shares)
        return np.asarray(np.where(self.checked, np.sqrt(n / (n - 1)), 1.0) * residuals, dtype=np.float64)

    def _slopes(self, y: Floats, rule: Floats, shares: Floats) -> Floats:
        """Return for each item the mean of people's differences from the rule in its cell, per represented post; else 0."""
        at, inside = np.maximum(self.cells, 0), self.cells >= 0
        top = np.bincount(at, inside * self.checked * self.counts * shares * (y - rule))
        below = np.bincount(at, inside * self.omega)
        slopes = np.divide(top, below, out=np.zeros(len(top)), where=below > 0)
        return np.asarray(np.where(inside, slopes[at], 0.0), dtype=np.float64)


def cells_of_claims(audit: Audit, claims: Sequence[str]) -> NDArray[np.object_]:
    """Return the cell of each automatic item, what a rule labelled in one claim; empty for others.

    A claim with fewer than two checked labels of a rule joins the one nearest in number of labels of that rule: they count for
    these together, and each for its own claim's figure.
    """
    names = np.asarray(claims, dtype=object).astype(str)
    cells = np.full(len(names), "", dtype=object)
    for rule in audit.corrigible():
        here = audit.groups == rule
        labelled, sizes = Counter(names[here & audit.checked].tolist()), Counter(names[here].tolist())
        cell_of = merged({name: labelled[name] for name in sizes}, sizes)
        cells[here] = [f"{rule}|{cell_of[name]}" for name in names[here].tolist()]
    return cells


def cells_within(audit: Audit, here: Mask) -> NDArray[np.object_]:
    """Return the cell of each automatic item of a part: what a rule labelled there; empty for others."""
    return np.where(here & np.isin(audit.groups, audit.corrigible()), audit.groups, "")


def checks_of(audit: Audit, cells: NDArray[np.object_], omega: Floats, chance: Floats) -> Checked:
    """Return the second phase of figures with these cells, for the first phase's weights and probabilities."""
    inside = cells != ""
    at = np.full(len(cells), -1, dtype=np.intp)
    at[inside] = np.unique(cells[inside].astype(str), return_inverse=True)[1]
    counts = np.ones(len(cells))
    if inside.any():
        checked = inside & audit.checked
        whole = np.bincount(at[inside], omega[inside])
        seen = np.bincount(at[checked], (omega / audit.fractions)[checked], len(whole))
        ratio = np.divide(whole, seen, out=np.zeros(len(whole)), where=seen > 0)
        counts[inside] = np.where(audit.checked, ratio[np.maximum(at, 0)] / audit.fractions, 0.0)[inside]
    rules = np.where(np.isin(audit.groups, audit.corrigible()), audit.groups, "")
    return Checked(rules, audit.checked & (rules != "") & inside, at, counts, omega, chance)


def said_by_rules(audit: Audit, label: str) -> Floats:
    """Return for each item whether the rule gave it this label; 0 where none labelled it."""
    return np.asarray(audit.groups == label, dtype=np.float64)
