"""One cell of a comparison: a training and its predictions, stored under a hash of all inputs.

An interrupted table can therefore be resumed (a transformer within its last epoch). Another measure, or another group of
items, needs no new training.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.engine import silent
from covmis_build.errors import InputError
from covmis_build.models.checkpoints import fingerprint
from covmis_build.models.encoders import Encoder
from covmis_build.models.linear import Linear, train_linear
from covmis_build.models.nli import Nli, train_nli
from covmis_build.models.run_card import add_rows, rows_of, scored, versions
from covmis_build.models.twostep import BertScore, train_bertscore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.engine import Progress
    from covmis_build.models.sequence import Step

VERSION = 3
"""Version of training. Increase it when the same inputs give other predictions."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A model to compare: its settings, and the datasets that it learns from before the target."""

    options: Linear | Encoder | BertScore | Nli
    before: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """One training: rows to train on, to stop by, and to test on."""

    model: str
    scheme: str
    run: str
    setting: Setting
    learn: pd.DataFrame
    dev: pd.DataFrame
    judge: pd.DataFrame


def seeded(setting: Setting, number: int) -> Setting:
    """Return the setting for the run of this number, from 0. Models without encoder training are the same in every run.

    >>> seeded(Setting(Encoder(path="x", seed=7)), 2).options.seed
    9
    """
    encoder = encoder_of(setting)
    if isinstance(setting.options, Nli):
        return replace(setting, options=replace(setting.options, seed=setting.options.seed + number))
    if encoder is None:
        return setting
    second = replace(encoder, seed=encoder.seed + number)
    options = setting.options
    return replace(
        setting, options=replace(options, second=second) if isinstance(options, BertScore) else second
    )


def encoder_of(setting: Setting) -> Encoder | None:
    """Return the encoder that is trained, if any."""
    if isinstance(setting.options, BertScore):
        return setting.options.second
    return setting.options if isinstance(setting.options, Encoder) else None


def has_chance(setting: Setting) -> bool:
    """True if another seed gives another model."""
    drawn = isinstance(setting.options, Nli) and setting.options.shots > 0
    return drawn or encoder_of(setting) is not None


def needs_rows(setting: Setting) -> bool:
    """True if the model needs training rows."""
    return not isinstance(setting.options, Nli) or setting.options.shots > 0


def predictions(
    cell: Cell, labels: Sequence[str], folder: Path | None, progress: Progress = silent
) -> list[str]:
    """Return the trained model's predictions for the test rows, from storage or a new training.

    Without training rows, the datasets before must suffice. A linear model learns from all of them together.
    """
    path = folder / f"{key(cell, labels)}.json" if folder else None
    if path is not None and path.is_file():
        return _remembered(path, cell, labels)
    if isinstance(cell.setting.options, Linear):
        said = train_linear(_all_rows(cell, labels), cell.setting.options, labels=labels).predict(cell.judge)
    else:
        said = _transformer(cell, cell.setting.options, labels, folder, progress)
    if path is not None:
        storage.write_text(path, json.dumps({**_card(cell, labels, said), "predictions": said}) + "\n")
    return said


def _card(cell: Cell, labels: Sequence[str], said: list[str]) -> dict[str, Any]:
    """Describe the cell for readers: rows, settings with seed, versions, scores."""
    parts = {"learn": cell.learn, "dev": cell.dev, "judge": cell.judge}
    before = [{"data": step.name, **rows_of(step.frame)} for step in cell.setting.before]
    linear = isinstance(cell.setting.options, Linear)
    return {
        "model": cell.model,
        "scheme": cell.scheme,
        "run": cell.run,
        "labels": list(labels),
        "options": asdict(cell.setting.options),
        "before": before,
        **{name: rows_of(part) for name, part in parts.items()},
        "versions": versions(transformer=not linear),
        "scores": scored(cell.judge["label"], said, labels),
    }


def _remembered(path: Path, cell: Cell, labels: Sequence[str]) -> list[str]:
    try:
        said = json.loads(path.read_text("utf-8"))["predictions"]
        right = isinstance(said, list) and len(said) == len(cell.judge) and set(said) <= set(labels)
    except (OSError, ValueError, KeyError, TypeError):
        right = False
    if not right:
        raise InputError("is damaged", file=path, remedy="Remove it: it is made again")
    return list(said)


def _all_rows(cell: Cell, labels: Sequence[str]) -> pd.DataFrame:
    """Return all rows that a linear model learns from."""
    import pandas as pd

    from covmis_build.models.sequence import labels_of

    for step in cell.setting.before:
        if labels_of(step, labels) != tuple(labels):
            raise InputError(
                f"{step.name} has none of the labels {', '.join(labels)}",
                remedy="A linear model cannot learn from it; map its labels: --map OLD=NEW",
            )
    parts = [*(step.frame for step in cell.setting.before), cell.learn]
    columns = [name for name in ("text", "target", "label") if all(name in part.columns for part in parts)]
    return pd.concat([part[columns] for part in parts], ignore_index=True)


def _transformer(
    cell: Cell,
    options: Encoder | BertScore | Nli,
    labels: Sequence[str],
    folder: Path | None,
    progress: Progress,
) -> list[str]:
    from covmis_build.models.sequence import Step, train_steps

    if isinstance(options, Nli):
        rows = _all_rows(cell, labels) if needs_rows(cell.setting) and not len(cell.learn) else cell.learn
        return train_nli(rows, options, labels=labels).predict(cell.judge)
    steps = list(cell.setting.before)
    if len(cell.learn):
        steps.append(Step(f"{cell.scheme} {cell.run}", cell.learn, cell.dev if len(cell.dev) else None))
    if not steps:
        raise InputError(f"{cell.scheme} leaves no rows to train on", remedy="Name other data with --before")
    kept = folder / "steps" if folder else None
    if isinstance(options, BertScore):
        model = train_bertscore(steps, options, labels=labels, folder=kept, progress=progress)
        return model.predict(cell.judge)
    steps_taken = train_steps(steps, options, labels=labels, folder=kept, progress=progress)
    return steps_taken.model.predict(cell.judge)


def key(cell: Cell, labels: Sequence[str]) -> str:
    """Return a hash of everything that the predictions depend on."""
    options = asdict(cell.setting.options)
    for settings in (options, options.get("second")):
        if settings and "path" in settings:
            settings["path"] = fingerprint(settings["path"])
    summed = hashlib.sha256(json.dumps([VERSION, options, list(labels)]).encode())
    for part in _parts(cell):
        if part is not None:
            add_rows(summed, part)
        summed.update(b"|")
    return summed.hexdigest()[:32]


def _parts(cell: Cell) -> Iterator[Any]:
    """Return the rows in use. A dev part is used only to train an encoder."""
    for step in cell.setting.before:
        yield step.frame
        yield step.dev
    yield cell.learn
    yield cell.dev if encoder_of(cell.setting) else None
    yield cell.judge
