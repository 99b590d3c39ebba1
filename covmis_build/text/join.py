"""The exact join: all pairs of bags of words whose TF-IDF cosine is above a threshold, or the groups they connect.

Why no pair is lost. Let every row be ordered from its rarest term to its commonest, let `norm` be the length of
what stands from a place on, and `rest` the length of what stands after it, all for vectors of length 1.

1. The first term that two rows share splits both: everything they share stands from there on, so by
   Cauchy-Schwarz their cosine is at most norm_a * norm_b. Both factors are at most 1; if the cosine is above t, both
   are above t. So it is enough to list a row under its terms as long as norm > t (its prefix), and to compare the
   rows of one list. Terms of a single row are in no list, but count in the row's length.
2. Within a list, rows are sorted by norm: for a row, the others are visited until norm_a * norm_b <= t.
3. The shared term itself is known: weight_a * weight_b + rest_a * rest_b <= t excludes the pair.
4. A sketch holds, for each of 32 classes of terms, the row's length within that class, as a whole number of 1/255
   rounded up: the sum of products over the classes is again at least the cosine (Cauchy-Schwarz in every class).
5. A pair that shares an earlier term of both prefixes has been judged in that term's list and is passed over.
6. What is left is decided by its cosine, in float64, rounded to 12 decimals.

For groups, a pair that is already connected need not be judged; and once most of a list is one group, its members
are compared with the others only.

Bounds are kept in float32. They are products and sums of at most four positive numbers of at most 1, each off by a
factor of at most 1 + 2**-24, with as many roundings: an error below 1e-6, the MARGIN by which every bound is looser.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from covmis_build.text.compiled import njit
from covmis_build.text.weights import CLASSES, cosine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from covmis_build.text.weights import Weighed

MARGIN = 1e-6
FEW = 20_000
"""With fewer rows a second thread costs more time than it saves."""

Pairs = tuple["NDArray[np.int32]", "NDArray[np.int32]", "NDArray[np.float64]"]


class Lists(NamedTuple):
    """Which rows are listed under each term."""

    rows: NDArray[np.int64]
    """The compared rows; other fields refer to them by position."""
    begin: NDArray[np.int64]
    """First entry of each list, and the end of the last one."""
    whose: NDArray[np.int32]
    place: NDArray[np.int32]
    """The list's term, by its position in the row."""
    weight: NDArray[np.float32]
    rest: NDArray[np.float32]


def connected(weighed: Weighed, rows: NDArray[np.int64], threshold: float) -> NDArray[np.int64]:
    """Return for each of these rows the smallest connected row (as position in `rows`)."""
    return connected_in(index(weighed, rows, threshold), weighed, threshold)


def connected_in(lists: Lists, weighed: Weighed, threshold: float) -> NDArray[np.int64]:
    """The same from these lists."""
    steps = 2 if len(lists.rows) >= FEW else 1
    parents = [np.arange(len(lists.rows)) for _ in range(steps)]
    _scan_all(lists, weighed, threshold, parents, listing=False)
    return merged(parents)


def merged(parents: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return for each row the smallest one connected in any of these."""
    for parent in parents[1:]:
        _merge(parents[0], parent)
    _flatten(parents[0])
    return parents[0]


def pairs(weighed: Weighed, rows: NDArray[np.int64], threshold: float) -> Pairs:
    """Return all pairs of these rows (as positions) above the threshold with their similarity, in no particular order."""
    return pairs_in(index(weighed, rows, threshold), weighed, threshold)


def pairs_in(lists: Lists, weighed: Weighed, threshold: float) -> Pairs:
    """The same from these lists."""
    none = np.empty(0, np.int64)
    parts_of_lists = _scan_all(
        lists, weighed, threshold, [none, none] if len(lists.rows) >= FEW else [none], listing=True
    )
    a, b, similarity = (np.concatenate(parts) for parts in zip(*parts_of_lists, strict=True))
    return a, b, similarity


def _scan_all(
    lists: Lists,
    weighed: Weighed,
    threshold: float,
    parents: list[NDArray[np.int64]],
    *,
    listing: bool,
) -> list[Pairs]:
    """Process every list once. Each thread has its own share of lists and its own union-find."""
    body = (weighed.start, weighed.rank, weighed.count, weighed.idf2, weighed.square, weighed.sketch)
    steps = len(parents)

    def scan(first: int) -> Pairs:
        a, b, similarity, kept = _scan(first, steps, *lists, *body, threshold, parents[first], listing)
        return a[:kept].copy(), b[:kept].copy(), similarity[:kept].copy()

    if steps == 1:
        return [scan(0)]
    with ThreadPoolExecutor(steps) as pool:
        return list(pool.map(scan, range(steps)))


def index(weighed: Weighed, rows: NDArray[np.int64], threshold: float) -> Lists:
    """Build the list of each rank: its rows, as far as their remaining norm can suffice."""
    body = weighed.start, weighed.rank, weighed.count, weighed.idf2, weighed.square
    return Lists(rows, *_index(rows, *body, threshold))


# Compiled: no Python objects, no interpreter lock.


@njit
def _index(rows: Any, start: Any, rank: Any, count: Any, idf2: Any, square: Any, threshold: Any) -> Any:
    """Find the prefixes in two passes: count each list, then fill it."""
    fill = np.zeros(len(idf2) + 1, np.int64)
    tail = np.empty(64, np.float64)
    for turn in range(2):
        if turn == 1:
            begin = np.zeros(len(idf2) + 1, np.int64)
            for k in range(len(idf2)):
                begin[k + 1] = begin[k] + fill[k]
            for k in range(len(fill)):
                fill[k] = begin[k]
            whose, place = np.empty(begin[-1], np.int32), np.empty(begin[-1], np.int32)
            weight, rest = np.empty(begin[-1], np.float32), np.empty(begin[-1], np.float32)
        for number in range(len(rows)):
            row = rows[number]
            size = start[row + 1] - start[row]
            if size >= len(tail):
                tail = np.empty(2 * size, np.float64)
            tail[size] = 0.0
            for k in range(size - 1, -1, -1):  # from the end, so that small numbers are added first
                at = start[row] + k
                tail[k] = tail[k + 1] + idf2[rank[at]] * count[at] * count[at]
            for k in range(size):
                if math.sqrt(tail[k] / square[row]) <= threshold - MARGIN:
                    break
                at = start[row] + k
                if turn == 1:
                    slot = fill[rank[at]]
                    whose[slot], place[slot] = number, k
                    weight[slot] = count[at] * math.sqrt(idf2[rank[at]] / square[row])
                    rest[slot] = math.sqrt(tail[k + 1] / square[row])
                fill[rank[at]] += 1
    return begin, whose, place, weight, rest


@njit(helper=True)
def find(parent: Any, row: Any) -> Any:
    """Return the smallest member of the group, with path halving."""
    while parent[row] != row:
        parent[row] = parent[parent[row]]
        row = parent[row]
    return row


@njit
def _scan(
    first: Any,
    steps: Any,
    rows: Any,
    begin: Any,
    whose: Any,
    place: Any,
    weight: Any,
    rest: Any,
    start: Any,
    rank: Any,
    count: Any,
    idf2: Any,
    square: Any,
    sketch: Any,
    threshold: Any,
    parent: Any,
    listing: Any,
) -> Any:
    """Evaluate the pairs of lists `first`, `first + steps`, …: connect them in `parent`, or return them."""
    bound = np.float32(threshold - MARGIN)
    least = np.int32((threshold - MARGIN) * 255 * 255)
    longest = 0
    for term in range(first, len(begin) - 1, steps):
        longest = max(longest, begin[term + 1] - begin[term])
    who, at, root = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    norm, own, after = (
        np.empty(longest, np.float32),
        np.empty(longest, np.float32),
        np.empty(longest, np.float32),
    )
    classes = np.empty((longest, CLASSES), np.uint8)
    order, others = np.empty(longest, np.int64), np.empty(longest, np.int64)
    a_out, b_out, out = np.empty(1024, np.int32), np.empty(1024, np.int32), np.empty(1024, np.float64)
    kept = 0
    for term in range(first, len(begin) - 1, steps):
        low, size = begin[term], begin[term + 1] - begin[term]
        if size < 2 or (not listing and _one_group(parent, whose, low, size)):
            continue
        _longest_first(weight, rest, low, size, norm, order)
        for k in range(size):
            entry = low + order[k]
            who[k], at[k], own[k], after[k] = whose[entry], place[entry], weight[entry], rest[entry]
            for c in range(CLASSES):
                classes[k, c] = sketch[rows[who[k]], c]
            if not listing:
                root[k] = find(parent, who[k])
        majority, n_others, check = -1, 0, 16
        for i in range(size - 1):
            if not listing and i == check:
                check *= 2
                majority = _majority(parent, root, size)
                n_others = 0
                for k in range(i, size):
                    if root[k] != majority:
                        others[n_others] = k
                        n_others += 1
                if n_others == 0:
                    break
            k, end = i + 1, size
            of_majority = majority >= 0 and find(parent, root[i]) == find(parent, majority)
            if of_majority:
                k, end = 0, n_others
            while k < end:
                j = others[k] if of_majority else k
                k += 1
                if j <= i:
                    continue
                if norm[i] * norm[j] <= bound:
                    break
                if own[i] * own[j] + after[i] * after[j] <= bound or (not listing and root[i] == root[j]):
                    continue
                overlap = np.int32(0)
                for c in range(CLASSES):
                    overlap += np.int32(classes[i, c]) * np.int32(classes[j, c])
                if overlap <= least:
                    continue
                if not listing:
                    root[i], root[j] = find(parent, who[i]), find(parent, who[j])
                    if root[i] == root[j]:
                        continue
                a, b = rows[who[i]], rows[who[j]]
                from_a, from_b = start[a] + at[i], start[b] + at[j]
                if _share(rank, start[a], from_a, start[b], from_b):
                    continue
                alike = cosine(
                    from_a, start[a + 1], from_b, start[b + 1], rank, count, idf2, square[a] * square[b]
                )
                if alike <= threshold:
                    continue
                if listing:
                    if kept == len(out):
                        a_out, b_out, out = _doubled(a_out), _doubled(b_out), _doubled(out)
                    a_out[kept], b_out[kept], out[kept] = who[i], who[j], alike
                    kept += 1
                else:
                    smaller = min(root[i], root[j])
                    parent[root[i]] = parent[root[j]] = smaller
                    root[i] = root[j] = smaller
    return a_out, b_out, out, kept


@njit(helper=True)
def _longest_first(weight: Any, rest: Any, low: Any, size: Any, norm: Any, order: Any) -> None:
    """Sort the entries of a list by norm, the largest first, with Shell's sort as in `weights`."""
    for k in range(size):
        entry = low + k
        norm[k] = math.sqrt(weight[entry] * weight[entry] + rest[entry] * rest[entry])
        order[k] = k
    step = 1
    while step < size // 64:
        step = 3 * step + 1
    while step > 0:
        for k in range(step, size):
            key, its, at = norm[k], order[k], k
            while at >= step and norm[at - step] < key:
                norm[at], order[at] = norm[at - step], order[at - step]
                at -= step
            norm[at], order[at] = key, its
        step //= 3


@njit(helper=True)
def _doubled(array: Any) -> Any:
    longer = np.empty(2 * len(array), array.dtype)
    for k in range(len(array)):
        longer[k] = array[k]
    return longer


@njit(helper=True)
def _share(rank: Any, a: Any, end_a: Any, b: Any, end_b: Any) -> Any:
    while a < end_a and b < end_b:
        if rank[a] == rank[b]:
            return True
        if rank[a] < rank[b]:
            a += 1
        else:
            b += 1
    return False


@njit(helper=True)
def _one_group(parent: Any, whose: Any, low: Any, size: Any) -> Any:
    group = find(parent, whose[low])
    for k in range(low + 1, low + size):
        if find(parent, whose[k]) != group:
            return False
    return True


@njit(helper=True)
def _majority(parent: Any, root: Any, size: Any) -> Any:
    """Return the group that contains more than half of the list, if any (Boyer and Moore), with updated roots."""
    votes, winner = 0, np.int64(-1)
    for k in range(size):
        root[k] = find(parent, root[k])
        if votes == 0:
            winner = root[k]
        votes += 1 if root[k] == winner else -1
    return winner


@njit
def _merge(parent: Any, more: Any) -> None:
    for row in range(len(parent)):
        a, b = find(parent, row), find(parent, find(more, row))
        parent[max(a, b)] = min(a, b)


@njit
def _flatten(parent: Any) -> None:
    for row in range(len(parent)):
        parent[row] = find(parent, row)
