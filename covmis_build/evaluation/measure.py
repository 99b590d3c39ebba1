"""A measure: a value with name, citation, requirements, and one formula for single matrices and stacks."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError, UnknownName, nearest
from covmis_build.stats.confusion import Counts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    Array = NDArray[np.float64]
    Formula = Callable[..., Array]
    """From counts (and the policy, and the class weights, if it has parameters of these names) to values."""


class Undefined(StrEnum):
    """How to treat an undefined ratio (0/0)."""

    ZERO = "zero"  # 0, included in the mean
    SKIP = "skip"  # left out of the mean
    NAN = "nan"  # makes the whole value undefined


class Need(StrEnum):
    """What a measure needs besides the confusion matrix."""

    ORDER = "order"
    CLASS_WEIGHTS = "class_weights"
    POLES = "poles"
    UNRELATED_LAST = "unrelated_last"


PAPERS = {
    "amemiya2021": "Amemiya & Sakai 2021",
    "cohen1960": "Cohen 1960",
    "cohen1968": "Cohen 1968",
    "covmis2022": "COVMis-Stance 2022",
    "fnc2017": "Fake News Challenge 2017",
    "gorodkin2004": "Gorodkin 2004",
    "krippendorff2018": "Krippendorff 2018",
    "scarton2020": "Scarton et al. 2020",
    "semeval2016": "SemEval-2016 task 6",
}
"""The papers that define measures, as named in tables."""


@dataclass(frozen=True, slots=True)
class Citation:
    """The source of a measure: a paper of PAPERS or free text, and its name there if different."""

    paper: str
    about: str = ""

    def __str__(self) -> str:
        return PAPERS.get(self.paper, self.paper)


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of classification. Call it with a confusion matrix (gold in rows) or a stack of them."""

    name: str
    symbol: str
    title: str
    cite: Citation
    formula: Formula = field(repr=False)
    equation: str
    """The formula on one line, in the notation of docs/reference/measures.md."""
    range: tuple[float, float] = (0.0, 1.0)
    higher_is_better: bool = True
    needs: frozenset[Need] = frozenset()
    latex: str = ""
    takes: tuple[str, ...] = field(init=False, repr=False)
    """Arguments of the formula besides the counts: `policy`, `weights`, both or neither."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "takes", tuple(inspect.signature(self.formula).parameters)[1:])

    def __call__(
        self,
        confusion: ArrayLike,
        class_weights: Sequence[float] | None = None,
        undefined: str = Undefined.ZERO,
    ) -> Any:
        """Return the value: a float for one matrix, an array for a stack `(..., C, C)`; NaN if undefined.

        >>> from covmis_build import measures
        >>> measures["accuracy"]([[3, 1], [0, 4]])
        0.875
        >>> measures["gmr"]([[[3, 1], [0, 4]], [[4, 0], [0, 4]]]).round(3).tolist()
        [0.866, 1.0]
        """
        counts = Counts(confusion)
        values = self.of(counts, class_weights, undefined)
        return float(values) if values.ndim == 0 else values

    def of(self, counts: Counts, class_weights: Sequence[float] | None, undefined: str) -> Array:
        """Return the values for precomputed sums, so that many measures share them."""
        given: dict[str, Any] = {"policy": policy_of(undefined)}
        if "weights" in self.takes:
            given["weights"] = _checked_weights(class_weights, counts.classes, self.name)
        values = self.formula(counts, **{name: given[name] for name in self.takes})
        return np.where(counts.total > 0, values, np.nan)


def policy_of(undefined: str) -> Undefined:
    """Return the policy of this name."""
    if undefined not in set(Undefined):
        raise UnknownName(f"undefined = {undefined!r}", remedy=nearest(str(undefined), Undefined))
    return Undefined(undefined)


def _checked_weights(weights: Sequence[float] | None, classes: int, name: str) -> Array:
    """Check class weights: one per class, none negative, sum 1 (tolerance 1e-9)."""
    if weights is None:
        raise InputError(f"the measure {name} needs class weights", remedy="Give one weight per class")
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (classes,) or not (array >= 0).all() or abs(float(array.sum()) - 1) > 1e-9:
        raise InputError(
            f"class weights {list(weights)} for {classes} classes",
            remedy="Give one weight per class, none negative, with the sum 1",
        )
    return array


def mean_of(values: Array, policy: Undefined, weights: Array | None = None) -> Array:
    """Return the mean over the classes under the policy: weighted if weights are given, NaN if no class is left."""
    classes = len(values)
    if weights is None:
        weights = np.full(classes, 1 / classes)
    shares = weights.reshape(-1, *[1] * (values.ndim - 1))
    if policy is Undefined.NAN:
        return np.asarray((values * shares).sum(axis=0))
    missing = np.isnan(values)
    if not missing.any():
        return np.asarray((values * shares).sum(axis=0))
    total = (np.where(missing, 0.0, values) * shares).sum(axis=0)
    if policy is Undefined.ZERO:
        return np.asarray(total)
    kept = (np.where(missing, 0.0, 1.0) * shares).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(kept > 0, total / kept, np.nan)
