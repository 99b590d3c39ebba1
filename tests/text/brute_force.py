"""The definition itself, slow: scikit-learn's vectors, every product, in float64."""

from __future__ import annotations

import re

import numpy as np

from covmis_build.text.tokens import UNSPACED


def words(text):
    """scikit-learn's words; where a script has no spaces, its pairs of neighbouring characters."""
    for run in re.findall(r"\w+", text):
        for part in re.findall(f"[{UNSPACED}]+|[^{UNSPACED}]+", run):
            pairs = [part[at : at + 2] for at in range(len(part) - 1)]
            yield from pairs if re.match(f"[{UNSPACED}]", part) else [part] * (len(part) > 1)


def vectorizer():
    """scikit-learn's own, with these words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(tokenizer=lambda text: list(words(text)), token_pattern=None)


def all_pairs(texts, threshold):
    """{(i, j): similarity} of all pairs above the threshold."""
    from scipy.sparse import triu

    try:
        weights = vectorizer().fit_transform(texts)
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
