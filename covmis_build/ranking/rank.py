"""Each claim's most similar posts: the first thousand by BM25 in the whole archive, re-ranked by a sentence model, fused.

Posts that BM25 misses among the first thousand are lost, and without a model, paraphrases get low ranks; every use of a
ranking reports this. On CheckThat 2020 with 10,000 unrelated posts, BM25 has 98% of the gold tweets among the first
thousand and 92% among the first 50; the fusion has 97% among the first 50 (benchmarks/RESULTS.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from covmis_build.engine import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from covmis_build.engine import Progress
    from covmis_build.ranking.vectors import Vectors

    Floats = NDArray[np.float64]

FIRST = 1000
"""Number of posts per claim that BM25 passes to the sentence model."""
FUSION = 60
"""Cormack et al. 2009: a post's fused score is the sum of 1/(60 + its rank) over the rankings."""
DIGITS = 6
"""Decimals to which scores are rounded for ranking, because the last bits differ between machines."""


class By(StrEnum):
    """The basis of a ranking."""

    BM25 = "bm25"
    BM25_AND_MODEL = "bm25+model"


class Asked(NamedTuple):
    """A claim with its posts from BM25: ids and scores, best first."""

    claim_id: str
    text: str
    found: Sequence[tuple[str, float]]


COLUMNS = ("claim_id", "post_id", "rank", "score", "bm25_rank", "bm25", "model_rank", "model")


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranked posts of each claim (COLUMNS); `model` and `version` identify the sentence model, if any."""

    posts: pd.DataFrame
    by: By
    model: str = ""
    version: str = ""

    @property
    def name(self) -> str:
        """Describe the basis of the ranking."""
        return f"BM25 and {self.model}" if self.model else "BM25"

    @property
    def warnings(self) -> list[str]:
        """Return what this ranking misses."""
        if self.by == By.BM25_AND_MODEL:
            return []
        told = (
            "ranked by words only, so posts with other words get low ranks: in a test the first "
            "50 posts had 92% of what there was, with a sentence model (--model FOLDER) 97%"
        )
        return [told]


def rank(
    claims: Iterable[Asked],
    vectors: Vectors | None = None,
    texts: Callable[[Sequence[str]], Mapping[str, str]] = lambda _: {},
    progress: Progress = silent,
) -> Ranking:
    """Rank BM25's posts for each claim; with `vectors` a sentence model re-ranks them, and both rankings are fused.

    `texts` returns the posts of some ids. The order is by (score descending, post id), whatever the input's order.
    """
    asked = list(claims)
    if vectors is None:
        parts = [_table(claim, _scores(claim), None) for claim in asked]
        return Ranking(_joined(parts), By.BM25)
    wanted = sorted({post_id for claim in asked for post_id, _ in claim.found})
    known = texts(wanted)
    vectors.prepare([*(claim.text for claim in asked), *known.values()], progress)
    parts = []
    for claim in asked:
        read = vectors.of([claim.text, *(known.get(post_id, "") for post_id, _ in claim.found)])
        parts.append(_table(claim, _scores(claim), read[1:] @ read[0]))
    return Ranking(_joined(parts), By.BM25_AND_MODEL, vectors.model.name, vectors.model.version)


def places(scores: Floats, ids: Sequence[str]) -> NDArray[np.int64]:
    """Return the rank (from 1) of each post: the highest rounded score first, ties by id.

    >>> places(np.array([0.1, 0.3, 0.30000000001]), ["a", "c", "b"]).tolist()
    [3, 2, 1]
    """
    order = sorted(range(len(ids)), key=lambda at: (-round(float(scores[at]), DIGITS), ids[at]))
    place = np.empty(len(ids), dtype=np.int64)
    place[order] = np.arange(1, len(ids) + 1)
    return place


def fused(*rankings: NDArray[np.int64]) -> Floats:
    """Reciprocal rank fusion: combine rankings by ranks, whatever their scores mean.

    >>> fused(np.array([1, 2]), np.array([2, 1])).round(4).tolist()
    [0.0325, 0.0325]
    """
    total: Floats = np.sum([1.0 / (FUSION + ranking) for ranking in rankings], axis=0)
    return total


def _scores(claim: Asked) -> Floats:
    return np.array([score for _, score in claim.found], dtype=np.float64)


def _table(claim: Asked, bm25: Floats, model: Floats | None) -> pd.DataFrame:
    ids = [post_id for post_id, _ in claim.found]
    by_words = places(bm25, ids)
    by_model = None if model is None else places(model, ids)
    score = bm25 if by_model is None else fused(by_words, by_model)
    missing = np.full(len(ids), np.nan)
    rows = {
        "claim_id": claim.claim_id,
        "post_id": ids,
        "rank": places(score, ids),
        "score": score.round(DIGITS),
        "bm25_rank": by_words,
        "bm25": bm25,
        "model_rank": missing if by_model is None else by_model.astype(float),
        "model": missing if model is None else np.asarray(model, dtype=float).round(DIGITS),
    }
    return pd.DataFrame(rows, columns=list(COLUMNS)).sort_values("rank", ignore_index=True)


def _joined(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    full = [part for part in parts if len(part)]
    return pd.concat(full, ignore_index=True) if full else pd.DataFrame(columns=list(COLUMNS))
