"""The scopes of figures."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from covmis_build.errors import InputError, nearest
from covmis_build.options import STRATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


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


def untimed(scopes: Sequence[str], times: Iterable[str | None]) -> list[str]:
    """Return a warning if figures over time are asked for and labelled posts have no time; `times` are theirs.

    >>> untimed(["month"], ["", None])[0][:67]
    'there are no shares by month, because no labelled post has a time. '
    >>> untimed(["day", "claim"], ["2020-04-22T12:34:56Z", ""]), untimed(["claim"], [""])
    (['1 of 2 labelled posts has no time: it is the day `unknown`'], [])
    """
    asked = [scope for scope in scopes if scope in TIMES]
    known = [bool(time) for time in times]
    missing = known.count(False)
    if not asked or not missing:
        return []
    if not any(known):
        remedy = "If their file has one, `covmis posts look FILE` shows how to name its column"
        return [f"there are no shares by {' or '.join(asked)}, because no labelled post has a time. {remedy}"]
    are = "has no time: it is" if missing == 1 else "have no time: they are"
    return [f"{missing:,} of {len(known):,} labelled posts {are} the {' and the '.join(asked)} `unknown`"]
