"""Training transformer models from the command line; part of `covmis model train`."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

from covmis_build.cli.console import emit_json, grid, progress, say
from covmis_build.errors import InputError, nearest

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from covmis_build.models import BertScore, BertScoreModel, Encoder, EncoderModel, Model
    from covmis_build.models.sequence import Step

KINDS = ("sentence-bert", "cross-encoder", "bertscore-sbert")
"""Models that train a transformer."""
ALONE = "bertscore"
"""BERTScore alone: a transformer that is not trained."""
LARGEST = 1_000_000_000
"""No setting has a use for more."""


def train_transformer(
    steps: list[Step],
    out: Path,
    options: Encoder | BertScore,
    labels: list[str],
    card: dict[str, Any],
    *,
    start: Path | None,
    as_json: bool,
) -> None:
    """Train step by step, going on where a stopped run of the same training left off, and write the model."""
    from covmis_build import storage
    from covmis_build.models import save_bertscore, save_encoder, train_bertscore, train_steps
    from covmis_build.models.encoders import Encoder
    from covmis_build.models.run_card import rows_of, scored, versions

    began = time.monotonic()
    kept = out / "steps"
    _writable(out)
    with progress() as report:
        if isinstance(options, Encoder):
            found = train_steps(steps, options, labels=labels, start=start, folder=kept, progress=report)
            told = list(found.steps)
        else:
            two = train_bertscore(steps, options, labels=labels, start=start, folder=kept, progress=report)
            told = list(two.steps)
            card["bertscore"] = _likeness(two, steps[-1].frame)
    if told:
        card |= {"losses": told[-1]["losses"], "dev_losses": told[-1]["dev_losses"], "steps": told}
    card |= {
        "seconds": round(time.monotonic() - began, 1), "start": start.name if start is not None else "",
        "versions": versions(transformer=True),
    }  # fmt: skip
    dev = steps[-1].dev
    if dev is not None:
        said = (found.model if isinstance(options, Encoder) else two).predict(dev)
        card["dev"] |= {**rows_of(dev), **scored(dev["label"], said, labels)}
    if isinstance(options, Encoder):
        save_encoder(replace(found.model, options=options), out, card)
    else:
        save_bertscore(replace(two, options=options), out, card)
    storage.remove(kept)
    if as_json:
        return emit_json({"model": str(out), "options": asdict(options), **card})
    if "bertscore" in card:
        say(f"BERTScore of post and claim in {steps[-1].name}:")
        grid([list(row.values()) for row in card["bertscore"]], ["label", "rows", "mean", "below threshold"])
    _say_course(told, card)
    say(
        f"Trained on {steps[-1].name}: {len(steps[-1].frame):,} rows, in {card['seconds']:.0f} s. Wrote {out}/."
    )
    return None


def _say_course(told: list[dict[str, Any]], card: dict[str, Any]) -> None:
    """The losses of each step, and the scores on the dev part."""
    rows = []
    for step in told:
        on_dev = step["dev_losses"] or [None] * len(step["losses"])
        for epoch, (loss, other) in enumerate(zip(step["losses"], on_dev, strict=True), 1):
            rows.append((step["data"], step["head"], epoch, loss, other))
    if rows:
        grid(rows, ["data", "head", "epoch", "loss", "dev loss"])
    if "dev" in card:
        found = card["dev"]
        say(f"On {found['data']}: accuracy {found['accuracy']:.4f}, macro_f1 {found['macro_f1']:.4f}.")


def read_model(folder: Path) -> Model | EncoderModel | BertScoreModel:
    """A trained model of any kind."""
    from covmis_build.models.checkpoints import is_encoder, load_encoder
    from covmis_build.models.storing import load
    from covmis_build.models.twostep import is_bertscore, load_bertscore

    if is_bertscore(folder):
        return load_bertscore(folder)
    return load_encoder(folder) if is_encoder(folder) else load(folder)


def _likeness(model: BertScoreModel, frame: pd.DataFrame) -> list[dict[str, Any]]:
    """For each label its rows, their mean BERTScore, and how many are below the threshold."""
    scores, labels = model.likeness(frame), frame["label"].astype(str).to_numpy()
    return [
        {
            "label": label, "rows": len(mine), "mean": round(float(mine.mean()), 4),
            "below": int((mine < model.options.threshold).sum()),
        }
        for label in model.labels
        if len(mine := scores[labels == label])
    ]  # fmt: skip


def _writable(folder: Path) -> None:
    """Found out before hours of training, not after."""
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise InputError("cannot be written to", file=folder, remedy="Name another folder with --out")


def known_settings(kind: str) -> dict[str, str]:
    """The settings of a transformer model, and the type of each."""
    from covmis_build.models import BertScore, Encoder

    first = {one.name: str(one.type) for one in fields(BertScore) if one.name != "second"}
    trained = {one.name: str(one.type) for one in fields(Encoder) if one.name != "kind"}
    if kind == ALONE:
        return first
    return trained | first if kind == "bertscore-sbert" else trained


def encoder_options(kind: str, settings: list[str] | None) -> Encoder | BertScore:
    """Settings of a transformer model from KEY=VALUE, each of its field's type."""
    from covmis_build.models import BertScore, Encoder

    known = known_settings(kind)
    made: dict[str, Any] = {}
    for one in settings or ():
        key, separator, text = one.partition("=")
        if not separator:
            raise InputError(f"--set {one} is not KEY=VALUE", remedy="For example: --set path=DIR")
        if key not in known:
            raise InputError(f"a {kind} model has no setting '{key}'", remedy=nearest(key, known))
        made[key] = _value(key, text, known[key])
    if "path" not in made:
        raise InputError(
            "a transformer model needs a pretrained one",
            remedy="Name its folder or its name on the hub: --set path=NAME",
        )
    if kind in {"sentence-bert", "cross-encoder"}:
        return Encoder(kind=kind, **made)  # type: ignore[arg-type] # one of the two
    if "unrelated" not in made:
        raise InputError(
            f"{kind} needs the label of posts that have nothing to do with the claim",
            remedy="Name it: --set unrelated=LABEL",
        )
    names = [one.name for one in fields(BertScore)]
    first = {key: value for key, value in made.items() if key in names}
    if kind == ALONE:
        return BertScore(**first)
    rest = {key: value for key, value in made.items() if key not in {"unrelated", "threshold"}}
    return BertScore(**first, second=Encoder(kind="sentence-bert", **rest))


def _value(key: str, text: str, kind: str) -> Any:
    if kind == "bool":
        if text not in {"true", "false"}:
            raise InputError(f"--set {key}={text}", remedy="It is true or false")
        return text == "true"
    try:
        value = {"int": int, "float": float, "str": str}[kind](text)
    except ValueError:
        raise InputError(f"--set {key}={text} is not a number") from None
    least = {"tokens": 4, "batch": 1, "epochs": 1}.get(key, 0)
    if kind != "str" and not least <= value < LARGEST:
        raise InputError(f"--set {key}={text}", remedy=f"It is at least {least} and below {LARGEST:,}")
    if key == "threshold" and value > 1:
        raise InputError(f"--set threshold={text}", remedy="It is from 0 to 1")
    return value
