"""The geometric mean of the recalls: 0 if one class is never found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from covmis_build.evaluation.measure import Citation, Measure, Undefined, mean_of

if TYPE_CHECKING:
    from covmis_build.evaluation.measure import Array
    from covmis_build.stats.confusion import Counts


def gmr(counts: Counts, policy: Undefined) -> Array:
    """The C-th root of the product of the C classes' recalls, computed with logarithms."""
    recall = np.nan_to_num(counts.recall, nan=0.0) if policy is Undefined.ZERO else counts.recall
    with np.errstate(divide="ignore"):
        return np.asarray(np.exp(mean_of(np.log(recall), policy)))


MEASURES = (
    Measure(
        name="gmr",
        symbol="GMR",
        title="Geometric mean of recalls",
        cite=Citation("scarton2020", about="Geometric mean"),
        formula=gmr,
        equation="(Π R)^(1/C); exactly 0 if a class is never found",
        latex="GMR",
    ),
)
