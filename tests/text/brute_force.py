"""The definition itself, slow: scikit-learn's vectors, every product, in float64."""

from __future__ import annotations

import numpy as np


def all_pairs(texts, threshold):
    """{(i, j): similarity} of all pairs above the threshold."""
    from scipy.sparse import triu
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        weights = TfidfVectorizer().fit_transform(texts)
    except ValueError:  # no words at all
        return {}
    product = triu(weights @ weights.T, k=1).tocoo()
    rounded = [round(value, 12) for value in product.data.tolist()]
    return {
        (i, j): value
        for i, j, value in zip(product.row.tolist(), product.col.tolist(), rounded, strict=True)
        if value > threshold
    }


def groups(n, pairs):
    """Components of these pairs, numbered by first appearance."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    i, j = np.array(sorted(pairs) or np.empty((0, 2)), int).T
    _, labels = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(n, n)), directed=False)
    seen = {}
    return [seen.setdefault(label, len(seen)) for label in labels.tolist()]
