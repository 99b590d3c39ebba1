"""Text features: n-grams weighted by TF-IDF, or averaged word vectors; of the post and its target."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from covmis_build import storage
from covmis_build.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import pandas as pd

TOKEN = re.compile(r"\w+")
ANALYZERS = {"words": "word", "characters": "char", "characters in words": "char_wb"}
"""Kinds of n-grams, with scikit-learn's names."""


class Features(Protocol):
    """A fitted conversion of a table to a matrix."""

    def matrix(self, frame: pd.DataFrame) -> Any:
        """Return one row per row of the table, sparse or dense."""

    def names(self) -> list[tuple[str, str]]:
        """Return (table column, feature) for each column of the matrix."""


@dataclass(frozen=True, slots=True)
class Grams:
    """TF-IDF of one column's n-grams."""

    column: str
    vectorizer: Any

    def matrix(self, frame: pd.DataFrame) -> Any:
        """Return TF-IDF weights as unit rows."""
        return self.vectorizer.transform(frame[self.column].tolist())

    def names(self) -> list[tuple[str, str]]:
        """Return the n-grams in the order of the matrix's columns."""
        return [(self.column, str(name)) for name in self.vectorizer.get_feature_names_out()]


@dataclass(frozen=True, slots=True)
class Averages:
    """Averaged word vectors: u of the post and, with a target, v of it and |u - v|.

    The vectors stay in their file, or model2vec's folder, so that words not seen in training count as well.
    """

    file: Path
    sha256: str
    size: int
    pair: bool

    def matrix(self, frame: pd.DataFrame) -> Any:
        """Return dense rows; a text without known words is zero."""
        columns = ["text", "target"] if self.pair else ["text"]
        if self.sha256 != content(self.file):
            raise InputError("is not what the model was trained with", file=self.file)
        if self.file.is_dir():
            static = _static_model(self.file)
            sides = [static.encode(frame[name].tolist(), use_multiprocessing=False) for name in columns]
            sides = [np.asarray(side, dtype=np.float64).reshape(-1, self.size) for side in sides]
        else:
            vectors = self._vectors(
                {word for name in columns for text in frame[name] for word in words(text)}
            )
            sides = [_average(frame[name], vectors, self.size) for name in columns]
        return np.hstack([*sides, np.abs(sides[0] - sides[1])]) if self.pair else sides[0]

    def _vectors(self, wanted: set[str]) -> dict[str, Any]:
        vectors, size = _read_vectors(self.file, wanted)
        if size != self.size:
            raise InputError(f"has vectors of {size} numbers, not {self.size}", file=self.file)
        return vectors

    def names(self) -> list[tuple[str, str]]:
        """Return the dimensions, which have no interpretation."""
        parts = ("text", "target", "difference") if self.pair else ("text",)
        return [(part, f"dimension {at + 1}") for part in parts for at in range(self.size)]


def _average(texts: Iterable[str], vectors: dict[str, Any], size: int) -> Any:
    rows = []
    for text in texts:
        known = [vectors[word] for word in words(text) if word in vectors]
        rows.append(np.mean(known, axis=0) if known else np.zeros(size))
    return np.array(rows).reshape(len(rows), size)


def averages(file: Path, *, pair: bool) -> Averages:
    """Return features from a file of word vectors, or from a model2vec folder."""
    if file.is_dir():
        return Averages(file, content(file), int(_static_model(file).dim), pair)
    if not file.is_file():
        raise InputError(
            "is not there",
            file=file,
            remedy="Name a file of word vectors in GloVe's format, or model2vec's folder",
        )
    _, size = _read_vectors(file, ())
    return Averages(file, content(file), size, pair)


def _static_model(folder: Path) -> Any:
    """Load a model2vec model: averaged vectors per token, without torch."""
    try:
        from model2vec import StaticModel
    except ImportError:
        raise MissingExtra.of("model2vec", "A folder of static embeddings") from None
    try:
        return StaticModel.from_pretrained(str(folder))
    except Exception as error:  # noqa: BLE001 - tokenizers raises no other
        first = str(error).split("\n", maxsplit=1)[0]
        raise InputError(f"cannot be read as a model of model2vec: {first}", file=folder) from None


def content(path: Path) -> str:
    """Return the SHA-256 of a file, or of the files of a model2vec folder."""
    if path.is_dir():
        files = [path / name for name in ("config.json", "model.safetensors", "tokenizer.json")]
        told = "".join(content(file) if file.is_file() else "-" for file in files)
        return hashlib.sha256(told.encode()).hexdigest()
    if not path.is_file():  # a model from someone else may name a device file that never ends
        raise InputError("is no file of word vectors", file=path)
    return storage.sha256_of(path)


def fit_grams(
    texts: Sequence[str],
    column: str,
    kind: str,
    span: tuple[int, int],
    min_df: int,
    max_features: int,
    sublinear: bool,
) -> Grams:
    """Return the n-grams that occur in at least `min_df` of these texts; with a maximum, the most frequent ones."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(
        analyzer=ANALYZERS[kind],
        ngram_range=span,
        min_df=min_df,
        max_features=max_features or None,
        sublinear_tf=sublinear,
    )
    try:
        vectorizer.fit(texts)
    except ValueError:
        raise InputError(
            f"the column {column} has no {kind} that are in {min_df} texts", remedy="Lower min_df"
        ) from None
    return Grams(column, vectorizer)


def words(text: str) -> list[str]:
    """Return a text's words for word vectors: lower-case runs of letters and digits.

    >>> words("It's a HOAX!")
    ['it', 's', 'a', 'hoax']
    """
    return TOKEN.findall(text.lower())


def _read_vectors(path: Path, wanted: Iterable[str]) -> tuple[dict[str, Any], int]:
    """Read these words' vectors from a file in GloVe's format (or word2vec's text format with its first line)."""
    needed, vectors, size = set(wanted), {}, 0
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                word, *values = line.rstrip("\n").split(" ")
                values = [value for value in values if value]
                if number == 1 and len(values) == 1:
                    continue
                size = size or len(values)
                if len(values) != size:
                    raise InputError(
                        f"has {len(values)} numbers where {size} are expected", file=path, row=number
                    )
                if word in needed:
                    vectors[word] = np.array([float(value) for value in values])
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    except ValueError:
        raise InputError("has something that is no number", file=path, row=number) from None
    if not size:
        raise InputError("has no vectors", file=path, remedy="Each line is a word and its numbers")
    return vectors, size
