"""Differences of shares between two claims, query types, periods or labels, with interval and consistent p."""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from covmis_build.errors import InputError, nearest
from covmis_build.estimation.scopes import SCOPES
from covmis_build.records import Estimand
from covmis_build.stats.intervals import between
from covmis_build.stats.many_tests import holm
from covmis_build.stats.over_posts import difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from covmis_build.stats.intervals import Estimate

LABEL, BEFORE, FROM = "label", "before", "from"
COLUMNS = [
    "estimand", "label", "first", "second", "share_first", "share_second", "difference", "low", "high", "p", "p_adjusted",
    "low_together", "high_together", "over", "n_first", "n_second", "why",
]  # fmt: skip


NOT_SHOWN = ["low_together", "high_together", "over", "why"]
"""Columns that the terminal leaves to the sentences."""
ONE_TEST = 1e-9
"""Two labels whose differences sum to no more are one comparison: what one gains, the other loses."""


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


def comparisons_of(values: Sequence[float]) -> int:
    """Return the number of comparisons that these differences of labels are.

    >>> comparisons_of([0.1]), comparisons_of([0.1, -0.1]), comparisons_of([0.1, -0.05, -0.05])
    (1, 1, 3)
    """
    known = [value for value in values if not math.isnan(value)]
    return 1 if len(known) == 2 and abs(sum(known)) < ONE_TEST else max(len(known), 1)


def compared_together(pairs: Sequence[tuple[Estimate, Estimate, float]]) -> list[dict[str, Any]]:
    """Return the difference of each label's two figures, given their covariance: by itself, and together with the others'."""
    alone = [difference(left, right, both, level=left.level) for left, right, both in pairs]
    p_values = np.array([less.p for less in alone])
    tests = comparisons_of([less.value for less in alone if not math.isnan(less.p)])
    adjusted = holm(p_values) if tests > 1 else p_values
    rows = []
    for (left, right, both), less, p in zip(pairs, alone, adjusted, strict=True):
        wide = difference(left, right, both, level=1 - (1 - left.level) / tests)
        rows.append(
            {
                "share_first": left.value,
                "share_second": right.value,
                "difference": less.value,
                "low": less.low,
                "high": less.high,
                "p": less.p,
                "p_adjusted": float(p),
                "low_together": wide.low,
                "high_together": wide.high,
                "over": str(left.interval),
                "n_first": left.n,
                "n_second": right.n,
                "why": left.why or right.why,
            }
        )
    return rows


def sentences(differences: pd.DataFrame, level: float) -> list[str]:
    """Describe each difference in a sentence for a paper, and which of them hold together."""
    said, told_of = [], differences[differences["low"].notna()]
    most = max(
        (comparisons_of(list(rows["difference"])) for _, rows in told_of.groupby("estimand")), default=1
    )
    for row in differences.to_dict("records"):
        what = Estimand(row["estimand"]).in_words
        of = f"the share of {row['label']}" if row["label"] else "the share"
        told = between(100 * row["low"], 100 * row["high"], "+.1f")
        p = (
            f"{_p(row['p_adjusted'])} after Holm's adjustment, alone {_p(row['p'])}"
            if most > 1
            else _p(row["p"])
        )
        known = f"{level:.0%} interval {told} {row['over']}, {p}" if told else row["why"]
        said.append(
            f"Of {what}, {of} is {row['share_first']:.1%} in {row['first']} (n = {row['n_first']:,}) and "
            f"{row['share_second']:.1%} in {row['second']} (n = {row['n_second']:,}): a difference of "
            f"{100 * row['difference']:+.1f} percentage points ({known})."
        )
    if most > 1:
        said.append(
            f"{most} labels are compared at once: one of {most} comparisons without a difference is often called different by "
            f"chance. p after Holm's adjustment allows for that, among unique posts and among all posts. Each interval holds by "
            f"itself, and leaves 0 out exactly if p alone is below {1 - level:.2g}; the intervals low_together to high_together "
            f"(JSON, Python) hold together at {level:.0%} (Bonferroni)."
        )
    return said


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
