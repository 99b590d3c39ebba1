"""Uncertain labels: shares when each item counts by its annotators' own answers instead of gold.

Independent answers are a sample of the possible annotators' answers. The item's share of answers replaces gold, and the
share without each annotator shows the dependence on who answered. This is reported in addition to gold's share, not
instead of it: adjudication may be right and these annotators wrong.
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
    """Return one row per item and one column per annotator, from item, annotator and label of each answer."""
    said = pd.DataFrame(rows, columns=["item", "person", "label"])
    return said.pivot_table(index="item", columns="person", values="label", aggfunc="last")


def answered(answers: pd.DataFrame, items: pd.Series, label: str) -> Floats | None:
    """Return whether each annotator gave these items this label: 1, 0, or NaN; None if no item has two answers.

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
    """Return each item's share of answers; without answers the alternative value."""
    given = ~np.isnan(said)
    number = given.sum(1)
    return np.where(number > 0, np.where(given, said, 0.0).sum(1) / np.maximum(number, 1), otherwise)


def between_people(said: Floats, shares: Floats, otherwise: Floats) -> tuple[float, int]:
    """Return the jackknife variance over annotators of a weighted share, and the number of annotators.

    `shares` are the items' parts of the whole. Items labelled only by the left-out annotator are omitted, too.
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
    """Add the variance between annotators to the figure, with Satterthwaite's degrees of freedom and the new population."""
    of_items = figure.variance - between
    below = between**2 / max(people - 1, 1) + of_items**2 / max(figure.degrees, 1.0)
    degrees = figure.variance**2 / below if below > 0 else figure.degrees
    return replace(
        figure,
        degrees=max(degrees, 1.0),
        interval=Over.PEOPLE if people > 2 else Over.THESE_TWO if people == 2 else figure.interval,
    )
