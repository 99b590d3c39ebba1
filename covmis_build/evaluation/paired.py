"""Systems that answered the same items: their results as counts per claim or item, and the difference of two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError
from covmis_build.evaluation.joining import JoinedLabels, over_runs
from covmis_build.stats.intervals import Estimate, Over
from covmis_build.stats.over_claims import claim_tables, difference, over_claims

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from covmis_build.evaluation.setting import Setting

    Array = NDArray[np.float64]
    Codes = NDArray[np.int64]


class PairedSystems:
    """The systems' results as counts per unit, and one measure of them."""

    def __init__(self, joined: JoinedLabels, chosen: Setting, owners: Codes | None) -> None:
        self.shape, self.width = joined.shape, joined.shape[0] * joined.shape[1]
        self.chosen, self.owners = chosen, owners
        self.names, self.systems = list(joined.runs), list(joined.runs.values())
        # in keyed order, so that random numbers do not depend on the order of rows
        self.cells = joined.cells if owners is not None else joined.cells[np.lexsort(joined.cells.T)]
        self.units = len(joined.gold) if owners is None else int(owners.max()) + 1
        if self.units < 2:
            raise InputError("there is one item or cluster", remedy="A comparison needs at least two")
        totals = np.stack([np.bincount(column, minlength=self.width) for column in self.cells.T])
        self.each_run = self.value(totals.astype(np.float64))
        self.observed = self._over_runs(self.each_run)

    def value(self, counts: Array) -> Array:
        """Return the measure of counts (…, width)."""
        stack = counts.reshape(*counts.shape[:-1], *self.shape)
        return next(iter(self.chosen.values(stack).values()))

    def _over_runs(self, values: Array) -> Array:
        return over_runs(values, [len(runs) for runs in self.systems])

    @property
    def measure(self) -> str:
        """The measure's name."""
        return self.chosen.measures[0].name

    def difference(self, first: int, second: int, level: float) -> Estimate:
        """Return the difference of the systems in the measure, over claims or items, and over all pairs of their runs."""
        starts = np.cumsum([0, *(len(runs) for runs in self.systems)])
        runs = [range(starts[at], starts[at + 1]) for at in (first, second)]
        columns = self.shape[1]
        cells = np.stack(
            [self.cells[:, a] * columns + self.cells[:, b] % columns for a in runs[0] for b in runs[1]],
            axis=1,
        )
        tables, alike = claim_tables(cells, (*self.shape, columns), self.owners)
        measure, ranges = difference(self.chosen.values, self.chosen.ranges)
        over = Over.ITEMS if self.owners is None else Over.CLAIMS
        return over_claims(measure, ranges, tables, multiplicity=alike, over=over, level=level)[self.measure]

    def pair(self, first: int, second: int, figure: Estimate, *, interval: bool) -> dict[str, Any]:
        """Return two systems' values, their difference with its interval, and the effect."""
        deviation = figure.standard_error * np.sqrt(self.units)
        return {
            "system_a": self.names[first],
            "system_b": self.names[second],
            "measure": self.measure,
            "value_a": float(self.observed[first]),
            "value_b": float(self.observed[second]),
            "difference": figure.value,
            "low": figure.low if interval else np.nan,
            "high": figure.high if interval else np.nan,
            "why": figure.why if interval else "",
            "effect": figure.value / deviation if deviation > 0 else np.nan,
            "units": self.units,
        }

    def only_one(self, first: int, second: int) -> tuple[int, int]:
        """Return how many items only the first system has correct, and only the second; each has one run."""
        right = self.right()
        return int((right[:, first] & ~right[:, second]).sum()), int(
            (~right[:, first] & right[:, second]).sum()
        )

    def right(self) -> NDArray[np.bool_]:
        """Return which items each run has correct: (items, runs)."""
        columns = self.shape[1]
        return np.asarray(self.cells // columns == self.cells % columns)

    def parts(self) -> Array:
        """Counts per unit: (units, runs, width)."""
        owners = np.arange(len(self.cells)) if self.owners is None else self.owners
        parts = np.zeros((self.units, self.cells.shape[1], self.width))
        np.add.at(parts, (owners[:, None], np.arange(self.cells.shape[1])[None], self.cells), 1.0)
        return parts
