"""Drift: changes over rounds in how an annotator uses a label compared with the others. Also the time per item."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from covmis_build.annotation.label_matrix import in_natural_order
from covmis_build.stats.chi_square import one_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd


class Difference(Struct, frozen=True):
    """How much more often an annotator gives a label in a round than the others do on the same items."""

    round: str
    items: int
    share: float | None = None
    difference: float | None = None
    se: float | None = None


class Drift(Struct, frozen=True):
    """An annotator's differences in one label by round; `p` tests whether they are equal in all rounds."""

    annotator: str
    label: str
    rounds: list[Difference]
    p: float | None


class TimePerItem(Struct, frozen=True):
    """Number of an annotator's timed labels, and quartiles of their seconds."""

    annotator: str
    timed: int
    median_seconds: float
    quarter_below: float
    quarter_above: float


def drift(rows: pd.DataFrame, classes: Sequence[str]) -> list[Drift]:
    """Compare each annotator's use of each label with the others' on the same items, by round.

    `p` is from a chi-square test over the rounds' paired differences. With several labels, each p of an annotator is
    multiplied by the number of labels.
    """
    if "round" not in rows.columns or rows["round"].nunique() < 2:
        return []
    drifts = []
    for who in in_natural_order(rows["annotator"].unique()):
        own = []
        for label in classes:
            rounds = [
                _difference(str(name), part, who, label) for name, part in rows.groupby("round", sort=True)
            ]
            own.append(Drift(who, label, rounds, _changed(rounds)))
        tests = sum(label.p is not None for label in own)  # Bonferroni's adjustment
        drifts += [label if label.p is None else replace(label, p=min(1.0, label.p * tests)) for label in own]
    return drifts


def _difference(round_: str, rows: pd.DataFrame, who: str, label: str) -> Difference:
    """Return the mean item-wise difference of this annotator and the others, and its standard error."""
    mine = rows[rows["annotator"] == who].set_index("item")["label"] == label
    others = (
        (rows.loc[rows["annotator"] != who, "label"] == label)
        .groupby(rows.loc[rows["annotator"] != who, "item"])
        .mean()
    )
    both = mine.index.intersection(others.index)
    if len(both) < 2:
        return Difference(round_, len(both))
    apart = mine[both].astype(float) - others[both]
    error = float(apart.std(ddof=1) / math.sqrt(len(both)))
    return Difference(round_, len(both), float(mine[both].mean()), float(apart.mean()), error)


def _changed(rounds: Sequence[Difference]) -> float | None:
    usable = [
        (round_.difference, round_.se) for round_ in rounds if round_.difference is not None and round_.se
    ]
    return one_mean(usable)[0].p if len(usable) > 1 else None


def time_per_item(rows: pd.DataFrame) -> list[TimePerItem]:
    """Return the time per item of each annotator with timed labels."""
    if "seconds" not in rows.columns:
        return []
    times = []
    by_person = {str(who): part for who, part in rows.groupby("annotator")}
    for who in in_natural_order(by_person):
        part = by_person[who]
        seconds = part["seconds"].dropna().astype(float)
        if len(seconds):
            low, middle, high = (float(quartile) for quartile in seconds.quantile([0.25, 0.5, 0.75]))
            times.append(TimePerItem(who, len(seconds), middle, low, high))
    return times
