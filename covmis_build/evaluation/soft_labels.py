"""Soft labels: compare a system's label probabilities with the labels of several annotators per item.

The distance to the label shares of few annotators has a minimum that depends on their number. Therefore covmis also reports
the best score that a system can attain. Cross-entropy and the corrected Brier score can be compared across
numbers of annotators; Manhattan, Wasserstein and Jensen-Shannon distances cannot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError, UnknownName, counted, nearest
from covmis_build.evaluation.attainable import Spread
from covmis_build.evaluation.gold_and_systems import parts_of_spec
from covmis_build.evaluation.label_files import (
    PEOPLE,
    SYSTEMS,
    Labelled,
    as_label,
    check_cells,
    column_of_labels,
    is_empty,
    label_set,
    labelled,
    read_rows,
    share_columns,
)
from covmis_build.evaluation.rendering import Evaluated, booktabs, bounded, escape, known, titled
from covmis_build.evaluation.soft_measures import SOFT_MEASURES, People, SoftMeasure
from covmis_build.files.columns import CLAIM_OF_ITEM, IDS, column_of
from covmis_build.files.reading import Sheet
from covmis_build.options import by_people
from covmis_build.records import independent
from covmis_build.stats.intervals import interval
from covmis_build.stats.over_claims import mean_over_claims
from covmis_build.stats.over_posts import made_design

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.evaluation.joining import Extra

    Array = NDArray[np.float64]
    Codes = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class SoftScores(Evaluated):
    """The result of `score_soft`. `.table` has one row per system and measure."""

    table: pd.DataFrame
    labels: tuple[str, ...]
    raters: tuple[int, ...]
    """Number of annotators of each item."""
    over: str = "items"
    level: float = 0.95
    study: str = ""

    @property
    def how(self) -> str:
        """The meaning of the columns, and which figures are comparable."""
        fewest, most = min(self.raters), max(self.raters)
        people = (
            ("1 person" if most == 1 else f"{most} people")
            if fewest == most
            else f"{fewest} to {most} people"
        )
        return (
            f"{self.level:.0%} intervals over {self.over}. {counted(len(self.raters), 'items')} with {people} each. Best: what "
            "a system can expect that knows the true shares and gives the answer with the least expected distance; its range holds the "
            "score of such a system, and is wide where few people per item leave the true shares open. Manhattan, Wasserstein and "
            "Jensen-Shannon are never compared across numbers of people; cross-entropy and the corrected Brier score are."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per system and measure: value, low, high, best, best_low, best_high and more."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        numbers, items = np.unique(self.raters, return_counts=True)
        raters = [
            {"people": int(number), "items": int(count)} for number, count in zip(numbers, items, strict=True)
        ]
        return {
            "labels": list(self.labels),
            "level": self.level,
            "over": self.over,
            "raters": raters,
            "soft": self.table.to_dict("records"),
        }

    def tables(self) -> list[tuple[str, pd.DataFrame]]:
        """Return the table with its title for the terminal."""
        rows = self.table.to_dict("records")
        shown = self.table.assign(
            value=[bounded(row["value"], row["low"], row["high"]) for row in rows],
            best=[bounded(row["best"], row["best_low"], row["best_high"]) for row in rows],
        )
        return [(self.how, shown[["system", "title", "value", "best", "items"]])]

    def html(self) -> str:
        """Return the page."""
        from covmis_build.report.page import Section, page, table_html

        body = table_html(self.tables()[0][1], headings=2)
        return page("Soft labels", [Section("Distances", prose=self.how, body=body)], study=self.study)

    def latex(self) -> str:
        """Return one row per system and measure as a LaTeX table (booktabs)."""
        numbers = ("value", "low", "high", "best", "best_low", "best_high")
        lines = [
            [escape(str(row["system"])), escape(row["title"])]
            + ["--" if known(row[name]) is None else f"{row[name]:.3f}" for name in numbers]
            for row in self.table.to_dict("records")
        ]
        return booktabs(
            ["System", "Measure", "Value", "Low", "High", "Best", "Low", "High"],
            lines,
            titled(self.study, self.how),
            label="soft",
        )


def score_soft(  # noqa: PLR0913 - every option is named
    people: Any,
    systems: Mapping[str, Any],
    *,
    id: str = "",  # noqa: A002 - the column's name in every table
    label: str = "",
    annotator: str = "annotator",
    labels: Sequence[Any] | None = None,
    order: Sequence[Any] | None = None,
    measures: Sequence[str] | None = None,
    probabilities: str | Mapping[str, float] | None = None,
    clusters: str | Mapping[str, Any] | None = "",
    extra: Extra = "refuse",
    level: float = 0.95,
    title: str = "",
) -> SoftScores:
    """Score systems against the labels of several annotators per item.

    `people` is a table (frame or file) with one row per annotator and item, or a dict of lists of labels by id. A system is a
    table with a probability column per label or a single label column (probability 1), or a dict by id of labels or of
    {label: probability}. `probabilities` (p of each item) weight items by design. `clusters` (each item's claim; default: the
    claim column, if any) give intervals over claims. Both may name a column of the annotators' table. Wasserstein needs
    `order`. Predictions for items without labels are refused unless `extra` is "ignore".

    >>> people = {"1": ["a", "a", "b"], "2": ["b", "b", "b"]}
    >>> scores = score_soft(people, {"mine": {"1": {"a": 0.5, "b": 0.5}, "2": "b"}}, measures=["manhattan"])
    >>> scores.to_frame()["value"].round(4).tolist()
    [0.1667]
    """
    import pandas as pd

    answers = answers_of(people, id, label, annotator)
    declared = order if order is not None and len(order) else labels
    if declared is not None and len(declared):
        names = tuple(as_label(name) for name in declared)
        given = {as_label(said) for said in answers.table["label"]}
    else:
        names = tuple(label_set(answers.table["label"], answers.source.file if answers.source else "people"))
        given = set(names)
    for said in sorted(given - set(names)):
        raise UnknownName(f"people gave the unknown label '{said}'", remedy=nearest(said, names))
    items = list(dict.fromkeys(answers.table["id"]))
    counted = pd.crosstab(answers.table["id"], answers.table["label"].map(as_label))
    group = People(counted.reindex(index=items, columns=list(names), fill_value=0).to_numpy(dtype=float))
    chances = answers.of_items(probabilities, items, "probabilities")
    if clusters == "":
        clusters = column_of([str(name) for name in answers.table.columns], CLAIM_OF_ITEM) or None
    claims = answers.of_items(clusters, items, "clusters")
    units = _Units(
        None if chances is None else np.array([float(p) for p in chances]),
        None if claims is None else np.unique([str(claim) for claim in claims], return_inverse=True)[1],
        level,
    )
    chosen = _chosen(measures, ordered=order is not None and len(order) > 0)
    best = {measure.name: units.best(measure, group) for measure in chosen}
    rows = []
    for name, predictions in systems.items():
        shares = _shares(predictions, str(name), items, names, extra)
        for measure in chosen:
            values = measure.formula(group, shares)
            rows.append(
                {
                    "system": str(name),
                    "measure": measure.name,
                    "title": measure.title,
                    **units.mean_of(values, (measure.least, measure.top(len(names)))),
                    **best[measure.name],
                    "comparable": measure.comparable,
                    "higher_is_better": measure.higher_is_better,
                }
            )
    over = "items" if claims is None else "claims"
    return SoftScores(pd.DataFrame(rows), names, tuple(map(int, group.raters)), over, level, title)


@dataclass(frozen=True)
class Answers:
    """Annotators' labels: columns id and label, and other columns of their table."""

    table: pd.DataFrame
    source: Labelled | None = None
    """The annotators' table as read, if any; row numbers are in the index."""

    def of_items(
        self, given: str | Mapping[str, Any] | None, items: Sequence[str], what: str
    ) -> list[Any] | None:
        """Return one value per item, from a column of the annotators' table or from a dict."""
        if given is None:
            return None
        if isinstance(given, str):
            if given not in self.table.columns:
                raise UnknownName(
                    f"there is no column '{given}'", remedy=nearest(given, map(str, self.table.columns))
                )
            given = self._one_value_an_item(given)
        lacking = next((item for item in items if is_empty(given.get(item))), None)
        if lacking is not None:
            raise InputError(f"{what} lacks the item {lacking}", remedy="Give one value per item")
        return [given[item] for item in items]

    def _one_value_an_item(self, column: str) -> dict[str, Any]:
        """Return each item's value in this column, which must be the same in all its non-empty rows."""
        value_of: dict[str, Any] = {}
        for number, item, value in zip(self.table.index, self.table["id"], self.table[column], strict=True):
            if not is_empty(value) and value_of.setdefault(item, value) != value:
                raise InputError(
                    f"the item {item} has two values of {column}: {value_of[item]}, then {value}",
                    file=self.source.file if self.source else "",
                    row=self.source.row(number + 1) if self.source else "",
                    remedy="Give all rows of an item the same",
                )
        return value_of


def answers_of(
    people: Any, id_column: str = "", label_column: str = "", annotator: str = "annotator"
) -> Answers:
    """Return annotators' labels from a table with one row per annotator and item, or a dict of lists of labels by id.

    Of a release's annotations.csv, only people's independent labels are used.
    """
    import pandas as pd

    if isinstance(people, Mapping):
        pairs = [(str(item), said) for item, answers in people.items() for said in answers]
        source, table = None, pd.DataFrame(pairs, columns=["id", "label"])
    else:
        source = people_table(people, id_column, label_column)
        table = _by_each_person_once(source, annotator)
    table = table[~table["label"].map(is_empty)]
    if table.empty:
        raise InputError("nobody labelled anything", remedy="Give a row for each person and item")
    return Answers(table, source)


def people_table(people: Any, id_column: str = "", label_column: str = "") -> Labelled:
    """Read the annotators' table (FILE[:COLUMN] or a frame) with its id and label columns; one row per annotator."""
    if isinstance(people, Labelled):
        return people
    if isinstance(people, str):
        _, people, named = parts_of_spec(people)
        label_column = label_column or named
    file = people if isinstance(people, Path) else "people's table"
    source = read_rows(file) if isinstance(file, Path) else None
    frame = source.frame() if source else people
    names = [str(name) for name in frame.columns]
    ids = id_column or column_of(names, IDS)
    said = label_column or column_of_labels(file, names, PEOPLE)[0]
    for name, what in ((ids, "ids"), (said, "labels")):
        if name and name not in names:
            raise UnknownName(f"lacks the column '{name}'", file=file, remedy=nearest(name, names))
        if not name:
            raise InputError(f"has no column of {what}; it has {', '.join(names)}", file=file)
    table = Labelled(file, frame.reset_index(drop=True), ids, said, source=source)
    check_cells(table)
    return table


def _by_each_person_once(source: Labelled, annotator: str) -> pd.DataFrame:
    """Return people's independent labels, with columns id and label. A repeated label of an item is an error."""
    table = source.table.assign(
        id=source.whole_ids(source.id_column), label=source.table[source.label_column]
    )
    names = [str(name) for name in table.columns]
    if {"phase", "status"} <= set(names):
        table = independent(table)
    person = annotator if annotator in names else column_of(names, [annotator.lower()])
    if not person and annotator != "annotator":
        raise UnknownName(
            f"lacks the column '{annotator}'", file=source.file, remedy=nearest(annotator, names)
        )
    if not person:
        return table
    table = by_people(table, person)
    seen: set[tuple[str, str]] = set()
    for number, item, name in zip(table.index, table["id"], table[person].astype(str), strict=True):
        answer = (str(item), name.strip())
        if answer in seen:
            raise InputError(
                f"{answer[1]} labelled the item {item} more than once",
                file=source.file,
                row=source.row(int(number) + 1),
                remedy="Keep the answer that counts",
            )
        seen.add(answer)
    return table


def _shares(
    predictions: Any, name: str, items: Sequence[str], labels: tuple[str, ...], extra: Extra
) -> Array:
    """Return the system's probability of each label for each item: (items, C)."""
    if isinstance(predictions, Mapping):
        by_id: Mapping[Any, Any] = {str(item): said for item, said in predictions.items()}
    else:
        by_id = _answers_of_system(predictions, name, labels)
    known = set(items)
    surplus = [item for item in by_id if item not in known]
    if surplus and extra == "refuse":
        raise InputError(
            f"{name} has {counted(len(surplus), 'items')} ({', '.join(surplus[:3])}{', …' if surplus[3:] else ''}) "
            "that nobody labelled",
            remedy="Remove them, or ignore them: extra = ignore (--extra ignore)",
        )
    lacking = [item for item in items if item not in by_id]
    if lacking:
        raise InputError(
            f"{name} has no prediction for {len(lacking)} of {len(items)} items: {', '.join(lacking[:3])}",
            remedy="Complete it",
        )
    return np.array([_row(by_id[item], name, item, labels) for item in items])


def _answers_of_system(predictions: Any, name: str, labels: tuple[str, ...]) -> dict[str, Any]:
    """Return the system's answer for each item: a label, or {label: probability} if it has a column per label."""
    of_labels: dict[str, str] = {}
    if isinstance(predictions, Labelled):
        table = predictions
    else:
        file = Path(predictions) if isinstance(predictions, str | Path) else name
        given = read_rows(file) if isinstance(file, Path) else predictions
        columns = given.header if isinstance(given, Sheet) else [str(name) for name in given.columns]
        of_labels = share_columns(columns, labels)
        if not of_labels and not column_of_labels(file, columns, SYSTEMS)[0]:
            raise InputError(
                f"has neither a column for each label ({', '.join(labels)}) nor one of labels", file=file
            )
        table = labelled(file, given, label_column=of_labels[labels[0]] if of_labels else "", predicted=True)
    if not table.id_column:
        raise InputError(
            f"has no column of ids; it has {', '.join(map(str, table.table.columns))}", file=table.file
        )
    said = table.labels(table.id_column)
    if of_labels:
        named = table.table[list(of_labels.values())].set_axis(list(of_labels), axis=1)
        return dict(zip(said.index, named.to_dict("records"), strict=True))
    table.check_labels(labels)
    return {str(item): label for item, label in said.items()}


def _row(said: Any, name: str, item: str, labels: tuple[str, ...]) -> list[float]:
    """Convert a label to probability 1, or return checked probabilities."""
    if not isinstance(said, Mapping):
        if as_label(said) not in labels:
            raise UnknownName(
                f"{name} has the unknown label '{said}' for {item}", remedy=nearest(as_label(said), labels)
            )
        return [float(label == as_label(said)) for label in labels]
    try:
        shares = [float(said.get(label, 0.0)) for label in labels]
    except (TypeError, ValueError):
        shares = []
    if not shares or min(shares) < 0 or not abs(sum(shares) - 1) < 1e-6:
        raise InputError(
            f"{name}'s shares of {item} are not shares", remedy="Give numbers from 0, with the sum 1"
        )
    return shares


def _chosen(names: Sequence[str] | None, *, ordered: bool) -> list[SoftMeasure]:
    if names is None:
        return [measure for measure in SOFT_MEASURES.values() if ordered or not measure.ordered]
    for name in names:
        if name not in SOFT_MEASURES:
            raise UnknownName(f"unknown measure '{name}'", remedy=nearest(name, SOFT_MEASURES))
        if SOFT_MEASURES[name].ordered and not ordered:
            raise InputError(
                f"the measure {name} needs an order",
                remedy="Give the labels in their order: order (--labels FILE with [labels] order)",
            )
    return [SOFT_MEASURES[name] for name in names]


@dataclass(frozen=True)
class _Units:
    """How to compute the mean over items and its interval: weighted by design, over items or claims."""

    probabilities: Array | None
    claims: Codes | None
    level: float

    def best(self, measure: SoftMeasure, people: People) -> dict[str, float]:
        """Return the best attainable score on these items, with the range for a system that knew the true shares."""
        kept = (
            people.raters > 1 if np.isnan(measure.formula(people, people.shares)).any() else people.raters > 0
        )
        if not kept.any():
            return dict.fromkeys(("best", "best_low", "best_high"), np.nan)
        counts = people.counts[kept]
        p = np.ones(len(counts)) if self.probabilities is None else self.probabilities[kept]
        spread = Spread.over(counts, 1 / p)
        attained = spread.attainable(measure, self._worth(measure, People(counts), kept), self.level)
        top = measure.top(counts.shape[1])
        return {
            "best": attained.value,
            "best_low": max(attained.low, measure.least),
            "best_high": min(attained.high, top),
        }

    def _worth(self, measure: SoftMeasure, people: People, kept: NDArray[np.bool_]) -> float:
        """Return the number of independent items that give as narrow an interval as these: fewer if claims or weights differ."""
        items = float(len(people.counts))
        if self.claims is None and self.probabilities is None:
            return items
        mean = people.counts.sum(axis=0) / people.counts.sum()
        values = np.full(len(kept), np.nan)
        values[kept] = measure.formula(people, np.tile(mean, (len(people.counts), 1)))
        own = self.mean_of(values, (-np.inf, np.inf))
        plain = replace(self, claims=None, probabilities=None).mean_of(values, (-np.inf, np.inf))
        ratio = np.divide(own["high"] - own["low"], plain["high"] - plain["low"])
        return float(items / max(1.0, ratio**2)) if np.isfinite(ratio) else np.nan

    def mean_of(self, values: Array, bounds: tuple[float, float]) -> dict[str, float]:
        """Return the mean over items for which the measure is defined, with its interval."""
        defined = ~np.isnan(values)
        d, n = values[defined], int(defined.sum())
        if not n:
            return {"value": np.nan, "low": np.nan, "high": np.nan, "items": 0}
        p = np.ones(n) if self.probabilities is None else self.probabilities[defined]
        design = made_design(p)
        shares = design.weights / design.weights.sum()
        value = float(shares @ d)
        if self.claims is not None:
            claims = np.unique(self.claims[defined], return_inverse=True)[1]
            figure = mean_over_claims(d, shares, claims, bounds=bounds, level=self.level)
            return {"value": value, "low": figure.low, "high": figure.high, "items": n}
        spread, worth, degrees = (
            float(shares @ (d - value) ** 2),
            design.worth(shares),
            design.units(shares) - 1,
        )
        if self.probabilities is None:
            variance, worth, degrees = spread / max(n - 1, 1), float(n), n - 1.0
        else:
            variance = max(design.variance((d - value) * shares / design.weights), spread / worth)
        low, high = interval(value, variance, worth, degrees, bounds=bounds, level=self.level)
        return {"value": value, "low": low, "high": high, "items": n}
