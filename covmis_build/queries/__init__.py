"""Queries: built from claims, read, suggested, tried."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmis_build.queries.build import build_queries
    from covmis_build.queries.index import Index, open_index
    from covmis_build.queries.suggesting import suggest
    from covmis_build.text.expression import Expression, parse
    from covmis_build.text.urls import canonical_url

__all__ = ["Expression", "Index", "build_queries", "canonical_url", "open_index", "parse", "suggest"]

_HOMES = {
    "build_queries": "covmis_build.queries.build",
    "Index": "covmis_build.queries.index",
    "open_index": "covmis_build.queries.index",
    "suggest": "covmis_build.queries.suggesting",
    "Expression": "covmis_build.text.expression",
    "parse": "covmis_build.text.expression",
    "canonical_url": "covmis_build.text.urls",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
