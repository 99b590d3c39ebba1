"""Labels that stand one row too low or too high: they agree with other people's labels of the posts next to theirs.

People get their posts in orders of their own. So a label column that was shifted agrees by chance in its own rows, and
well in the rows from which it came.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

STANDARD_ERRORS = 3
"""So many more labels, in standard errors, agree in the row above or below than in their own: of two people whose labels have
nothing to do with each other, chance does it in one of 400 sheets, of others hardly ever."""


def shifted(labels: Mapping[str, str], others: Mapping[str, Mapping[str, str]]) -> str:
    """How labels of posts, in the order of a sheet, agree better with another person's of the post before or after; or nothing."""
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
    """Which posts' labels are the other person's of the same post, and of the neighbouring one, where both exist."""
    pairs = [
        (item, order[at + towards])
        for at, item in enumerate(order)
        if 0 <= at + towards < len(order) and item in theirs and order[at + towards] in theirs
    ]
    in_place = {item for item, _ in pairs if labels[item] == theirs[item]}
    return in_place, {item for item, neighbour in pairs if labels[item] == theirs[neighbour]}
