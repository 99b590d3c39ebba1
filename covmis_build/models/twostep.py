"""BERTScore as a model, alone or before a Sentence-BERT (COVMis-Stance, section 5): relevance first, then stance.

First step: a post whose BERTScore with its claim is below the threshold is unrelated. Second step: a Sentence-BERT
trained on all rows predicts the others; without it they get the most frequent of the other labels.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build import storage
from covmis_build.engine import silent
from covmis_build.errors import InputError, nearest
from covmis_build.models.bertscore import THRESHOLD, bertscore
from covmis_build.models.checkpoints import add_numbers, load_encoder, save_encoder
from covmis_build.models.encoders import Encoder, EncoderModel, as_pretrained, texts_of
from covmis_build.models.folder import NAME, activate, read_description
from covmis_build.models.sequence import labels_of, train_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.engine import Progress
    from covmis_build.models.sequence import Step

    Floats = NDArray[np.float64]

FORMAT = 1


@dataclass(frozen=True, slots=True)
class BertScore:
    """The settings of the two steps."""

    path: str
    """The pretrained model whose token vectors are compared; it is not trained."""
    unrelated: str
    """The label of posts that are unrelated to the claim."""
    threshold: float = THRESHOLD
    tokens: int = 128
    marks: bool = False
    """Allow matches with [CLS] and [SEP], as in the package bert_score; this changes F by up to .036."""
    second: Encoder | None = None
    """The Sentence-BERT of the second step; none: BERTScore alone."""


@dataclass(frozen=True, slots=True)
class BertScoreModel:
    """A model in memory with `predict` and `probabilities`, like other models, and each row's `likeness`."""

    options: BertScore
    labels: tuple[str, ...]
    tokenizer: Any
    encoder: Any
    shares: tuple[float, ...]
    """Share of each label among related rows; used without a second step."""
    second: EncoderModel | None
    steps: tuple[dict[str, Any], ...] = ()
    """The course of the second step's training; not stored on disk."""

    def likeness(self, frame: pd.DataFrame) -> Floats:
        """Return BERTScore's F of each post with its claim."""
        pairs = texts_of(frame, Encoder(path=self.options.path, claim_first=True))
        return bertscore(
            pairs, self.tokenizer, self.encoder, tokens=self.options.tokens, marks=self.options.marks
        )[:, 2]

    def by_label(self, frame: pd.DataFrame) -> list[dict[str, Any]]:
        """Return for each label its rows, their mean BERTScore, and the number below the threshold."""
        scores, labels = self.likeness(frame), frame["label"].astype(str).to_numpy()
        return [
            {
                "label": label,
                "rows": len(own),
                "mean": round(float(own.mean()), 4),
                "below": int((own < self.options.threshold).sum()),
            }
            for label in self.labels
            if len(own := scores[labels == label])
        ]

    def predict(self, frame: pd.DataFrame) -> list[str]:
        """Return the most probable label of each row."""
        return [self.labels[at] for at in self.probabilities(frame).argmax(axis=1)]

    def probabilities(self, frame: pd.DataFrame, likeness: Floats | None = None) -> Floats:
        """Return one column per label: 1 for the unrelated label below the threshold, otherwise the second step's."""
        scores = self.likeness(frame) if likeness is None else likeness
        probabilities = np.zeros((len(frame), len(self.labels)))
        related = scores >= self.options.threshold
        probabilities[~related, self.labels.index(self.options.unrelated)] = 1.0
        if related.any():
            probabilities[related] = self.second.probabilities(frame[related]) if self.second else self.shares
        return probabilities


def train_bertscore(
    steps: Sequence[Step],
    options: BertScore,
    *,
    labels: Sequence[str],
    start: Path | None = None,
    folder: Path | None = None,
    progress: Progress = silent,
) -> BertScoreModel:
    """Train the second step like `train_steps`. BERTScore alone only counts the labels of the last dataset."""
    checked(options, labels)
    if not steps or labels_of(steps[-1], labels) != tuple(labels):
        raise InputError("the last dataset has none of the labels", remedy="Map its labels: --map OLD=NEW")
    texts_of(steps[-1].frame, Encoder(path=options.path))
    shares = () if options.second else _shares(steps[-1].frame, options, labels)
    tokenizer, encoder = as_pretrained(options.path, options.tokens)
    model = BertScoreModel(options, tuple(labels), tokenizer, encoder, shares, None)
    if options.second is None:
        return model
    trained = train_steps(steps, options.second, labels=labels, start=start, folder=folder, progress=progress)
    return replace(model, second=trained.model, steps=trained.steps)


def checked(options: BertScore, labels: Sequence[str]) -> None:
    """Check the settings against these labels."""
    if options.unrelated not in labels:
        raise InputError(
            f"the label of unrelated posts, '{options.unrelated}', is not in the label set",
            remedy=nearest(options.unrelated, labels),
        )
    if not 0 <= options.threshold <= 1:
        raise InputError(f"the threshold {options.threshold:g}", remedy="It is from 0 to 1")
    if options.second is not None and options.second.kind != "sentence-bert":
        raise InputError("the second step is a Sentence-BERT")


def save_bertscore(model: BertScoreModel, folder: Path, card: dict[str, Any] | None = None) -> None:
    """Write a model. A previous model in this folder stays usable until the new one is complete, then it is deleted."""
    summed = hashlib.sha256(json.dumps([asdict(model.options), model.labels, model.shares]).encode())
    for part in (model.encoder, *((model.second.encoder, model.second.head) if model.second else ())):
        add_numbers(summed, part)
    name = f"weights-{summed.hexdigest()[:16]}"
    with storage.filling(folder / name) as beside:
        model.encoder.save_pretrained(beside / "first")
        model.tokenizer.save_pretrained(beside / "first")
        if model.second:
            save_encoder(model.second, beside / "second")
    whole = {
        "format": FORMAT,
        "bertscore": True,
        "weights": name,
        "options": asdict(model.options),
        "labels": model.labels,
        "shares": model.shares,
        "card": card or {},
    }
    activate(folder, whole)


def load_bertscore(folder: Path) -> BertScoreModel:
    """Load a model; its predictions are the same as before saving."""
    try:
        whole = read_description(folder)
        given = dict(whole["options"])
        inner = given.pop("second")
        options = BertScore(**given, second=Encoder(**inner) if inner else None)
        labels, shares = tuple(map(str, whole["labels"])), tuple(map(float, whole["shares"]))
        checked(options, labels)
        right = whole["format"] == FORMAT and len(shares) == (0 if inner else len(labels))
        weights = folder / Path(whole["weights"]).name
    except (ValueError, KeyError, TypeError, InputError) as error:
        raise InputError(
            f"cannot be read as a model: {error}", file=folder, remedy="Train it again"
        ) from None
    if not right:
        raise InputError("is of another format", file=folder / NAME, remedy="Train it again")
    tokenizer, encoder = as_pretrained(str(weights / "first"), options.tokens)
    second = load_encoder(weights / "second") if inner else None
    return BertScoreModel(options, labels, tokenizer, encoder, shares, second)


def _shares(frame: pd.DataFrame, options: BertScore, labels: Sequence[str]) -> tuple[float, ...]:
    """Return the share of each label among rows related to their claim."""
    counts = Counter(frame["label"].astype(str))
    related = sum(counts[label] for label in labels if label != options.unrelated)
    if not related:
        raise InputError(f"all rows to learn from have the label '{options.unrelated}'")
    return tuple(0.0 if label == options.unrelated else counts[label] / related for label in labels)
