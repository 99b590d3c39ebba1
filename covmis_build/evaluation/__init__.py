"""The evaluation harness: measures, scores with intervals, honest comparisons, splits, leakage, published figures.

Names are imported when they are first used: importing this package is light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmis_build.evaluation.catalogue import measures
    from covmis_build.evaluation.comparisons import compare
    from covmis_build.evaluation.leaks import Leakage, leakage
    from covmis_build.evaluation.measure import Measure
    from covmis_build.evaluation.metaevaluation import Meta, kendall, meta
    from covmis_build.evaluation.reproduction import reproduce
    from covmis_build.evaluation.scores import class_scores, confusions, score
    from covmis_build.evaluation.splitting import splits

_HOMES = {
    "Leakage": "leaks",
    "Measure": "measure",
    "Meta": "metaevaluation",
    "class_scores": "scores",
    "compare": "comparisons",
    "confusions": "scores",
    "kendall": "metaevaluation",
    "leakage": "leaks",
    "measures": "catalogue",
    "meta": "metaevaluation",
    "reproduce": "reproduction",
    "score": "scores",
    "splits": "splitting",
}

__all__ = [
    "Leakage",
    "Measure",
    "Meta",
    "class_scores",
    "compare",
    "confusions",
    "kendall",
    "leakage",
    "measures",
    "meta",
    "reproduce",
    "score",
    "splits",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
