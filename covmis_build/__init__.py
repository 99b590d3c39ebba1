"""covmis: build a stance corpus from a list of claims, and evaluate systems on it.

The names below are the library's public API. They load what they need on first use, so that `import covmis_build` is
fast:

>>> import covmis_build
>>> covmis_build.canonical_url("http://www.example.org/story/?utm_source=feed#top")
'example.org/story'
>>> covmis_build.inclusion_probabilities({"title": 6, "keywords": 18})
{'title': 1.0, 'keywords': 1.0}
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmis_build import datasets
    from covmis_build.annotation.agreement import agreement
    from covmis_build.corpus.convert import read_corpus
    from covmis_build.errors import (
        BrokenIds,
        BrokenSeal,
        CheckFailed,
        CovmisError,
        DamagedTable,
        InputError,
        MissingExtra,
        ServiceError,
        StaleTables,
        UnfinishedPurge,
        UnknownName,
    )
    from covmis_build.estimation.from_values import estimate
    from covmis_build.evaluation.catalogue import measures
    from covmis_build.evaluation.compare import compare
    from covmis_build.evaluation.leakage import leakage
    from covmis_build.evaluation.meta import meta
    from covmis_build.evaluation.over_posts import score_over_posts
    from covmis_build.evaluation.score import score
    from covmis_build.evaluation.soft_labels import score_soft
    from covmis_build.evaluation.split import splits
    from covmis_build.keyed import uniform
    from covmis_build.models.ablation import ablate
    from covmis_build.models.admission import admit
    from covmis_build.models.asking import ask
    from covmis_build.models.predict import predict
    from covmis_build.models.prompt import prompt
    from covmis_build.models.table import compare_models
    from covmis_build.models.train import train
    from covmis_build.sampling.frames import sample
    from covmis_build.sampling.inclusion import inclusion_probabilities
    from covmis_build.study.doctor import doctor
    from covmis_build.study.rebuild import rebuild
    from covmis_build.study.round import Round
    from covmis_build.study.study import Study, new_study, open_study, rebuild_published
    from covmis_build.study.verify import verify
    from covmis_build.text.expression import parse
    from covmis_build.text.near_duplicates import near_duplicate_groups, near_duplicate_pairs
    from covmis_build.text.urls import canonical_url

__version__ = "0.3.0.dev0"

_HOMES = {
    "BrokenIds": "errors",
    "BrokenSeal": "errors",
    "CheckFailed": "errors",
    "CovmisError": "errors",
    "InputError": "errors",
    "MissingExtra": "errors",
    "ServiceError": "errors",
    "DamagedTable": "errors",
    "StaleTables": "errors",
    "UnfinishedPurge": "errors",
    "UnknownName": "errors",
    "ablate": "models.ablation",
    "admit": "models.admission",
    "agreement": "annotation.agreement",
    "ask": "models.asking",
    "canonical_url": "text.urls",
    "compare": "evaluation.compare",
    "compare_models": "models.table",
    "doctor": "study.doctor",
    "estimate": "estimation.from_values",
    "inclusion_probabilities": "sampling.inclusion",
    "leakage": "evaluation.leakage",
    "measures": "evaluation.catalogue",
    "meta": "evaluation.meta",
    "near_duplicate_groups": "text.near_duplicates",
    "near_duplicate_pairs": "text.near_duplicates",
    "new_study": "study.study",
    "open_study": "study.study",
    "parse": "text.expression",
    "predict": "models.predict",
    "prompt": "models.prompt",
    "read_corpus": "corpus.convert",
    "rebuild": "study.rebuild",
    "rebuild_published": "study.study",
    "sample": "sampling.frames",
    "score": "evaluation.score",
    "score_over_posts": "evaluation.over_posts",
    "score_soft": "evaluation.soft_labels",
    "Round": "study.round",
    "Study": "study.study",
    "splits": "evaluation.split",
    "train": "models.train",
    "uniform": "keyed",
    "verify": "study.verify",
}
"""The only table of public names, also for those of subpackages (`covmis_build.queries.parse`)."""

_ROOMS = ("datasets",)
"""Subpackages that are entirely public."""

__all__ = [
    "BrokenIds",
    "BrokenSeal",
    "CheckFailed",
    "CovmisError",
    "DamagedTable",
    "InputError",
    "MissingExtra",
    "Round",
    "ServiceError",
    "StaleTables",
    "Study",
    "UnfinishedPurge",
    "UnknownName",
    "ablate",
    "admit",
    "agreement",
    "ask",
    "canonical_url",
    "compare",
    "compare_models",
    "datasets",
    "doctor",
    "estimate",
    "inclusion_probabilities",
    "leakage",
    "measures",
    "meta",
    "near_duplicate_groups",
    "near_duplicate_pairs",
    "new_study",
    "open_study",
    "parse",
    "predict",
    "prompt",
    "read_corpus",
    "rebuild",
    "rebuild_published",
    "sample",
    "score",
    "score_over_posts",
    "score_soft",
    "splits",
    "train",
    "uniform",
    "verify",
]


def public(name: str, of: str = __name__) -> Any:
    """Return a public name, loaded on first access."""
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {of!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


class Room(ModuleType):
    """A subpackage in which some public names are also modules: `evaluation.compare` is always the function."""

    def __getattribute__(self, name: str) -> Any:
        own = super().__getattribute__("__name__")
        if name in _HOMES and f"{__name__}.{_HOMES[name]}" == f"{own}.{name}":
            return public(name)
        return super().__getattribute__(name)


def __getattr__(name: str) -> Any:
    return public(name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
