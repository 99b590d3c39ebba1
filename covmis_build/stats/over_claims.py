"""Figures that generalise to similar claims: jackknife variance over claims, degrees of freedom from influential claims.

If no error was observed, the effective size of the items keeps the interval valid: the measure is linearised with one
additional item, spread over all cells of the table, and its variance is that of as many independent items as there are.
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
"""Maximum share of the variance due to the additional (unobserved) item."""
FEWEST_CLAIMS = 3
STEP = 1e-3
"""Relative step of the derivatives."""
HARDLY = "a label that it rests on hardly occurs"


class Probes(NamedTuple):
    """Tables near a given one, to compute derivatives of a measure."""

    shares: Floats
    """Share of each cell, with one additional item spread over all cells."""
    tables: Floats
    """This table, then those with each cell increased and decreased, then each cell alone."""

    @classmethod
    def near(cls, table: Floats) -> Probes:
        """Return the probes of a table of counts."""
        soft = (table + 1 / table.size) / (table.sum() + 1)
        q = soft.ravel()
        by = np.diag(STEP * q)
        tables = np.concatenate([q[None], q + by, q - by, np.eye(len(q))])
        return cls(q, tables.reshape(-1, *table.shape))

    def read(self, values: Floats, table: Floats, bounds: tuple[float, float]) -> Pulls:
        """Compute the items' influence from a measure's values on the probes."""
        cells, n = len(self.shares), float(table.sum())
        here, up, down = values[0], values[1 : cells + 1], values[cells + 1 : 2 * cells + 1]
        slope = (up - down) / (2 * STEP * self.shares)
        slope = slope - slope @ self.shares
        wide = bounds[1] - bounds[0]
        u, v = (float(here) - bounds[0]) / wide, float(self.shares @ slope**2) / n / wide**2
        rows = table.reshape(len(table), -1)
        likely = (rows + 1 / rows.shape[1]) / (rows.sum(1, keepdims=True) + 1)  # one more item per label
        pull = (likely * slope.reshape(likely.shape) ** 2).sum(1)
        linear = bool(np.isclose(self.shares @ values[2 * cells + 1 :], here, rtol=1e-9, atol=1e-12))
        return Pulls(u * (1 - u) / v if v > ROUNDING else n, pull, linear)


class Pulls(NamedTuple):
    """Influence of the items in a table."""

    worth: float
    """Effective size: the n of Wilson's interval if the items were independent."""
    pull: Floats
    """Mean squared influence of an item of each label: a macro score depends most on its rarest label."""
    mean_of_items: bool
    """True if the measure is a mean over items, in which all labels have equal weight."""


def over_claims(
    measures: Measures,
    ranges: Mapping[str, tuple[float, float]],
    tables: Floats,
    *,
    multiplicity: Floats | None = None,
    over: Over = Over.CLAIMS,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """Compute measures of tables of counts: `tables` has one per claim and run, (claims, runs, labels, answers …).

    A value is the mean over runs. Without claims every item is a unit (`over` items), and `multiplicity` is the number of
    equal items. The difference of two systems is also a measure: of tables (label, first, second).
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
            many,
            bounds=bounds,
            over=over,
            level=level,
        )
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
    """Return a figure from its values without each claim, and from the number of items per label in the claims."""
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
    """Return the difference in measures between two systems from tables (label, first, second), and their ranges."""

    def less(tables: Floats) -> Mapping[str, Floats]:
        first, second = measures(tables.sum(-1)), measures(tables.sum(-2))
        return {name: first[name] - second[name] for name in first}

    return less, {name: (low - high, high - low) for name, (low, high) in ranges.items()}


def claim_tables(cells: Codes, shape: tuple[int, ...], claims: Codes | None) -> tuple[Floats, Floats | None]:
    """Return the table of each claim and run from each item's cell, (items, runs); without claims, of each distinct item.

    The second value is the number of equal items.
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
    """Return a weighted mean over items (`shares` sum to 1) with an interval over claims.

    `left_out` overrides the means without each claim. The claims' parts are their items' contributions to the variance
    under independence.
    """
    mean = float(shares @ values) if value is None else value
    if left_out is None:
        mass, sums = np.bincount(claims, shares), np.bincount(claims, shares * values)
        with np.errstate(invalid="ignore", divide="ignore"):
            left_out = (sums.sum() - sums) / (1 - mass)
    parts = np.bincount(claims, shares**2).astype(float)
    figure = decided_by(
        np.asarray(parts[:, None], dtype=np.float64),
        mean,
        left_out,
        Pulls(float(1 / parts.sum()), np.ones(1), True),
        bounds=bounds,
        level=level,
    )
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
