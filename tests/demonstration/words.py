"""Sentences from templates: `[a|b|]` is a choice, `{relative}` a slot that takes a word, or a given text."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

HERE = Path(__file__).parent
PHRASES = tomllib.loads((HERE / "phrases.toml").read_text("utf-8"))
CLAIMS = tomllib.loads((HERE / "claims.toml").read_text("utf-8"))
SLOTS: dict[str, Any] = PHRASES["slots"]
PIECE = re.compile(r"\[([^\[\]]*)\]|\{(\w+)\}")


class Chance:
    """A stream of choices from one seed: the same on every Python, because only `random()` is asked."""

    def __init__(self, random: Callable[[], float]) -> None:
        self.random = random

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.random() * len(choices))]

    def happens(self, probability: float) -> bool:
        return self.random() < probability

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, small ones more often."""
        return low + int((high - low + 1) * self.random() ** 2)

    def weighted(self, totals: Sequence[float]) -> int:
        """The place of a draw among running totals."""
        drawn = self.random() * totals[-1]
        return next(at for at, total in enumerate(totals) if drawn < total)


@cache
def pieces(template: str) -> tuple[str | tuple[str, ...], ...]:
    """A template taken apart: plain text, ("", a, b, …) for a choice, (name,) for a slot."""
    found: list[str | tuple[str, ...]] = []
    end = 0
    for piece in PIECE.finditer(template):
        found.append(template[end : piece.start()])
        choice, slot = piece.groups()
        found.append(("", *choice.split("|")) if slot is None else (slot,))
        end = piece.end()
    return *found, template[end:]


def say(template: str, chance: Chance, **given: str) -> str:
    """One sentence of this template."""
    said = []
    for piece in pieces(template):
        if isinstance(piece, str):
            said.append(piece)
        elif len(piece) > 1:
            choice = chance.pick(piece[1:])
            said.append(say(choice, chance, **given) if "{" in choice else choice)
        else:
            said.append(given[piece[0]] if piece[0] in given else word(piece[0], chance))
    return "".join(said)


def word(slot: str, chance: Chance) -> str:
    """A word for a slot: from its list, or made of a start and an end."""
    if slot == "n":
        return str(chance.between(2, 400))
    words = SLOTS[slot]
    if isinstance(words, dict):
        return chance.pick(words["start"]) + chance.pick(words["end"])
    return chance.pick(words)


def clause(claim_id: str, chance: Chance, words: str = "cores") -> str:
    """The claim in other words, as a clause without a full stop; `elsewise` in words that no query asks for."""
    return " ".join(say(chance.pick(CLAIMS[claim_id][words]), chance).split())


def framed(claim_id: str, stance: str, chance: Chance, words: str = "cores") -> str:
    """The claim in a sentence that takes this stance."""
    core = clause(claim_id, chance, words)
    return say(chance.pick(PHRASES[stance]["frames"]), chance, core=core, Core=core[:1].upper() + core[1:])
