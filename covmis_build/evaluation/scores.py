"""The result of `score`, with the same numbers for terminal, notebook, page and LaTeX."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import UnknownName
from covmis_build.evaluation.catalogue import measures
from covmis_build.evaluation.ceiling import HUMAN
from covmis_build.evaluation.rendering import (
    Evaluated,
    bounded,
    cell,
    forests,
    legend,
    telling_digits,
)
from covmis_build.stats.confusion import Counts, confusion_matrix
from covmis_build.stats.intervals import effective

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.evaluation.joining import JoinedLabels
    from covmis_build.evaluation.setting import Setting
    from covmis_build.report.page import Section

WEIGHTED = (
    "Sample: the labelled items, unweighted. Weighted: all unique posts found (weights 1/probability). Balanced: the mean "
    "over claims. None describes public opinion."
)


@dataclass(frozen=True, repr=False)
class Scores(Evaluated):
    """The result of `score`. `.table` has one row per system, measure and group; other tables are computed from the labels."""

    table: pd.DataFrame
    joined: JoinedLabels
    chosen: Setting
    level: float = 0.95
    claims: NDArray[np.int64] | None = None
    """Claim number of each item if intervals are over claims."""
    unit: str = "items"
    """What intervals are over: claims, targets, events, or items."""
    undefined: str = "zero"
    study: str = ""
    remarks: tuple[str, ...] = ()
    """What is to be known of gold, as sentences."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The label set."""
        return self.joined.labels

    @property
    def clusters(self) -> int:
        """Number of claims of the intervals; 0 if they are over items."""
        return 0 if self.claims is None else int(self.claims.max()) + 1

    @property
    def notes(self) -> list[str]:
        """Notes on the intervals: the effective number of claims, and classes that occur in few claims."""
        notes = [*self.remarks]
        if self.claims is not None:
            worth = effective(np.bincount(self.claims))
            notes.append(f"Effective number of {self.unit}: {worth:.1f} ({self.unit} differ in size).")
        overall = self.table[self.table["group_by"] == ""]
        for why, rows in overall[overall["why"] != ""].groupby("why", sort=False):
            named = ", ".join(dict.fromkeys(_symbol(name) for name in rows["measure"]))
            notes.append(f"No interval for {named}: {str(why).replace('claims', self.unit)}.")
        if self.claims is None:
            return notes
        for code, label in enumerate(self.labels):
            holding = len(np.unique(self.claims[self.joined.gold == code]))
            if 0 < holding < self.clusters / 2:
                notes.append(f"Only {holding} of {self.clusters} {self.unit} hold the class {label}.")
        return notes

    @cached_property
    def classes(self) -> pd.DataFrame:
        """Return precision, recall and F1 of every class, one row per system and label."""
        return class_table(self.joined)

    @cached_property
    def confusions(self) -> dict[str, NDArray[np.float64]]:
        """Return each system's confusion matrix, gold in rows, summed over runs."""
        return confusion_matrices(self.joined)

    def value(self, system: str, measure: str) -> float:
        """Return a system's value in a measure over all items."""
        rows = self.table[(self.table["system"] == system) & (self.table["measure"] == measure)]
        if rows.empty:
            names = [*dict.fromkeys(self.table["system"]), *dict.fromkeys(self.table["measure"])]
            raise UnknownName(f"no value of {system} in {measure}", remedy="There are " + ", ".join(names))
        return float(rows["value"].iloc[0])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per system, measure and group: system, measure, value, low, high and more."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "labels": list(self.labels),
            "undefined": self.undefined,
            "level": self.level,
            "clusters": self.clusters,
            "unit": self.unit,
            "notes": [*self.notes, self._human_note] if self.human else self.notes,
            "scores": self.table.to_dict("records"),
            "classes": self.classes.to_dict("records"),
            "confusions": [
                {"system": name, "labels": list(self.labels), "matrix": matrix.tolist()}
                for name, matrix in self.confusions.items()
            ],
        }

    @property
    def how(self) -> str:
        """How the intervals were computed."""
        over = (
            f"over {self.clusters:,} {self.unit} (for other {self.unit} like these)"
            if self.clusters
            else f"over {len(self.joined.gold):,} items (as independent)"
        )
        spread = " ± is the standard deviation over runs." if self._runs else ""
        told = [
            f"{self.level:.0%} intervals: {over}. Undefined ratios: {self.undefined}.{spread}",
            *self.notes,
        ]
        return " ".join([*told, self._human_note] if self.human else told)

    @cached_property
    def human(self) -> dict[str, dict[str, float]]:
        """Return human performance and upper bound by measure; empty if annotators' labels are unknown."""
        if "ceiling" not in self.table:
            return {}
        rows = self.table[self.table["group_by"] == ""].drop_duplicates("measure").set_index("measure")
        return {name: {str(k): float(v) for k, v in rows[name].dropna().items()} for name in HUMAN}

    @property
    def _human_note(self) -> str:
        first = self.table.iloc[0]
        people = f"{first['people']:.2f}".rstrip("0").rstrip(".")
        return (
            "Person: human performance, each annotator compared with the others of the same item. Ceiling: upper bound given "
            f"disagreement between annotators ({people} per item, {int(first['people_items']):,} items). Do not compare these "
            "two columns between corpora with different numbers of annotators."
        )

    @property
    def _runs(self) -> bool:
        return bool((self.table["runs"] > 1).any())

    def overall(self) -> pd.DataFrame:
        """Return systems by measures: values with intervals, or over runs with standard deviations."""
        chosen = self.table[self.table["group_by"] == ""]
        digits = chosen.groupby("measure")["value"].agg(telling_digits)
        rows = []
        for name in dict.fromkeys(chosen["system"]):
            of = chosen[chosen["system"] == name].to_dict("records")
            cells = {_symbol(row["measure"]): cell(row, digits[row["measure"]]) for row in of}
            cells |= {"invalid": f"{of[0]['invalid']:.1%}"} if chosen["invalid"].any() else {}
            rows.append({"system": name, **cells})
        rows += [
            {
                "system": HUMAN[name],
                **{_symbol(measure): f"{value:z.3f}" for measure, value in values.items()},
            }
            for name, values in self.human.items()
        ]
        return _frame(rows)

    def by_measure(self) -> pd.DataFrame:
        """Return measures by systems, for a narrow page."""
        table = self.overall().set_index("system").T
        return table.rename_axis("measure").reset_index().rename_axis(None, axis=1)

    def weighted(self) -> pd.DataFrame | None:
        """Return unweighted, weighted and balanced values in columns, if there are probabilities."""
        if "weighted" not in self.table:
            return None
        rows = []
        for row in self.table[self.table["group_by"] == ""].to_dict("records"):
            figures = {"system": row["system"], "measure": _symbol(row["measure"]), "sample": cell(row)}
            for kind in ("weighted", "balanced"):
                if kind in row:
                    figures[kind] = bounded(row[kind], row[f"{kind}_low"], row[f"{kind}_high"])
            rows.append(figures)
        return _frame(rows)

    def groups(self) -> dict[str, pd.DataFrame]:
        """Return groups by measures for each grouping."""
        tables = {}
        for name in dict.fromkeys(self.table["group_by"]):
            if not name:
                continue
            rows: dict[tuple[str, str], dict[str, Any]] = {}
            for row in self.table[self.table["group_by"] == name].to_dict("records"):
                line = rows.setdefault(
                    (row["system"], row["group"]),
                    {"system": row["system"], name: row["group"], "items": row["items"]},
                )
                line[_symbol(row["measure"])] = cell(row)
            tables[name] = _frame(list(rows.values()))
        return tables

    def tables(self) -> list[tuple[str, pd.DataFrame]]:
        """Return all tables with their titles for the terminal."""
        narrow = self.table["system"].nunique() <= 3
        tables = [(f"Scores ({self.how})", self.by_measure() if narrow else self.overall())]
        weighted = self.weighted()
        if weighted is not None:
            tables.append((WEIGHTED, weighted))
        tables.append(("By class", self.classes))
        return tables + [(f"By {name}", table) for name, table in self.groups().items()]

    def legend(self) -> pd.DataFrame:
        """What the measures' symbols mean."""
        return legend(self.table["measure"])

    def html(self) -> str:
        """Return the page: tables, forest plots and confusion matrices."""
        from covmis_build.report.page import page

        return page("Evaluation", self.sections, study=self.study, lead=f"Labels: {', '.join(self.labels)}.")

    @property
    def sections(self) -> list[Section]:
        """Return the parts of the page."""
        from covmis_build.report.page import Section, table_html

        sections = [
            Section(
                "Scores",
                prose=self.how,
                body=table_html(self.by_measure(), headings=1),
                figures=self._forests(),
            )
        ]
        weighted = self.weighted()
        if weighted is not None:
            sections.append(Section("Weighted by the design", prose=WEIGHTED, body=table_html(weighted)))
        sections.append(
            Section("By class", body=table_html(self.classes, headings=2), figures=self._matrices())
        )
        sections += [
            Section(f"By {name}", body=table_html(table, headings=2)) for name, table in self.groups().items()
        ]
        return [*sections, Section("The measures", body=table_html(self.legend()))]

    def _forests(self) -> Sequence[str]:
        chosen = self.table[self.table["group_by"] == ""]
        return forests(chosen) if len(set(chosen["system"])) > 1 else []

    def _matrices(self) -> Sequence[str]:
        from covmis_build.report.figures import heat

        matrices = []
        for name, confusion in list(self.confusions.items())[:12]:
            extra = confusion.shape[1] > len(self.labels)
            matrices.append(
                heat(
                    confusion.tolist(),
                    list(self.labels),
                    [*self.labels, *(["no answer"] if extra else [])],
                    alt=f"Confusion matrix of {name}, gold in rows",
                    row_title="gold",
                    column_title=f"predicted by {name}",
                )
            )
        return matrices

    def latex(self) -> str:
        """Return every table in LaTeX (booktabs): scores, weighted scores, groups, classes and confusion matrices."""
        from covmis_build.evaluation.latex import tables_of

        return tables_of(self)


def confusion_matrices(joined: JoinedLabels) -> dict[str, NDArray[np.float64]]:
    """Return each system's confusion matrix, gold in rows, summed over runs.

    >>> from covmis_build.evaluation.joining import join
    >>> confusion_matrices(join(["a", "b"], {"s": ["a", "a"]}, ["a", "b"]))["s"].tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    return {name: _matrices(joined, name).sum(axis=0) for name in joined.runs}


def class_table(joined: JoinedLabels) -> pd.DataFrame:
    """Return precision, recall and F1 of every class, one row per system and label, averaged over runs."""
    rows = []
    for name in joined.runs:
        counts = Counts(_matrices(joined, name))
        sums = {
            "gold": counts.gold,
            "predicted": counts.predicted,
            "right": counts.right,
            "precision": counts.precision,
            "recall": counts.recall,
            "f1": counts.f1,
        }
        rows += [
            {
                "system": name,
                "label": label,
                **{
                    what: _count(of[code].mean())
                    if what in {"gold", "predicted", "right"}
                    else float(of[code].mean())
                    for what, of in sums.items()
                },
            }
            for code, label in enumerate(joined.labels)
        ]
    return _frame(rows)


def _matrices(joined: JoinedLabels, name: str) -> NDArray[np.float64]:
    """Return the confusion matrix of each run of a system: (runs, C, C)."""
    classes = len(joined.labels)
    return np.stack(
        [
            confusion_matrix(joined.gold, run, classes, unanswered=joined.unanswered)
            for run in joined.runs[name]
        ]
    )


def _count(mean: float) -> float | int:
    """Format a count: an integer if it is one, since the mean over runs need not be."""
    return int(mean) if float(mean).is_integer() else float(mean)


def _symbol(name: str) -> str:
    return measures[name].symbol


def _frame(rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(rows)
