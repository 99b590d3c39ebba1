"""Train on several datasets in sequence, such as MNLI, then RumourEval and COVIDLies, then the target (COVMis-Stance, 5).

Each step is a complete training from the previous step's weights. The head is kept if both steps have the same labels;
otherwise it is new. Finished steps are stored under a hash of all their inputs.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from covmis_build.engine import silent
from covmis_build.errors import InputError, nearest
from covmis_build.models.checkpoints import described, is_encoder, load_encoder, save_encoder
from covmis_build.models.encoders import EncoderModel
from covmis_build.models.run_card import rows_of
from covmis_build.models.training import forget, train_encoder, training_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.engine import Progress
    from covmis_build.models.encoders import Encoder


@dataclass(frozen=True, slots=True)
class Step:
    """One training dataset: `text`, `target`, `label`; optionally a dev part for early stopping."""

    name: str
    frame: pd.DataFrame
    dev: pd.DataFrame | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """The model after the last step, and each step's data, rows, labels, head and losses."""

    model: EncoderModel
    steps: tuple[dict[str, Any], ...]


def train_steps(
    steps: Sequence[Step],
    options: Encoder,
    *,
    labels: Sequence[str],
    start: Path | None = None,
    folder: Path | None = None,
    progress: Progress = silent,
) -> Steps:
    """Train on each step in turn. A stopped run resumes in its step and epoch.

    `labels` is the label set of the last step, and of all steps without other labels (`labels_of`). `folder` stores the
    steps: a later training with the same first steps reuses them. Early stopping needs a dev part in the step.
    """
    if not steps:
        raise InputError("there is nothing to train on")
    for step in steps:
        for part in (step.frame, step.dev):
            for name in ("text", "target"):
                if part is not None and name not in part.columns:
                    raise InputError(
                        f"{step.name} has no column {name}", remedy="It needs text and target (or claim)"
                    )
    sets = [labels_of(step, labels) for step in steps]
    if sets[-1] != tuple(labels):
        raise InputError(
            f"{steps[-1].name} has none of the labels {', '.join(labels)}",
            remedy="Map its labels: --map OLD=NEW",
        )
    before: Path | EncoderModel | None = start
    told = []
    for number, (step, values) in enumerate(zip(steps, sets, strict=True)):
        progress("steps", number, len(steps))
        head = "new" if before is None else ("kept" if values == _labels(before) else "renewed")
        before, course = _step(step, options, values, before, folder, progress)
        told.append(
            {"data": step.name, **rows_of(step.frame), "labels": list(values), "head": head, **course}
        )
    assert before is not None
    return Steps(before if isinstance(before, EncoderModel) else load_encoder(before), tuple(told))


def labels_of(step: Step, labels: Sequence[str]) -> tuple[str, ...]:
    """Return a step's label set: `labels` if they cover the step's; its own if they share none; otherwise an error.

    >>> import pandas as pd
    >>> labels_of(Step("nli", pd.DataFrame({"label": ["neutral", "entailment"]})), ["favor", "against"])
    ('entailment', 'neutral')
    """
    if "label" not in step.frame.columns or step.frame.empty:
        raise InputError(f"{step.name} has no labelled rows to train on")
    own = sorted(set(step.frame["label"].astype(str)))
    foreign = [label for label in own if label not in labels]
    if foreign and len(foreign) < len(own):
        raise InputError(
            f"{step.name} has the label '{foreign[0]}' beside others of the label set",
            remedy=f"{nearest(foreign[0], labels)} Map it: --map OLD=NEW",
        )
    return tuple(own) if foreign else tuple(labels)


def mapped(frame: pd.DataFrame, labels: Mapping[str, str]) -> pd.DataFrame:
    """Map the frame's labels as declared; others stay.

    >>> import pandas as pd
    >>> mapped(pd.DataFrame({"label": ["entailment", "favor"]}), {"entailment": "favor"})["label"].tolist()
    ['favor', 'favor']
    """
    return frame.assign(label=[labels.get(label, label) for label in frame["label"].astype(str)])


def _step(
    step: Step,
    options: Encoder,
    labels: tuple[str, ...],
    before: Path | EncoderModel | None,
    folder: Path | None,
    progress: Progress,
) -> tuple[Path | EncoderModel, dict[str, Any]]:
    """Train one step or load its result: the model (or its folder) and the course of training."""
    chosen = options if step.dev is not None else replace(options, patience=0)
    if folder is None:
        trained = train_encoder(
            step.frame, chosen, labels=labels, dev=step.dev, start=before, progress=progress
        )
        return trained.model, {"losses": list(trained.losses), "dev_losses": list(trained.dev_losses)}
    step_folder = folder / training_key(step.frame, step.dev, chosen, labels, before)[:16]
    if not is_encoder(step_folder):
        began = time.monotonic()
        trained = train_encoder(
            step.frame,
            chosen,
            labels=labels,
            dev=step.dev,
            start=before,
            state=step_folder,
            progress=progress,
        )
        course = {
            "losses": list(trained.losses),
            "dev_losses": list(trained.dev_losses),
            "seconds": round(time.monotonic() - began, 1),
        }
        save_encoder(trained.model, step_folder, course)
        forget(step_folder)
    return step_folder, dict(described(step_folder)["card"])


def _labels(model: Path | EncoderModel) -> tuple[str, ...]:
    return model.labels if isinstance(model, EncoderModel) else tuple(described(model)["labels"])
