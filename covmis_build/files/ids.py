"""Platform ids that a spreadsheet may have rewritten, and what programs write where there is nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.errors import BrokenIds
from covmis_build.files.workbook import KEPT_DIGITS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

NOTHING = {"NA", "N/A", "NaN", "nan", "NULL", "null", "None", "<NA>"}
"""What R, pandas and databases write where there is nothing."""
NO_LABELS = {"na", "n/a", "#n/a", "nan", "<na>", "null"}
"""The same among labels, in small letters: `none` may be a label, and is one of SemEval's."""
SMALLEST_LONG_ID = 16
REMEDY = "Take the ids from the original file, and keep the column as text in the spreadsheet"


def check_rounded(path: Path | str, rounded: Collection[str], of_ids: Collection[str]) -> None:
    """Refuse columns of ids whose numbers have more digits than their program keeps."""
    for name in of_ids:
        if name in rounded:
            raise BrokenIds(
                f"ids in {name} have more digits than numbers keep, and were rounded",
                file=path,
                remedy=REMEDY,
            )


def check_ids(path: Path | str, ids: Sequence[str], *, first: int = 2, repeated: bool = False) -> list[str]:
    """Refuse platform ids broken by a spreadsheet; the result lists those that are only suspicious.

    `first`: the row of the first id, which comes after a header or not. Scientific notation is always refused. Ids of
    16 digits or more with nothing but zeros after the 15th are refused when they are more than 1% of at least 100 ids,
    or all of 3 to 99: of different ids where an id stands in several rows (`repeated`), else of rows.
    """
    for number, post_id in enumerate(ids, start=first):
        head, _, tail = post_id.strip().upper().partition("E")
        if (
            (tail[:1] in {"+", "-"} or "." in head)
            and tail.lstrip("+-").isdigit()
            and head.replace(".", "").replace(",", "").isdigit()
        ):
            raise BrokenIds(
                f"the id {post_id} was broken by a spreadsheet", file=path, row=number, remedy=REMEDY
            )
    ids = list(dict.fromkeys(ids)) if repeated else ids
    cut = [
        post_id
        for post_id in ids
        if len(post_id) >= SMALLEST_LONG_ID and post_id.isdigit() and not post_id[KEPT_DIGITS:].strip("0")
    ]
    many, few = len(ids) >= 100 and len(cut) > len(ids) / 100, 3 <= len(ids) < 100 and len(cut) == len(ids)
    if many or few:
        raise BrokenIds(
            f"{len(cut)} of {len(ids)} ids end in zeros after the 15th digit, as {cut[0]}: "
            "a spreadsheet has rounded them",
            file=path,
            remedy=REMEDY,
        )
    return cut
