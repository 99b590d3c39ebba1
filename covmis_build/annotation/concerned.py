"""The labelled posts that a change of [labels] concerns: those of a split label, and those that could not get a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from covmis_build.annotation.gold import decisions_of
from covmis_build.annotation.label_sets import became_today
from covmis_build.errors import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.options import Labels


@dataclass(frozen=True, slots=True)
class Concerned:
    """Posts of a round that a change of labels concerns: a split label's, or all of them for a new label."""

    round: str
    label: str
    """The round's label that was split; or the new label."""
    became: tuple[str, ...]
    """What a split label became; empty for a new label."""
    items: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Return it as text."""
        posts = counted(len(self.items), "posts")
        if self.became:
            return (
                f"'{self.label}' of round {self.round} was split into {', '.join(self.became)}: {posts} with it may need "
                "another look."
            )
        return f"'{self.label}' is new since round {self.round}, where {posts} could not get it."


def concerned(rounds: Sequence[RoundFolder], labels: Labels) -> list[Concerned]:
    """Return which posts of the rounds that count today's labels concern, with the final labels of these rounds."""
    told = []
    for round_ in rounds:
        if round_.pilot:
            continue
        became = became_today(rounds, labels)[round_.number]
        gold = decisions_of(round_)
        for label, now in became.items():
            items = tuple(sorted(gold.loc[gold["label"] == label, "item_id"]))
            if len(now) > 1 and items:
                told.append(Concerned(round_.number, label, tuple(now), items))
        reached = {name for now in became.values() for name in now}
        items = tuple(sorted(gold["item_id"]))
        told += [
            Concerned(round_.number, label, (), items)
            for label in labels.values
            if label not in reached and items
        ]
    return told
