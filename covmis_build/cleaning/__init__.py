"""From hits to items: the paper's five steps of cleaning (section 3.1)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmis_build.cleaning.steps import Cleaned, clean
    from covmis_build.text.near_duplicates import near_duplicate_groups, near_duplicate_pairs

__all__ = ["Cleaned", "clean", "near_duplicate_groups", "near_duplicate_pairs"]


def __getattr__(name: str) -> Any:
    """Load what is asked for, and numba only with it."""
    if name in {"near_duplicate_groups", "near_duplicate_pairs"}:
        return getattr(importlib.import_module("covmis_build.text.near_duplicates"), name)
    if name in {"Cleaned", "clean"}:
        return getattr(importlib.import_module("covmis_build.cleaning.steps"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
