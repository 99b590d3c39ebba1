"""Figures about claims like these: variance by leaving out a claim each, degrees by the claims that decide the figure.

What the items are worth keeps the interval honest where no error was seen: the measure is linearised with one item
more, spread over all cells of the table, and as many independent items as there are would give that variance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from covmis_build.stats.intervals import FEWEST, ROUNDING, UNIT, Estimate, Over, effective

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int64]
    Measures = Callable[[Floats], Mapping[str, Floats]]
    """From tables (..., labels, answers) to the values of each measure (...)."""

UNSEEN = 0.25
"""More of the variance may not come from the one item that nobody saw."""
FEWEST_CLAIMS = 3
STEP = 1e-3
"""The relative step of the derivatives."""
HARDLY = "a label that it rests on hardly occurs"


class Probes(NamedTuple):
    """Tables near one, for the derivatives of a measure there."""

    shares: Floats
    """Of each cell, with one item more spread over all."""
    tables: Floats
    """That table, those with each cell moved up and down, and each cell alone."""

    @classmethod
    def near(cls, table: Floats) -> Probes:
        """The probes of a table of counts."""
        soft = (table + 1 / table.size) / (table.sum() + 1)
        q = soft.ravel()
        by = np.diag(STEP * q)
        tables = np.concatenate([q[None], q + by, q - by, np.eye(len(q))])
        return cls(q, tables.reshape(-1, *table.shape))

    def read(self, values: Floats, table: Floats, bounds: tuple[float, float]) -> Pulls:
        """What a measure's values on the probes say."""
        cells, n = len(self.shares), float(table.sum())
        here, up, down = values[0], values[1 : cells + 1], values[cells + 1 : 2 * cells + 1]
        slope = (up - down) / (2 * STEP * self.shares)
        slope = slope - slope @ self.shares
        wide = bounds[1] - bounds[0]
        u, v = (float(here) - bounds[0]) / wide, float(self.shares @ slope**2) / n / wide**2
        rows = table.reshape(len(table), -1)
        likely = (rows + 1 / rows.shape[1]) / (rows.sum(1, keepdims=True) + 1)  # one item more of each label
        pull = (likely * slope.reshape(likely.shape) ** 2).sum(1)
        linear = bool(np.isclose(self.shares @ values[2 * cells + 1 :], here, rtol=1e-9, atol=1e-12))
        return Pulls(u * (1 - u) / v if v > ROUNDING else n, pull, linear)


class Pulls(NamedTuple):
    """How much the items of a table decide."""

    worth: float
    """What they are worth: the n of Wilson's interval if they were independent."""
    pull: Floats
    """The mean squared pull of an item of each label: a macro score rests on its rarest label."""
    mean_of_items: bool
    """Whether the measure is a mean over items, which weighs every label alike."""


def over_claims(
    measures: Measures,
    ranges: Mapping[str, tuple[float, float]],
    tables: Floats,
    *,
    multiplicity: Floats | None = None,
    over: Over = Over.CLAIMS,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """Measures of a table of counts: `tables` has one for each claim and run, (claims, runs, labels, answers …).

    A value is the mean over runs. Without claims every item is a unit of its own (`over` items), and `multiplicity`
    says how many are alike. A difference of two systems is a measure, too: of tables (label, first, second).
    """
    many = np.ones(len(tables)) if multiplicity is None else multiplicity
    whole = np.tensordot(many, tables, axes=1)
    left = np.maximum(whole - tables, 0.0)
    probes = [Probes.near(run) for run in whole]
    near = np.stack([each.tables for each in probes], axis=1)
    values_of = measures(np.concatenate([whole[None], left, near]))
    labels = tables[:, 0].reshape(len(tables), whole.shape[1], -1).sum(2)
    figures = {}
    for name, bounds in ranges.items():
        values = values_of[name]
        rest = values[1 + len(left) :]
        pulls = [each.read(rest[:, at], whole[at], bounds) for at, each in enumerate(probes)]
        figures[name] = decided_by(
            labels,
            float(values[0].mean()),
            values[1 : 1 + len(left)].mean(1),
            Pulls(
                float(np.mean([each.worth for each in pulls])),
                np.mean([each.pull for each in pulls], axis=0),
                all(each.mean_of_items for each in pulls),
            ),
            many, bounds=bounds, over=over, level=level,
        )  # fmt: skip
    return figures


def decided_by(
    labels: Floats,
    value: float,
    left_out: Floats,
    pulls: Pulls,
    multiplicity: Floats | None = None,
    *,
    bounds: tuple[float, float],
    over: Over = Over.CLAIMS,
    level: float = 0.95,
) -> Estimate:
    """A figure from its values without each claim, and how many items of each label the claims have."""
    many = np.ones(len(labels)) if multiplicity is None else multiplicity
    whole, pull = many @ labels, pulls.pull
    unseen = float(pull.mean() / (whole @ pull + pull.mean())) if pull.any() else 0.0
    parts = labels @ pull
    claims = effective(parts, many)
    held = int(many[parts > 1e-9 * float(many @ parts)].sum())
    count = float(many.sum())
    why, variance = "", math.nan
    if math.isnan(value):
        why = "not defined: no item of the class"
    elif unseen > UNSEEN and not pulls.mean_of_items:
        why = HARDLY
    elif held < FEWEST_CLAIMS or claims < FEWEST or np.isnan(left_out).any():
        what = "claims" if over == Over.CLAIMS else "items"
        why = f"too few {what} decide it: {held:,}, an effective number of {claims:.1f}"
    else:
        variance = (count - 1) / count * float(many @ (left_out - many @ left_out / count) ** 2)
    return Estimate(
        value,
        variance,
        round(float(whole.sum())),
        pulls.worth,
        max(claims - 1, 0.0),
        bounds,
        over,
        level,
        why,
    )


def difference(
    measures: Measures, ranges: Mapping[str, tuple[float, float]]
) -> tuple[Measures, dict[str, tuple[float, float]]]:
    """The measures of a first system less those of a second, of tables (label, first, second); and their ranges."""

    def less(tables: Floats) -> Mapping[str, Floats]:
        first, second = measures(tables.sum(-1)), measures(tables.sum(-2))
        return {name: first[name] - second[name] for name in first}

    return less, {name: (low - high, high - low) for name, (low, high) in ranges.items()}


def claim_tables(cells: Codes, shape: tuple[int, ...], claims: Codes | None) -> tuple[Floats, Floats | None]:
    """The table of each claim and run from each item's cell, (items, runs); without claims those of items that differ.

    The second are how many items are alike.
    """
    wide = math.prod(shape)
    if claims is None:
        alike, many = np.unique(cells, axis=0, return_counts=True)
        tables = np.zeros((*alike.shape, wide))
        np.put_along_axis(tables, alike[..., None], 1.0, axis=2)
        return tables.reshape(*alike.shape, *shape), many.astype(float)
    tables = np.zeros((int(claims.max()) + 1, cells.shape[1], wide))
    np.add.at(tables, (claims[:, None], np.arange(cells.shape[1])[None], cells), 1.0)
    return tables.reshape(*tables.shape[:2], *shape), None


def mean_over_claims(
    values: Floats,
    shares: Floats,
    claims: Codes,
    *,
    left_out: Floats | None = None,
    value: float | None = None,
    bounds: tuple[float, float] = UNIT,
    level: float = 0.95,
) -> Estimate:
    """A weighted mean over items (`shares` add up to 1), over claims; `left_out` has it without each claim, if not so.

    The claims' parts are what their items would add to the variance if they were independent.
    """
    mean = float(shares @ values) if value is None else value
    if left_out is None:
        mass, sums = np.bincount(claims, shares), np.bincount(claims, shares * values)
        with np.errstate(invalid="ignore", divide="ignore"):
            left_out = (sums.sum() - sums) / (1 - mass)
    parts = np.bincount(claims, shares**2).astype(float)
    figure = decided_by(
        np.asarray(parts[:, None], dtype=np.float64), mean, left_out, Pulls(float(1 / parts.sum()), np.ones(1), True), bounds=bounds, level=level
    )  # fmt: skip
    return Estimate(
        mean,
        figure.variance,
        len(values),
        figure.worth,
        figure.degrees,
        bounds,
        Over.CLAIMS,
        level,
        figure.why,
    )
