"""Sampling probabilities from a score: a permanent random number decides, never the score alone.

The score sets π before any random number is used. A part of the labels is always distributed evenly, so that every unit has
a probability and no weight is unlimited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

EVEN = 0.4
"""Share of the labels that is distributed evenly."""
POWER = 0.75
"""Power of the score. Neyman's is 0.5 for a correct score; 0.75 with a larger even part was better in all tests."""

STEEPEST = 40
"""Largest power of the rank, in twentieths."""


def capped(size: ArrayLike, expected: float) -> Floats:
    """Return probabilities proportional to these sizes, at most 1, that sum to `expected` (or to all units).

    >>> capped([10, 1, 1, 1], 2).round(3).tolist()
    [1.0, 0.333, 0.333, 0.333]
    """
    sizes = np.asarray(size, dtype=np.float64)
    positive = sizes > 0
    if expected >= positive.sum():
        return positive.astype(np.float64)
    sure = np.zeros(sizes.shape, dtype=bool)
    while True:
        scale = (expected - sure.sum()) / sizes[positive & ~sure].sum()
        over = positive & ~sure & (sizes * scale >= 1)
        if not over.any():
            return np.where(sure, 1.0, np.where(positive, sizes * scale, 0.0))
        sure |= over


def guided(guess: ArrayLike, labels: float, *, even: float = EVEN, power: float = POWER) -> Floats:
    """Return probabilities from relative relevance scores that sum to `labels`.

    The size is a power of the score with share (1 - even), mixed with an even part that limits every weight to
    units / (even * labels).
    """
    size = np.maximum(np.asarray(guess, dtype=np.float64), 0.0) ** power
    if not len(size):
        return size
    flat = 1.0 / len(size)
    total = size.sum()
    return capped(even * flat + (1 - even) * (size / total if total else flat), labels)


def either(before: ArrayLike, now: ArrayLike) -> Floats:
    """Return the probability of being sampled in the first draw (`before`) or the second (`now`), with a permanent number.

    >>> either([0.5], [0.2]).tolist()
    [0.6]
    """
    remaining: Floats = (1 - np.asarray(before, dtype=np.float64)) * (1 - np.asarray(now, dtype=np.float64))
    return 1 - remaining


def by_rank(ranks: ArrayLike, expected: float, weights_up_to: float) -> Floats:
    """Return probabilities that decrease with the rank and sum to `expected`, as steeply as the maximum weight allows.

    The power of the rank is the largest of 0, 0.05 … 2 whose largest weight is at most `weights_up_to`; 0 (equal
    probabilities) if even that is too large.

    >>> by_rank([1, 2, 3, 4], 2, 100).round(3).tolist()
    [1.0, 0.59, 0.262, 0.148]
    """
    places = np.asarray(ranks, dtype=np.float64)
    if not len(places) or expected <= 0:
        return np.zeros(len(places))
    for step in range(STEEPEST, 0, -1):
        chances = capped(places ** (-step / 20), expected)
        if 1 / chances.min() <= weights_up_to:
            return chances
    return capped(np.ones(len(places)), expected)


def spread(kinds: Sequence[Sequence[str]], labels: float) -> Floats:
    """Return probabilities for units of several kinds: half of the labels distributed evenly, half equally over kinds."""
    if not kinds:
        return np.zeros(0)
    counts: dict[str, int] = {}
    for names in kinds:
        for name in names:
            counts[name] = counts.get(name, 0) + 1
    size = [0.5 / len(kinds) + 0.5 * max(1 / counts[name] for name in names) / len(counts) for names in kinds]
    return capped(size, labels)
