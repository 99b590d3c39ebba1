"""Dawid and Skene's model (1979): estimates each item's true label given individual error patterns of annotators.

It is a check, not a source of gold: it shows where the majority may be wrong, and each annotator's accuracy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Codes = NDArray[np.int64]

ROUNDS = 200
CLOSE = 1e-8
PRIOR = 0.01
"""Added to every count, so that confusions that were not observed remain possible."""


@dataclass(frozen=True, slots=True)
class DawidSkene:
    """`labels` (items, C): each label's probability; `confusion` (annotators, C, C): true label in rows; `shares` (C)."""

    labels: Array
    confusion: Array
    shares: Array

    @property
    def accuracy(self) -> Array:
        """Each annotator's probability of giving the true label, averaged over the label shares."""
        return np.asarray((np.diagonal(self.confusion, axis1=1, axis2=2) * self.shares).sum(1))


def dawid_skene(codes: Codes, classes: int) -> DawidSkene:
    """Fit by EM, starting from each item's label shares; -1 in `codes` is a missing label.

    >>> found = dawid_skene(np.array([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]]), 2)
    >>> found.labels.argmax(1).tolist()
    [0, 1, 0, 1]
    """
    # items with equal labels by the same annotators are one pattern
    patterns, pattern_of, items = np.unique(
        codes.astype(np.int16), axis=0, return_inverse=True, return_counts=True
    )
    said = np.stack([patterns == at for at in range(classes)], axis=2).astype(float)  # patterns, people, C
    counts = said.sum(1)
    labels = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    labels[counts.sum(1) == 0] = 1 / classes
    confusion, shares = _people(said, labels, items)
    for _ in range(ROUNDS):
        evidence = np.log(confusion).transpose(0, 2, 1).reshape(-1, classes)
        scores = said.reshape(len(said), -1) @ evidence + np.log(shares)
        before, labels = labels, np.exp(scores - scores.max(1, keepdims=True))
        labels /= labels.sum(1, keepdims=True)
        confusion, shares = _people(said, labels, items)
        if np.abs(labels - before).max(initial=0) < CLOSE:
            break
    return DawidSkene(labels[pattern_of], confusion, shares)


def _people(said: Array, labels: Array, items: Codes) -> tuple[Array, Array]:
    _, people, classes = said.shape
    labels = labels * items[:, None]
    counts = (labels.T @ said.reshape(len(said), -1)).reshape(classes, people, classes)
    confusion = counts.transpose(1, 0, 2) + PRIOR  # annotators, true label, given label
    shares = labels.sum(0) + PRIOR
    return confusion / confusion.sum(2, keepdims=True), shares / shares.sum()
