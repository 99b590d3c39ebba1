"""Levenshtein distance: how many characters must be inserted, deleted or replaced."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

TOGETHER = 4_000_000
"""So many distances are computed at once, which bounds the memory."""


def nearest(
    texts: Sequence[str], among: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """For each text the smallest distance to any of `among`, and where; then the same for the normalised distance.

    Normalised: divided by the length of the longer text (two empty texts are at 0). Ties go to the first.

    >>> nearest(["abcd"], ["xyz", "abce"])[:2]
    (array([1]), array([1]))
    """
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    lengths = np.fromiter(map(len, among), np.int64, len(among))
    rows = max(1, TOGETHER // max(1, len(among)))
    absolute, where = np.empty(len(texts), np.int64), np.empty(len(texts), np.int64)
    relative, relative_where = np.empty(len(texts)), np.empty(len(texts), np.int64)
    for begin in range(0, len(texts), rows):
        here = slice(begin, begin + rows)
        block = texts[here]
        apart = cdist(block, among, scorer=Levenshtein.distance, dtype=np.int32, workers=-1)
        longer = np.maximum(np.maximum.outer([len(text) for text in block], lengths), 1)
        for values, least, place in ((apart, absolute, where), (apart / longer, relative, relative_where)):
            place[here] = values.argmin(axis=1)
            least[here] = values.min(axis=1)
    return absolute, where, relative, relative_where
