"""Score systems against gold, with intervals, over runs and groups, and with design weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.evaluation.ceiling import ceiling_of
from covmis_build.evaluation.gold_and_systems import GoldAndSystems, gold_and_systems, unit_of
from covmis_build.evaluation.joining import (
    Extra,
    Invalid,
    JoinedLabels,
    Missing,
    claims_of_items,
    grouping,
    join,
    numbers_of_items,
)
from covmis_build.evaluation.scores import Scores
from covmis_build.evaluation.setting import Setting, setting
from covmis_build.stats.intervals import Estimate, Over
from covmis_build.stats.linearised import weighted_measures
from covmis_build.stats.over_claims import claim_tables, over_claims
from covmis_build.stats.over_posts import made_design

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Codes = NDArray[np.int64]


def score(  # noqa: PLR0913 - every option is named, and most calls need three
    gold: Any,
    systems: Any,
    *,
    id: str | None = None,  # noqa: A002 - the column's name in every table
    label: str | None = None,
    labels: Sequence[Any] | None = None,
    measures: Sequence[str] | None = None,
    probabilities: Any = "",
    clusters: Any = "",
    order: Sequence[str] | None = None,
    poles: Sequence[str] | None = None,
    class_weights: Mapping[str, float] | Sequence[float] | None = None,
    undefined: str = "zero",
    missing: Missing = "refuse",
    extra: Extra = "refuse",
    invalid: Invalid = "refuse",
    map: Mapping[str, str] | None = None,  # noqa: A002 - what everyone calls it
    by: Mapping[str, Any] | Sequence[str] | None = None,
    people: Any = None,
    by_position: bool = False,
    level: float = 0.95,
    seed: int = 0,
    title: str = "",
) -> Scores:
    """Score systems against gold: one row per system, measure and group.

    `gold` is a frame or file with a label column (and an id column; `id` and `label` name them), or a Series, dict or list.
    `systems` is a dict of these by name, a frame with one column per system, or a single system's predictions. Data with ids
    are joined by id. A system may be a list of runs (seeds): its value is their mean and `sd` their standard deviation. Without
    `labels`, the label set is that of gold.

    Intervals are over claims if gold has a claim column, otherwise over items. `clusters` gives each item's claim or names
    another column; None requests intervals over items. If too little is known there is no interval, and `why` gives the reason
    (docs/explanation/intervals.md). `probabilities` (for a corpus its p_claim · p_sample, unless None) add design-weighted
    values: `weighted` for the target population, `balanced` with equal weight per claim. `by` adds groups of items, such as
    `{"kind": kinds}`, and their mean. If gold is a table, all three may be column names, as in `clusters="event",
    probabilities=["p_claim", "p_sample"], by=["kind"]`. Without `measures`, all whose requirements are met are computed. An
    ordinal measure named without `order` uses the order of the labels.

    `map` says what labels of these are called here, such as `{"1": "favor", "FAVOR": "favor"}`. Answers that are none of the
    labels are refused, or (`invalid`) wrong in every measure, or as if they were `missing`; the columns `missing` and `invalid`
    have their shares.

    `people` are individual labels (a table with one row per annotator and item, a file, or a dict of lists by gold's ids).
    Then `person` is human performance (each annotator against the others), and `ceiling` the best possible score with the
    same number of annotators. `seed` is used for these simulations.

    >>> scores = score(["a", "b", "b"], {"always a": ["a", "a", "a"]}, measures=["accuracy"])
    >>> scores.to_frame()[["system", "measure", "items", "value"]].to_dict("records")
    [{'system': 'always a', 'measure': 'accuracy', 'items': 3, 'value': 0.3333333333333333}]
    """
    import pandas as pd

    given = gold_and_systems(gold, systems, id=id, label=label, by_position=by_position, map=map)
    joined = join(given.gold, given.systems, given.labels(labels, order, invalid), missing, extra, invalid)
    chosen = setting(
        joined.labels,
        names=measures,
        order=order,
        poles=poles,
        class_weights=class_weights,
        undefined=undefined,
    )
    clusters = given.claims(clusters)
    claims = claims_of_items(clusters, joined)
    given_chances = given.probabilities(probabilities)
    chances = (
        None if given_chances is None else numbers_of_items(given_chances, joined, "probabilities", most=1.0)
    )
    units = _Units(claims, chances, level)
    human = None if people is None else ceiling_of(people, joined, seed)
    rows = []
    for name, group, inside in _groups(given, joined, by):
        place = {"group_by": name, "group": group}
        people_do = {} if human is None else human.values(chosen, joined.shape, inside)
        scored = _rows(joined, chosen, place, inside, units.within(inside))
        rows += [row | people_do.get(row["measure"], {}) for row in scored]
    table = pd.DataFrame(rows)
    return Scores(
        pd.concat([table, *_means_of_groups(table)], ignore_index=True),
        joined,
        chosen,
        level=level,
        claims=claims,
        unit=unit_of(clusters),
        undefined=undefined,
        study=title,
        remarks=(*joined.remarks, *given.remarks(given_chances)),
    )


def _groups(
    given: GoldAndSystems, joined: JoinedLabels, by: Mapping[str, Any] | Sequence[str] | None
) -> list[tuple[str, str, NDArray[np.bool_]]]:
    """Return all items, then the items of each group with the names of grouping and group."""
    groups = [("", "", np.ones(len(joined.gold), dtype=bool))]
    named = dict(by) if isinstance(by, dict) else {name: name for name in by or ()}
    for name, values in named.items():
        codes, known = grouping(given.column(values, name), joined, name)
        groups += [(name, str(group), codes == code) for code, group in enumerate(known)]
    return groups


def _means_of_groups(table: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """Return for each grouping and system the mean over groups, each with the same weight: the usual figure over targets."""
    for name, groups in table[table["group_by"] != ""].groupby("group_by", sort=False):
        count = groups["group"].nunique()
        if count > 1:
            places = groups.groupby(["system", "measure"], sort=False)
            means = (
                places[["value", "missing", "invalid"]]
                .mean()
                .join(places[["items", "runs"]].agg({"items": "sum", "runs": "max"}))
            )
            why = f"a mean over {count} groups"
            yield means.reset_index().assign(group_by=name, group=f"mean of {count}", why=why)


@dataclass(frozen=True)
class _Units:
    """The units of the intervals (claims or items), with the items' inclusion probabilities."""

    claims: Codes | None
    probabilities: Array | None
    level: float

    def within(self, inside: NDArray[np.bool_]) -> _Units:
        """Return the units of some of the items, with claims renumbered."""
        claims = None if self.claims is None else np.unique(self.claims[inside], return_inverse=True)[1]
        return replace(
            self,
            claims=claims,
            probabilities=None if self.probabilities is None else self.probabilities[inside],
        )


def _rows(
    joined: JoinedLabels, chosen: Setting, place: dict[str, str], inside: NDArray[np.bool_], units: _Units
) -> list[dict[str, Any]]:
    """Return one row per system and measure for these items."""
    shape, cells = joined.shape, joined.cells[inside]
    rows: list[dict[str, Any]] = []
    start = 0
    for system, runs in joined.runs.items():
        own, unanswered = cells[:, start : start + len(runs)], joined.shares(system, inside)
        start += len(runs)
        counts = np.stack([np.bincount(run, minlength=shape[0] * shape[1]) for run in own.T])
        values = chosen.values(counts.reshape(-1, *shape).astype(np.float64))
        figures = _figures(own, shape, chosen, units) if len(own) > 1 else {}
        weighted = (
            {}
            if units.probabilities is None
            else _weighted_values(
                list(own.T), shape, units.probabilities, units.claims, chosen, level=units.level
            )
        )
        for measure in chosen.measures:
            each, figure = values[measure.name], figures.get(measure.name)
            row = {
                "system": system,
                "measure": measure.name,
                **place,
                "items": int(inside.sum()),
                "value": _mean(each),
                "low": figure.low if figure else np.nan,
                "high": figure.high if figure else np.nan,
                "why": figure.why if figure else "one item",
                "runs": len(each),
                "sd": float(np.std(each, ddof=1)) if len(each) > 1 else np.nan,
                **unanswered,
            }
            rows.append(row | weighted.get(measure.name, {}))
    return rows


def _figures(cells: Codes, shape: tuple[int, int], chosen: Setting, units: _Units) -> dict[str, Estimate]:
    """Compute a system's measures with intervals: over claims if there are any, otherwise over items."""
    tables, alike = claim_tables(cells, shape, units.claims)
    over = Over.ITEMS if units.claims is None else Over.CLAIMS
    return over_claims(chosen.values, chosen.ranges, tables, multiplicity=alike, over=over, level=units.level)


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else np.nan


def _weighted_values(
    runs: Sequence[Codes],
    shape: tuple[int, int],
    probabilities: Array,
    claims: Codes | None,
    chosen: Setting,
    *,
    level: float,
) -> dict[str, dict[str, float]]:
    """Score the sampled population with weights 1/p: per measure value, low and high of each estimand.

    `weighted`: every post of the target population counts once. With claims also `balanced`: every claim counts once,
    whatever its number of posts. Both are valid if items are drawn independently (Poisson sampling, as in the paper).
    Fixed-size designs have smaller variances, so their intervals are conservative. `runs` has each item's cell of the
    confusion matrix of this shape, per run of the system.
    """
    ranges = chosen.ranges
    design = made_design(probabilities)
    columns: dict[str, dict[str, float]] = {name: {} for name in ranges}
    estimands = {"weighted": None} if claims is None else {"weighted": None, "balanced": claims}
    for estimand, owners in estimands.items():
        estimates = weighted_measures(chosen.values, ranges, runs, shape, design, claims=owners, level=level)
        for name, figure in estimates.items():
            columns[name] |= {
                estimand: figure.value,
                f"{estimand}_low": figure.low,
                f"{estimand}_high": figure.high,
            }
    return columns
