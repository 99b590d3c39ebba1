"""What a figure is about."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from covmis_build.errors import InputError, nearest
from covmis_build.options import STRATA

if TYPE_CHECKING:
    from collections.abc import Sequence


class Scope(StrEnum):
    """What a row is about, besides platform and windows of time (`options.STRATA`)."""

    POOL = "pool"
    AVERAGE_CLAIM = "average claim"
    CLAIM = "claim"
    KIND = "kind"


SCOPES = (Scope.CLAIM, Scope.KIND, *STRATA)
"""What `by` may name."""
TIMES = ("year", "month", "day")
"""Scopes that are read as a line: their intervals hold together, as a band."""


def check_scopes(by: str | Sequence[str] | None) -> list[str]:
    """What to estimate by, from a list or words with commas; by kind if nothing is said."""
    if by is None:
        return [Scope.KIND]
    scopes = [name.strip() for name in (by.split(",") if isinstance(by, str) else by) if name.strip()]
    for name in scopes:
        if name not in SCOPES:
            raise InputError(f"cannot estimate by '{name}'", remedy=nearest(name, SCOPES))
    return scopes
