"""Compare models over ways of splitting the data: which model is better, and how much easier random splits are than time.

The tables have the format of COVMis-Stance's tables 9 and 12 (by label), 13 (by query type) and 14 (settings), and of
table 4 of Mu et al. 2023 (splits, with Welch's t-test between them).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from covmis_build.engine import silent
from covmis_build.errors import InputError, UnknownName, nearest
from covmis_build.evaluation.joining import join
from covmis_build.evaluation.scores import class_table, confusion_matrices
from covmis_build.evaluation.setting import UNRELATED
from covmis_build.evaluation.setting import setting as scoring
from covmis_build.evaluation.split import Scheme, splits
from covmis_build.models.nli import Nli
from covmis_build.models.nli import check as check_nli
from covmis_build.models.options import options_of_all
from covmis_build.models.posts import label_set, read_posts
from covmis_build.models.train import steps_before
from covmis_build.models.training_cell import (
    Cell,
    Setting,
    encoder_of,
    has_chance,
    needs_rows,
    predictions,
    seeded,
)
from covmis_build.models.twostep import BertScore, checked
from covmis_build.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.engine import Progress
    from covmis_build.evaluation.setting import Setting as Scoring
    from covmis_build.models.options import Options, Settings
    from covmis_build.models.train import Posts
    from covmis_build.report.summary import Summary

OWN = ("given", "zero_shot")
"""Schemes besides those of `splits`: the column split, and all rows as test of a model trained before."""
PARTS = {"train": "train", "dev": "dev", "val": "dev", "test": "test"}


@dataclass(frozen=True, slots=True)
class Run:
    """The predictions of one run for its test rows: one cell, or all claims of leave_one_out."""

    gold: list[str]
    said: list[str]
    groups: list[str]


@dataclass(frozen=True, slots=True, repr=False)
class Compared(Result):
    """cells: one row per model and scheme; labels: also per label; groups: also per group; tests: differences, with p."""

    cells: pd.DataFrame
    labels: pd.DataFrame
    groups: pd.DataFrame
    tests: pd.DataFrame
    measures: tuple[str, ...]
    by_label: bool = False
    """True if the summary includes figures per label."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model and scheme, with mean and standard deviation over runs of each measure."""
        return _formatted(self.cells, ["model", "scheme", "runs", "items"], self.measures)

    @property
    def summary(self) -> Summary:
        """Return text and tables: the models, also by label and group, and the tested differences."""
        parts: list[str | pd.DataFrame] = [self.to_frame()]
        if self.by_label:
            parts += ["", _labels_side_by_side(self.labels)]
        if len(self.groups):
            parts += ["", _formatted(self.groups, ["model", "scheme", "group", "items"], self.measures)]
        tested = self.tests[self.tests["t"].notna()] if len(self.tests) else self.tests
        if len(tested):
            columns = [name for name in tested.columns if tested[name].astype(str).ne("").any()]
            parts += ["", "Differences between means of runs, by Welch's t-test:", tested[columns]]
        if len(tested) < len(self.tests):
            parts += ["", "No t-test where a side has one run: such a model is the same with every seed."]
        return parts

    def to_dict(self) -> dict[str, Any]:
        """Return the tables; those by label and group if requested."""
        parts = {"cells": self.cells, "tests": self.tests}
        parts |= {"labels": self.labels} if self.by_label else {}
        return parts | ({"groups": self.groups} if len(self.groups) else {})


def _labels_side_by_side(labels: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model and scheme, with precision, recall and F1 of each label."""
    import pandas as pd

    wide = []
    for (model, scheme), rows in labels.groupby(["model", "scheme"], sort=False):
        numbers = {
            f"{row['label']} {short}": _spread(row[name], row[f"{name}_sd"])
            for row in rows.to_dict("records")
            for name, short in (("precision", "P"), ("recall", "R"), ("f1", "F1"))
        }
        wide.append({"model": model, "scheme": scheme, **numbers})
    return pd.DataFrame(wide)


def _formatted(frame: pd.DataFrame, columns: list[str], measures: Sequence[str]) -> pd.DataFrame:
    texts = {
        name: [_spread(mean, sd) for mean, sd in zip(frame[name], frame[f"{name}_sd"], strict=True)]
        for name in measures
    }
    return frame[columns].assign(**texts).rename(columns=lambda name: name.replace("_", " "))


def _spread(mean: float, deviation: float) -> str:
    return f"{mean:.4f}" if math.isnan(deviation) else f"{mean:.4f} ± {deviation:.4f}"


def compare_models(
    posts: Posts,
    models: Sequence[str] = ("majority", "bow"),
    *,
    settings: Settings = None,
    before: Sequence[Posts] = (),
    maps: Mapping[str, str] | None = None,
    text_alone: bool = False,
    **how: Any,
) -> Compared:
    """Compare models by name. `settings` apply to each model that has them; `before` is learned first: see `table`.

    >>> import pandas as pd
    >>> posts = pd.DataFrame({"text": ["so true", "a hoax"] * 5, "claim": "masks", "label": ["favor", "against"] * 5})
    >>> compare_models(posts, ["majority", "bow"], schemes=["random"]).cells[["model", "accuracy"]].round(2).values.tolist()
    [['majority', 0.5], ['bow', 1.0]]
    """
    if not models:
        raise InputError("models names no model", remedy="For example: majority,bow")
    steps = tuple(steps_before(before, maps))
    chosen = {name: Setting(options, steps) for name, options in options_of_all(models, settings).items()}
    return table(read_posts(posts, labelled=True, text_alone=text_alone), chosen, **how)


def table(  # noqa: PLR0913 - every option is named
    frame: pd.DataFrame,
    models: Mapping[str, Options | Setting],
    *,
    labels: Sequence[str] = (),
    schemes: Sequence[str] = ("random", "chronological", "stratified_chronological"),
    wanted: Sequence[str] = ("accuracy", "macro_f1"),
    order: Sequence[str] = (),
    poles: Sequence[str] = (),
    class_weights: Mapping[str, float] | None = None,
    by: str = "",
    against: str = "",
    folds: int = 5,
    seeds: int = 5,
    seed: int = 0,
    cells: Path | None = None,
    progress: Progress = silent,
) -> Compared:
    """Train every model on every split. Returns each measure's mean and standard deviation over runs.

    `random` has one run per fold, in which every item is tested once. Other schemes have one run per seed for transformers,
    and a single run for deterministic models (linear, BERTScore alone). `leave_one_out` leaves out each claim or event in
    training and tests on all together. `by` is a column of groups to evaluate separately. Tests compare the schemes of each
    model or, with `against`, the models with that one. `cells` is a folder that stores the trainings. Measures that need them
    use `order`, `poles` and `class_weights`, as in `evaluation.score`.
    """
    if not schemes:
        raise InputError("schemes names no scheme", remedy="For example: random, chronological")
    labels = label_set(labels or order, frame)
    scored = _scored(labels, wanted, order, poles, class_weights)
    frame = frame.assign(label=frame["label"].astype(str)).reset_index(drop=True)
    if by and by not in frame.columns:
        raise InputError(f"the table has no column {by}", remedy=nearest(by, map(str, frame.columns)))
    chosen = {name: model if isinstance(model, Setting) else Setting(model) for name, model in models.items()}
    planned = list(_cells(frame, chosen, schemes, folds, seeds, seed))
    _check(planned, labels)
    runs: dict[tuple[str, str], dict[str, Run]] = {}
    for done, (cell, run_name) in enumerate(planned):
        progress("training", done, len(planned))
        said = predictions(cell, labels, cells, progress)
        run = runs.setdefault((cell.model, cell.scheme), {}).setdefault(run_name, Run([], [], []))
        run.gold.extend(cell.judge["label"])
        run.said.extend(said)
        run.groups.extend(cell.judge[by].astype(str) if by else [""] * len(said))
    by_place = {place: list(by_name.values()) for place, by_name in runs.items()}
    return _compared(by_place, labels, scored, by, against)


def _cells(
    frame: pd.DataFrame,
    models: Mapping[str, Setting],
    schemes: Sequence[str],
    folds: int,
    seeds: int,
    seed: int,
) -> Iterator[tuple[Cell, str]]:
    """Return every training, with its run."""
    for scheme in schemes:
        for number, (name, part) in enumerate(_divisions(frame, scheme, folds, seed)):
            learn, dev, judge = (frame[np.asarray(part == role)] for role in ("train", "dev", "test"))
            for model, setting in models.items():
                if scheme == "random":
                    yield Cell(model, scheme, name, seeded(setting, number), learn, dev, judge), name
                    continue
                for at in range(seeds if has_chance(setting) else 1):
                    run = f"seed {at + 1}"
                    of_seed = seeded(setting, at)
                    yield Cell(model, scheme, f"{name} {run}".strip(), of_seed, learn, dev, judge), run


def _divisions(frame: pd.DataFrame, scheme: str, folds: int, seed: int) -> list[tuple[str, Any]]:
    """Return the parts of the rows: once, or for each fold or claim."""
    import pandas as pd

    if scheme == "zero_shot":
        return [("", np.full(len(frame), "test"))]
    if scheme == "given":
        if "split" not in frame.columns:
            raise InputError("the table has no column split", remedy="It says train, dev or test")
        for row, part in enumerate(frame["split"], 1):
            if str(part) not in PARTS:
                raise InputError(f"the split '{part}'", row=row, remedy=nearest(str(part), PARTS))
        return [("", np.array([PARTS[str(part)] for part in frame["split"]]))]
    if scheme not in get_args(Scheme):
        known = (*get_args(Scheme), *OWN)
        raise UnknownName(f"unknown scheme '{scheme}'", remedy=nearest(scheme, known))
    parts = splits(frame, scheme=scheme, folds=folds, seed=seed)  # type: ignore[arg-type] # one of them
    return [("", parts)] if isinstance(parts, pd.Series) else [(str(fold), parts[fold]) for fold in parts]


def _check(planned: Sequence[tuple[Cell, str]], labels: Sequence[str]) -> None:
    """Check early what would otherwise fail after hours."""
    for cell, _ in planned:
        encoder = encoder_of(cell.setting)
        if isinstance(cell.setting.options, BertScore):
            checked(cell.setting.options, labels)
        if isinstance(cell.setting.options, Nli):
            check_nli(cell.setting.options, labels)
        for part in (cell.learn, cell.dev, cell.judge):
            for label in sorted(set(part["label"]) - set(labels)):
                raise InputError(
                    f"the label '{label}' is not in the label set", remedy=nearest(label, labels)
                )
        if not len(cell.judge):
            raise InputError(f"{cell.scheme} leaves no rows to test on")
        if not len(cell.learn) and not cell.setting.before and needs_rows(cell.setting):
            raise InputError(
                f"{cell.scheme} leaves no rows to train on", remedy="Name other data with --before"
            )
        if encoder and encoder.patience and len(cell.learn) and not len(cell.dev):
            raise InputError(f"{cell.scheme} has no dev part to stop early by", remedy="Set patience to 0")


def _scored(
    labels: Sequence[str],
    wanted: Sequence[str],
    order: Sequence[str],
    poles: Sequence[str],
    class_weights: Mapping[str, float] | None,
) -> Scoring:
    """Return the measures with their requirements. The order of labels in the data has no meaning."""
    if not wanted:
        raise InputError("measures names no measure", remedy="For example: accuracy, macro_f1")
    scored = scoring(labels, names=wanted, order=order, poles=poles, class_weights=class_weights)
    for measure in scored.measures:
        for need, given, what, remedy in (
            (
                "order",
                order,
                "an order",
                "Name the labels in their order: order (--labels FILE with [labels] order)",
            ),
            ("poles", poles, "poles", "Name the two: poles (--labels FILE with [labels] poles)"),
            ("unrelated_last", UNRELATED in labels, f"the label {UNRELATED}", "Name other measures"),
        ):
            if need in measure.needs and not given:
                raise InputError(f"the measure {measure.name} needs {what}", remedy=remedy)
    scored.values(np.ones((len(labels), len(labels))))  # report weights and label sets that do not fit now
    return scored


def _compared(
    by_place: Mapping[tuple[str, str], Sequence[Run]],
    labels: Sequence[str],
    scored: Scoring,
    by: str,
    against: str,
) -> Compared:
    import pandas as pd

    cells, by_label, by_group = [], [], []
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for (model, scheme), runs in by_place.items():
        place = {"model": model, "scheme": scheme, "runs": len(runs)}
        items = sum(len(run.gold) for run in runs) if scheme == "random" else len(runs[0].gold)
        values[model, scheme] = _values(runs, labels, scored)
        cells.append({**place, "items": items, **_summary(values[model, scheme])})
        by_label += [{**place, **row} for row in _by_label(runs, labels)]
        for group in sorted({group for run in runs for group in run.groups}) if by else []:
            there = [part for run in runs if (part := _part(run, group)).gold]
            count = sum(len(run.gold) for run in there) if scheme == "random" else len(there[0].gold)
            summary = _summary(_values(there, labels, scored))
            by_group.append({**place, "runs": len(there), "group": group, "items": count, **summary})
    tests = _tests(values, against)
    return Compared(
        cells=pd.DataFrame(cells),
        labels=pd.DataFrame(by_label),
        groups=pd.DataFrame(by_group),
        tests=pd.DataFrame(tests),
        measures=tuple(measure.name for measure in scored.measures),
    )


def _values(runs: Sequence[Run], labels: Sequence[str], scored: Scoring) -> dict[str, list[float]]:
    matrices = np.stack([confusion_matrices(join(run.gold, {"": run.said}, labels))[""] for run in runs])
    return {name: [float(value) for value in values] for name, values in scored.values(matrices).items()}


def _summary(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    summary: dict[str, float] = {}
    for name, over_runs in values.items():
        summary |= {name: float(np.mean(over_runs)), f"{name}_sd": _deviation(over_runs)}
    return summary


def _deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def _by_label(runs: Sequence[Run], labels: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Return precision, recall and F1 of every label."""
    scores_of_runs = [class_table(join(run.gold, {"": run.said}, labels)) for run in runs]
    for at, label in enumerate(labels):
        values = {
            name: [
                float(np.nan_to_num(scores[name].iloc[at])) for scores in scores_of_runs
            ]  # 0/0 counts as 0, as in the measures
            for name in ("precision", "recall", "f1")
        }
        yield {"label": label, **_summary(values)}


def _part(run: Run, group: str) -> Run:
    rows = [row for row, name in enumerate(run.groups) if name == group]
    return Run([run.gold[row] for row in rows], [run.said[row] for row in rows], [group] * len(rows))


def _tests(
    values: Mapping[tuple[str, str], Mapping[str, Sequence[float]]], against: str
) -> Iterator[dict[str, Any]]:
    """Return Welch's t between schemes of each model, or between models and one; none if one side has a single run."""
    from covmis_build.evaluation.significance import welch

    for left, right in combinations(values, 2):
        if (left[0] != right[0]) if not against else (left[1] != right[1] or left[0] != against):
            continue
        place = {"model": "" if against else left[0], "scheme": left[1] if against else ""}
        for name in values[left]:
            first, second = (np.array(values[side][name]) for side in (left, right))
            enough = min(len(first), len(second)) > 1
            t, p = welch(first, second) if enough else (float("nan"), float("nan"))
            sides = {"first": left[0 if against else 1], "second": right[0 if against else 1]}
            difference = float(first.mean() - second.mean())
            yield {**place, "measure": name, **sides, "difference": difference, "t": t, "p": p}
