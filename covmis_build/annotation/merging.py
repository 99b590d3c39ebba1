"""Merge the records of two copies of a study: of each round, the lines of both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.annotation import sendings
from covmis_build.annotation.gold import write_decisions
from covmis_build.annotation.label_lines import without_remarks
from covmis_build.annotation.round_folder import add_lines, every_round, sheets_of
from covmis_build.annotation.seal import items_hash
from covmis_build.errors import CheckFailed, InputError, counted
from covmis_build.report.result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from covmis_build.annotation.conflicts import Conflict
    from covmis_build.annotation.label_lines import Line
    from covmis_build.annotation.round_folder import RoundFolder


@dataclass(frozen=True, slots=True)
class MergedRound:
    """What came into a round: labels and decisions; and the items of which different decisions stand now."""

    round: str
    labels: int
    decisions: int
    conflicts: tuple[Conflict, ...]
    sealed_there: bool
    """True if the other copy has a seal that this one has not."""

    def __str__(self) -> str:
        there = "; it is sealed there: `covmis round seal` closes it here" if self.sealed_there else ""
        return f"Round {self.round}: {counted(self.labels, 'labels')} and {counted(self.decisions, 'decisions')} new{there}."


@dataclass(frozen=True, slots=True, repr=False)
class Merged(Result):
    """What came from another copy of the study."""

    source: str
    rounds: tuple[MergedRound, ...]
    only_there: tuple[str, ...]
    """Rounds that this study does not have."""

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Return the items that two leads decided differently."""
        return tuple(conflict for round_ in self.rounds for conflict in round_.conflicts)

    @property
    def summary(self) -> list[str]:
        """Return what came, round by round."""
        return [*map(str, self.rounds)] or ["The two copies have no round in common."]

    @property
    def warnings(self) -> list[str]:
        """Return conflicts, and rounds that were not merged."""
        missing = [f"{name} is not here and was not merged: copy its folder" for name in self.only_there]
        return [f"{told}." for told in [*map(str, self.conflicts), *missing]]

    def to_dict(self) -> dict[str, Any]:
        """As `covmis round merge --json` prints it."""
        rounds = [
            {
                "round": row.round,
                "labels": row.labels,
                "decisions": row.decisions,
                "sealed_there": row.sealed_there,
            }
            for row in self.rounds
        ]
        conflicts = [
            {
                "item_id": row.item_id,
                "decisions": [
                    dict(zip(("label", "lead", "at"), made, strict=True)) for made in row.decisions
                ],
            }
            for row in self.conflicts
        ]
        return {
            "source": self.source,
            "rounds": rounds,
            "conflicts": conflicts,
            "only_there": [*self.only_there],
        }

    def check(self) -> None:
        """Raise an error if there are conflicts."""
        if self.conflicts:
            raise CheckFailed(
                f"everything is merged; {counted(len(self.conflicts), 'items')} to decide again"
            )


def merge_rounds(rounds: Path, theirs: Path) -> tuple[list[MergedRound], list[str]]:
    """Add the lines of another copy's rounds to these. Also returns the rounds that are only there.

    First everything is read and compared: if a round is refused, nothing is written.
    """
    here = {_key(round_): round_ for round_ in every_round(rounds)}
    there = {_key(round_): round_ for round_ in every_round(theirs)}
    pairs = [(here[name], round_) for name, round_ in there.items() if name in here]
    coming = [(ours, copy, _new_lines(ours, copy)) for ours, copy in pairs]
    merged = []
    for ours, copy, lines in coming:
        add_lines(ours, lines)
        if not ours.sealed:
            sendings.add(ours.folder, copy.sent)
        if not ours.has_key and not ours.sealed:
            write_decisions(ours)
        decisions = sum(line.decides for line in lines)
        merged.append(
            MergedRound(
                ours.number,
                len(lines) - decisions,
                decisions,
                ours.conflicts(),
                copy.sealed and not ours.sealed,
            )
        )
    return merged, [name for name in there if name not in here]


def _key(round_: RoundFolder) -> str:
    return sheets_of(round_.number).removesuffix("/sheets/")


def _new_lines(ours: RoundFolder, theirs: RoundFolder) -> list[Line]:
    """Return the lines that only the other copy has, without remarks on posts that were purged here."""
    if items_hash(ours.items()) != items_hash(theirs.items()) or ours.scheme != theirs.scheme:
        raise InputError(
            f"has another round {ours.number}: its posts or labels are not those of round {ours.number} here",
            file=theirs.folder,
            remedy="Only copies of one round can be merged. It was opened twice: keep one of the two, and open the other's "
            "claims as a new round",
        )
    known = {line.id for line in ours.lines()}
    lines = [line for line in theirs.lines() if line.id not in known]
    closed = [line for line in lines if not ours.takes(line.item)]
    if closed:
        raise InputError(
            f"has {counted(len(closed), 'labels')} that round {ours.number} here, which is sealed, has not "
            f"({_named(closed)})",
            file=theirs.folder,
            remedy=f'Reopen their posts first: `covmis round reopen "{closed[0].item}" … --reason … --round {ours.number}`',
        )
    frozen = ours.items()
    purged = set(frozen.loc[frozen["salt"] == "", "item_id"])
    return [without_remarks(line) if line.item in purged else line for line in lines]


def _named(lines: Sequence[Line]) -> str:
    names = [f"{line.by} on {line.item}" for line in lines[:3]]
    return ", ".join(names) + ", …" * (len(lines) > len(names))
