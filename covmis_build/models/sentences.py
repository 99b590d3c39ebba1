"""A pretrained sentence model: texts to unit vectors. Needs the extra `models`."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build.models.encoders import pooled, pretrained

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    Encode = Callable[[Sequence[str]], NDArray[np.float32]]
    Sizes = Callable[[Sequence[str]], list[int]]

TOKENS = 128
"""Maximum number of tokens of a text."""
AT_ONCE = 4096
"""Number of texts tokenised at a time."""


def sentence_model(path: str) -> tuple[str, str, Encode, Sizes]:
    """Return name, version (a hash of the weights) and encoding function of a model in a folder or on the hub.

    A function that counts the used tokens of each text is also returned.
    """
    import torch

    tokenizer, encoder = pretrained(path)
    encoder.eval()

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        with torch.inference_mode():
            batch = tokenizer(
                list(texts), padding=True, truncation=True, max_length=TOKENS, return_tensors="pt"
            ).to(encoder.device)
            vectors = pooled(encoder(**batch).last_hidden_state, batch["attention_mask"])
            read: NDArray[np.float32] = torch.nn.functional.normalize(vectors, dim=1).cpu().numpy()
            return read

    def sizes(texts: Sequence[str]) -> list[int]:
        counts: list[int] = []
        for start in range(0, len(texts), AT_ONCE):
            read = tokenizer(list(texts[start : start + AT_ONCE]), truncation=True, max_length=TOKENS)
            counts += map(len, read["input_ids"])
        return counts

    told = hashlib.sha256(str(TOKENS).encode())
    for name, weights in sorted(encoder.state_dict().items()):
        told.update(name.encode() + weights.detach().cpu().contiguous().numpy().tobytes())
    name = Path(path).resolve().name if Path(path).is_dir() else path
    return name, told.hexdigest()[:12], encode, sizes
