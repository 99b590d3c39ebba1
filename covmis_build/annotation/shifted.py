"""Find label columns shifted by one row: they agree with other annotators' labels of the neighbouring posts.

Each annotator has an individual order of posts. A shifted column therefore agrees by chance in its own rows, and well
with the rows from which it came.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STANDARD_ERRORS = 3
"""Minimum excess, in standard errors, of equal labels in the row above or below over those in the same row. For two
annotators with unrelated labels it occurs by chance in one of 400 sheets, for others almost never.
"""


def shifted(labels: Mapping[str, str], others: Mapping[str, Mapping[str, str]]) -> str:
    """Report that a sheet's labels agree better with another annotator's labels of the previous or next post, if so."""
    for person, theirs in others.items():
        for towards, where in ((-1, "above"), (1, "below")):
            in_place, next_row = _agree(list(labels), labels, theirs, towards)
            gained, lost = next_row - in_place, in_place - next_row
            if len(gained) - len(lost) > STANDARD_ERRORS * math.sqrt(len(gained) + len(lost)):
                return (
                    f"{len(next_row)} labels agree with those of {person} for the post one row {where}, "
                    f"{len(in_place)} with those for their own post"
                )
    return ""


def _agree(
    order: Sequence[str], labels: Mapping[str, str], theirs: Mapping[str, str], towards: int
) -> tuple[set[str], set[str]]:
    """Return the equal labels for the same post, and for the neighbouring one, where both exist."""
    pairs = [
        (item, order[at + towards])
        for at, item in enumerate(order)
        if 0 <= at + towards < len(order) and item in theirs and order[at + towards] in theirs
    ]
    in_place = {item for item, _ in pairs if labels[item] == theirs[item]}
    return in_place, {item for item, neighbour in pairs if labels[item] == theirs[neighbour]}
