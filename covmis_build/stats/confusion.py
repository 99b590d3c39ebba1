"""Confusion matrices, single or in stacks: gold in rows, prediction in columns, with the sums that measures share.

The declared label set determines the size, not the labels that occur. An additional last column counts items without a
prediction.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from covmis_build.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]
    Codes = NDArray[np.int64]


def confusion_matrix(
    gold: Codes, predicted: Codes, classes: int, weights: Array | None = None, *, unanswered: bool = False
) -> Array:
    """Count the pairs of codes: (classes, classes), or with one more column for the code -1 in `predicted`.

    >>> confusion_matrix(np.array([0, 0, 1]), np.array([0, 1, 1]), 2)
    array([[1., 1.],
           [0., 1.]])
    """
    columns = classes + unanswered
    cells = cell_codes(gold, predicted, classes, unanswered=unanswered)
    counts = np.bincount(cells, weights=weights, minlength=classes * columns)
    return counts.reshape(classes, columns).astype(np.float64)


def cell_codes(gold: Codes, predicted: Codes, classes: int, *, unanswered: bool = False) -> Codes:
    """The cell of each item, row by row; the code -1 in `predicted` is the last column.

    >>> cell_codes(np.array([0, 1]), np.array([1, -1]), 2, unanswered=True).tolist()
    [1, 5]
    """
    if not unanswered and predicted.size and predicted.min() < 0:
        raise InputError(
            "a prediction is missing", remedy="Complete the predictions, or count missing ones as wrong"
        )
    columns = classes + unanswered
    return gold * columns + np.where(predicted < 0, classes, predicted)


class Counts:
    """A stack of confusion matrices `(..., C, C)` or `(..., C, C + 1)`, with the sums that measures share.

    Every array here has the classes in front and the stack behind, so that one formula serves one matrix and a
    million. `cells[g, p]`: gold g, predicted p. `unanswered[g]`: no prediction; it counts in `gold` and `total`, and
    in no class's predictions.
    """

    def __init__(self, confusion: ArrayLike) -> None:
        stack = np.asarray(confusion, dtype=np.float64)
        if stack.ndim < 2 or stack.shape[-2] < 1 or stack.shape[-1] - stack.shape[-2] not in {0, 1}:
            raise InputError(
                f"a confusion matrix of shape {stack.shape}",
                remedy="Give (..., C, C) with gold in rows, or (..., C, C + 1) with the unanswered items last",
            )
        if stack.size and not (stack.min() >= 0 and np.isfinite(stack.max())):
            raise InputError(
                "a confusion matrix has a cell that is negative or no number", remedy="Give counts or weights"
            )
        moved = np.ascontiguousarray(np.moveaxis(stack, (-2, -1), (0, 1)))
        self.tables: Array = np.moveaxis(moved, (0, 1), (-2, -1))
        """As they were given: (..., C, C) or (..., C, C + 1)."""
        self.classes: int = stack.shape[-2]
        self.cells: Array = moved[:, : self.classes]
        self.unanswered: Array | None = moved[:, self.classes] if moved.shape[1] > self.classes else None

    @cached_property
    def gold(self) -> Array:
        """Number of items per gold class."""
        answered = _sum(self.cells.swapaxes(0, 1))
        return answered if self.unanswered is None else answered + self.unanswered

    @cached_property
    def predicted(self) -> Array:
        """Number of items per predicted class."""
        return _sum(self.cells)

    @cached_property
    def right(self) -> Array:
        """Number of correct items per class."""
        return np.stack([self.cells[c, c] for c in range(self.classes)])

    @cached_property
    def total(self) -> Array:
        """Number of items."""
        return _sum(self.gold)

    @cached_property
    def correct(self) -> Array:
        """Number of correct items."""
        return _sum(self.right)

    @cached_property
    def precision(self) -> Array:
        """Precision per class; NaN if the class was never predicted."""
        return ratio(self.right, self.predicted)

    @cached_property
    def recall(self) -> Array:
        """Recall per class; NaN if the class has no items."""
        return ratio(self.right, self.gold)

    @cached_property
    def false_positive_rate(self) -> Array:
        """Share of the other classes' items predicted as this class; NaN if there are none."""
        return ratio(self.predicted - self.right, self.total - self.gold)

    @cached_property
    def f1(self) -> Array:
        """F1 of each class, from counts; NaN only if the class never occurs."""
        return ratio(2 * self.right, self.gold + self.predicted)

    @cached_property
    def f2(self) -> Array:
        """F2 of each class, from counts: recall has four times the weight."""
        return ratio(5 * self.right, 4 * self.gold + self.predicted)

    @cached_property
    def farthest_filled(self) -> Array:
        """The cells with every missing prediction moved to the class farthest from gold."""
        if self.unanswered is None:
            return self.cells
        filled = self.cells.copy()
        for g in range(self.classes):
            filled[g, 0 if g > self.classes - 1 - g else self.classes - 1] += self.unanswered[g]
        return filled


def ratio(numerator: Array, denominator: Array) -> Array:
    """Divide; NaN for a zero denominator."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator == 0, np.nan, numerator / denominator)


def _sum(parts: Array) -> Array:
    # Adding a few long rows is several times faster than reducing a short leading axis.
    total: Array = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total
