"""Linear models on disk: numbers and words, loaded without running code.

The weights in a model's folder (`folder.py`) are one file of arrays. Equal trainings write equal bytes.
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
from covmis_build.models.folder import NAME, activate, read_description
from covmis_build.models.linear import Linear, Model, Regression

FORMAT = 2


def save(model: Model, folder: Path, card: dict[str, Any] | None = None) -> None:
    """Write a model. `card` describes its training data."""
    arrays: dict[str, Any] = {}
    parts = []
    for number, (target, part) in enumerate(model.parts.items()):
        described = []
        for at, features in enumerate(part.features):
            words, numbers = _described(features)
            described.append(words)
            arrays |= {f"{number}.{at}.{name}": values for name, values in numbers.items()}
        arrays |= {f"{number}.coefficients": part.coefficients, f"{number}.intercept": part.intercept}
        parts.append({"target": target, "features": described})
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)
    name = f"weights-{hashlib.sha256(packed.getvalue()).hexdigest()[:16]}.npz"
    whole = {
        "format": FORMAT,
        "weights": name,
        "options": asdict(model.options),
        "labels": model.labels,
        "parts": parts,
        "card": card or {},
    }
    storage.write_bytes(folder / name, packed.getvalue())
    activate(folder, whole)


def load(folder: Path) -> Model:
    """Load a model; its predictions are the same as before saving."""
    path = folder / NAME
    if not path.is_file():
        raise InputError("is no model", file=folder, remedy="Make one with `covmis model train`")
    try:
        whole = json.loads(path.read_text("utf-8"))
        if whole["format"] != FORMAT:
            raise InputError(f"has the format {whole['format']}", file=path, remedy="Train it again")
        with np.load(folder / Path(whole["weights"]).name, allow_pickle=False) as arrays:
            parts = {
                part["target"]: _part(number, part, arrays) for number, part in enumerate(whole["parts"])
            }
        return Model(_options(whole["options"]), tuple(whole["labels"]), parts)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"cannot be read as a model: {error}", file=path, remedy="Train it again") from None


def _options(saved: dict[str, Any]) -> Linear:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in saved.items()
    }
    return Linear(**values)


def card(folder: Path) -> dict[str, Any]:
    """Return the description of a model's training."""
    return dict(read_description(folder)["card"])


def _described(features: Features) -> tuple[dict[str, Any], dict[str, Any]]:
    """Describe features as words and numbers."""
    if isinstance(features, Grams):
        vectorizer = features.vectorizer
        kinds = {analyzer: kind for kind, analyzer in ANALYZERS.items()}
        words = {
            "column": features.column,
            "kind": kinds[vectorizer.analyzer],
            "span": list(vectorizer.ngram_range),
            "sublinear": vectorizer.sublinear_tf,
            "vocabulary": vectorizer.get_feature_names_out().tolist(),
        }
        return words, {"idf": vectorizer.idf_}
    assert isinstance(features, Averages)
    return {
        "kind": "vectors",
        "file": str(features.file),
        "sha256": features.sha256,
        "size": features.size,
        "pair": features.pair,
    }, {}


def _part(number: int, described: dict[str, Any], arrays: Any) -> Regression:
    features = [
        _features(words, {name: arrays[f"{number}.{at}.{name}"] for name in _numbers(words)})
        for at, words in enumerate(described["features"])
    ]
    return Regression(tuple(features), arrays[f"{number}.coefficients"], arrays[f"{number}.intercept"])


def _numbers(described: dict[str, Any]) -> tuple[str, ...]:
    return () if described["kind"] == "vectors" else ("idf",)


def _features(words: dict[str, Any], numbers: dict[str, Any]) -> Features:
    if words["kind"] == "vectors":
        return Averages(Path(words["file"]), words["sha256"], words["size"], words["pair"])
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(
        analyzer=ANALYZERS[words["kind"]],
        ngram_range=tuple(words["span"]),
        sublinear_tf=words["sublinear"],
        vocabulary=words["vocabulary"],
    )
    vectorizer.idf_ = numbers["idf"]
    return Grams(words["column"], vectorizer)
