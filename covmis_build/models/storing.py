"""Models on disk: numbers and words, nothing that runs when it is read.

The weights in a model's folder (`folder.py`) are one file of arrays. The same training writes the same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from covmis_build import storage
from covmis_build.errors import InputError
from covmis_build.models.features import ANALYZERS, Averages, Features, Grams
from covmis_build.models.folder import NAME, settle, told
from covmis_build.models.linear import Linear, Model, Part

FORMAT = 2


def save(model: Model, folder: Path, card: dict[str, Any] | None = None) -> None:
    """Write a model; `card` says what it was trained on."""
    arrays: dict[str, Any] = {}
    parts = []
    for number, (target, part) in enumerate(model.parts.items()):
        described = []
        for at, one in enumerate(part.features):
            made, numbers = _described(one)
            described.append(made)
            arrays |= {f"{number}.{at}.{name}": values for name, values in numbers.items()}
        arrays |= {f"{number}.coefficients": part.coefficients, f"{number}.intercept": part.intercept}
        parts.append({"target": target, "features": described})
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    name = f"weights-{hashlib.sha256(packed.getvalue()).hexdigest()[:16]}.npz"
    whole = {
        "format": FORMAT, "weights": name, "options": asdict(model.options), "labels": model.labels, "parts": parts,
        "card": card or {},
    }  # fmt: skip
    storage.write_bytes(folder / name, packed.getvalue())
    settle(folder, whole)


def load(folder: Path) -> Model:
    """Read a model back; it predicts what it predicted."""
    path = folder / NAME
    if not path.is_file():
        raise InputError("is no model", file=folder, remedy="Make one with `covmis model train`")
    try:
        whole = json.loads(path.read_text("utf-8"))
        if whole["format"] != FORMAT:
            raise InputError(f"has the format {whole['format']}", file=path, remedy="Train it again")
        with np.load(folder / Path(whole["weights"]).name, allow_pickle=False) as arrays:
            parts = {one["target"]: _part(number, one, arrays) for number, one in enumerate(whole["parts"])}
        return Model(_options(whole["options"]), tuple(whole["labels"]), parts)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"cannot be read as a model: {error}", file=path, remedy="Train it again") from None


def _options(saved: dict[str, Any]) -> Linear:
    made: dict[str, Any] = {}
    for name, one in saved.items():
        made[name] = tuple(one) if isinstance(one, list) else one
    return Linear(**made)


def card(folder: Path) -> dict[str, Any]:
    """What a model was trained on."""
    return dict(told(folder)["card"])


def _described(one: Features) -> tuple[dict[str, Any], dict[str, Any]]:
    """Features as words and numbers."""
    if isinstance(one, Grams):
        made = one.vectorizer
        kinds = {analyzer: kind for kind, analyzer in ANALYZERS.items()}
        words = {
            "column": one.column, "kind": kinds[made.analyzer], "span": list(made.ngram_range),
            "sublinear": made.sublinear_tf, "vocabulary": made.get_feature_names_out().tolist(),
        }  # fmt: skip
        return words, {"idf": made.idf_}
    assert isinstance(one, Averages)
    return {
        "kind": "vectors",
        "file": str(one.file),
        "sha256": one.sha256,
        "size": one.size,
        "pair": one.pair,
    }, {}


def _part(number: int, described: dict[str, Any], arrays: Any) -> Part:
    features = [
        _features(one, {name: arrays[f"{number}.{at}.{name}"] for name in _numbers(one)})
        for at, one in enumerate(described["features"])
    ]
    return Part(tuple(features), arrays[f"{number}.coefficients"], arrays[f"{number}.intercept"])


def _numbers(described: dict[str, Any]) -> tuple[str, ...]:
    return () if described["kind"] == "vectors" else ("idf",)


def _features(one: dict[str, Any], numbers: dict[str, Any]) -> Features:
    if one["kind"] == "vectors":
        return Averages(Path(one["file"]), one["sha256"], one["size"], one["pair"])
    from sklearn.feature_extraction.text import TfidfVectorizer

    made = TfidfVectorizer(
        analyzer=ANALYZERS[one["kind"]], ngram_range=tuple(one["span"]), sublinear_tf=one["sublinear"],
        vocabulary=one["vocabulary"],
    )  # fmt: skip
    made.idf_ = numbers["idf"]
    return Grams(one["column"], made)
