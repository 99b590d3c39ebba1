"""Transformer models on disk: complete or absent, and loaded without running code from the files.

The weights in a model's folder (`folder.py`) are a folder of encoder, tokenizer and head.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.errors import InputError
from covmis_build.models.encoders import Encoder, EncoderModel, extra, pretrained
from covmis_build.models.folder import NAME, activate, read_description

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMAT = 2
HASHED = {".json", ".txt", ".model", ".safetensors", ".bin"}
"""File types of a pretrained model that can change its predictions."""


def save_encoder(model: EncoderModel, folder: Path, card: dict[str, Any] | None = None) -> None:
    """Write a model. A previous model in this folder stays usable until the new one is complete, then it is deleted."""
    from safetensors.torch import save

    name = f"weights-{digest(model)[:16]}"
    head = {key: tensor.contiguous().cpu() for key, tensor in model.head.state_dict().items()}
    with storage.filling(folder / name) as beside:
        model.encoder.save_pretrained(beside / "encoder")
        model.tokenizer.save_pretrained(beside / "encoder")
        storage.write_bytes(beside / "head.safetensors", save(head))
    whole = {
        "format": FORMAT,
        "encoder": True,
        "weights": name,
        "options": asdict(model.options),
        "labels": model.labels,
        "card": card or {},
    }
    activate(folder, whole)


def load_encoder(folder: Path) -> EncoderModel:
    """Load a model; its predictions are the same as before saving."""
    torch = extra()
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        whole = described(folder)
        weights = folder / whole["weights"]
        tensors = load((weights / "head.safetensors").read_bytes())
        options, labels = Encoder(**whole["options"]), tuple(map(str, whole["labels"]))
        head = torch.nn.Linear(tensors["weight"].shape[1], len(labels))
        head.load_state_dict(tensors)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        first = str(error).split("\n", maxsplit=1)[0]
        raise InputError(
            f"cannot be read as a model: {first}", file=folder, remedy="Train it again"
        ) from None
    tokenizer, encoder = pretrained(str(weights / "encoder"))
    return EncoderModel(options, labels, tokenizer, encoder, head.to(encoder.device))


def is_encoder(folder: Path) -> bool:
    """True if a folder contains a transformer model."""
    return bool(read_description(folder).get("encoder"))


def described(folder: Path) -> dict[str, Any]:
    """Return a transformer model's description in `model.json`."""
    whole = read_description(folder)
    if not whole.get("encoder"):
        raise InputError(
            "is no transformer model",
            file=folder,
            remedy="Make one with `covmis model train --model cross-encoder`",
        )
    known = {option.name for option in fields(Encoder)}
    right = (
        whole.get("format") == FORMAT
        and isinstance(whole.get("options"), dict)
        and set(whole["options"]) <= known
        and isinstance(whole.get("card"), dict)
        and isinstance(whole.get("weights"), str)
        and Path(whole["weights"]).name == whole["weights"]
    )
    if not right:
        raise InputError("is of another format", file=folder / NAME, remedy="Train it again")
    return whole


def digest(model: EncoderModel) -> str:
    """Return a hash of all parameters of a model in memory."""
    summed = hashlib.sha256(json.dumps([asdict(model.options), list(model.labels)]).encode())
    for part in (model.encoder, model.head):
        add_numbers(summed, part)
    return summed.hexdigest()


def add_numbers(summed: Any, part: Any) -> None:
    """Add all parameters of one part of a model to a hash."""
    for name, tensor in sorted(part.state_dict().items()):
        summed.update(json.dumps([name, list(tensor.shape), str(tensor.dtype)]).encode())
        summed.update(tensor.detach().contiguous().cpu().numpy().tobytes())


def fingerprint(path: str) -> str:
    """Identify a pretrained model: a hash of its folder's files, or its name on the hub."""
    folder = Path(path)
    if not folder.is_dir():
        return f"hub:{path}"
    state = tuple((file.name, *storage.state_of(file)) for file in _files(folder))
    kept = _known.get(str(folder))
    if kept is None or kept[0] != state:
        summed = hashlib.sha256()
        for file in _files(folder):
            summed.update(json.dumps([file.name, storage.sha256_of(file)]).encode())
        kept = _known[str(folder)] = (state, summed.hexdigest())
    return kept[1]


_known: dict[str, tuple[Any, str]] = {}


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.iterdir() if path.suffix in HASHED and path.is_file())
