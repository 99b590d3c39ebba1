"""Platform ids that a spreadsheet may have rewritten, and what programs write where there is nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from covmis_build.errors import BrokenIds
from covmis_build.files.workbook import KEPT_DIGITS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

NOTHING = {"NA", "N/A", "NaN", "nan", "NULL", "null", "None", "<NA>"}
"""What R, pandas and databases write where there is nothing."""
NO_LABELS = {"na", "n/a", "#n/a", "nan", "<na>", "null"}
"""The same among labels, in small letters: `none` may be a label, and is one of SemEval's."""
SMALLEST_LONG_ID, LONGEST = 16, 20
EXACT = 2**53
"""Whole numbers up to it are exact as floats."""
MANY = 20
"""Ids of which not all are exact as floats by chance: of real lists of X's 26 to 72% are."""
WHOLE = 0.9
NEXT_TO_IMPOSSIBLE = -math.log(1e-6)
BROKEN = "was broken by a spreadsheet"
REMEDY = 'Export the ids again as text: in R with colClasses = "character", in pandas with dtype=str, in a spreadsheet as text cells'


def check_rounded(path: Path | str, rounded: Collection[str], of_ids: Collection[str]) -> None:
    """Refuse columns of ids whose numbers have more digits than their program keeps."""
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
    first: int = 2,
    repeated: bool = False,
    left_out: float = 0.0,
    addressed: Callable[[set[str]], Collection[str]] | None = None,
) -> None:
    """Refuse platform ids that a program has read as numbers and rounded.

    Scientific notation is refused, unless it is in so small a share that the caller has its rows `left_out`; `first` is the
    row of the first id. Other rounding shows in the ids together:
    zeros after the 15th digit in far more of them than chance gives, or all of them numbers that a float holds exactly.
    Where an id is in several rows (`repeated`), it counts once. `addressed` gives those of some ids that are also in an
    address of their own row: these are whole.
    """
    broken = [(number, post_id) for number, post_id in enumerate(ids, start=first) if is_broken(post_id)]
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
    """Whether so many ids with nothing but zeros after the 15th digit are next to impossible by chance.

    Of evenly distributed ids of d digits a share of 10^-(d−15) ends so; of X's, which are mostly multiples of 4096, up to
    5^-(d−15). The share of larger counts is at most exp(−n·KL(share found‖share expected)) (Chernoff).
    """
    if not cut:
        return False
    expected = sum(5.0 ** -(len(post_id) - KEPT_DIGITS) for post_id in ids) / len(ids)
    share = cut / len(ids)
    if share <= expected:
        return False
    rest = (1 - share) * math.log((1 - share) / (1 - expected)) if share < 1 else 0.0
    return len(ids) * (share * math.log(share / expected) + rest) > NEXT_TO_IMPOSSIBLE
