"""From archives to hits: every format read, thousands of queries matched in one pass."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmis_build.retrieval.match import Matcher
    from covmis_build.retrieval.stage import Retrieved, archive_files, retrieve

__all__ = ["Matcher", "Retrieved", "archive_files", "retrieve"]

_HOMES = {"Matcher": "match", "Retrieved": "stage", "archive_files": "stage", "retrieve": "stage"}


def __getattr__(name: str) -> Any:
    """Load what is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"covmis_build.retrieval.{_HOMES[name]}"), name)
