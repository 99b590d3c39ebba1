"""The tables of `score` in LaTeX: values with their intervals, and bold only where one system is shown to be best."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.evaluation.catalogue import measures
from covmis_build.evaluation.ceiling import HUMAN
from covmis_build.evaluation.paired import PairedSystems
from covmis_build.evaluation.rendering import booktabs, escape, known, telling_digits, titled
from covmis_build.stats.many_tests import holm

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from covmis_build.evaluation.scores import Scores

Lines = list[list[str]]


def tables_of(scores: Scores) -> str:
    """Return scores, weighted scores, scores of groups, classes, and confusion matrices, one table after another."""
    overall = scores.table[scores.table["group_by"] == ""]
    tables = [_scores(scores, overall)]
    for kind in ("weighted", "balanced"):
        if kind in overall:
            columns = {"value": kind, "low": f"{kind}_low", "high": f"{kind}_high"}
            figures = overall.assign(**{name: overall[column] for name, column in columns.items()}, runs=1)
            caption = f"Scores {_COUNTED[kind]}. {scores.level:.0%} intervals in brackets."
            tables.append(_table(scores, _by_system(figures, {}), figures, caption, kind))
    groups = [_groups(scores, name) for name in dict.fromkeys(scores.table["group_by"]) if name]
    return "\n".join([*tables, *groups, _classes(scores), *_confusions(scores)])


_COUNTED = {
    "weighted": "of all unique posts found (weights 1/probability)",
    "balanced": "as the mean over claims (every claim counts once)",
}


def _scores(scores: Scores, overall: pd.DataFrame) -> str:
    """Return the main table; its caption says what bold means, or that nothing is bold and why."""
    names = list(dict.fromkeys(overall["system"]))
    proven = best_systems(scores) if len(names) > 1 else {}
    lines = _by_system(overall, proven)
    for name, values in scores.human.items():
        lines.append(
            [
                escape(HUMAN[name]),
                *(f"{values[of]:.3f}" if of in values else "--" for of in _measures(overall)),
            ]
        )
    words = ""
    if len(names) > 1:
        words = f" better than each other system (paired intervals over {scores.unit}, p below {1 - scores.level:.2g} after Holm's adjustment)"
        words = f" Bold:{words}." if proven else f" Nothing is bold: no system is{words}."
    bracketed = " Brackets: intervals." if overall["low"].notna().any() else ""
    return _table(scores, lines, overall, f"{scores.how}{bracketed}{words}", "scores")


def best_systems(scores: Scores) -> dict[str, str]:
    """Return, for each measure, the system that is shown to be better than each other one; measures without one are left out."""
    best: dict[str, str] = {}
    if scores.clusters == 1 or len(scores.joined.gold) < 2:
        return best
    for measure in scores.chosen.measures:
        paired = PairedSystems(scores.joined, replace(scores.chosen, measures=(measure,)), scores.claims)
        if not np.isfinite(paired.observed).all():
            continue
        values = paired.observed if measure.higher_is_better else -paired.observed
        first = int(values.argmax())
        rest = [at for at in range(len(values)) if at != first]
        p_values = np.array([paired.difference(first, at, scores.level).p() for at in rest])
        # not "any p above": an undecided comparison (NaN) is no evidence
        if np.isfinite(p_values).all() and (holm(p_values) < 1 - scores.level).all():
            best[measure.name] = paired.names[first]
    return best


def _measures(table: pd.DataFrame) -> list[str]:
    return list(dict.fromkeys(table["measure"]))


def _header(names: Iterable[str]) -> list[str]:
    return [measures[name].latex or escape(measures[name].symbol) for name in names]


def _by_system(table: pd.DataFrame, best: Mapping[str, str]) -> Lines:
    digits = table.groupby("measure")["value"].agg(telling_digits)
    lines = []
    for system in dict.fromkeys(table["system"]):
        rows = {row["measure"]: row for row in table[table["system"] == system].to_dict("records")}
        cells = (_cell(row, bold=best.get(name) == system, digits=digits[name]) for name, row in rows.items())
        lines.append([escape(system), *cells])
    return lines


def _cell(row: Mapping[Any, Any], *, bold: bool = False, digits: int = 3) -> str:
    """Format a value with its interval and, over runs, its standard deviation."""
    if known(row["value"]) is None:
        return "--"
    shown = f"{row['value']:z.{digits}f}"
    shown = rf"\textbf{{{shown}}}" if bold else shown
    spread = rf" $\pm$ {row['sd']:.3f}" if row["runs"] > 1 else ""
    bounds = "" if known(row["low"]) is None else f" [{row['low']:z.3f}, {row['high']:z.3f}]"
    return shown + spread + bounds


def _table(scores: Scores, lines: Lines, table: pd.DataFrame, caption: str, label: str) -> str:
    """Return systems by measures, or turned if that is narrower: a cell with its interval is wide."""
    header = ["System", *_header(_measures(table))]
    if len(header) > len(lines) + 1:
        names, *columns = zip(*lines, strict=True)
        lines = [[title, *cells] for title, cells in zip(header[1:], columns, strict=True)]
        header = ["Measure", *names]
    return booktabs(header, lines, titled(scores.study, caption), label=label)


def _groups(scores: Scores, name: str) -> str:
    """Return one row per system and group."""
    table = scores.table[scores.table["group_by"] == name]
    lines = []
    for (system, group), rows in table.groupby(["system", "group"], sort=False):
        cells = [_cell(row) for row in rows.to_dict("records")]
        lines.append([escape(str(system)), escape(str(group)), str(rows["items"].iloc[0]), *cells])
    header = ["System", escape(name), "Items", *_header(_measures(table))]
    caption = f"Scores by {name}. {scores.level:.0%} intervals in brackets."
    return booktabs(header, lines, titled(scores.study, caption), label="by-" + re.sub(r"\W+", "-", name))


def _classes(scores: Scores) -> str:
    lines = [
        [
            escape(str(row["system"])),
            escape(str(row["label"])),
            *(f"{row[name]:g}" for name in ("gold", "predicted", "right")),
            *(
                f"{row[name]:.3f}" if known(row[name]) is not None else "--"
                for name in ("precision", "recall", "f1")
            ),
        ]
        for row in scores.classes.to_dict("records")
    ]
    header = ["System", "Class", "Gold", "Predicted", "Right", "Precision", "Recall", "F1"]
    caption = "Precision, recall and F1 of each class."
    return booktabs(header, lines, titled(scores.study, caption), label="classes")


def _confusions(scores: Scores) -> list[str]:
    tables = []
    for number, (name, confusion) in enumerate(scores.confusions.items(), 1):
        extra = ["no answer"] if confusion.shape[1] > len(scores.labels) else []
        header = ["Gold", *map(escape, (*scores.labels, *extra))]
        lines = [
            [escape(label), *(f"{count:g}" for count in row)]
            for label, row in zip(scores.labels, confusion.tolist(), strict=True)
        ]
        several = ", summed over runs" if len(scores.joined.runs[name]) > 1 else ""
        caption = f"Confusion matrix of {name}: gold in rows, predicted in columns{several}."
        tables.append(booktabs(header, lines, titled(scores.study, caption), label=f"confusion-{number}"))
    return tables
