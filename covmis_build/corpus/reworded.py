"""Claims whose text was changed after people had judged posts by it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reworded:
    """A claim whose text in the claim list is no longer the one that people judged."""

    claim: str
    judged: str
    """The text in its rounds, which is published."""
    now: str
    rounds: tuple[str, ...]

    def __str__(self) -> str:
        rounds = f"round{'s' * (len(self.rounds) > 1)} {', '.join(self.rounds)}"
        return f"the text of claim {self.claim} was changed after {rounds}"
