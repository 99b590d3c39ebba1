"""Sentence vectors cached by content, so that no text is encoded twice and an interruption loses little."""

from __future__ import annotations

import hashlib
import sqlite3
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from covmis_build.engine import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from covmis_build.engine import Progress

BATCH = 128
"""Texts encoded at a time, of similar length; the cache is written after each batch."""


def letters(texts: Sequence[str]) -> list[int]:
    """Return the length of each text."""
    return [len(text) for text in texts]


class SentenceModel(NamedTuple):
    """A model that converts texts to unit vectors; `version` changes with its weights."""

    name: str
    version: str
    encode: Callable[[Sequence[str]], NDArray[np.float32]]
    sizes: Callable[[Sequence[str]], Sequence[int]] = letters
    """The length of each text for the model: its number of tokens, if any."""


class Vectors:
    """A sentence model with its cache file. Close it, or use it in a with statement."""

    def __init__(self, model: SentenceModel, folder: Path) -> None:
        self.model = model
        folder.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(folder / f"vectors-{model.version}.sqlite")
        self.connection.execute(
            "CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def prepare(self, texts: Sequence[str], progress: Progress = silent) -> None:
        """Encode the texts that have no vector yet."""
        new = {_key(text): text for text in texts}
        new = {key: text for key, text in new.items() if self._kept(key) is None}
        # group by number of tokens: grouping by characters made a third of each batch padding
        sizes = dict(zip(new, self.model.sizes(list(new.values())), strict=True))
        order = sorted(new, key=lambda key: (sizes[key], key))
        for start in range(0, len(order), BATCH):
            progress(f"reading posts with {self.model.name}", start, len(order))
            keys = order[start : start + BATCH]
            read = self.model.encode([new[key] for key in keys]).astype(np.float32)
            with self.connection:
                rows = [(key, vector.tobytes()) for key, vector in zip(keys, read, strict=True)]
                self.connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of these texts, one row each."""
        self.prepare(texts)
        return np.stack([np.frombuffer(self._kept(_key(text)) or b"", dtype=np.float32) for text in texts])

    def _kept(self, key: bytes) -> bytes | None:
        row = self.connection.execute("SELECT vector FROM vectors WHERE text = ?", (key,)).fetchone()
        return row[0] if row else None


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]
