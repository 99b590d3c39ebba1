"""What a measure is: a value with a name, a direction, what it needs, and one formula for single matrices and stacks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from covmis_build.errors import InputError, nearest
from covmis_build.stats.confusion import Counts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]
    Formula = Callable[[Counts, "Policy", Array | None], Array]

Policy = Literal["zero", "skip", "nan"]
POLICIES: tuple[str, ...] = get_args(Policy)
"""What an undefined ratio is: 0 and kept in the mean; left out of the mean; or a reason for no value at all."""
Need = Literal["order", "class_weights", "poles", "unrelated_last"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of classification; call it with a confusion matrix, gold in rows, or with a stack of them."""

    name: str
    symbol: str
    title: str
    paper: str
    formula: Formula = field(repr=False)
    range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    needs: frozenset[Need] = frozenset()
    latex: str = ""

    def __call__(
        self,
        confusion: ArrayLike,
        class_weights: Sequence[float] | None = None,
        undefined: Policy = "zero",
    ) -> Any:
        """The value: a float for one matrix, an array for a stack `(..., C, C)`; nan where it is undefined.

        >>> from covmis_build.evaluation import measures
        >>> measures["accuracy"]([[3, 1], [0, 4]])
        0.875
        >>> measures["gmr"]([[[3, 1], [0, 4]], [[4, 0], [0, 4]]]).round(3).tolist()
        [0.866, 1.0]
        """
        counts = Counts(confusion)
        values = self.of(counts, class_weights, undefined)
        return float(values) if values.ndim == 0 else values

    def of(self, counts: Counts, class_weights: Sequence[float] | None, undefined: Policy) -> Array:
        """The values for sums made before, so that many measures share them."""
        if undefined not in POLICIES:
            raise InputError(f"undefined = {undefined!r}", remedy=nearest(str(undefined), POLICIES))
        weights = (
            checked_weights(class_weights, counts.classes, self.name)
            if "class_weights" in self.needs
            else None
        )
        values = self.formula(counts, undefined, weights)
        return np.where(counts.total > 0, values, np.nan)


def checked_weights(weights: Sequence[float] | None, classes: int, name: str) -> Array:
    """One weight a class, none negative, summing to 1 (tolerance 1e-9)."""
    if weights is None:
        raise InputError(f"the measure {name} needs class weights", remedy="Give one weight per class")
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (classes,) or not (array >= 0).all() or abs(float(array.sum()) - 1) > 1e-9:
        raise InputError(
            f"class weights {list(weights)} for {classes} classes",
            remedy="Give one weight per class, none negative, with the sum 1",
        )
    return array


def mean_of(values: Array, undefined: Policy, weights: Array | None = None) -> Array:
    """The mean over the classes under the policy: weighted if weights are given, nan if nothing is left."""
    classes = len(values)
    if weights is None:
        weights = np.full(classes, 1 / classes)
    shares = weights.reshape(-1, *[1] * (values.ndim - 1))
    if undefined == "nan":
        return np.asarray((values * shares).sum(axis=0))
    missing = np.isnan(values)
    if not missing.any():
        return np.asarray((values * shares).sum(axis=0))
    total = (np.where(missing, 0.0, values) * shares).sum(axis=0)
    if undefined == "zero":
        return np.asarray(total)
    kept = (np.where(missing, 0.0, 1.0) * shares).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(kept > 0, total / kept, np.nan)
