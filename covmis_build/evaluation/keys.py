"""Values that posts can have in common besides words: claim, author, thread, URL, event, day."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build import keyed
from covmis_build.errors import InputError, UnknownName, nearest
from covmis_build.evaluation.times import days
from covmis_build.files.columns import KEYS, column_of
from covmis_build.text.near_duplicates import near_duplicate_groups
from covmis_build.text.urls import addresses, canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.evaluation.leakage import Pairs

    Values = Sequence[Sequence[str]]
    """The values of each item: none, one, or several addresses."""
    Numbers = NDArray[np.int64]


DAY = "day"
"""The key that is computed from the item's time: the day (UTC)."""


def keys_of(
    frame: pd.DataFrame, columns: Iterable[str], *, time: str = "", id_column: str = ""
) -> dict[str, Values]:
    """Return the values of each of these columns; `day` is computed unless a column has this name."""
    keys: dict[str, Values] = {}
    for name in columns:
        if name in frame.columns:
            keys[name] = values_of(frame[name])
        elif name == DAY:
            keys[name] = [(day,) for day in days(frame, time, id_column)]
        else:
            near = nearest(name, map(str, frame.columns))
            raise UnknownName(f"there is no column '{name}'", remedy=near)
    return keys


def known_keys(header: Sequence[str]) -> list[str]:
    """Return the columns named like a claim, an author, a thread, a URL or an event.

    >>> known_keys(["text", "claim_id", "Author", "label"])
    ['claim_id', 'Author']
    """
    return list(dict.fromkeys(filter(None, (column_of(header, names) for names in KEYS.values()))))


def words_of(cells: Iterable[Any]) -> list[str]:
    """Return the texts of these cells; an empty cell is an empty text."""
    return ["" if cell is None or cell != cell else str(cell) for cell in cells]  # noqa: PLR0124 - NaN


def check_texts(words: Sequence[str]) -> None:
    """Refuse texts that are all empty, as in a release of ids only: a check of them would find nothing."""
    if words and not any(text.strip() for text in words):
        raise InputError(f"all {len(words):,} texts are empty", remedy="Fetch them with `covmis hydrate`")


def values_of(cells: Iterable[Any]) -> list[tuple[str, ...]]:
    """Return the values of each cell. URLs are compared by the page that they lead to; an empty cell has no value.

    >>> values_of(["anna", "", "https://m.example.org/a?utm_source=x https://example.org/b"])
    [('anna',), (), ('example.org/a', 'example.org/b')]
    """
    return [_values(cell) for cell in cells]


def _values(cell: Any) -> tuple[str, ...]:
    if isinstance(cell, str) and cell.startswith("["):
        with suppress(ValueError):
            cell = json.loads(cell)
    if not isinstance(cell, str) and hasattr(cell, "__iter__"):
        return tuple(dict.fromkeys(value for part in cell for value in _values(part)))
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN
        return ()
    text = str(cell).strip()
    if "://" in text:
        pages = (canonical_url(address) for address in addresses(text.replace("|", " ")))
        # a URL without canonical form, such as a t.co link, is compared literally
        return tuple(dict.fromkeys(filter(None, pages))) or (text,)
    return (text,) if text else ()


def near_copies(texts: Sequence[str], similarity: float) -> Values:
    """Return each item's near-duplicate cluster as a key."""
    return [(str(group),) for group in near_duplicate_groups(texts, similarity).tolist()]


def near_copies_of(pairs: Pairs, size: int) -> Values:
    """The same for known near-duplicate pairs."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    first, second, cosine = pairs
    graph = coo_matrix((cosine, (first, second)), shape=(size, size))
    return [(str(group),) for group in connected_components(graph, directed=False)[1].tolist()]


def kept_together(keys: Sequence[Values], size: int) -> Numbers:
    """Return a group number per item. Items that share a value, directly or through others, are in one group.

    Each key (claim, author, near-copies, …) has the values of every item: none, one, or several.

    >>> claims = [("a",), ("b",), ("b",), ()]
    >>> kept_together([claims, near_copies(["wash your hands", "stay at home", "mask", "mask"], 0.8)], 4).tolist()
    [0, 1, 1, 1]
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    # every item and every value of a key is a node
    nodes: dict[tuple[int, str], int] = {}
    joined = [
        (item, nodes.setdefault((key, value), size + len(nodes)))
        for key, values in enumerate(keys)
        for item, several in enumerate(values)
        for value in several
    ]
    rows, columns = np.array(joined, dtype=np.int64).reshape(-1, 2).T
    nodes_in_all = size + len(nodes)
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(nodes_in_all, nodes_in_all))
    _, component = connected_components(graph, directed=False)
    first = {number: at for at, number in enumerate(dict.fromkeys(component[:size].tolist()))}
    return np.array([first[number] for number in component[:size].tolist()], dtype=np.int64)


def divide_groups(
    groups: Numbers, ids: Sequence[str], labels: Sequence[str], shares: Sequence[float], seed: int
) -> Numbers:
    """Assign whole groups to parts so that sizes and label shares are as close to `shares` as possible.

    Large groups come first, in keyed order among those of similar size. Each goes to the part with the smallest increase
    of chi-squared over labels and size. The order of rows does not matter.
    """
    size = len(ids)
    if not size:
        return np.zeros(0, dtype=np.int64)
    names = sorted(set(labels))
    code = {name: at for at, name in enumerate(names)}
    counts = np.zeros((int(groups.max()) + 1, len(names) + 1))
    for group, label in zip(groups, labels, strict=True):
        counts[group, code[label]] += 1
        counts[group, -1] += 1
    first_id: dict[int, str] = {}
    for group, item in zip(groups.tolist(), ids, strict=True):
        first_id[group] = min(item, first_id.get(group, item))
    order = sorted(
        first_id,
        key=lambda group: (
            -int(counts[group, -1]).bit_length(),
            keyed.uniform(seed, "split of groups", first_id[group]),
        ),
    )
    wanted = np.outer(shares, counts.sum(0))
    open_parts = np.flatnonzero(np.asarray(shares, dtype=float) > 0)
    held = np.zeros_like(wanted)
    part_of = np.zeros(len(counts), dtype=np.int64)
    for group in order:
        over = held[open_parts] - wanted[open_parts]
        rise = (2 * over * counts[group] + counts[group] ** 2) / np.maximum(wanted[open_parts], 1e-9)
        rise[:, counts[group] == 0] = 0.0
        best = open_parts[int(rise.sum(1).round(9).argmin())]
        held[best] += counts[group]
        part_of[group] = best
    return part_of[groups]
