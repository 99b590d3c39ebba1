"""The evaluation harness: measures, scores with intervals, comparisons, splits, leakage, published figures.

The public names of this subpackage are those of `covmis_build`; they are loaded on first use.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import covmis_build

if TYPE_CHECKING:
    from covmis_build.evaluation.catalogue import measures
    from covmis_build.evaluation.compare import compare
    from covmis_build.evaluation.leakage import leakage
    from covmis_build.evaluation.meta import meta
    from covmis_build.evaluation.score import score
    from covmis_build.evaluation.split import splits

__all__ = ["compare", "leakage", "measures", "meta", "score", "splits"]

sys.modules[__name__].__class__ = covmis_build.Room


def __getattr__(name: str) -> Any:
    return covmis_build.public(name, __name__)
