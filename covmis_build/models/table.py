"""Models by ways of dividing the data: which is better, and how much easier chance is than time.

The shapes are those of COVMis-Stance's tables 9 and 12 (by label), 13 (by kind of query) and 14 (settings), and of
table 4 of Mu et al. 2023 (divisions, with Welch's t-test between them).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.engine import silent
from covmis_build.errors import InputError, nearest
from covmis_build.evaluation import class_scores, confusions, splits
from covmis_build.evaluation.setting import UNRELATED
from covmis_build.evaluation.setting import setting as scoring
from covmis_build.models.cells import Cell, Setting, encoder_of, predictions, seeded
from covmis_build.models.twostep import BertScore, checked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.engine import Progress
    from covmis_build.evaluation.setting import Setting as Scoring
    from covmis_build.models.encoders import Encoder
    from covmis_build.models.linear import Linear

SCHEMES = ("random", "chronological", "stratified_chronological")
OWN = {
    "given": "the column split of the data says train, dev or test",
    "zero_shot": "all rows are judged; models learn from the datasets before alone",
}
"""Ways of dividing that need no rule."""
PARTS = {"train": "train", "dev": "dev", "val": "dev", "test": "test"}


@dataclass(frozen=True, slots=True)
class Run:
    """What one run said of the rows that it judged: one cell, or all claims of leave_one_out."""

    gold: list[str]
    said: list[str]
    groups: list[str]


@dataclass(frozen=True, slots=True)
class Compared:
    """cells: a row for each model and scheme; labels: and label; groups: and group; tests: differences, with p."""

    cells: pd.DataFrame
    labels: pd.DataFrame
    groups: pd.DataFrame
    tests: pd.DataFrame


def grid(  # noqa: PLR0913 - every option is named
    frame: pd.DataFrame,
    models: Mapping[str, Linear | Encoder | BertScore | Setting],
    *,
    labels: Sequence[str],
    schemes: Sequence[str] = SCHEMES,
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
    """Train every model on every division; each measure's mean and standard deviation over runs.

    `random` has a run a fold, in which every item is judged once; the others have a run a seed for transformers, and
    one for linear models and BERTScore alone, which are the same every time. `leave_one_out` trains without each claim or event in turn
    and judges all together. `by` is a column whose groups are judged apart. Tests compare the schemes of a model, or,
    with `against` the name of a model, the models with that one. `cells` is a folder that keeps the trainings. Measures
    that need them take `order`, `poles` and `class_weights`, as in `evaluation.score`.
    """
    scored = _scored(labels, wanted, order, poles, class_weights)
    frame = frame.assign(label=frame["label"].astype(str)).reset_index(drop=True)
    if by and by not in frame.columns:
        raise InputError(f"the table has no column {by}", remedy=nearest(by, map(str, frame.columns)))
    chosen = {name: one if isinstance(one, Setting) else Setting(one) for name, one in models.items()}
    planned = list(_cells(frame, chosen, schemes, folds, seeds, seed))
    _check(planned, labels)
    runs: dict[tuple[str, str], dict[str, Run]] = {}
    for done, (cell, name) in enumerate(planned):
        progress("training", done, len(planned))
        said = predictions(cell, labels, cells, progress)
        run = runs.setdefault((cell.model, cell.scheme), {}).setdefault(name, Run([], [], []))
        run.gold.extend(cell.judge["label"])
        run.said.extend(said)
        run.groups.extend(cell.judge[by].astype(str) if by else [""] * len(said))
    found = {place: list(one.values()) for place, one in runs.items()}
    return _compared(found, labels, scored, by, against)


def _cells(
    frame: pd.DataFrame,
    models: Mapping[str, Setting],
    schemes: Sequence[str],
    folds: int,
    seeds: int,
    seed: int,
) -> Iterator[tuple[Cell, str]]:
    """Every training, and the run that it belongs to."""
    for scheme in schemes:
        for number, (name, part) in enumerate(_divisions(frame, scheme, folds, seed)):
            learn, dev, judge = (frame[np.asarray(part == one)] for one in ("train", "dev", "test"))
            for model, setting in models.items():
                if scheme == "random":
                    yield Cell(model, scheme, name, seeded(setting, number), learn, dev, judge), name
                    continue
                for at in range(seeds if encoder_of(setting) else 1):
                    run = f"seed {at + 1}"
                    one = seeded(setting, at)
                    yield Cell(model, scheme, f"{name} {run}".strip(), one, learn, dev, judge), run


def _divisions(frame: pd.DataFrame, scheme: str, folds: int, seed: int) -> list[tuple[str, Any]]:
    """The parts of the rows: once, or for each fold or claim."""
    import pandas as pd

    if scheme == "zero_shot":
        return [("", np.full(len(frame), "test"))]
    if scheme == "given":
        if "split" not in frame.columns:
            raise InputError("the table has no column split", remedy="It says train, dev or test")
        for row, one in enumerate(frame["split"], 1):
            if str(one) not in PARTS:
                raise InputError(f"the split '{one}'", row=row, remedy=nearest(str(one), PARTS))
        return [("", np.array([PARTS[str(one)] for one in frame["split"]]))]
    try:
        parts = splits(frame, scheme=scheme, folds=folds, seed=seed)  # type: ignore[arg-type] # checked there
    except InputError as error:
        if not str(error).startswith("unknown scheme"):
            raise
        known = (*SCHEMES, "leave_one_out", *OWN)
        raise InputError(f"unknown scheme '{scheme}'", remedy=nearest(scheme, known)) from None
    return [("", parts)] if isinstance(parts, pd.Series) else [(str(one), parts[one]) for one in parts]


def _check(planned: Sequence[tuple[Cell, str]], labels: Sequence[str]) -> None:
    """What would fail after hours fails now."""
    for cell, _ in planned:
        encoder = encoder_of(cell.setting)
        if isinstance(cell.setting.options, BertScore):
            checked(cell.setting.options, labels)
        for part in (cell.learn, cell.dev, cell.judge):
            for label in sorted(set(part["label"]) - set(labels)):
                raise InputError(
                    f"the label '{label}' is not in the label set", remedy=nearest(label, labels)
                )
        if not len(cell.judge):
            raise InputError(f"{cell.scheme} leaves nothing to judge by")
        if not len(cell.learn) and not cell.setting.before:
            raise InputError(
                f"{cell.scheme} leaves nothing to learn from", remedy="Name other data with --before"
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
    """The measures with what they need; nothing is taken from the order in which labels happen to stand."""
    scored = scoring(labels, names=wanted, order=order, poles=poles, class_weights=class_weights)
    for measure in scored.measures:
        for need, given, what, remedy in (
            ("order", order, "an order", "Name the labels in their order: --order A,B,C"),
            ("poles", poles, "poles", "Name the two: --poles A,B"),
            ("unrelated_last", UNRELATED in labels, f"the label {UNRELATED}", "Name other measures"),
        ):
            if need in measure.needs and not given:
                raise InputError(f"the measure {measure.name} needs {what}", remedy=remedy)
    scored.values(np.ones((len(labels), len(labels))))  # weights and label sets that do not fit are told now
    return scored


def _compared(
    found: Mapping[tuple[str, str], Sequence[Run]],
    labels: Sequence[str],
    scored: Scoring,
    by: str,
    against: str,
) -> Compared:
    import pandas as pd

    cells, by_label, by_group = [], [], []
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for (model, scheme), runs in found.items():
        place = {"model": model, "scheme": scheme, "runs": len(runs)}
        items = sum(len(run.gold) for run in runs) if scheme == "random" else len(runs[0].gold)
        values[model, scheme] = _values(runs, labels, scored)
        cells.append({**place, "items": items, **_summary(values[model, scheme])})
        by_label += [{**place, **row} for row in _by_label(runs, labels)]
        for group in sorted({one for run in runs for one in run.groups}) if by else []:
            there = [part for run in runs if (part := _part(run, group)).gold]
            count = sum(len(run.gold) for run in there) if scheme == "random" else len(there[0].gold)
            summary = _summary(_values(there, labels, scored))
            by_group.append({**place, "runs": len(there), "group": group, "items": count, **summary})
    tests = _tests(values, against)
    return Compared(*(pd.DataFrame(rows) for rows in (cells, by_label, by_group, tests)))


def _values(runs: Sequence[Run], labels: Sequence[str], scored: Scoring) -> dict[str, list[float]]:
    matrices = np.stack([np.asarray(confusions(run.gold, {"": run.said}, labels=labels)[""]) for run in runs])
    return {name: [float(one) for one in values] for name, values in scored.values(matrices).items()}


def _summary(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    made: dict[str, float] = {}
    for name, one in values.items():
        made |= {name: float(np.mean(one)), f"{name}_sd": _deviation(one)}
    return made


def _deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def _by_label(runs: Sequence[Run], labels: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Precision, recall and F1 of every label."""
    told = [class_scores(run.gold, {"": run.said}, labels=labels) for run in runs]
    for at, label in enumerate(labels):
        values = {
            name: [
                float(np.nan_to_num(one[name].iloc[at])) for one in told
            ]  # 0/0 counts as 0, as in the measures
            for name in ("precision", "recall", "f1")
        }
        yield {"label": label, **_summary(values)}


def _part(run: Run, group: str) -> Run:
    rows = [at for at, one in enumerate(run.groups) if one == group]
    return Run([run.gold[at] for at in rows], [run.said[at] for at in rows], [group] * len(rows))


def _tests(
    values: Mapping[tuple[str, str], Mapping[str, Sequence[float]]], against: str
) -> Iterator[dict[str, Any]]:
    """Welch's t between the schemes of each model, or between each model and one; no t where one side has one run."""
    from covmis_build.evaluation.significance import welch

    for one, other in combinations(values, 2):
        if (one[0] != other[0]) if not against else (one[1] != other[1] or one[0] != against):
            continue
        place = {"model": "" if against else one[0], "scheme": one[1] if against else ""}
        for name in values[one]:
            first, second = (np.array(values[side][name]) for side in (one, other))
            enough = min(len(first), len(second)) > 1
            t, p = welch(first, second) if enough else (float("nan"), float("nan"))
            sides = {"first": one[0 if against else 1], "second": other[0 if against else 1]}
            difference = float(first.mean() - second.mean())
            yield {**place, "measure": name, **sides, "difference": difference, "t": t, "p": p}
