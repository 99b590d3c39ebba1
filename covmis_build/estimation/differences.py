"""Differences of shares between two claims, query types, periods or labels, with interval and consistent p."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.errors import InputError, nearest
from covmis_build.estimation.scopes import SCOPES
from covmis_build.records import Estimand
from covmis_build.stats.intervals import between

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

LABEL, BEFORE, FROM = "label", "before", "from"
COLUMNS = [
    "estimand", "label", "first", "second", "share_first", "share_second", "difference", "low", "high", "p", "over",
    "n_first", "n_second", "why",
]  # fmt: skip


class Part(NamedTuple):
    """A compared part of the population, or a label: `claim:17`, `before:2020-05-01`, `label:favor`."""

    scope: str
    name: str

    def __str__(self) -> str:
        return f"{self.scope} {self.name}"


def compared_parts(
    two: Sequence[str] | None, before: str | dt.date = "", after: str | dt.date = "", *, labels: Sequence[str]
) -> tuple[Part, Part] | None:
    """Return the compared parts: two by name, or posts before a day and posts from then (or `after`) on.

    >>> compared_parts(["claim:1", "claim:2"], labels=["favor"])
    (Part(scope='claim', name='1'), Part(scope='claim', name='2'))
    >>> compared_parts(None, dt.date(2020, 5, 1), labels=["favor"])
    (Part(scope='before', name='2020-05-01'), Part(scope='from', name='2020-05-01'))
    """
    if two is not None and (before or after):
        raise InputError(
            "two comparisons are asked for at once",
            remedy="Give between (--between), or before and after (--before, --after)",
        )
    if before or after:
        if not before:
            raise InputError(
                "after (--after) needs before (--before)", remedy="Name the day that ends the first period"
            )
        days = [_day(before), _day(after or before)]
        if days[1] < days[0]:
            raise InputError(f"the periods before {days[0]} and from {days[1]} on overlap")
        return Part(BEFORE, days[0]), Part(FROM, days[1])
    if two is None:
        return None
    if len(two) != 2:
        raise InputError("a comparison is of two parts", remedy="Name two, such as claim:1 claim:2")
    first, second = (_part(text, labels) for text in two)
    if first == second:
        raise InputError(f"{first} is compared with itself")
    if (first.scope == LABEL) != (second.scope == LABEL):
        raise InputError(
            f"{first} and {second} are no two of a kind", remedy="Compare two labels, or two parts"
        )
    return first, second


def _part(text: str, labels: Sequence[str]) -> Part:
    scope, colon, name = str(text).partition(":")
    known = (LABEL, *SCOPES)
    if not colon or scope not in known:
        raise InputError(
            f"'{text}' names no part",
            remedy=f"Write it as claim:ID, kind:NAME or label:NAME; {nearest(scope, known)}",
        )
    if scope == LABEL and name not in labels:
        raise InputError(f"the label '{name}' is not in the scheme", remedy=nearest(name, labels))
    return Part(scope, name)


def _day(given: str | dt.date) -> str:
    """Return a day as text, from a date, a midnight time, or text."""
    if isinstance(given, dt.datetime) and given.time() == dt.time():
        given = given.date()
    text = str(given)
    try:
        return dt.date.fromisoformat(text).isoformat()
    except ValueError:
        raise InputError(f"'{text}' is no day", remedy="Write it as 2020-05-01") from None


def sentences(differences: pd.DataFrame, level: float) -> list[str]:
    """Describe each difference in a sentence for a paper."""
    said = []
    for row in differences.to_dict("records"):
        what = Estimand(row["estimand"]).in_words
        of = f"the share of {row['label']}" if row["label"] else "the share"
        told = between(100 * row["low"], 100 * row["high"], "+.1f")
        known = f"{level:.0%} interval {told} {row['over']}, {_p(row['p'])}" if told else row["why"]
        said.append(
            f"Of {what}, {of} is {row['share_first']:.1%} in {row['first']} (n = {row['n_first']:,}) and "
            f"{row['share_second']:.1%} in {row['second']} (n = {row['n_second']:,}): a difference of "
            f"{100 * row['difference']:+.1f} percentage points ({known})."
        )
    return said


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
