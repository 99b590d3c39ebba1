"""Detect platform ids rewritten by spreadsheets, and markers of missing values."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from covmis_build.errors import BrokenIds
from covmis_build.files.rounding import rounding_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

NOTHING = {"NA", "N/A", "NaN", "nan", "NULL", "null", "None", "<NA>"}
"""Markers of missing values in R, pandas and databases."""
NO_LABELS = {"na", "n/a", "#n/a", "nan", "<na>", "null"}
"""The same for labels, in lower case; `none` is not included, because it is one of SemEval's labels."""
LONGEST = 20
LATEST_OF_X = 4 * 10**18
"""Ids above are no posts of X before the year 2040; TikTok's are."""
OTHERS = 0.05
"""Maximum share of ids that cannot be X's in a list of X's ids."""
WEEK = range(15, 17)
"""Digits of the ids that X gave in its first weeks of long ids, in November 2010, and that Weibo and Facebook still give."""
FEW, NEARLY_ALL = 3, 0.9
INTACT = 0.9
"""Share of the ids with a mark that must occur in a URL of their row to be intact."""
BROKEN = "was broken by a spreadsheet"
REMEDY = 'Export the ids again as text: in R with colClasses = "character", in pandas with dtype=str, in JavaScript from id_str, in a spreadsheet as text cells'


def check_rounded(path: Path | str, rounded: Collection[str], of_ids: Collection[str]) -> None:
    """Refuse id columns with numbers of more digits than their program stores."""
    for name in of_ids:
        if name in rounded:
            raise BrokenIds(
                f"ids in {name} have more digits than numbers keep, and were rounded",
                file=path,
                remedy=REMEDY,
            )


def is_broken(post_id: str) -> bool:
    """Whether a program has written this id as a number in scientific notation.

    >>> is_broken("1.25E+18"), is_broken("1250812508125081250"), is_broken("12e4")
    (True, False, False)
    """
    head, _, tail = post_id.strip().upper().partition("E")
    return (
        (tail[:1] in {"+", "-"} or "." in head)
        and tail.lstrip("+-").isdigit()
        and head.replace(".", "").replace(",", "").isdigit()
    )


def check_ids(
    path: Path | str,
    ids: Sequence[str],
    *,
    rows: Iterable[int] = (),
    left_out: float = 0.0,
    addressed: Callable[[set[str]], Collection[str]] | None = None,
) -> None:
    """Refuse platform ids that a program parsed as numbers and rounded.

    Scientific notation is refused if more than the share `left_out` of the ids has it; `rows` are the ids' rows (default: from 2 on).
    Other rounding shows in the ids together (`rounding.rounding_of`). An id in several rows counts once. `addressed` returns the ids
    that also occur in a URL of their row, which are intact.
    """
    broken = [
        (number, post_id)
        for number, post_id in zip(rows or count(2), ids, strict=False)
        if is_broken(post_id)
    ]
    if len(broken) > left_out * len(ids):
        number, post_id = broken[0]
        raise BrokenIds(f"the id {post_id} {BROKEN}", file=path, row=number, remedy=REMEDY)
    rounded = rounding_of(list(dict.fromkeys(ids)))
    if rounded is None:
        return
    if addressed is None or len(addressed(set(rounded.marked))) < INTACT * len(rounded.marked):
        raise BrokenIds(rounded.problem, file=path, remedy=REMEDY)


def not_of_x(ids: Iterable[str]) -> str:
    """Return why numbers are not ids of X's posts; empty if they can be.

    >>> not_of_x(["6924226890000000001", "7000000000000000001"])
    "2 of 2 ids, as 6924226890000000001, cannot be X's: they are as long as TikTok's"
    >>> not_of_x(["1252934402983763968", "20"])
    ''
    """
    numbers = [
        native
        for native in dict.fromkeys(ids)
        if len(native) <= LONGEST and native.isdecimal() and native.isascii()
    ]
    above = [native for native in numbers if int(native) > LATEST_OF_X]
    if len(above) > OTHERS * len(numbers):
        return f"{len(above):,} of {len(numbers):,} ids, as {above[0]}, cannot be X's: they are as long as TikTok's"
    short = [native for native in numbers if len(native) in WEEK]
    if len(short) >= FEW and len(short) > NEARLY_ALL * len(numbers):
        return (
            f"{len(short):,} of {len(numbers):,} ids, as {short[0]}, have {len(short[0])} digits: "
            "X's of November 2010, or Weibo's or Facebook's"
        )
    return ""
