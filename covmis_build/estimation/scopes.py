"""The scopes of figures."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from covmis_build.errors import InputError, nearest
from covmis_build.options import STRATA

if TYPE_CHECKING:
    from collections.abc import Sequence


class Scope(StrEnum):
    """The scope of a row, besides platform and time windows (`options.STRATA`)."""

    POOL = "pool"
    AVERAGE_CLAIM = "average claim"
    CLAIM = "claim"
    KIND = "kind"


SCOPES = (Scope.CLAIM, Scope.KIND, *STRATA)
"""Allowed values of `by`."""
TIMES = ("year", "month", "day")
"""Time scopes, shown as a line: their intervals have simultaneous coverage."""


def check_scopes(by: str | Sequence[str] | None) -> list[str]:
    """Return the scopes from a list or comma-separated words; by default the query type."""
    if by is None:
        return [Scope.KIND]
    scopes = [name.strip() for name in (by.split(",") if isinstance(by, str) else by) if name.strip()]
    for name in scopes:
        if name not in SCOPES:
            raise InputError(f"cannot estimate by '{name}'", remedy=nearest(name, SCOPES))
    return scopes
