"""Posts of earlier rounds hidden in a round: checks with a known label, and repeats.

Checks are the same for all annotators. Repeats are individual: random posts that the annotator has labelled in a sealed
round, whatever their gold label. They measure self-agreement, to which checks that the annotator labelled before also
contribute. Both are stored in a separate folder, annotation/checks/c002 for round 002, with their labels and the
checks' key. They are excluded from gold, agreement, seals and releases.
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
from covmis_build.annotation.assignment import in_order
from covmis_build.annotation.frozen_items import for_people
from covmis_build.annotation.label_sets import sets_of_rounds
from covmis_build.annotation.training import Accuracy, accuracies
from covmis_build.errors import counted
from covmis_build.records import independent
from covmis_build.stats.intervals import in_percent, of_items

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pandas as pd

    from covmis_build.annotation.label_sets import LabelSets
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.options import Annotation, LabelChange
    from covmis_build.records import Label


APART = 3
"""In the order "claim": how many of an annotator's own posts leave their claim per hidden post."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """How often an annotator repeated their earlier label of a post, and after how long."""

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
    """Results of a round's checks."""

    posts: int
    accuracies: tuple[Accuracy, ...]
    repeats: tuple[Repeat, ...]

    @property
    def notes(self) -> list[str]:
        """Return each annotator's share of known labels and self-agreement as text."""
        told = [f"Checks, {row}." for row in self.accuracies if not row.label]
        told += [f"Labelled twice by the same annotator, {row}." for row in self.repeats]
        return told or ["Posts of earlier rounds are hidden in this round; they have no answers yet."]


def how_many(frozen: pd.DataFrame, options: Annotation) -> int:
    """Return the number of checks that make up the wanted share of an annotator's work."""
    people = max(len(options.people), 1)
    return math.ceil(options.checks * len(for_people(frozen)) * min(options.per_item, people) / people)


def own_again(
    work: Mapping[str, Sequence[str]],
    sealed: Sequence[RoundFolder],
    there: Collection[str],
    share: float,
    *,
    number: str,
    seed: int,
) -> dict[str, list[str]]:
    """Sample repeats for each annotator: posts of `there` that they have labelled, up to this share of their work.

    A post is repeated only once per annotator.
    """
    folders = [folder for round_ in sealed for folder in (round_, round_.checks) if folder]
    times = Counter((row.annotator, row.item_id) for folder in folders for row in _independent_labels(folder))
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
    """Return each annotator's repeats in this folder."""
    return checks.about.repeats or {}


def hidden_in(
    work: Mapping[str, Sequence[str]], round_: RoundFolder, *, order: str, seed: int
) -> dict[str, list[str]]:
    """Return each annotator's work with the hidden posts in it, in one order. Annotators without work get none."""
    checks = round_.checks
    if checks is None:
        return {who: list(items) for who, items in work.items()}
    asked = round_.asked()
    claims = dict(zip(asked["item_id"], asked["claim_id"], strict=True))
    for_all, again = set(checks.decisions()["item_id"]), repeats_in(checks)
    there = checks.items().query("salt != ''")["item_id"].tolist()
    return {
        who: among(
            items,
            [item for item in there if item in for_all | set(again.get(who, ()))],
            claims,
            who,
            order,
            seed,
        )
        if items
        else []
        for who, items in work.items()
    }


def among(
    items: Sequence[str], hidden: Sequence[str], claims: Mapping[str, str], who: str, order: str, seed: int
) -> list[str]:
    """Insert the hidden items into this annotator's order so that their position does not reveal them.

    In the order "claim" the posts of a claim are adjacent, so a lone post would reveal that it is hidden. Therefore some
    of the annotator's own posts also leave their claim: a lone post is more often an ordinary one.
    """
    if order == "mixed" or not hidden:
        return in_order([*items, *hidden], claims, who, order, seed)
    apart = [*hidden, *keyed.order(seed, f"apart for {who}", items)[: APART * len(hidden)]]
    together = in_order([item for item in items if item not in set(apart)], claims, who, order, seed)
    place = {item: float(at) for at, item in enumerate(together)}
    for item in apart:
        place[item] = keyed.uniform(seed, "place apart", who, item) * (len(together) + 1) - 1
    return sorted(place, key=lambda item: place[item])


def checks_of(checks: RoundFolder, rounds: Sequence[RoundFolder], changes: Sequence[LabelChange]) -> Checked:
    """Count how often annotators gave the known label, and their own label of an earlier round."""
    own = checks.number.removeprefix(checks.kind)
    earlier = [round_ for round_ in rounds if round_.number < own]
    sets = sets_of_rounds([round_ for round_ in rounds if round_.number <= own], changes)
    repeats = _repeats(checks, earlier, sets, own)
    return Checked(len(checks.decisions()), tuple(accuracies(checks)), tuple(repeats))


def _repeats(
    checks: RoundFolder, earlier: Sequence[RoundFolder], sets: LabelSets, number: str
) -> list[Repeat]:
    """Compare labels with earlier ones of the same person, on the labels that both rounds have in common."""
    before = {
        (row.annotator, row.item_id): (row, sets.common(round_.number, row.label))
        for round_ in earlier
        for row in _independent_labels(round_)
    }
    pairs: dict[str, list[tuple[bool, float]]] = {}
    for row in _independent_labels(checks):
        if (row.annotator, row.item_id) in before:
            then, label = before[row.annotator, row.item_id]
            equal = label == sets.common(number, row.label)
            pairs.setdefault(row.annotator, []).append((equal, _days(then.given_at, row.given_at)))
    rows = []
    for who, again in sorted(pairs.items()):
        same = sum(equal for equal, _ in again)
        days = median(passed for _, passed in again)
        share = same / len(again)
        rows.append(Repeat(who, len(again), same, share, *of_items(share, len(again)), days))
    return rows


def _independent_labels(round_: RoundFolder) -> list[Label]:
    """Return the independent labels of people."""
    return labels_of(independent(usable(round_.labels(), round_.items())))


def _days(then: str, now: str) -> float:
    passed = dt.datetime.fromisoformat(now) - dt.datetime.fromisoformat(then)
    return passed.total_seconds() / 86_400
