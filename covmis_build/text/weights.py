"""Bags of words as TF-IDF vectors of length 1, and the cosine of two of them.

The cosine is summed in an order that depends only on the two bags: terms by document frequency, and those of equal
frequency (and therefore equal idf) are first added as integers. So the result has the same bits for any order of texts and
words, number of threads, or engine; and equal bags have cosine 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.text.compiled import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from covmis_build.text.bags import Bags

CLASSES = 32
"""Number of term classes in a row's sketch, which has the row's length in each class; see `join.py`."""


@dataclass(frozen=True)
class Weighed:
    """Rows ready for comparison: terms from rare to common (without those of a single row), and lengths.

    `idf2` is the squared idf of each rank; `square` the squared length of each row including all terms.
    """

    start: NDArray[np.int64]
    rank: NDArray[np.int32]
    count: NDArray[np.int32]
    idf2: NDArray[np.float64]
    square: NDArray[np.float64]
    sketch: NDArray[np.uint8]


def weigh(bags: Bags, texts: int | None = None) -> Weighed:
    """Sort and weight the words of all rows. idf is fitted on all texts, or on a larger number that includes them."""
    order = np.argsort(bags.documents, kind="stable")
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    idf2 = squared_idf(bags.documents[order], int(bags.copies.sum()) if texts is None else texts)
    shared = (bags.rows_with > 1)[order]
    weighed = Weighed(*_weigh(bags.start, bags.term, bags.count, rank, idf2, shared))
    kept = weighed.start[-1]
    return replace(weighed, rank=weighed.rank[:kept].copy(), count=weighed.count[:kept].copy())


# Compiled: no Python objects, no interpreter lock.


@njit
def squared_idf(documents: Any, texts: Any) -> Any:
    """Return the square of ln((1 + texts) / (1 + documents)) + 1, scikit-learn's smoothed idf."""
    squares = np.empty(len(documents), np.float64)
    for k in range(len(documents)):
        idf = math.log((1.0 + texts) / (1.0 + documents[k])) + 1.0
        squares[k] = idf * idf
    return squares


@njit
def _weigh(start: Any, term: Any, count: Any, rank: Any, idf2: Any, shared: Any) -> Any:
    rows = len(start) - 1
    begin, kept = np.zeros(rows + 1, np.int64), 0
    out_rank, out_count = np.empty(len(term), np.int32), np.empty(len(term), np.int32)
    square, sketch = np.empty(rows, np.float64), np.zeros((rows, CLASSES), np.uint8)
    keys = np.empty(64, np.int64)
    for row in range(rows):
        size = start[row + 1] - start[row]
        if size > len(keys):
            keys = np.empty(2 * size, np.int64)
        for k in range(size):
            at = start[row] + k
            keys[k] = np.int64(rank[term[at]]) << 32 | np.int64(count[at])
        _sort(keys, size)
        total, run, last = 0.0, 0, 0.0
        for k in range(size):
            place, times = keys[k] >> 32, keys[k] & 0xFFFFFFFF
            value = idf2[place]
            if value != last:
                total, run, last = total + run * last, 0, value
            run += times * times
            if shared[place]:
                out_rank[kept], out_count[kept] = place, times
                kept += 1
        square[row] = total + run * last
        begin[row + 1] = kept
        _sketch(sketch, row, begin, out_rank, out_count, idf2, square)
    return begin, out_rank, out_count, idf2, square, sketch


@njit
def sketches(start: Any, rank: Any, count: Any, idf2: Any, square: Any) -> Any:
    """Return the sketches of rows with known lengths."""
    sketch = np.zeros((len(square), CLASSES), np.uint8)
    for row in range(len(square)):
        _sketch(sketch, row, start, rank, count, idf2, square)
    return sketch


@njit(helper=True)
def _sketch(sketch: Any, row: Any, start: Any, rank: Any, count: Any, idf2: Any, square: Any) -> None:
    """Compute a row's length in each class of terms, as an integer number of 1/255, rounded up."""
    mass = np.zeros(CLASSES, np.float64)
    for k in range(start[row], start[row + 1]):
        mass[rank[k] % CLASSES] += float(count[k]) * count[k] * idf2[rank[k]]
    for k in range(CLASSES):
        if mass[k]:
            sketch[row, k] = min(255.0, math.sqrt(mass[k] / square[row]) * 255.0 + 1.0)


@njit(helper=True)
def _sort(keys: Any, size: Any) -> None:
    """Sort with Shell's method; few keys are inserted directly."""
    step = 1
    while step < size // 64:
        step = 3 * step + 1
    while step > 0:
        for k in range(step, size):
            key, at = keys[k], k
            while at >= step and keys[at - step] > key:
                keys[at] = keys[at - step]
                at -= step
            keys[at] = key
        step //= 3


@njit(helper=True)
def cosine(a: Any, end_a: Any, b: Any, end_b: Any, rank: Any, count: Any, idf2: Any, squares: Any) -> Any:
    """Return the similarity of two rows from these positions on, summed in the fixed order, rounded to 12 decimals."""
    total, run, last = 0.0, np.int64(0), 0.0
    while a < end_a and b < end_b:
        if rank[a] < rank[b]:
            a += 1
        elif rank[b] < rank[a]:
            b += 1
        else:
            value = idf2[rank[a]]
            if value != last:
                total, run, last = total + run * last, np.int64(0), value
            run += np.int64(count[a]) * np.int64(count[b])
            a += 1
            b += 1
    return np.rint((total + run * last) / math.sqrt(squares) * 1e12) / 1e12
