"""Decisions of two leads on one item, of which neither knew the other: the item has no final label until one decides again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from covmis_build.annotation.label_lines import Line


@dataclass(frozen=True, slots=True)
class Conflict:
    """An item with different decisions: outcome, lead and time of each, the earliest first."""

    round: str
    item_id: str
    decisions: tuple[tuple[str, str, str], ...]

    def __str__(self) -> str:
        told = " and ".join(f"{outcome} ({lead}, {at})" for outcome, lead, at in self.decisions)
        return (
            f"{self.item_id} was decided as {told}, neither knowing of the other, and has no final label. "
            f'`covmis round adjudicate "{self.item_id}" --round {self.round} --label …` decides it'
        )


def standing(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """Return for each item the decisions that no other decision replaced; more than one if copies were merged."""
    decisions = [line for line in lines if line.decides]
    replaced = {replaced for line in decisions for replaced in line.instead_of}
    of_item: dict[str, list[Line]] = {}
    for line in decisions:
        if line.id not in replaced:
            of_item.setdefault(line.item, []).append(line)
    return of_item


def conflicts_among(lines: Sequence[Line]) -> tuple[Conflict, ...]:
    """Return the items of which different decisions stand, by item."""
    return tuple(
        Conflict(
            decisions[0].round,
            item,
            tuple((_outcome(line), line.lead, line.at) for line in sorted(decisions, key=_when)),
        )
        for item, decisions in sorted(standing(lines).items())
        if len(set(map(_outcome, decisions))) > 1
    )


def _when(line: Line) -> tuple[str, str, str]:
    """Return when and by whom it was decided: decisions of one second come by the lead's name."""
    return line.at, line.lead, line.id


def _outcome(line: Line) -> str:
    """Return what was decided, in a word: the label, or that it was left undecided, taken back or unusable."""
    return line.label or {"skipped": "undecided"}.get(line.status, line.status)
