"""The tokeniser as a table of characters, for code that processes texts character by character.

The tokeniser itself creates the table. It is valid only for characters whose folding does not depend on neighbours. All
others are `UNSURE`: `tokens` must process a text that contains one.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from covmis_build.text.compiled import kept
from covmis_build.text.tokens import UNSPACED, dropped, folded, word_characters

if TYPE_CHECKING:
    from numpy.typing import NDArray

POINTS = 0x20000
"""Characters from here on, mostly rare ideographs, are not in the table."""

KNOWN = (range(0xD800), range(0xE000, 0x10000), range(0x1D400, 0x1D800), range(0x1F000, POINTS))
"""Ranges in the table: the basic plane, letters that imitate fonts, pictographs. Others below POINTS are unsure."""

ENDS, NOTHING, UNSURE, MANY = 0, -1, -2, -3
ALONE = 1 << 21
"""Flag of letters that are separate tokens."""


class Folding(NamedTuple):
    """The folding of characters.

    `points[c]` is the folded letter (with ALONE if it is a token), ENDS, NOTHING, or UNSURE; from MANY downwards, it is the
    characters at `MANY - points[c]` in `several`, up to NOTHING.
    """

    points: NDArray[np.int32]
    several: NDArray[np.int32]


@functools.cache
def folding() -> Folding:
    """Return the table, stored between processes; building it takes a tenth of a second."""
    return Folding(**kept("folding", _build_table))


def _build_table() -> dict[str, NDArray[np.int32]]:
    """Build the table.

    The tokeniser decomposes a text (NFKD), folds case, decomposes again, removes accents and composes (NFC). Processing single
    letters gives the same result if nothing is reordered or composed across letters. Marks move only before other marks, and a
    letter is composed only with a possible second part of a composition. So a character is safe if it begins neither with a
    mark nor with such a second part at any step, or if it is removed completely.
    """
    table, several = np.full(POINTS, UNSURE, np.int32), list[int]()
    seconds = _seconds()
    for known in KNOWN:
        for start in range(known.start, known.stop, BLOCK):
            _block(range(start, min(start + BLOCK, known.stop)), seconds, table, several)
    return {"points": table, "several": np.array([*several, NOTHING], np.int32)}


BLOCK = 2048


def _block(codes: range, seconds: set[str], table: NDArray[np.int32], several: list[int]) -> None:
    """Process these characters, separated by line ends, with the tokeniser's steps."""
    text = "\n".join(chr(code) if code != 10 else " " for code in codes)
    first = unicodedata.normalize("NFKD", text)
    second = unicodedata.normalize("NFKD", first.casefold())
    whole = folded(text)
    letters = set(word_characters("\n".join(set(whole))))
    alone = set(re.findall(f"[{UNSPACED}]", "".join(letters)))
    classes = {letter: ord(letter) | ALONE if letter in alone else ord(letter) for letter in letters}
    if text == second == whole and seconds.isdisjoint(text) and not any(map(unicodedata.combining, text)):
        table[codes.start : codes.stop] = [classes.get(letter, ENDS) for letter in text[::2]]
        return
    steps = (step.split("\n") for step in (first, second, dropped(second), whole))
    for code, first, two, rest, last in zip(codes, *steps, strict=True):
        if not rest:
            if not dropped(first):
                table[code] = NOTHING
        elif any(part[0] in seconds or unicodedata.combining(part[0]) for part in (first, two, rest)):
            continue
        elif len(last) == 1:
            table[code] = classes.get(last, ENDS)
        else:
            table[code] = MANY - len(several)
            several += [*(classes.get(part, ENDS) for part in last), NOTHING]


def _seconds() -> set[str]:
    """Return the characters that can be composed with the one before."""
    jamo = {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
    parts = (unicodedata.decomposition(chr(code)).split() for code in range(0x10000))
    return jamo | {chr(int(cut[1], 16)) for cut in parts if len(cut) == 2 and not cut[0].startswith("<")}
