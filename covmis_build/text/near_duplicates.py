"""Near-duplicates: all pairs with a TF-IDF cosine above a threshold, and the clusters that they form. Exact.

The similarity of two texts is the cosine of scikit-learn's `TfidfVectorizer` with default settings, fitted on all given
texts and rounded to 12 decimals so that ties do not depend on the order of sums. `bags.py` defines words: whole ones of any
script, or scikit-learn's; in scripts without spaces pairs of characters. Texts with equal words have similarity 1. A text without words is similar to nothing, not even
its copy. `join.py` explains how this is fast without losing a pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from covmis_build.errors import InputError
from covmis_build.text import join
from covmis_build.text.bags import bags
from covmis_build.text.compiled import njit
from covmis_build.text.weights import cosine, weigh

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from covmis_build.options import WordRule
    from covmis_build.text.weights import Weighed

LARGEST = 20
"""Number of clusters in the report of chains."""

COMPARED = 1_000
"""In larger clusters the least similar pair is searched among this many distinct texts, smallest post ids first."""

MEMBERS = pa.schema(
    [("post_id", pa.string()), ("group_id", pa.string()), ("kept", pa.string()), ("similarity", pa.float64())]
)
CHAINS = pa.schema(
    [
        ("group", pa.string()),
        ("size", pa.int64()),
        ("weakest", pa.float64()),
        ("weakest_a", pa.string()),
        ("weakest_b", pa.string()),
    ]
)


def near_duplicate_groups(
    texts: Sequence[str] | pa.Array | pa.ChunkedArray, threshold: float = 0.8, words: WordRule = "unicode"
) -> NDArray[np.int64]:
    """Return each text's cluster number, by first appearance. Clusters are connected components of near-duplicates.

    `words="scikit-learn"` cuts words at vowel signs, as the paper does.

    >>> near_duplicate_groups(["wash your hands", "Wash your hands!", "stay at home", ""]).tolist()
    [0, 0, 1, 2]
    """
    check_threshold(threshold)
    counted = bags(_listed(texts), words)
    weighed = weigh(counted)
    parent = join.connected(weighed, np.arange(len(counted.copies)), threshold)
    numbers: NDArray[np.int64] = _number(counted.row, parent, weighed.square > 0)
    return numbers


def _listed(texts: Any) -> Any:
    """Return the texts one by one (a dict's values). Refuses a table or a single text."""
    if texts is None or isinstance(texts, str) or hasattr(texts, "columns"):
        raise InputError("these are no texts, one by one", remedy='Give a list, or a column: frame["text"]')
    return list(texts.values()) if isinstance(texts, Mapping) else texts


def near_duplicate_pairs(
    texts: Sequence[str] | pa.Array | pa.ChunkedArray, threshold: float = 0.8, words: WordRule = "unicode"
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return all near-duplicate pairs as (i, j, similarity), i < j, sorted by i and j.

    `words="scikit-learn"` cuts words at vowel signs, as the paper does.

    >>> i, j, similarity = near_duplicate_pairs(["wash your hands", "Wash your hands!", "stay at home"])
    >>> i.tolist(), j.tolist(), similarity.tolist()
    ([0], [1], [1.0])
    """
    check_threshold(threshold)
    counted = bags(_listed(texts), words)
    weighed = weigh(counted)
    a, b, similarity = join.pairs(weighed, np.arange(len(counted.copies)), threshold)
    members, start = _members(counted.row, len(counted.copies))
    i, j, value = _expand(members, start, weighed.square > 0, a, b, similarity)
    order = np.lexsort((j, i))
    return i[order], j[order], value[order]


def group_table(
    table: pa.Table, *, threshold: float, grouping: str, scope: str = "", words: WordRule = "unicode"
) -> tuple[pa.Table, pa.Table]:
    """Compute `Engine.near_duplicates` for one table in memory: members and chains, sorted by their keys."""
    check_threshold(threshold)
    table = table.sort_by([(name, "ascending") for name in (*([scope] if scope else []), "post_id")])
    ids = table.column("post_id").combine_chunks().dictionary_encode()
    post = ids.indices.to_numpy(zero_copy_only=False)
    _, first = np.unique(post, return_index=True)
    counted = bags(table.column("text").take(pa.array(first)), words)
    row = counted.row[post]
    weighed = weigh(counted)
    priority = table.column("priority").to_numpy()
    group, kept = np.arange(len(row)), np.arange(len(row))
    for low, high in _parts(table, scope):
        part = _Part(row[low:high], priority[low:high], weighed, threshold)
        label, star = part.greedy() if grouping == "greedy" else part.components()
        group[low:high], kept[low:high] = label + low, star + low
    similarity = similarities(row, row[kept], *parts_of(weighed))
    id_column = table.column("post_id")
    columns = {
        "post_id": id_column,
        "group_id": id_column.take(pa.array(group)),
        "kept": id_column.take(pa.array(kept)),
        "similarity": pa.array(similarity),
    }
    members = pa.table(columns).cast(MEMBERS)
    if scope:
        members = members.add_column(0, scope, table.column(scope))
    return members, _chains(group, row, id_column, weighed)


@dataclass(frozen=True)
class _Part:
    """Texts that are compared with each other: the row and priority of each, ordered by id."""

    row: NDArray[np.int64]
    priority: NDArray[np.float64]
    weighed: Weighed
    threshold: float

    def components(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each text's cluster (by its first text), and the cluster's text of lowest priority number."""
        rows, place = np.unique(self.row, return_inverse=True)
        parent = join.connected(self.weighed, rows, self.threshold)
        label = _number(place, parent, self.weighed.square[rows] > 0)
        return self._named(label)

    def greedy(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return greedy clusters: the lowest priority number takes all remaining near-duplicates, then the next one."""
        rows, place = np.unique(self.row, return_inverse=True)
        a, b, _ = join.pairs(self.weighed, rows, self.threshold)
        best = np.full(len(rows), len(place))
        np.minimum.at(best, place, self._rank())
        star = _stars(np.argsort(best), *_neighbours(a, b, len(rows)))
        label = _number(place, star, self.weighed.square[rows] > 0)
        return self._named(label)

    def _rank(self) -> NDArray[np.int64]:
        """Return each text's rank by priority; ties go to the smaller id."""
        rank = np.empty(len(self.row), np.int64)
        rank[np.argsort(self.priority, kind="stable")] = np.arange(len(self.row))
        return rank

    def _named(self, label: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        _, first = np.unique(label, return_index=True)
        lowest = np.full(len(first), len(label))
        np.minimum.at(lowest, label, self._rank())
        return first[label], np.argsort(self._rank())[lowest][label]


def _parts(table: pa.Table, scope: str) -> Iterator[tuple[int, int]]:
    """Return where each scope's rows begin and end."""
    if not scope:
        yield 0, len(table)
        return
    codes = table.column(scope).combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
    cuts = np.flatnonzero(np.diff(codes)) + 1
    yield from zip([0, *cuts.tolist()], [*cuts.tolist(), len(table)], strict=True)


def _chains(
    group: NDArray[np.int64], row: NDArray[np.int64], ids: pa.ChunkedArray, weighed: Weighed
) -> pa.Table:
    """Return the largest clusters of at least two texts, with each cluster's two least similar texts."""
    sizes = np.bincount(group, minlength=len(group))
    largest = np.argsort(-sizes, kind="stable")[:LARGEST]
    chains: list[dict[str, Any]] = []
    for root in largest[sizes[largest] > 1]:
        members = np.flatnonzero(group == root)
        _, first = np.unique(row[members], return_index=True)
        texts = members[np.sort(first)][:COMPARED]
        weakest, a, b = least_similar(row[texts], *parts_of(weighed))
        b_of = texts[b] if len(texts) > 1 else members[1]
        chains.append(
            {
                "group": ids[int(root)].as_py(),
                "size": int(sizes[root]),
                "weakest": weakest,
                "weakest_a": ids[int(texts[a])].as_py(),
                "weakest_b": ids[int(b_of)].as_py(),
            }
        )
    return pa.Table.from_pylist(chains, schema=CHAINS)


def parts_of(weighed: Weighed) -> tuple[NDArray[Any], ...]:
    """Return the arguments of the compiled functions below."""
    return weighed.start, weighed.rank, weighed.count, weighed.idf2, weighed.square


def check_threshold(threshold: float) -> None:
    """Refuse a threshold outside 0 <= threshold < 1."""
    if not 0 <= threshold < 1:
        raise InputError(f"the threshold must be at least 0 and below 1, not {threshold}")


# Compiled: no Python objects, no interpreter lock.


@njit
def _number(place: Any, parent: Any, has_words: Any) -> Any:
    """Number the clusters by first appearance; each text without words is a separate cluster."""
    number = np.empty(len(parent), np.int64)
    for row in range(len(parent)):
        number[row] = -1
    numbers, groups = np.empty(len(place), np.int64), 0
    for text in range(len(place)):
        row = place[text]
        root = parent[row]
        if not has_words[row] or number[root] < 0:
            number[root] = groups
            groups += 1
        numbers[text] = number[root]
    return numbers


@njit
def _members(row: Any, rows: Any) -> Any:
    """Return the texts of each row, in order: those of row r are `members[start[r]:start[r + 1]]`."""
    start, members = np.zeros(rows + 2, np.int64), np.empty(len(row), np.int64)
    for text in range(len(row)):
        start[row[text] + 2] += 1
    for k in range(rows):
        start[k + 2] += start[k + 1]
    for text in range(len(row)):  # `start[r + 1]` moves from the beginning of r to its end
        members[start[row[text] + 1]] = text
        start[row[text] + 1] += 1
    return members, start  # one element too long


@njit
def _expand(members: Any, start: Any, has_words: Any, a: Any, b: Any, similarity: Any) -> Any:
    """Return pairs of texts from pairs of rows, and from equal texts within a row."""
    rows, total = len(has_words), 0
    for row in range(rows):
        if has_words[row]:
            size = start[row + 1] - start[row]
            total += size * (size - 1) // 2
    for k in range(len(a)):
        total += (start[a[k] + 1] - start[a[k]]) * (start[b[k] + 1] - start[b[k]])
    i, j, value = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total, np.float64)
    at = 0
    for row in range(rows):
        if has_words[row]:
            for x in range(start[row], start[row + 1]):
                for y in range(x + 1, start[row + 1]):
                    i[at], j[at], value[at] = members[x], members[y], 1.0
                    at += 1
    for k in range(len(a)):
        for x in range(start[a[k]], start[a[k] + 1]):
            for y in range(start[b[k]], start[b[k] + 1]):
                i[at], j[at] = min(members[x], members[y]), max(members[x], members[y])
                value[at] = similarity[k]
                at += 1
    return i, j, value


@njit
def _neighbours(a: Any, b: Any, rows: Any) -> Any:
    """Return both directions of every pair: the neighbours of row r are `near[start[r]:start[r + 1]]`."""
    start, near = np.zeros(rows + 2, np.int64), np.empty(2 * len(a), np.int32)
    for k in range(len(a)):
        start[a[k] + 2] += 1
        start[b[k] + 2] += 1
    for k in range(rows):
        start[k + 2] += start[k + 1]
    for k in range(len(a)):  # as in `_members`
        near[start[a[k] + 1]], near[start[b[k] + 1]] = b[k], a[k]
        start[a[k] + 1] += 1
        start[b[k] + 1] += 1
    return start, near  # one element too long


@njit
def _stars(order: Any, start: Any, near: Any) -> Any:
    """Return for each row the row that takes it: in order, each free row takes all its free neighbours."""
    star = np.empty(len(order), np.int64)
    for row in range(len(order)):
        star[row] = -1
    for row in order:
        if star[row] < 0:
            star[row] = row
            for k in range(start[row], start[row + 1]):
                if star[near[k]] < 0:
                    star[near[k]] = row
    return star


@njit
def similarities(first: Any, second: Any, start: Any, rank: Any, count: Any, idf2: Any, square: Any) -> Any:
    """Return the similarity of each pair of rows; 1 for a row with itself."""
    similarity = np.empty(len(first), np.float64)
    for k in range(len(first)):
        a, b = first[k], second[k]
        similarity[k] = 1.0
        if a != b:
            similarity[k] = cosine(
                start[a], start[a + 1], start[b], start[b + 1], rank, count, idf2, square[a] * square[b]
            )
    return similarity


@njit
def least_similar(rows: Any, start: Any, rank: Any, count: Any, idf2: Any, square: Any) -> Any:
    """Return the lowest similarity among these rows, and the first pair with it; 1 for a single row."""
    weakest, first, second = 1.0, 0, 0
    for x in range(len(rows)):
        for y in range(x + 1, len(rows)):
            a, b = rows[x], rows[y]
            alike = cosine(
                start[a], start[a + 1], start[b], start[b + 1], rank, count, idf2, square[a] * square[b]
            )
            if alike < weakest or second == 0:
                weakest, first, second = alike, x, y
    return weakest, first, second
