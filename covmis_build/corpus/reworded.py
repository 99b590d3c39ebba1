"""Claims whose text was changed after people had judged posts by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Reworded:
    """A claim whose text in the claim list is no longer the one that people judged."""

    claim: str
    judged: str
    """The text in its rounds, which is published."""
    now: str
    rounds: tuple[str, ...]

    def __str__(self) -> str:
        return f"the text of claim {self.claim} was changed after {named_rounds(self.rounds)}"


def named_rounds(rounds: Sequence[str]) -> str:
    """Name these rounds in a sentence.

    >>> named_rounds(["001"]), named_rounds(["001", "002"])
    ('round 001', 'rounds 001, 002')
    """
    return f"round{'s' * (len(rounds) > 1)} {', '.join(rounds)}"
