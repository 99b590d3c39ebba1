"""The official scores of two shared tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.errors import InputError
from covmis_build.evaluation.measure import Measure, Policy, mean_of
from covmis_build.stats.confusion import ratio

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from covmis_build.stats.confusion import Counts

    Array = NDArray[np.float64]


def f_avg(counts: Counts, undefined: Policy, _weights: Array | None) -> Array:
    """The mean F1 of the two poles: the first and the last class of the matrix."""
    return mean_of(counts.f1[[0, -1]], undefined)


def fnc(counts: Counts, _undefined: Policy, _weights: Array | None) -> Array:
    """The FNC-1 score over its maximum: four classes with Unrelated last; without Unrelated it is accuracy."""
    if counts.classes < 4:
        return ratio(counts.correct, counts.total)
    if counts.classes > 4:
        raise InputError(
            f"the FNC-1 score for {counts.classes} classes",
            remedy="It is defined for agree, disagree, discuss and, last, unrelated",
        )
    related = counts.cells[:3, :3].sum(axis=(0, 1))
    exact = counts.right[:3].sum(axis=0)
    attainable = counts.gold[:3].sum(axis=0) + 0.25 * counts.gold[3]
    return ratio(0.25 * (related + counts.right[3]) + 0.75 * exact, attainable)


MEASURES = (
    Measure(
        "f_avg",
        "F_avg",
        "Mean F1 of the two poles",
        "SemEval-2016 task 6",
        f_avg,
        needs=frozenset({"poles"}),
        latex="$F_{avg}$",
    ),
    Measure(
        "fnc",
        "FNC",
        "FNC-1 score",
        "Fake News Challenge 2017",
        fnc,
        needs=frozenset({"unrelated_last"}),
        latex="FNC",
    ),
)
