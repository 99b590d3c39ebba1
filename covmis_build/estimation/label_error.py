"""Labels that are uncertain themselves: what the shares are when each item counts as its people's own answers do.

Gold has one label for each item. Where several people answered on their own, before any discussion, they are a sample, too:
of the people who might have been asked. An item's share of answers represents it, and the share without each person says
how much it depends on who was asked. Shown with gold's share, never instead: adjudication may well be right, and these
people wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from covmis_build.stats.intervals import Estimate, Over

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def answers_table(rows: Iterable[tuple[str, str, str]]) -> pd.DataFrame:
    """Who said what: a row for each item, a column for each person, from item, person and label of each answer."""
    said = pd.DataFrame(rows, columns=["item", "person", "label"])
    return said.pivot_table(index="item", columns="person", values="label", aggfunc="last")


def answered(answers: pd.DataFrame, items: pd.Series, label: str) -> Floats | None:
    """Whether each person gave these items this label: 1, 0, or nan; none where no item has two answers.

    >>> table = answers_table([("a", "x", "favor"), ("a", "y", "against"), ("b", "x", "favor")])
    >>> answered(table, pd.Series(["a", "b"]), "favor").tolist()
    [[1.0, 0.0], [1.0, nan]]
    """
    said = answers.reindex(items)
    given = said.notna().to_numpy()
    if not (given.sum(1) > 1).any():
        return None
    return np.where(given, (said == label).to_numpy(dtype=float), np.nan)


def own_shares(said: Floats, otherwise: Floats) -> Floats:
    """Each item's share of its answers; of items without answers what they have otherwise."""
    given = ~np.isnan(said)
    number = given.sum(1)
    return np.where(number > 0, np.where(given, said, 0.0).sum(1) / np.maximum(number, 1), otherwise)


def between_people(said: Floats, shares: Floats, otherwise: Floats) -> tuple[float, int]:
    """The jackknife variance over people of a weighted share, and how many people there are.

    `shares` are the items' parts of the whole. An item that only the person left out has labelled is omitted, too.
    """
    people = np.flatnonzero((~np.isnan(said[shares > 0])).any(0))
    asked = (~np.isnan(said)).any(1)
    left = []
    for person in people:
        rest = np.delete(said, person, axis=1)
        kept = ~asked | (~np.isnan(rest)).any(1)
        whole = float(shares[kept].sum())
        left.append(float(np.sum((shares * own_shares(rest, otherwise))[kept])) / whole if whole else np.nan)
    values = np.array(left)
    if len(values) < 2 or np.isnan(values).any():
        return 0.0, len(values)
    count = len(values)
    return (count - 1) / count * float(np.sum((values - values.mean()) ** 2)), count


def over_people(figure: Estimate, between: float, people: int) -> Estimate:
    """The figure, whose variance holds that between people, with Satterthwaite's degrees, and about whom it speaks."""
    of_items = figure.variance - between
    below = between**2 / max(people - 1, 1) + of_items**2 / max(figure.degrees, 1.0)
    degrees = figure.variance**2 / below if below > 0 else figure.degrees
    return replace(
        figure,
        degrees=max(degrees, 1.0),
        interval=Over.PEOPLE if people > 2 else Over.THESE_TWO if people == 2 else figure.interval,
    )
