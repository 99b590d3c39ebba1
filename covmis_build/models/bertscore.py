"""BERTScore (equations 2-4 of COVMis-Stance): token-level similarity of two texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

THRESHOLD = 0.4
"""Posts below this score are unrelated to the claim (COVMis-Stance, section 5)."""


def bertscore(
    pairs: Sequence[tuple[str, str]],
    tokenizer: Any,
    encoder: Any,
    *,
    batch: int = 32,
    tokens: int = 128,
    marks: bool = False,
) -> NDArray[np.float64]:
    """Return recall, precision and F of each pair (reference, candidate), one row each.

    Each token of one text is matched with the most similar token of the other (cosine of the last layer's vectors).
    Special tokens ([CLS], [SEP]) are excluded. A text without tokens scores 0. With `marks` a token may be matched with a
    special token, as in the package bert_score, which excludes them only from the means. A threshold is valid for one of
    the two variants only.
    """
    import torch

    scores = np.zeros((len(pairs), 3))
    order = sorted(range(len(pairs)), key=lambda at: (len(pairs[at][0]) + len(pairs[at][1]), at))
    encoder.eval()
    with torch.inference_mode():
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            sides = [
                _vectors([pairs[at][side] for at in rows], tokenizer, encoder, tokens) for side in (0, 1)
            ]
            (reference, real, all_real), (candidate, there, all_there) = sides
            alike = reference @ candidate.transpose(1, 2)
            rows_may, columns_may = (all_real, all_there) if marks else (real, there)
            recall = _mean(alike.masked_fill(~columns_may.unsqueeze(1), -2.0).max(dim=2).values, real)
            precision = _mean(alike.masked_fill(~rows_may.unsqueeze(2), -2.0).max(dim=1).values, there)
            empty = ~(real.any(dim=1) & there.any(dim=1))
            recall, precision = (share.masked_fill(empty, 0.0) for share in (recall, precision))
            total = recall + precision
            f = torch.where(total == 0, 0.0, 2 * recall * precision / total.masked_fill(total == 0, 1.0))
            scores[rows] = torch.stack([recall, precision, f], dim=1).double().cpu().numpy()
    return scores


def _vectors(texts: list[str], tokenizer: Any, encoder: Any, tokens: int) -> tuple[Any, Any, Any]:
    """Return unit vectors of the tokens, a mask of the text's tokens, and a mask that includes special tokens."""
    import torch

    encoded = tokenizer(
        texts,
        padding=True,
        truncation=True,
        max_length=tokens,
        return_tensors="pt",
        return_special_tokens_mask=True,
    ).to(encoder.device)
    added = encoded.pop("special_tokens_mask").bool()
    hidden = encoder(**encoded).last_hidden_state
    real = encoded["attention_mask"].bool()
    return torch.nn.functional.normalize(hidden, dim=2), real & ~added, real


def _mean(values: Any, real: Any) -> Any:
    return (values * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)
