"""Find each text's nearest text by Levenshtein distance, within a number of edits or a share of the text's length.

Two texts within k edits differ in at most k letters on each side. Letter counts therefore exclude nearly all pairs without
error, and only the remaining ones are measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from covmis_build.text.compiled import njit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

NEAR = 5
"""A near-duplicate has fewer than one in five characters changed: a normalised distance below 1/5."""
BINS = 64
"""Number of bins in which letters are counted, by hash."""
PAIRS = 4_000_000
"""Number of pairs processed at a time, which limits memory."""


@dataclass(frozen=True)
class Nearest:
    """Each text's nearest text and its distance; -1 and NaN if none is near enough."""

    edits: NDArray[np.float64]
    edits_to: Numbers
    share: NDArray[np.float64]
    """Distance divided by the length of the longer text; below 1 in 5."""
    share_to: Numbers


def nearest_texts(
    texts: Sequence[str],
    among: Sequence[str],
    edits: int,
    progress: Callable[[str, int, int], None] | None = None,
) -> Nearest:
    """Return each text's nearest one of `among`: within `edits`, and with less than one in five characters changed.

    The first of equally near ones is named.

    >>> nearest_texts(["abcd", "nothing like it"], ["xyz", "abce"], edits=3).edits.tolist()
    [1.0, nan]
    """
    size = len(texts)
    nearest = Nearest(np.full(size, np.nan), np.full(size, -1), np.full(size, np.nan), np.full(size, -1))
    if not size or not len(among):
        return nearest
    first = {text: at for at, text in reversed(list(enumerate(among)))}
    others = sorted(first, key=len)
    where = np.array([first[text] for text in others])
    rows: dict[str, list[int]] = {}
    for at, text in enumerate(texts):
        rows.setdefault(text, []).append(at)
    own = list(rows)
    lengths, counts = _lengths(own), _bags(own)
    other_lengths, other_counts = _lengths(others), _bags(others)
    # a text of at most this length can only be this many edits away
    allowed = np.maximum(edits, (other_lengths - 1) // NEAR)
    begin = np.searchsorted(other_lengths, lengths - np.maximum(edits, (lengths - 1) // NEAR))
    end = np.searchsorted(other_lengths - allowed, lengths, side="right")
    step = max(1, PAIRS // len(others))
    for at in range(0, len(own), step):
        if progress:
            progress("comparing texts", at, len(own))
        part = slice(at, at + step)
        left, right = alike(
            lengths[part], counts[part], other_lengths, other_counts, begin[part], end[part], edits
        )
        if len(left):
            _measure(nearest, own, others, rows, left + at, right, where, edits)
    return nearest


def _measure(
    nearest: Nearest,
    own: list[str],
    others: list[str],
    rows: dict[str, list[int]],
    left: Numbers,
    right: Numbers,
    where: Numbers,
    edits: int,
) -> None:
    """Measure these pairs, and write each text's minimum to the rows that have it."""
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cpdist

    texts = [own[at] for at in left.tolist()]
    to = [others[at] for at in right.tolist()]
    apart = cpdist(texts, to, scorer=Levenshtein.distance, dtype=np.int32, workers=-1)
    longer = np.maximum(np.maximum(_lengths(texts), _lengths(to)), 1)
    for distance, near, least, place in (
        (apart, apart <= edits, nearest.edits, nearest.edits_to),
        (apart / longer, apart * NEAR < longer, nearest.share, nearest.share_to),
    ):
        order = np.lexsort((where[right[near]], distance[near], left[near]))
        of, begins = np.unique(left[near][order], return_index=True)
        for text, at in zip(of.tolist(), order[begins].tolist(), strict=True):
            least[rows[own[text]]] = distance[near][at]
            place[rows[own[text]]] = where[right[near][at]]


def _lengths(texts: Sequence[str]) -> Numbers:
    return np.fromiter(map(len, texts), np.int64, len(texts))


def _bags(texts: Sequence[str]) -> NDArray[np.uint8]:
    letters = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    counts: NDArray[np.uint8] = letter_counts(letters, np.cumsum([0, *map(len, texts)]))
    return counts


@njit
def letter_counts(letters: NDArray[np.uint32], starts: Numbers) -> NDArray[np.uint8]:
    """Count each text's letters by bin, 255 at most."""
    counts = np.zeros((len(starts) - 1, BINS), np.uint8)
    for text in range(len(starts) - 1):
        for at in range(starts[text], starts[text + 1]):
            hashed = (np.uint64(letters[at]) * np.uint64(2654435761)) >> np.uint64(20)
            place = np.int64(hashed % np.uint64(BINS))
            if counts[text, place] < 255:
                counts[text, place] += 1
    return counts


@njit
def alike(
    lengths: Numbers,
    counts: NDArray[np.uint8],
    other_lengths: Numbers,
    other_counts: NDArray[np.uint8],
    begin: Numbers,
    end: Numbers,
    edits: int,
) -> tuple[Numbers, Numbers]:
    """Return the pairs that the letter counts do not exclude."""
    room = 0
    for text in range(len(lengths)):
        room += max(0, end[text] - begin[text])
    left, right = np.empty(room, np.int64), np.empty(room, np.int64)
    pairs = 0
    for text in range(len(lengths)):
        for at in range(begin[text], end[text]):
            apart = np.int16(0)
            for place in range(BINS):
                apart += np.int16(abs(np.int16(counts[text, place]) - np.int16(other_counts[at, place])))
            longer = max(lengths[text], other_lengths[at])
            # A substitution loses one letter and gains one; insertions only gain.
            least = (apart + abs(lengths[text] - other_lengths[at])) // 2
            if least <= max(edits, (longer - 1) // NEAR):
                left[pairs] = text
                right[pairs] = at
                pairs += 1
    return left[:pairs], right[:pairs]
