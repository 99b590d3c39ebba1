"""Near-identical texts: TF-IDF cosine above a threshold, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def near_duplicate_pairs(
    texts: Sequence[str], threshold: float = 0.8
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """All pairs i < j whose similarity, rounded to 12 decimals, is above the threshold."""
    from scipy.sparse import triu
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        weights = TfidfVectorizer().fit_transform(texts)
    except ValueError:  # no words at all
        none = np.empty(0, np.int64)
        return none, none, np.empty(0)
    product = triu(weights @ weights.T, k=1).tocoo()
    similarity = np.round(product.data, 12)
    keep = similarity > threshold
    order = np.lexsort((product.col[keep], product.row[keep]))
    return (
        product.row[keep][order].astype(np.int64),
        product.col[keep][order].astype(np.int64),
        similarity[keep][order],
    )


def near_duplicate_groups(texts: Sequence[str], threshold: float = 0.8) -> NDArray[np.int64]:
    """For each text the number of its group; groups are numbered by first appearance."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    i, j, _ = near_duplicate_pairs(texts, threshold)
    graph = coo_array((np.ones(len(i)), (i, j)), shape=(len(texts), len(texts)))
    _, labels = connected_components(graph, directed=False)
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse], np.int64)


def group_table(
    table: pa.Table, *, threshold: float, grouping: str, scope: str = ""
) -> tuple[pa.Table, pa.Table]:
    """The members and chains of `Engine.near_duplicates` for one table in memory."""
    from covmis_build import tables

    frame = table.to_pandas().sort_values([*([scope] if scope else []), "post_id"], ignore_index=True)
    parts = frame.groupby(scope, sort=True) if scope else [("", frame)]
    members: dict[str, list[Any]] = {
        name: [] for name in ([scope] if scope else []) + ["post_id", "group_id", "kept", "similarity"]
    }
    for value, part in parts:
        labels = near_duplicate_groups(list(part["text"]), threshold)
        i, j, similar = near_duplicate_pairs(list(part["text"]), threshold)
        known = {(a, b): s for a, b, s in zip(i, j, similar, strict=True)}
        ids, priority = list(part["post_id"]), list(part["priority"])
        groups: dict[int, list[int]] = {}
        for at, label in enumerate(labels):
            groups.setdefault(label, []).append(at)
        for at, label in enumerate(labels):
            group = groups[label]
            kept = min(group, key=lambda one: (priority[one], ids[one]))
            if scope:
                members[scope].append(value)
            members["post_id"].append(ids[at])
            members["group_id"].append(min(ids[one] for one in group))
            members["kept"].append(ids[kept])
            members["similarity"].append(
                1.0 if at == kept else known.get((min(at, kept), max(at, kept)), 0.0)
            )
    types = {"similarity": pa.float64()}
    made = pa.table(
        {name: pa.array(values, types.get(name, pa.string())) for name, values in members.items()}
    )
    return made, tables.SCHEMAS["chains"].empty_table()
