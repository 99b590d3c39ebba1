"""A natural language inference model, by path or hub name: whether the post entails or contradicts the claim.

Zero-shot: each of its three labels means one of ours. Few-shot: some rows per label train a logistic regression on its
three log-probabilities; the model itself is not trained. Needs the extra `models`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build import keyed, storage
from covmis_build.errors import InputError, nearest
from covmis_build.models.checkpoints import add_numbers
from covmis_build.models.encoders import Encoder, pretrained, texts_of
from covmis_build.models.folder import NAME, activate, read_description
from covmis_build.models.linear import logistic

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FORMAT = 1
CLASSES = ("entailment", "contradiction", "neutral")
"""The labels of an inference model, detected by the beginnings of their names."""


@dataclass(frozen=True, slots=True)
class Nli:
    """The settings. The post is the premise and the claim the hypothesis, unless `claim_first`."""

    path: str
    """A folder with an inference model, or a name on the hub."""
    entailment: str = "favor"
    """Our label for each of the model's labels; not needed for few-shot."""
    contradiction: str = "against"
    neutral: str = "neither"
    shots: int = 0
    """Number of training rows per label, sampled by the seed; 0: none."""
    claim_first: bool = False
    tokens: int = 128
    seed: int = 1

    @property
    def meanings(self) -> tuple[str, str, str]:
        """Our labels, in the order of `CLASSES`."""
        return self.entailment, self.contradiction, self.neutral


@dataclass(frozen=True, slots=True)
class NliModel:
    """A model in memory with `predict` and `probabilities`, like other models."""

    options: Nli
    labels: tuple[str, ...]
    tokenizer: Any
    model: Any
    coefficients: Floats
    """One row per label: coefficients of the log-probabilities of entailment, contradiction and neutral."""
    intercept: Floats

    def predict(self, frame: pd.DataFrame) -> list[str]:
        """Return the most probable label of each row."""
        return [self.labels[at] for at in self.probabilities(frame).argmax(axis=1)]

    def probabilities(self, frame: pd.DataFrame) -> Floats:
        """Return one column per label."""
        inferred = inference(frame, self.options, self.tokenizer, self.model)
        if not self.options.shots:
            means = np.array(
                [[label == meaning for meaning in self.options.meanings] for label in self.labels]
            )
            return np.asarray(np.exp(inferred) @ means.T.astype(np.float64))
        scores = inferred @ self.coefficients.T + self.intercept
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def train_nli(frame: pd.DataFrame, options: Nli, *, labels: Sequence[str]) -> NliModel:
    """Return the model unchanged, or trained on `shots` rows of each label of this table."""
    check(options, labels)
    tokenizer, model = _pretrained(options.path)
    if not options.shots:
        return NliModel(options, tuple(labels), tokenizer, model, np.zeros((0, 3)), np.zeros(0))
    rows = drawn(frame["label"].astype(str).tolist(), options)
    few = frame.iloc[rows]
    present = [label for label in labels if label in set(few["label"])]
    if len(present) < 2:
        raise InputError(
            "the rows to learn from have one label", remedy="Give rows of two, or set shots to 0"
        )
    coefficients, intercept = np.zeros((len(labels), 3)), np.full(len(labels), -np.inf)
    inside = [list(labels).index(label) for label in present]
    coefficients[inside], intercept[inside] = logistic(
        inference(few, options, tokenizer, model),
        few["label"].astype(str).tolist(),
        present,
        C=1.0,
        weights=None,
    )
    return NliModel(options, tuple(labels), tokenizer, model, coefficients, intercept)


def drawn(labels: Sequence[str], options: Nli) -> list[int]:
    """Return the training rows: `shots` of each label, or all if there are fewer.

    >>> [len(drawn(["a"] * 9 + ["b"], Nli("x", shots=4)))]
    [5]
    """
    left = dict.fromkeys(labels, options.shots)
    rows = []
    for row in map(int, keyed.order(options.seed, "shots", map(str, range(len(labels))))):
        if left[labels[row]]:
            left[labels[row]] -= 1
            rows.append(row)
    return sorted(rows)


def check(options: Nli, labels: Sequence[str]) -> None:
    """Check for zero-shot that the three meanings are labels."""
    for name, meaning in zip(CLASSES, options.meanings, strict=True):
        if not options.shots and meaning not in labels:
            raise InputError(
                f"{name} means '{meaning}', which is not in the label set",
                remedy=f"{nearest(meaning, labels)} Say what it means: --set {name}=LABEL",
            )


def inference(frame: pd.DataFrame, options: Nli, tokenizer: Any, model: Any) -> Floats:
    """Return the log-probabilities of entailment, contradiction and neutral, one row each."""
    import torch

    pairs = texts_of(frame, Encoder(path=options.path, claim_first=options.claim_first))
    order = sorted(range(len(pairs)), key=lambda at: (len(pairs[at][0]) + len(pairs[at][1]), at))
    columns = _columns(model, options.path)
    inferred = np.zeros((len(pairs), 3))
    model.eval()
    with torch.inference_mode():
        for start in range(0, len(order), 32):
            rows = order[start : start + 32]
            batch = tokenizer(
                [pairs[at][0] for at in rows],
                [pairs[at][1] for at in rows],
                padding=True,
                truncation=True,
                max_length=options.tokens,
                return_tensors="pt",
            ).to(model.device)
            scores = model(**batch).logits.double()[:, columns]
            inferred[rows] = torch.log_softmax(scores, dim=1).cpu().numpy()
    return inferred


def save_nli(model: NliModel, folder: Path, card: dict[str, Any] | None = None) -> None:
    """Write a model. A previous model in this folder stays usable until the new one is complete, then it is deleted."""
    numbers = {
        "coefficients": model.coefficients.tolist(),
        "intercept": [_number(x) for x in model.intercept],
    }
    summed = hashlib.sha256(json.dumps([asdict(model.options), model.labels, numbers]).encode())
    add_numbers(summed, model.model)
    name = f"weights-{summed.hexdigest()[:16]}"
    with storage.filling(folder / name) as beside:
        model.model.save_pretrained(beside)
        model.tokenizer.save_pretrained(beside)
    whole = {
        "format": FORMAT,
        "nli": True,
        "weights": name,
        "options": asdict(model.options),
        "labels": model.labels,
        **numbers,
        "card": card or {},
    }
    activate(folder, whole)


def load_nli(folder: Path) -> NliModel:
    """Load a model; its predictions are the same as before saving."""
    try:
        whole = read_description(folder)
        options, labels = Nli(**whole["options"]), tuple(map(str, whole["labels"]))
        check(options, labels)
        coefficients = np.array(whole["coefficients"], dtype=np.float64).reshape(-1, 3)
        intercept = np.array([-np.inf if x is None else float(x) for x in whole["intercept"]])
        right = whole["format"] == FORMAT and len(coefficients) == len(intercept) == len(labels) * bool(
            options.shots
        )
        weights = folder / Path(whole["weights"]).name
        right = right and weights.is_dir()  # a name without a folder would be looked up on the hub
    except (ValueError, KeyError, TypeError, InputError) as error:
        raise InputError(
            f"cannot be read as a model: {error}", file=folder, remedy="Train it again"
        ) from None
    if not right:
        raise InputError("is of another format", file=folder / NAME, remedy="Train it again")
    tokenizer, model = _pretrained(str(weights))
    return NliModel(options, labels, tokenizer, model, coefficients, intercept)


def _number(value: float) -> float | None:
    """Replace infinity, which JSON does not have."""
    return float(value) if np.isfinite(value) else None


def _pretrained(path: str) -> tuple[Any, Any]:
    tokenizer, model = pretrained(path, "AutoModelForSequenceClassification")
    _columns(model, path)
    return tokenizer, model


def _columns(model: Any, path: str) -> list[int]:
    """Return the positions of entailment, contradiction and neutral in the model's output."""
    names = {int(at): str(name).casefold() for at, name in model.config.id2label.items()}
    columns = [[at for at, name in names.items() if name.startswith(kind[:6])] for kind in CLASSES]
    if [len(found) for found in columns] != [1, 1, 1]:
        raise InputError(
            f"is no model of inference: its labels are {', '.join(names.values())}",
            file=path,
            remedy="Name one that says entailment, contradiction and neutral",
        )
    return [at for (at,) in columns]
