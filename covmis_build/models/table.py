"""Models by ways of dividing the data: which is better, and how much easier chance is than time (Mu et al. 2023).

A cell is one training and its confusion matrix. Cells are kept under the hash of all that goes into them, so that a
table that was stopped goes on where it was, and another measure costs no training.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from covmis_build import storage
from covmis_build.engine import silent
from covmis_build.evaluation import confusions, measures, splits
from covmis_build.models.linear import Linear, train

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.engine import Progress

VERSION = 1
SCHEMES = ("random", "chronological", "stratified_chronological")


@dataclass(frozen=True, slots=True)
class Task:
    """One training: rows to learn from and rows to judge by."""

    model: str
    scheme: str
    run: str
    learn: pd.DataFrame
    judge: pd.DataFrame


def grid(  # noqa: PLR0913 - every option is named
    frame: pd.DataFrame,
    models: Mapping[str, Linear],
    *,
    labels: Sequence[str],
    schemes: Sequence[str] = SCHEMES,
    wanted: Sequence[str] = ("accuracy", "macro_f1"),
    folds: int = 5,
    seed: int = 0,
    cells: Path | None = None,
    progress: Progress = silent,
) -> pd.DataFrame:
    """Train every model on every division: model, scheme, runs, items, and each measure's mean and sd over runs.

    `random` has a run a fold, in which every item is judged once; `leave_one_out` one for each claim or event, and
    its matrices are added up to one; the chronological schemes have one run, so no sd. `cells` is a folder that
    keeps the trainings.
    """
    import pandas as pd

    frame = frame.assign(label=frame["label"].astype(str)).reset_index(drop=True)
    tasks = list(_tasks(frame, models, schemes, folds, seed))
    found: dict[tuple[str, str], list[np.ndarray]] = {}
    for done, task in enumerate(tasks):
        progress("training", done, len(tasks))
        matrix = _cell(task, models[task.model], labels, cells)
        found.setdefault((task.model, task.scheme), []).append(matrix)
    rows = []
    for (model, scheme), matrices in found.items():
        runs = [np.sum(matrices, axis=0)] if scheme == "leave_one_out" else matrices
        row = {"model": model, "scheme": scheme, "runs": len(runs), "items": int(np.sum(runs))}
        for name in wanted:
            values = [float(measures[name](one)) for one in runs]
            row |= {name: float(np.mean(values)), f"{name}_sd": _deviation(values)}
        rows.append(row)
    return pd.DataFrame(rows)


def ablations(options: Linear) -> dict[str, Linear]:
    """These settings, and each with one thing taken away or changed; what changes nothing is left out.

    >>> list(ablations(Linear()))
    ['as it is', 'single words', 'words in two texts', 'without the target', 'with class weights', 'n-grams in characters']
    """
    changes = {
        "single words": replace(options, word_span=(1, 1)),
        "words in two texts": replace(options, min_df=2),
        "without the target": replace(options, target=False),
        "with class weights": replace(options, class_weights="largest"),
        "without class weights": replace(options, class_weights="none"),
        "without characters": replace(
            options, features=tuple(one for one in options.features if "characters" not in one)
        ),
        "n-grams in characters": replace(options, features=("characters in words",)),
        "one model for all targets": replace(options, per_target=False),
        "without the limit on n-grams": replace(options, max_features=0),
    }
    made = {"as it is": options}
    for name, changed in changes.items():
        if changed not in made.values() and changed.features:
            made[name] = changed
    return made


def _deviation(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def _tasks(
    frame: pd.DataFrame, models: Mapping[str, Linear], schemes: Sequence[str], folds: int, seed: int
) -> Iterator[Task]:
    import pandas as pd

    for scheme in schemes:
        parts = splits(frame, scheme=scheme, folds=folds, seed=seed)  # type: ignore[arg-type] # checked there
        runs = {"whole": parts} if isinstance(parts, pd.Series) else {str(run): parts[run] for run in parts}
        for run, part in runs.items():
            learn, judge = (frame[np.asarray(part == name)] for name in ("train", "test"))
            for model in models:
                yield Task(model, scheme, run, learn, judge)


def _cell(task: Task, options: Linear, labels: Sequence[str], cells: Path | None) -> np.ndarray:
    """The confusion matrix of one training, remembered if there is a folder to remember it in."""
    path = cells / f"{_key(task, options, labels)}.json" if cells else None
    if path is not None and path.is_file():
        return np.array(json.loads(path.read_text("utf-8"))["confusion"], dtype=float)
    predicted = train(task.learn, options, labels=labels).predict(task.judge)
    matrix = confusions(task.judge["label"].tolist(), {"": predicted}, labels=labels)[""]
    if path is not None:
        note = {"model": task.model, "scheme": task.scheme, "run": task.run, "labels": list(labels)}
        storage.write_text(path, json.dumps({**note, "confusion": matrix.tolist()}) + "\n")
    return matrix


def _key(task: Task, options: Linear, labels: Sequence[str]) -> str:
    """A hash of everything that the matrix depends on."""
    summed = hashlib.sha256(json.dumps([VERSION, asdict(options), list(labels)]).encode())
    for part in (task.learn, task.judge):
        columns = [name for name in ("text", "target", "label") if name in part.columns]
        for row in part[columns].fillna("").astype(str).itertuples(index=False, name=None):
            summed.update(json.dumps(row).encode())
        summed.update(b"|")
    return summed.hexdigest()[:32]
