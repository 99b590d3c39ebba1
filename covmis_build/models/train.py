"""Train a model of any kind on a table: choose on a dev part, resume after a stop, write it with its card."""

from __future__ import annotations

import itertools
import os
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.engine import silent
from covmis_build.errors import InputError, UnknownName, counted
from covmis_build.models.encoders import Encoder
from covmis_build.models.linear import Linear, Model, choose_linear, train_linear
from covmis_build.models.nli import Nli, train_nli
from covmis_build.models.options import TRAINED, Transformer, kind_of, options_of
from covmis_build.models.posts import label_set, read_posts
from covmis_build.models.run_card import rows_of, scored, versions
from covmis_build.models.sequence import Step, mapped, train_steps
from covmis_build.models.stored import StanceModel, save
from covmis_build.models.twostep import BertScore, train_bertscore
from covmis_build.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from covmis_build.engine import Progress
    from covmis_build.models.options import Options, Settings
    from covmis_build.report.summary import Summary

    Posts = pd.DataFrame | str | Path
CHOICES = (0.1, 1.0, 10.0, 100.0)
"""Values of C to choose from on a dev part."""


@dataclass(frozen=True, slots=True, repr=False)
class Trained(Result):
    """A trained model and the card of its training."""

    model: StanceModel
    options: Options
    card: dict[str, Any] = field(repr=False)
    """The run as in `model.json`: rows with a hash, versions, losses, scores on the dev part."""

    def predict(self, posts: Posts) -> pd.DataFrame:
        """Predict the labels of a table of posts."""
        from covmis_build.models.predict import predict

        return predict(self.model, posts)

    def to_dict(self) -> dict[str, Any]:
        """Return the options, the card and, for linear models, the most informative features."""
        options = {name.lower(): value for name, value in asdict(self.options).items()}
        telling = {"telling": self.model.telling(5)} if isinstance(self.model, Model) else {}
        return {"options": options, **self.card, **telling}

    @property
    def summary(self) -> Summary:
        """Return text and tables: the choice, most informative features, losses, scores on dev."""
        import pandas as pd

        dev, chosen = self.card.get("dev", {}), self.card.get("chosen")
        parts: list[str | pd.DataFrame] = []
        if isinstance(self.model, Model):
            if chosen is not None and isinstance(self.options, Linear):
                best = max(row["value"] for row in chosen["values"])
                parts.append(
                    f"C = {self.options.C:g} does best on {dev['data']}: {chosen['measure']} {best:.4f}."
                )
            telling = self.model.telling(5).sort_values("label", kind="stable")
            parts += [telling[["label", "column", "feature", "weight"]]] if len(telling) else []
        if "bertscore" in self.card:
            parts += [
                "BERTScore of post and claim:",
                pd.DataFrame(self.card["bertscore"]).rename(columns={"below": "below threshold"}),
            ]
        losses = [
            {"data": step["data"], "head": step["head"], "epoch": epoch, "loss": loss, "dev loss": on_dev}
            for step in self.card.get("steps", [])
            for epoch, (loss, on_dev) in enumerate(
                itertools.zip_longest(step["losses"], step["dev_losses"]), 1
            )
        ]
        parts += [pd.DataFrame(losses)] if losses else []
        if dev and not isinstance(self.model, Model):
            parts.append(f"On {dev['data']}: accuracy {dev['accuracy']:.4f}, macro_f1 {dev['macro_f1']:.4f}.")
        return [*parts, f"Trained on {self.card['data']}: {counted(self.card['rows'], 'rows')}."]

    def save(self, folder: str | Path) -> None:
        """Write the model with its card. A previous model in this folder stays usable until the new one is complete."""
        save(self.model, self.options, Path(folder), self.card)


def train(  # noqa: PLR0913 - every option is named
    posts: Posts,
    model: str | Options = "bow",
    *,
    out: str | Path | None = None,
    settings: Settings = None,
    labels: Sequence[str] = (),
    dev: Posts | None = None,
    choose: Sequence[float] = CHOICES,
    measure: str = "macro_f1",
    poles: Sequence[str] = (),
    start: str | Path | None = None,
    before: Sequence[Posts] = (),
    maps: Mapping[str, str] | None = None,
    text_alone: bool = False,
    progress: Progress = silent,
) -> Trained:
    """Train a model on a table with `text`, `label` and, for pairs, `target` or `claim`; write it to `out`.

    `model` is a name (`bow`, `cross-encoder` …) with `settings`, or options. With `dev`, linear models are trained with each C of
    `choose`, and the best by `measure` is kept. Transformers first learn from the datasets `before` (`maps` translates their
    labels), or start from a model in the folder `start`; an interrupted training resumes in `out`. For frozen items a model
    reads everything that annotators saw or, with `text_alone`, the posts' own words; prediction must use the same.

    >>> import pandas as pd
    >>> posts = pd.DataFrame({"text": ["so true", "a hoax"], "claim": "masks", "label": ["favor", "against"]})
    >>> train(posts, "bow").predict(posts)["prediction"].tolist()
    ['favor', 'against']
    """
    kind = model if isinstance(model, str) else kind_of(model)
    if kind in {Transformer.BERTSCORE, Transformer.NLI} and dev is not None:
        raise InputError(
            f"{kind} alone has no use for --dev", remedy="Score it: `covmis evaluate score DEV PREDICTIONS`"
        )
    for option, given in (("--start", start), ("--before", before), ("--map", maps)):
        if given and kind not in TRAINED:
            raise InputError(
                f"{option} is for transformer models", remedy=f"Use --model {' or '.join(TRAINED)}"
            )
    options = options_of(model, settings) if isinstance(model, str) else model
    frame, name = read_posts(posts, labelled=True, text_alone=text_alone), _name(posts)
    values = label_set(labels, frame)
    card: dict[str, Any] = {"data": name, **rows_of(frame), "model": kind}
    if dev is not None:
        card["dev"] = {"data": _name(dev)}
    dev_frame = read_posts(dev, labelled=True, text_alone=text_alone) if dev is not None else None
    folder = Path(out) if out is not None else None
    if isinstance(options, Linear):
        trained = _linear(
            frame, dev_frame, options, values, card, choose=choose, measure=measure, poles=poles
        )
    else:
        steps = [*steps_before(before, maps), Step(Path(name).stem, frame, dev_frame)]
        begin = Path(start) if start is not None else None
        trained = _transformer(steps, options, values, card, start=begin, folder=folder, progress=progress)
    if folder is not None:
        trained.save(folder)
        storage.remove(folder / "steps")
    return trained


def steps_before(posts: Sequence[Posts], maps: Mapping[str, str] | None = None) -> list[Step]:
    """Return the datasets to learn from first, in order. `maps` maps their labels to ours."""
    declared = dict(maps or {})
    if declared and not posts:
        raise InputError("--map maps the labels of --before", remedy="Name the files with --before")
    steps = [Step(Path(_name(path)).stem, read_posts(path, labelled=True)) for path in posts]
    known = {label for step in steps for label in step.frame["label"]}
    for old, new in declared.items():
        if old not in known:
            raise UnknownName(f"--map {old}={new}: no row has the label '{old}'")
    return [replace(step, frame=mapped(step.frame, declared)) for step in steps]


def _linear(
    frame: pd.DataFrame,
    dev: pd.DataFrame | None,
    options: Linear,
    labels: list[str],
    card: dict[str, Any],
    *,
    choose: Sequence[float],
    measure: str,
    poles: Sequence[str],
) -> Trained:
    card["versions"] = versions(transformer=False)
    if dev is not None:
        candidates = [replace(options, C=value) for value in choose]
        options, values = choose_linear(frame, dev, candidates, measure=measure, labels=labels, poles=poles)
        chosen_from = [
            {"c": candidate.C, "value": value} for candidate, value in zip(candidates, values, strict=True)
        ]
        card["chosen"] = {"measure": measure, "values": chosen_from}
    model = train_linear(frame, options, labels=labels)
    if dev is not None:
        card["dev"] |= {**rows_of(dev), **scored(dev["label"], model.predict(dev), labels)}
    return Trained(model, options, card)


def _transformer(
    steps: Sequence[Step],
    options: Encoder | BertScore | Nli,
    labels: list[str],
    card: dict[str, Any],
    *,
    start: Path | None,
    folder: Path | None,
    progress: Progress,
) -> Trained:
    """Train step by step, resuming a stopped run of the same training."""
    began = time.monotonic()
    kept = folder / "steps" if folder is not None else None
    if folder is not None:
        _check_writable(folder)
    model: StanceModel
    if isinstance(options, Encoder):
        trained = train_steps(steps, options, labels=labels, start=start, folder=kept, progress=progress)
        model, course = trained.model, list(trained.steps)
    elif isinstance(options, Nli):
        model, course = train_nli(steps[-1].frame, options, labels=labels), []
    else:
        model = train_bertscore(steps, options, labels=labels, start=start, folder=kept, progress=progress)
        course = list(model.steps)
        card["bertscore"] = model.by_label(steps[-1].frame)
    if course:
        card |= {"losses": course[-1]["losses"], "dev_losses": course[-1]["dev_losses"], "steps": course}
    card |= {
        "seconds": round(time.monotonic() - began, 1),
        "start": start.name if start is not None else "",
        "versions": versions(transformer=True),
    }
    dev = steps[-1].dev
    if dev is not None:
        card["dev"] |= {**rows_of(dev), **scored(dev["label"], model.predict(dev), labels)}
    return Trained(model, options, card)


def _check_writable(folder: Path) -> None:
    """Refuse early what would otherwise fail after hours of training."""
    nearest_folder = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not nearest_folder.is_dir() or not os.access(nearest_folder, os.W_OK):
        raise InputError("cannot be written to", file=folder, remedy="Name another folder")


def _name(posts: Posts) -> str:
    return Path(posts).name if isinstance(posts, str | Path) else "data"
