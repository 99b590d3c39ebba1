"""covmis: build a stance corpus from a list of claims, and judge systems on it.

The names below are the library's public face. They load what they need when they are first used, so that
`import covmis_build` costs nothing:

>>> import covmis_build
>>> covmis_build.canonical_url("http://www.example.org/story/?utm_source=feed#top")
'example.org/story'
>>> covmis_build.inclusion_probabilities({"title": 6, "keywords": 18})
{'title': 1.0, 'keywords': 1.0}
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmis_build.annotation.agreement import agreement
    from covmis_build.cleaning import near_duplicate_groups, near_duplicate_pairs
    from covmis_build.evaluation import compare, leakage, measures, score, splits
    from covmis_build.keyed import uniform
    from covmis_build.queries import canonical_url, parse
    from covmis_build.sampling import estimate, inclusion_probabilities

__version__ = "0.1.0"

__all__ = [
    "agreement",
    "canonical_url",
    "compare",
    "estimate",
    "inclusion_probabilities",
    "leakage",
    "measures",
    "near_duplicate_groups",
    "near_duplicate_pairs",
    "parse",
    "score",
    "splits",
    "uniform",
]

_HOMES = {
    "annotation": ("agreement",),
    "cleaning": ("near_duplicate_groups", "near_duplicate_pairs"),
    "evaluation": ("compare", "leakage", "measures", "score", "splits"),
    "keyed": ("uniform",),
    "queries": ("canonical_url", "parse"),
    "sampling": ("estimate", "inclusion_probabilities"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
