"""Detect platform ids rewritten by spreadsheets, and markers of missing values."""

from __future__ import annotations

import math
from itertools import count
from typing import TYPE_CHECKING

from covmis_build.errors import BrokenIds
from covmis_build.files.workbook import KEPT_DIGITS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from pathlib import Path

NOTHING = {"NA", "N/A", "NaN", "nan", "NULL", "null", "None", "<NA>"}
"""Markers of missing values in R, pandas and databases."""
NO_LABELS = {"na", "n/a", "#n/a", "nan", "<na>", "null"}
"""The same for labels, in lower case; `none` is not included, because it is one of SemEval's labels."""
SMALLEST_LONG_ID, LONGEST = 16, 20
EXACT = 2**53
"""Maximum integer up to which floats are exact."""
MANY = 20
"""Minimum number of ids for which exact floats cannot be chance: in real lists of X, 26 to 72% of ids are exact."""
WHOLE = 0.9
NEXT_TO_IMPOSSIBLE = -math.log(1e-6)
BROKEN = "was broken by a spreadsheet"
REMEDY = 'Export the ids again as text: in R with colClasses = "character", in pandas with dtype=str, in a spreadsheet as text cells'


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
    repeated: bool = False,
    left_out: float = 0.0,
    addressed: Callable[[set[str]], Collection[str]] | None = None,
) -> None:
    """Refuse platform ids that a program parsed as numbers and rounded.

    Scientific notation is refused if more than the share `left_out` of the ids has it; `rows` are the ids' rows (default: from 2 on).
    Other rounding shows in the ids together: zeros after the 15th digit far more often than by chance, or only numbers that a
    float represents exactly. An id in several rows (`repeated`) counts once. `addressed` returns the ids that also occur in a
    URL of their row, which are intact.
    """
    broken = [
        (number, post_id)
        for number, post_id in zip(rows or count(2), ids, strict=False)
        if is_broken(post_id)
    ]
    if len(broken) > left_out * len(ids):
        number, post_id = broken[0]
        raise BrokenIds(f"the id {post_id} {BROKEN}", file=path, row=number, remedy=REMEDY)
    ids = list(dict.fromkeys(ids)) if repeated else ids
    long = [post_id for post_id in ids if len(post_id) >= SMALLEST_LONG_ID and post_id.isdecimal()]
    cut = [post_id for post_id in long if not post_id[KEPT_DIGITS:].strip("0")]
    above = [int(post_id) for post_id in long if len(post_id) <= LONGEST and int(post_id) > EXACT]
    if _beyond_chance(long, len(cut)):
        problem = f"{len(cut)} of {len(ids)} ids end in zeros after the 15th digit, as {cut[0]}: a spreadsheet has rounded them"
    elif len(above) >= MANY and all(number == int(float(number)) for number in above):
        problem = f"all {len(above)} long ids, as {above[0]}, are numbers that a float holds exactly: a program has read them as numbers and rounded them"
        cut = long
    else:
        return
    if addressed is None or len(addressed(set(cut))) < WHOLE * len(set(cut)):
        raise BrokenIds(problem, file=path, remedy=REMEDY)


def _beyond_chance(ids: Sequence[str], cut: int) -> bool:
    """True if this many ids with only zeros after the 15th digit are practically impossible by chance.

    A share of 10^-(d−15) of evenly distributed ids with d digits ends like this; of X's, mostly multiples of 4096, up to
    5^-(d−15). The probability of larger counts is at most exp(−n·KL(observed share‖expected share)) (Chernoff).
    """
    if not cut:
        return False
    expected = sum(5.0 ** -(len(post_id) - KEPT_DIGITS) for post_id in ids) / len(ids)
    share = cut / len(ids)
    if share <= expected:
        return False
    rest = (1 - share) * math.log((1 - share) / (1 - expected)) if share < 1 else 0.0
    return len(ids) * (share * math.log(share / expected) + rest) > NEXT_TO_IMPOSSIBLE
