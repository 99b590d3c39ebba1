"""Checks: posts whose label is known, hidden among a round's own, the same for everybody in it.

They stand in a folder of their own, annotation/checks/c002 for round 002, with their labels and their key: nothing of
them counts for gold, agreement, a seal or a release. Whoever has labelled such a post before, in a round long past,
has labelled it twice: how often both labels are the same is their agreement with themselves.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from covmis_build.annotation.answers import Phase, Status, usable
from covmis_build.annotation.frozen_items import for_people, in_order, rows_of
from covmis_build.annotation.training import Accuracy, accuracies
from covmis_build.errors import counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.options import Annotation


@dataclass(frozen=True, slots=True)
class Repeat:
    """How often a person gave a check the label that they had given the same post before, and how long ago."""

    annotator: str
    posts: int
    same: int
    share: float
    low: float
    high: float
    days: float

    def __str__(self) -> str:
        return (
            f"{self.annotator}: {self.same} of {counted(self.posts, 'posts')} the same again "
            f"({self.share:.0%}, 95% interval {self.low:.0%} to {self.high:.0%}; half of them within {self.days:.0f} days)"
        )


@dataclass(frozen=True, slots=True)
class Checked:
    """What the checks of a round say of its people."""

    posts: int
    accuracies: tuple[Accuracy, ...]
    repeats: tuple[Repeat, ...]

    @property
    def notes(self) -> list[str]:
        """In words: everybody's share of known labels, and how far people agree with themselves."""
        told = [f"Checks, {row}." for row in self.accuracies if not row.label]
        told += [f"The same person again, {row}." for row in self.repeats]
        return told or [f"{counted(self.posts, 'posts')} are hidden checks; nobody has answered them yet."]

    def to_dict(self) -> dict[str, Any]:
        """As report.json has it."""
        return {
            "posts": self.posts,
            "accuracies": [asdict(row) for row in self.accuracies],
            "repeats": [asdict(row) for row in self.repeats],
        }


def how_many(frozen: pd.DataFrame, options: Annotation) -> int:
    """How many checks make up the wanted share of what one person is given of these items."""
    people = max(len(options.people), 1)
    return math.ceil(options.checks * len(for_people(frozen)) * min(options.per_item, people) / people)


def hidden_in(
    work: Mapping[str, Sequence[str]], round_: RoundFolder, *, order: str, seed: int
) -> dict[str, list[str]]:
    """What each annotator gets: their work with the checks in it, in one order; who has no work gets no checks."""
    if round_.checks is None:
        return {who: list(items) for who, items in work.items()}
    asked = round_.asked()
    claims = dict(zip(asked["item_id"], asked["claim_id"], strict=True))
    checks = round_.checks.items()
    hidden = checks.loc[checks["salt"] != "", "item_id"].tolist()
    return {
        who: in_order([*items, *hidden], claims, who, order, seed) if items else []
        for who, items in work.items()
    }


def checks_of(checks: RoundFolder, rounds: Sequence[RoundFolder]) -> Checked:
    """How often everybody gave the known label, and the label that they themselves had given in an earlier round."""
    own = checks.number.removeprefix(checks.kind)
    earlier = [round_ for round_ in rounds if round_.number < own]
    return Checked(len(checks.items()), tuple(accuracies(checks)), tuple(_repeats(checks, earlier)))


def _repeats(checks: RoundFolder, earlier: Sequence[RoundFolder]) -> list[Repeat]:
    from statsmodels.stats.proportion import proportion_confint

    before = {(row["annotator"], row["item_id"]): row for round_ in earlier for row in _given(round_)}
    pairs: dict[str, list[tuple[bool, float]]] = {}
    for row in _given(checks):
        then = before.get((row["annotator"], row["item_id"]))
        if then:
            pairs.setdefault(row["annotator"], []).append(
                (then["label"] == row["label"], _days(then["given_at"], row["given_at"]))
            )
    rows = []
    for who, again in sorted(pairs.items()):
        same = sum(equal for equal, _ in again)
        low, high = proportion_confint(same, len(again), method="wilson")
        days = median(passed for _, passed in again)
        rows.append(Repeat(who, len(again), same, same / len(again), float(low), float(high), days))
    return rows


def _given(round_: RoundFolder) -> list[dict[str, Any]]:
    """The labels that people gave for themselves."""
    current = usable(round_.labels(), round_.items())
    return rows_of(current[(current["phase"] == Phase.INDEPENDENT) & (current["status"] == Status.GIVEN)])


def _days(then: str, now: str) -> float:
    passed = dt.datetime.fromisoformat(now) - dt.datetime.fromisoformat(then)
    return passed.total_seconds() / 86_400
