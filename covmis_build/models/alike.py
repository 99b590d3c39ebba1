"""BERTScore (equations 2-4 of COVMis-Stance): how alike are two texts, token by token; and the two-step model on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

THRESHOLD = 0.4
"""Below this, a post has nothing to do with the claim (COVMis-Stance, section 5)."""


def bertscore(
    pairs: Sequence[tuple[str, str]], tokenizer: Any, encoder: Any, *, batch: int = 32, tokens: int = 128
) -> NDArray[np.float64]:
    """Recall, precision and F of each pair (reference, candidate): a row each.

    Each token of one text is matched with the most similar one of the other (cosine of the last layer's vectors);
    marks that the tokenizer adds do not count. A text without tokens is like nothing: 0.
    """
    import torch

    found = np.zeros((len(pairs), 3))
    order = sorted(range(len(pairs)), key=lambda at: (len(pairs[at][0]) + len(pairs[at][1]), at))
    encoder.eval()
    with torch.inference_mode():
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            sides = [
                _vectors([pairs[at][side] for at in rows], tokenizer, encoder, tokens) for side in (0, 1)
            ]
            (reference, real), (candidate, there) = sides
            alike = reference @ candidate.transpose(1, 2)
            alike = alike.masked_fill(~(real.unsqueeze(2) & there.unsqueeze(1)), -2.0)
            recall = _mean(alike.max(dim=2).values, real)
            precision = _mean(alike.max(dim=1).values, there)
            empty = ~(real.any(dim=1) & there.any(dim=1))
            recall, precision = (one.masked_fill(empty, 0.0) for one in (recall, precision))
            total = recall + precision
            f = torch.where(total == 0, 0.0, 2 * recall * precision / total.masked_fill(total == 0, 1.0))
            found[rows] = torch.stack([recall, precision, f], dim=1).double().cpu().numpy()
    return found


def two_step(
    scores: Sequence[float], predicted: Sequence[str], *, neither: str, threshold: float = THRESHOLD
) -> list[str]:
    """The stance of posts that are about the claim; of all others, that they have none.

    >>> two_step([0.3, 0.5], ["favor", "favor"], neither="neither")
    ['neither', 'favor']
    """
    return [neither if one < threshold else label for one, label in zip(scores, predicted, strict=True)]


def _vectors(texts: list[str], tokenizer: Any, encoder: Any, tokens: int) -> tuple[Any, Any]:
    """Unit vectors of the tokens, and which of them are tokens of the text."""
    import torch

    made = tokenizer(
        texts,
        padding=True,
        truncation=True,
        max_length=tokens,
        return_tensors="pt",
        return_special_tokens_mask=True,
    ).to(encoder.device)
    added = made.pop("special_tokens_mask").bool()
    hidden = encoder(**made).last_hidden_state
    return torch.nn.functional.normalize(hidden, dim=2), made["attention_mask"].bool() & ~added


def _mean(values: Any, real: Any) -> Any:
    return (values * real).sum(dim=1) / real.sum(dim=1).clamp(min=1)
