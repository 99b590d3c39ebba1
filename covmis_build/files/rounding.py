"""Whether the ids of a list are genuine, or were rounded by a program that read them as numbers.

Rounding leaves a mark in each id: only zeros after some digit, the decimal that JavaScript prints for a float, or a number that a
float holds exactly. A genuine id has a mark by chance, with a small and known probability. How many ids have it, compared with
that probability, is a likelihood ratio: of the most likely share of rounded ids against none.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LENGTHS = range(16, 21)
"""Digits of ids that programs round, and that platforms have."""
EXACT = 2**53
"""Maximum integer up to which floats are exact."""
EVIDENCE = 5.0
"""Logarithm (base 10) of the smallest likelihood ratio that counts as rounding."""
MARGIN = 1.6
"""Factor on the probabilities: real lists of ids have marks up to 1.3 times as often as evenly distributed numbers."""
COUNTER = 4096
"""X's ids end in a counter of 12 bits that is 0 in 20 to 75% of real lists. Floats hold these ids exactly, so they tell nothing."""
EXACT_OF_LONG, EXACT_OF_SHORT, SHORTER = 0.62, 0.8, 18
"""Maximum share of genuine ids that floats hold exactly, with 19 digits and with at most 18: in real lists 19 to 56%, 65 to 76%."""
WHOLE = 0.995
ALL_EXACT, CHANCE = 20, 3.0
"""Number of ids of which all are exact floats that suffices, and its evidence."""


class Rounded(NamedTuple):
    """What shows that ids were rounded: the ids with the mark, the likely share of rounded ids, and how they were rounded."""

    marked: list[str]
    share: float
    among: int
    how: str

    @property
    def problem(self) -> str:
        """The finding in words."""
        how_many = (
            "all"
            if self.share > WHOLE
            else f"about {max(self.share, 0.001):.1%}".replace(".0%", "%") + " of the"
        )
        return f"{how_many} {self.among:,} long ids, as {self.marked[0]}, have {self.how}"


def _zeros_from(digit: int) -> Callable[[str], bool]:
    return lambda native: not native[digit:].strip("0")


def _as_javascript_prints(native: str) -> bool:
    """True if the id is the shortest decimal of a float, filled up with zeros.

    >>> _as_javascript_prints("1252934402983764000"), _as_javascript_prints("1252934402983763968")
    (True, False)
    """
    return not native[17:].strip("0") and int(Decimal(repr(float(int(native))))) == int(native)


def _held_exactly(native: str) -> bool:
    return int(float(int(native))) == int(native)


def _chance_of_zeros(digit: int) -> Callable[[str], float]:
    return lambda native: MARGIN * 10.0 ** (digit - len(native))


def _chance_of_javascript(native: str) -> float:
    return MARGIN / 2.0 ** max(0, int(native).bit_length() - 53)


def _chance_of_exact(native: str) -> float:
    return EXACT_OF_SHORT if len(native) <= SHORTER else EXACT_OF_LONG


class _Mark(NamedTuple):
    has: Callable[[str], bool]
    chance: Callable[[str], float]
    how: str


_EXACT = _Mark(
    _held_exactly,
    _chance_of_exact,
    "values that a float holds exactly: a program has read them as numbers and rounded them",
)
_OF_15_DIGITS = _Mark(
    _zeros_from(15), _chance_of_zeros(15), "zeros after the 15th digit: a spreadsheet, or %.15g, rounded them"
)
_SHORTENED = _Mark(
    _zeros_from(12),
    lambda native: (
        MARGIN * 5.0 ** (12 - len(native))
    ),  # such an id with a counter of 0 is divisible by 2 anyway
    "zeros after the 12th digit: a spreadsheet showed few digits, and rounded them",
)
_MARKS = (
    _SHORTENED,
    _OF_15_DIGITS,
    _Mark(_zeros_from(16), _chance_of_zeros(16), "zeros after the 16th digit: R, or %.16g, rounded them"),
    _Mark(
        _as_javascript_prints,
        _chance_of_javascript,
        "the digits of numbers that JavaScript, jq or pandas print: read as numbers, and rounded",
    ),
    _Mark(_zeros_from(17), _chance_of_zeros(17), "zeros after the 17th digit: a program rounded them"),
    _EXACT,
)


def rounding_of(ids: Sequence[str]) -> Rounded | None:
    """Return the best evidence that some of these distinct ids were rounded; None if they can be genuine.

    >>> rounding_of([str(1252934402983763001 + 7_919_000_003 * at) for at in range(30)])
    >>> rounding_of([str(1252934402983700000 + 7_919_000_000 * at) for at in range(30)]).share
    1.0
    """
    long = [
        native
        for native in ids
        if len(native) in LENGTHS and native.isdecimal() and native.isascii() and native[0] != "0"
    ]
    telling = [native for native in long if int(native) % COUNTER]
    best, strongest = None, EVIDENCE
    for mark in _MARKS:
        natives = long if mark in {_EXACT, _SHORTENED} else telling
        if mark is not _OF_15_DIGITS:
            natives = [native for native in natives if int(native) > EXACT]
        marked = [native for native in natives if mark.has(native)]
        if not marked:
            continue
        chance = sum(map(mark.chance, natives)) / len(natives)
        evidence, share = _evidence(len(marked), len(natives), chance)
        if evidence > strongest:
            best, strongest = Rounded(marked, share * len(natives) / len(long), len(long), mark.how), evidence
    return best or _all_exact(long)


def _all_exact(long: Sequence[str]) -> Rounded | None:
    """Return evidence where all ids are exact floats: fewer suffice than for a share of them."""
    above = [native for native in long if int(native) > EXACT]
    if len(above) < ALL_EXACT or not all(map(_held_exactly, above)):
        return None
    if -sum(math.log10(_chance_of_exact(native)) for native in above) < CHANCE:
        return None
    return Rounded(above, 1.0, len(above), _EXACT.how)


def _evidence(marked: int, total: int, chance: float) -> tuple[float, float]:
    """Return the logarithm of the likelihood ratio of the likeliest share of rounded ids against none, and that share."""
    chance = min(chance, 1 - 1e-12)
    if marked <= total * chance:
        return 0.0, 0.0
    share = (marked / total - chance) / (1 - chance)
    with_mark = marked * math.log10((share + (1 - share) * chance) / chance)
    without = (total - marked) * math.log10(1 - share) if marked < total else 0.0
    return with_mark + without, share
