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

    from covmis_build.models.encoders import Encoder
    from covmis_build.models.sequence import Step

KINDS = ("sentence-bert", "cross-encoder")
LARGEST = 1_000_000_000
"""No setting has a use for more."""


def train_transformer(
    steps: list[Step],
    out: Path,
    options: Encoder,
    labels: list[str],
    card: dict[str, Any],
    *,
    start: Path | None,
    as_json: bool,
) -> None:
    """Train step by step, going on where a stopped run of the same training left off, and write the model."""
    from covmis_build import storage
    from covmis_build.models.checkpoints import save_encoder
    from covmis_build.models.sequence import train_steps

    began = time.monotonic()
    kept = out / "steps"
    _writable(out)
    with progress() as report:
        found = train_steps(steps, options, labels=labels, start=start, folder=kept, progress=report)
    told = list(found.steps)
    card |= {
        "losses": told[-1]["losses"], "dev_losses": told[-1]["dev_losses"], "steps": told,
        "seconds": round(time.monotonic() - began, 1), "start": start.name if start is not None else "",
        "versions": _versions(),
    }  # fmt: skip
    save_encoder(replace(found.model, options=options), out, card)
    storage.remove(kept)
    if as_json:
        return emit_json({"model": str(out), "options": asdict(options), **card})
    rows = []
    for step in told:
        dev = step["dev_losses"] or [None] * len(step["losses"])
        for epoch, (loss, on_dev) in enumerate(zip(step["losses"], dev, strict=True), 1):
            rows.append((step["data"], step["head"], epoch, loss, on_dev))
    grid(rows, ["data", "head", "epoch", "loss", "dev loss"])
    say(
        f"Trained on {steps[-1].name}: {len(steps[-1].frame):,} rows, in {card['seconds']:.0f} s. Wrote {out}/."
    )
    return None


def _writable(folder: Path) -> None:
    """Found out before hours of training, not after."""
    there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise InputError("cannot be written to", file=folder, remedy="Name another folder with --out")


def encoder_options(kind: str, settings: list[str] | None) -> Encoder:
    """Settings of an encoder from KEY=VALUE, each of its field's type."""
    from covmis_build.models.encoders import Encoder

    known = {one.name: one for one in fields(Encoder) if one.name != "kind"}
    made: dict[str, Any] = {}
    for one in settings or ():
        key, separator, text = one.partition("=")
        if not separator:
            raise InputError(f"--set {one} is not KEY=VALUE", remedy="For example: --set path=DIR")
        if key not in known:
            raise InputError(f"a transformer model has no setting '{key}'", remedy=nearest(key, known))
        made[key] = _value(key, text, str(known[key].type))
    if "path" not in made:
        raise InputError(
            "a transformer model needs a pretrained one",
            remedy="Name its folder or its name on the hub: --set path=NAME",
        )
    return Encoder(kind=kind, **made)  # type: ignore[arg-type] # one of KINDS


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
    return value


def _versions() -> dict[str, str]:
    import torch
    import transformers

    from covmis_build import __version__

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    return {
        "covmis": __version__, "torch": torch.__version__, "transformers": transformers.__version__, "device": device,
    }  # fmt: skip
