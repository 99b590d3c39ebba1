"""Transformer models of text pairs: Sentence-BERT and Cross-Encoder, by path or hub name. Needs the extra `models`.

Sentence-BERT embeds post and claim separately (mean over tokens) and classifies (u, v, |u - v|). The Cross-Encoder
reads both in one sequence and classifies its first token.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from covmis_build import keyed
from covmis_build.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Encoder:
    """The settings of COVMis-Stance, section 5; `kind` selects the architecture."""

    path: str
    """A folder with a transformer model, or a name on the hub."""
    kind: Literal["sentence-bert", "cross-encoder"] = "cross-encoder"
    claim_first: bool = False
    """Use the claim instead of the post as premise (Table 11)."""
    tokens: int = 128
    batch: int = 8
    epochs: int = 3
    learning_rate: float = 2e-5
    weight_decay: float = 0.01
    warm_up: float = 0.1
    """Share of all steps in which the learning rate rises linearly; afterwards it falls linearly to zero."""
    class_weights: bool = True
    """w_k = max(x)/x_k."""
    patience: int = 0
    """Stop after this many consecutive epochs without a smaller loss on the dev part, and keep the best; 0: never."""
    accumulate: int = 1
    """Number of batches whose gradients are added before a step."""
    precision: Literal["float32", "bf16", "fp16"] = "float32"
    """Number format in training; weights and predictions are float32."""
    lora: int = 0
    """Train low-rank adapters of this rank (peft's LoRA) instead of the encoder's own weights; 0: no."""
    seed: int = 1


@dataclass(frozen=True, slots=True)
class EncoderModel:
    """A model in memory with `predict` and `probabilities`, like a linear model."""

    options: Encoder
    labels: tuple[str, ...]
    tokenizer: Any
    encoder: Any
    head: Any

    def predict(self, frame: pd.DataFrame) -> list[str]:
        """Return the most probable label of each row."""
        return [self.labels[at] for at in self.probabilities(frame).argmax(axis=1)]

    def probabilities(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return one column per label. Texts are batched by length to reduce padding."""
        import torch

        pairs = texts_of(frame, self.options)
        order = sorted(range(len(pairs)), key=lambda at: (len(pairs[at][0]) + len(pairs[at][1]), at))
        probabilities = np.zeros((len(pairs), len(self.labels)))
        self.encoder.eval()
        with torch.inference_mode():
            for start in range(0, len(order), 32):
                rows = order[start : start + 32]
                scores = self.scores([pairs[at] for at in rows])
                probabilities[rows] = torch.softmax(scores.double(), dim=1).cpu().numpy()
        return probabilities

    def scores(self, pairs: Sequence[tuple[str, str]]) -> Any:
        """Return the head's output for pairs of texts, one row each."""
        sides = {name: side.to(self.encoder.device) for name, side in encoded(self, pairs).items()}
        return scored(self.options.kind, self.encoder, self.head, **sides)


def encoded(model: EncoderModel, pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Tokenise pairs of texts: in one sequence, or each side separately."""
    first, second = [text for text, _ in pairs], [text for _, text in pairs]
    how = {
        "padding": True,
        "truncation": True,
        "max_length": model.options.tokens,
        "return_tensors": "pt",
    }
    if model.options.kind == "cross-encoder":
        return {"first": model.tokenizer(first, second, **how)}
    return {"first": model.tokenizer(first, **how), "second": model.tokenizer(second, **how)}


def scored(kind: str, encoder: Any, head: Any, first: Any, second: Any = None) -> Any:
    """Return the head's output for tokenised pairs, one row each."""
    import torch

    if kind == "cross-encoder":
        return head(encoder(**first).last_hidden_state[:, 0])
    u, v = (pooled(encoder(**side).last_hidden_state, side["attention_mask"]) for side in (first, second))
    return head(torch.cat([u, v, (u - v).abs()], dim=1))


def pooled(hidden: Any, mask: Any) -> Any:
    """Return the mean of the token vectors without padding."""
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1e-9)


def texts_of(frame: pd.DataFrame, options: Encoder) -> list[tuple[str, str]]:
    """Return premise and hypothesis of each row."""
    for name in ("text", "target"):
        if name not in frame.columns:
            raise InputError(f"the table has no column {name}", remedy="It needs text and target (or claim)")
    posts, claims = (frame[name].fillna("").astype(str).tolist() for name in ("text", "target"))
    return list(zip(claims, posts, strict=True) if options.claim_first else zip(posts, claims, strict=True))


def fresh(options: Encoder, labels: Sequence[str]) -> EncoderModel:
    """Return a pretrained encoder with a new head."""
    tokenizer, encoder = as_pretrained(options.path, options.tokens, options.seed)
    size = encoder.config.hidden_size * (3 if options.kind == "sentence-bert" else 1)
    head = fresh_head(options.seed, size, len(labels)).to(encoder.device)
    return EncoderModel(options, tuple(labels), tokenizer, encoder, head)


def as_pretrained(path: str, tokens: int, seed: int = 1) -> tuple[Any, Any]:
    """Load a pretrained tokenizer and encoder, if they accept this many tokens."""
    extra().manual_seed(torch_seed(seed, "encoder"))  # for parts missing in the file, such as a pooler
    tokenizer, encoder = pretrained(path)
    longest = getattr(encoder.config, "max_position_embeddings", tokens)
    if tokens > longest:
        raise InputError(f"the model reads at most {longest} tokens, not {tokens}", file=path)
    return tokenizer, encoder


def fresh_head(seed: int, size: int, labels: int) -> Any:
    """Return an untrained head. Its initial weights depend only on the seed."""
    torch = extra()
    torch.manual_seed(torch_seed(seed, "head"))
    return torch.nn.Linear(size, labels)


def torch_seed(seed: int, *key: str) -> int:
    """Return a torch seed derived from `keyed`."""
    return int(keyed.uniform(seed, *key) * 2**53)


def pretrained(path: str, kind: str = "AutoModel") -> tuple[Any, Any]:
    """Load tokenizer and encoder (or what else `kind` makes), on the GPU if available. Code in the files is not run."""
    torch = extra()
    import transformers
    from transformers.utils import logging

    logging.disable_progress_bar()
    here = Path(path).is_dir()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            path, local_files_only=here, trust_remote_code=False
        )
        encoder = getattr(transformers, kind).from_pretrained(
            path, local_files_only=here, trust_remote_code=False, dtype=torch.float32
        )
    except (OSError, ValueError) as error:
        first = str(error).split("\n", maxsplit=1)[0]
        raise InputError(
            f"the transformer model cannot be read: {first}",
            file=path,
            remedy="Name its folder, or its name on the hub",
        ) from None
    return tokenizer, encoder.to("cuda" if torch.cuda.is_available() else "cpu")


def extra() -> Any:
    """Import torch if the extra `models` is installed."""
    try:
        import accelerate  # noqa: F401 - checks that it is installed
        import torch
        import transformers  # noqa: F401
    except ImportError:
        raise MissingExtra.of("models", "A transformer model") from None
    return torch
