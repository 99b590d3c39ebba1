"""Levenshtein distance, exactly: how many characters must be inserted, deleted or replaced.

Bit-parallel (Myers 1999, in blocks of 64 after Hyyrö 2003): a column of 64 cells costs one step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from covmis_build.text.compiled import njit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.int32]

FARTHEST = 2**63 - 1
ONE, ALL = np.uint64(1), np.uint64(0xFFFFFFFFFFFFFFFF)
HIGH = np.uint64(1 << 63)


def distance(first: str, second: str) -> int:
    """The Levenshtein distance of two texts, in characters (code points).

    >>> distance("kitten", "sitting"), distance("", "abc")
    (3, 3)
    """
    absolute, _, _, _ = nearest([first], [second])
    return int(absolute[0])


def nearest(
    texts: Sequence[str], among: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """For each text the smallest distance to any of `among`, and where; then the same for the normalised distance.

    Normalised: divided by the length of the longer text (two empty texts are at 0). Ties go to the first.

    >>> nearest(["abcd"], ["xyz", "abce"])[:2]
    (array([1]), array([1]))
    """
    alphabet = {
        letter: code for code, letter in enumerate(sorted({c for text in (*texts, *among) for c in text}))
    }
    left, left_ends = _flat(texts, alphabet)
    right, right_ends = _flat(among, alphabet)
    nearest_of_texts: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]] = (
        _nearest(left, left_ends, right, right_ends, max(1, len(alphabet)))
    )
    return nearest_of_texts


def _flat(texts: Sequence[str], alphabet: dict[str, int]) -> tuple[Codes, NDArray[np.int64]]:
    ends = np.cumsum([0, *(len(text) for text in texts)])
    return np.array([alphabet[c] for text in texts for c in text], dtype=np.int32), ends


@njit
def _nearest(left, left_ends, right, right_ends, letters):  # type: ignore[no-untyped-def] # pragma: no cover  # noqa: ANN001, ANN202
    count = len(left_ends) - 1
    absolute, where = np.empty(count, np.int64), np.empty(count, np.int64)
    relative, relative_where = np.empty(count, np.float64), np.empty(count, np.int64)
    longest = 1
    for i in range(count):
        absolute[i], where[i], relative[i], relative_where[i] = FARTHEST, -1, math.inf, -1
        longest = max(longest, left_ends[i + 1] - left_ends[i])
    words = (longest + 63) // 64
    masks = np.zeros((letters, words), np.uint64)
    plus, minus = np.empty(words, np.uint64), np.empty(words, np.uint64)
    for i in range(count):
        begin = left_ends[i]
        size = left_ends[i + 1] - begin
        used = (size + 63) // 64
        for at in range(size):
            masks[left[begin + at], at // 64] |= ONE << np.uint64(at % 64)
        for j in range(len(right_ends) - 1):
            length = right_ends[j + 1] - right_ends[j]
            longer = max(size, length)
            apart = abs(size - length)  # no distance can be smaller
            if apart >= absolute[i] and (longer == 0 or apart / longer >= relative[i]):
                continue
            score = length
            if size:
                score = _distance(masks, size, used, right, right_ends[j], right_ends[j + 1], plus, minus)
            share = score / longer if longer else 0.0
            if score < absolute[i]:
                absolute[i], where[i] = score, j
            if share < relative[i]:
                relative[i], relative_where[i] = share, j
        for at in range(size):
            masks[left[begin + at], at // 64] = np.uint64(0)
    return absolute, where, relative, relative_where


@njit(helper=True)
def _distance(masks, size, used, text, begin, end, plus, minus):  # type: ignore[no-untyped-def] # pragma: no cover  # noqa: ANN001, ANN202
    for block in range(used):
        plus[block], minus[block] = ALL, np.uint64(0)
    last = ONE << np.uint64((size - 1) % 64)
    score = size
    for place in range(begin, end):
        letter = text[place]
        carry = 1  # the first row of the table rises by one with each letter
        for block in range(used):
            rises, falls, equal = plus[block], minus[block], masks[letter, block]
            negative = ONE if carry < 0 else np.uint64(0)
            vertical = equal | falls
            equal |= negative
            across = (((equal & rises) + rises) ^ rises) | equal
            up = falls | ~(across | rises)
            down = rises & across
            top = last if block == used - 1 else HIGH
            leaving = 1 if up & top else (-1 if down & top else 0)
            up = (up << ONE) | (ONE if carry > 0 else np.uint64(0))
            down = (down << ONE) | negative
            plus[block] = down | ~(vertical | up)
            minus[block] = up & vertical
            carry = leaving
        score += carry
    return score
