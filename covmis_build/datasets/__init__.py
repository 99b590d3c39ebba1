"""The field's stance and rumour corpora in one shape: what they are, how to get them, and what their labels mean.

frame = datasets.read("covidlies-v0.2", home)          # dataset, id, target_id, target, text, label, ...
frame = datasets.map_labels(frame, "covmis")           # or a refusal with its reason
frame = datasets.undersample(frame, expected=400, seed=7)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmis_build.datasets.catalogue import find, known, published_for
    from covmis_build.datasets.conversion import convert, corpora_folder, described, overview, write
    from covmis_build.datasets.fetching import fetch
    from covmis_build.datasets.labels import label_map
    from covmis_build.datasets.mapping import map_labels
    from covmis_build.datasets.mixtures import (
        class_weights,
        combine,
        undersample,
        without_replies_to_denying_sources,
    )
    from covmis_build.datasets.preprocessing import Preprocessing, preprocess
    from covmis_build.datasets.readers import complete_layout, read
    from covmis_build.datasets.shape import COLUMNS, Dataset, File, Layout, Published

_HOMES = {
    "catalogue": ("find", "known", "published_for"),
    "conversion": ("convert", "corpora_folder", "described", "overview", "write"),
    "fetching": ("fetch",),
    "labels": ("label_map",),
    "mapping": ("map_labels",),
    "mixtures": ("class_weights", "combine", "undersample", "without_replies_to_denying_sources"),
    "preprocessing": ("Preprocessing", "preprocess"),
    "readers": ("complete_layout", "read"),
    "shape": ("COLUMNS", "Dataset", "File", "Layout", "Published"),
}

__all__ = [
    "COLUMNS",
    "Dataset",
    "File",
    "Layout",
    "Preprocessing",
    "Published",
    "class_weights",
    "combine",
    "complete_layout",
    "convert",
    "corpora_folder",
    "described",
    "fetch",
    "find",
    "known",
    "label_map",
    "map_labels",
    "overview",
    "preprocess",
    "published_for",
    "read",
    "undersample",
    "without_replies_to_denying_sources",
    "write",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
