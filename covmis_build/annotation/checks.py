"""Posts of earlier rounds, hidden among a round's own: checks, whose label is known, and repeats.

Checks are the same for everybody. Repeats are each person's own: posts that they have labelled in a sealed round, drawn
by chance whatever became of them; how often both labels are the same is their agreement with themselves. (Checks that
somebody has labelled before count there, too.) Both are in a folder of their own, annotation/checks/c002 for round
002, with their labels and the checks' key: nothing of them counts for gold, agreement, a seal or a release.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from covmis_build import keyed
from covmis_build.annotation.answers import labels_of, usable
from covmis_build.annotation.frozen_items import for_people, in_order
from covmis_build.annotation.training import Accuracy, accuracies
from covmis_build.errors import counted
from covmis_build.records import independent
from covmis_build.stats.intervals import in_percent, of_items

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.options import Annotation
    from covmis_build.records import Label


APART = 3
"""In the order "claim", so many of a person's own posts stand apart from their claim for each hidden one that does."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """How often a person gave a post the label that they had given the same post before, and how long ago."""

    annotator: str
    posts: int
    same: int
    share: float
    low: float | None
    high: float | None
    days: float

    def __str__(self) -> str:
        when = f"half of them within {self.days:.0f} days" if self.days >= 1 else "within a day"
        return (
            f"{self.annotator}: {self.same} of {counted(self.posts, 'posts')} the same label again "
            f"({self.share:.0%}, {in_percent(self.low, self.high)}; {when})"
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
        told += [f"Labelled twice by the same annotator, {row}." for row in self.repeats]
        return told or ["Posts of earlier rounds are hidden in this round; they have no answers yet."]


def how_many(frozen: pd.DataFrame, options: Annotation) -> int:
    """How many checks make up the wanted share of what one person is given of these items."""
    people = max(len(options.people), 1)
    return math.ceil(options.checks * len(for_people(frozen)) * min(options.per_item, people) / people)


def own_again(
    work: Mapping[str, Sequence[str]], sealed: Sequence[RoundFolder], there: Collection[str], share: float,
    *, number: str, seed: int,
) -> dict[str, list[str]]:  # fmt: skip
    """For each person as many of the posts `there` that they have labelled before as make up this share of their work.

    A post that they have had twice does not come a third time.
    """
    folders = [folder for round_ in sealed for folder in (round_, round_.checks) if folder]
    times = Counter((row.annotator, row.item_id) for folder in folders for row in _given(folder))
    again = {}
    for who, items in work.items():
        once = [
            item for (person, item), count in times.items() if person == who and count == 1 and item in there
        ]
        drawn = keyed.order(seed, f"repeats {number} {who}", once)[: math.ceil(share * len(items))]
        if drawn:
            again[who] = sorted(drawn)
    return again


def repeats_in(checks: RoundFolder) -> dict[str, list[str]]:
    """Whose are the repeats in this folder: each person's own."""
    return checks.about.repeats or {}


def hidden_in(
    work: Mapping[str, Sequence[str]], round_: RoundFolder, *, order: str, seed: int
) -> dict[str, list[str]]:
    """What each annotator gets: their work with the hidden posts in it, in one order; who has no work gets none."""
    checks = round_.checks
    if checks is None:
        return {who: list(items) for who, items in work.items()}
    asked = round_.asked()
    claims = dict(zip(asked["item_id"], asked["claim_id"], strict=True))
    for_all, again = set(checks.decisions()["item_id"]), repeats_in(checks)
    there = checks.items().query("salt != ''")["item_id"].tolist()
    return {
        who: among(
            items, [item for item in there if item in for_all | set(again.get(who, ()))], claims, who, order, seed
        ) if items else []
        for who, items in work.items()
    }  # fmt: skip


def among(
    items: Sequence[str], hidden: Sequence[str], claims: Mapping[str, str], who: str, order: str, seed: int
) -> list[str]:
    """These items with the hidden ones among them, in this person's order; a place tells nobody which is which.

    In the order "claim" a hidden post would come alone, or as one of few, where the others' claims come whole. So posts
    of the person's own work leave their claim, too, and stand anywhere: one that does is more often theirs than not.
    """
    if order == "mixed" or not hidden:
        return in_order([*items, *hidden], claims, who, order, seed)
    apart = [*hidden, *keyed.order(seed, f"apart for {who}", items)[: APART * len(hidden)]]
    together = in_order([item for item in items if item not in set(apart)], claims, who, order, seed)
    place = {item: float(at) for at, item in enumerate(together)}
    for item in apart:
        place[item] = keyed.uniform(seed, "place apart", who, item) * (len(together) + 1) - 1
    return sorted(place, key=lambda item: place[item])


def checks_of(checks: RoundFolder, rounds: Sequence[RoundFolder]) -> Checked:
    """How often everybody gave the known label, and the label that they themselves had given in an earlier round."""
    own = checks.number.removeprefix(checks.kind)
    earlier = [round_ for round_ in rounds if round_.number < own]
    return Checked(len(checks.decisions()), tuple(accuracies(checks)), tuple(_repeats(checks, earlier)))


def _repeats(checks: RoundFolder, earlier: Sequence[RoundFolder]) -> list[Repeat]:
    before = {(row.annotator, row.item_id): row for round_ in earlier for row in _given(round_)}
    pairs: dict[str, list[tuple[bool, float]]] = {}
    for row in _given(checks):
        then = before.get((row.annotator, row.item_id))
        if then:
            equal = then.label == row.label
            pairs.setdefault(row.annotator, []).append((equal, _days(then.given_at, row.given_at)))
    rows = []
    for who, again in sorted(pairs.items()):
        same = sum(equal for equal, _ in again)
        days = median(passed for _, passed in again)
        share = same / len(again)
        rows.append(Repeat(who, len(again), same, share, *of_items(share, len(again)), days))
    return rows


def _given(round_: RoundFolder) -> list[Label]:
    """The labels that people gave for themselves."""
    return labels_of(independent(usable(round_.labels(), round_.items())))


def _days(then: str, now: str) -> float:
    passed = dt.datetime.fromisoformat(now) - dt.datetime.fromisoformat(then)
    return passed.total_seconds() / 86_400
