"""The official score of the Fake News Challenge (FNC-1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.errors import InputError
from covmis_build.evaluation.measure import Citation, Measure, Need
from covmis_build.stats.confusion import ratio

if TYPE_CHECKING:
    from covmis_build.evaluation.measure import Array
    from covmis_build.stats.confusion import Counts


def fnc(counts: Counts) -> Array:
    """The FNC-1 score divided by its maximum: four classes with Unrelated last. Without Unrelated it is accuracy."""
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
        "fnc",
        "FNC",
        "FNC-1 score",
        Citation("fnc2017"),
        fnc,
        "0.25 per right related-or-not, 0.75 per right related item, over the maximum",
        needs=frozenset({Need.UNRELATED_LAST}),
        latex="FNC",
    ),
)
