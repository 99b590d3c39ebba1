"""Texts as word numbers, with an index of the texts of each word.

Words are those of `tokens`. Whole columns are processed at once; words are compared by their letters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covmis_build.text.folding import ALONE, ENDS, MANY, NOTHING, POINTS, UNSURE, folding
from covmis_build.text.tokens import tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLANK = ord(" ")
WORDS = bytes(ord(chr(byte).lower()) if chr(byte).isalnum() else BLANK for byte in range(128)) + bytes(
    range(128, 256)
)
"""Mapping of a text's bytes: ASCII as in `tokens`; other letters are folded before."""


class Numbered(NamedTuple):
    """Texts as word numbers, from 1 in word order; a 0 ends each text.

    Text t is `tokens[start[t] : start[t + 1] - 1]`. The texts with word w are `texts[first[w - 1] : first[w]]`,
    ascending, once per occurrence.
    """

    words: pa.LargeStringArray
    tokens: NDArray[np.uint32]
    start: NDArray[np.int64]
    texts: NDArray[np.uint32]
    first: NDArray[np.int64]


class Numbering:
    """Numbers the words of texts that are added in blocks."""

    def __init__(self) -> None:
        self._letters = [np.empty(0, np.uint8)]
        self._sizes = [np.empty(0, np.int64)]
        self._counts = [np.empty(0, np.int64)]

    def add(self, texts: pa.StringArray) -> None:
        """Add these texts after the previous ones."""
        foreign = pc.invert(pc.string_is_ascii(texts))
        if pc.any(foreign).as_py():
            texts = pc.replace_with_mask(
                texts, foreign, pa.array(_folded(texts.filter(foreign).to_pylist()), pa.string())
            )
        _, offsets, letters = texts.buffers()
        offset = np.frombuffer(offsets, np.int32, len(texts) + 1, texts.offset * 4).astype(np.int64)
        data = memoryview(letters)[offset[0] : offset[-1]] if letters else b""
        offset -= offset[0]
        cut = np.frombuffer(bytes(data).translate(WORDS), np.uint8)
        inside = cut != BLANK
        begins, ends = inside.copy(), inside.copy()
        begins[1:] &= ~inside[:-1]
        ends[:-1] &= ~inside[1:]
        filled = offset[:-1] < offset[1:]
        first, last = offset[:-1][filled], offset[1:][filled] - 1
        begins[first], ends[last] = inside[first], inside[last]
        begin = np.flatnonzero(begins)
        self._letters.append(cut[inside])
        self._sizes.append(np.flatnonzero(ends) + 1 - begin)
        self._counts.append(np.diff(np.searchsorted(begin, offset)))

    def done(self) -> Numbered:
        """Return all texts, the start of each, the sorted words, and each word's texts."""
        letters, sizes, counts = (
            np.concatenate(self._letters),
            np.concatenate(self._sizes),
            np.concatenate(self._counts),
        )
        offset = np.concatenate([[0], np.cumsum(sizes)])
        buffers = [None, pa.py_buffer(offset), pa.py_buffer(letters)]
        coded = pa.Array.from_buffers(pa.large_binary(), len(sizes), buffers).dictionary_encode()
        order = np.asarray(pc.array_sort_indices(coded.dictionary))
        ranks = np.empty(len(order), np.uint32)
        ranks[order] = np.arange(1, len(order) + 1)
        numbers = ranks[np.asarray(coded.indices)]
        start = np.concatenate([[0], np.cumsum(counts + 1)])
        row_of = np.repeat(np.arange(len(counts), dtype=np.uint64), counts)
        numbered = np.zeros(start[-1], np.uint32)
        numbered[np.arange(len(numbers)) + row_of.astype(np.int64)] = numbers
        both = np.sort(numbers.astype(np.uint64) << np.uint64(32) | row_of)
        first = np.searchsorted(both, np.arange(1, len(order) + 2, dtype=np.uint64) << np.uint64(32))
        words = coded.dictionary.take(pa.array(order)).cast(pa.large_string())
        return Numbered(words, numbered, start, (both & np.uint64(0xFFFFFFFF)).astype(np.uint32), first)


SEPARATOR = -(1 << 30)


def _folded(texts: list[str]) -> list[str]:
    """Return the words of texts, separated by blanks."""
    joined = "\0".join(texts)
    if joined.count("\0") >= len(texts):
        joined = "\0".join(text.replace("\0", " ") for text in texts)
    codes = np.frombuffer(joined.encode("utf-32-le"), np.uint32)
    known = folding()
    letters = np.where(codes < POINTS, known.points[np.minimum(codes, POINTS - 1)], UNSURE)
    separators = np.flatnonzero(codes == 0)
    letters[separators] = SEPARATOR
    unsure = np.unique(np.searchsorted(separators, np.flatnonzero(letters == UNSURE)))
    letters = _spread(letters, (letters <= MANY) & (letters > SEPARATOR), known.several)
    letters = letters[(letters != NOTHING) & (letters != UNSURE)]
    if (letters >= ALONE).any():
        alone = letters >= ALONE
        at = np.flatnonzero(alone) + 2 * np.arange(alone.sum())
        letters = np.repeat(letters, np.where(alone, 3, 1))
        letters[at], letters[at + 1], letters[at + 2] = BLANK, letters[at + 1] - ALONE, BLANK
    letters[letters == ENDS] = BLANK
    letters[letters == SEPARATOR] = 0
    folded = letters.astype(np.uint32).tobytes().decode("utf-32-le").split("\0")
    for at in unsure.tolist():
        folded[at] = " ".join(tokens(texts[at]))
    return folded


def _spread(
    letters: NDArray[np.int32], many: NDArray[np.bool_], several: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Insert the several letters into which some letters fold."""
    at = np.flatnonzero(many)
    if not len(at):
        return letters
    begin = MANY - letters[at]
    ends = np.flatnonzero(several == NOTHING)
    sizes = ends[np.searchsorted(ends, begin)] - begin
    lengths = np.ones(len(letters), np.int64)
    lengths[at] = sizes
    inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    spread = np.repeat(letters, lengths)
    spread[np.repeat((np.cumsum(lengths) - lengths)[at], sizes) + inside] = several[
        np.repeat(begin, sizes) + inside
    ]
    return spread
