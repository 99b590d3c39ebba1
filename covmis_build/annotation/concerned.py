"""The labelled posts that a change of [labels] concerns: those of a split label, and those that could not get a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from covmis_build.annotation.label_sets import LabelSet, became_in
from covmis_build.annotation.newest import concerned_items, newest
from covmis_build.errors import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.options import Labels


@dataclass(frozen=True, slots=True)
class Concerned:
    """Posts of a round that a change of labels concerns: those that got a split label, or all of them for a new label."""

    round: str
    label: str
    """The label that was split or left out; or the new label."""
    became: tuple[str, ...]
    """What a split label became."""
    new: bool
    items: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Return it as text."""
        posts = counted(len(self.items), "posts")
        if self.new:
            return f"'{self.label}' is new since round {self.round}, where {posts} could not get it."
        how = f"was split into {', '.join(self.became)}" if self.became else "was left out"
        return f"'{self.label}' of round {self.round} {how}: {posts} with it may need another look."


def concerned(rounds: Sequence[RoundFolder], labels: Labels) -> list[Concerned]:
    """Return which posts of the rounds that count today's labels concern, by their newest answers."""
    if not rounds:
        return []
    today = LabelSet("today", int(rounds[-1].number) + 1, labels.values)
    now = newest(rounds, labels.changes)
    sets = [*now.sets.known, today]
    became_now = became_in(sets, labels.changes, today.round)
    told = []
    for each in now.rounds:
        became = {name: became_now[name] for name in each.used}
        after = {label: names for of_labels in became.values() for label, names in of_labels.items()}
        for label, items in concerned_items(each, became, today.labels).items():
            new = len(after.get(label, ())) == 1 or label not in after
            told.append(Concerned(each.round, label, () if new else after[label], new, tuple(sorted(items))))
    return told
