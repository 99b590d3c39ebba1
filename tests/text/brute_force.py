"""The definition itself, slow: scikit-learn's vectors, every product, in float64."""

from __future__ import annotations

import re
import unicodedata

import numpy as np

from covmis_build.text.tokens import DROPPED, UNSPACED


def is_ignored(letter):
    """Separate accents, joiners and selectors, but not the frames of keycaps."""
    return bool(DROPPED.match(letter)) and unicodedata.category(letter) != "Me"


def words(text, rule="unicode"):
    """Whole words, or scikit-learn's; where a script has no spaces, its pairs of neighbouring characters."""
    inside = r"\w"
    if rule == "unicode":
        text = "".join(letter for letter in text if not is_ignored(letter))
        inside = (
            "".join(
                {
                    letter
                    for letter in text
                    if letter < "\uffff" and unicodedata.category(letter) in {"Mn", "Mc"}
                }
            )
            + r"\w"
        )
    for run in re.findall(f"[{inside}]+", text):
        for part in re.findall(f"[{UNSPACED}]+|[^{UNSPACED}]+", run):
            pairs = [part[at : at + 2] for at in range(len(part) - 1)]
            yield from pairs if re.match(f"[{UNSPACED}]", part) else [part] * (len(part) > 1)


def vectorizer(rule="unicode"):
    """scikit-learn's own, with these words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(tokenizer=lambda text: list(words(text, rule)), token_pattern=None)


def all_pairs(texts, threshold, rule="unicode"):
    """{(i, j): similarity} of all pairs above the threshold."""
    from scipy.sparse import triu

    try:
        weights = vectorizer(rule).fit_transform(texts)
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
