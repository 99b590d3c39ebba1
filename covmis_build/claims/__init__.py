"""Claim lists: read from where they are kept, checked against the rules of A.1, chosen, written back."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmis_build.claims.edits import accept, merge, split
    from covmis_build.claims.fact_check import search_fact_checks
    from covmis_build.claims.linting import lint
    from covmis_build.claims.reading import GivenPosts, claims_csv, given_posts, read_claims
    from covmis_build.claims.selection import Selection, select

__all__ = [
    "GivenPosts",
    "Selection",
    "accept",
    "claims_csv",
    "given_posts",
    "lint",
    "merge",
    "read_claims",
    "search_fact_checks",
    "select",
    "split",
]

_HOMES = {
    "accept": "edits", "merge": "edits", "split": "edits", "search_fact_checks": "fact_check", "lint": "linting",
    "GivenPosts": "reading", "claims_csv": "reading", "given_posts": "reading", "read_claims": "reading",
    "select": "selection", "Selection": "selection",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load what is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"covmis_build.claims.{_HOMES[name]}"), name)
