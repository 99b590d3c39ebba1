"""The tokeniser as a table: what becomes of each character, for code that looks at a text character by character.

The table is made by the tokeniser itself, and holds only for characters that are folded the same whatever stands
next to them. All others are `UNSURE`: a text with one of them must be cut by `tokens`.
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
"""Characters from here on, nearly all of them rare ideographs, are not in the table."""

KNOWN = (range(0xD800), range(0xE000, 0x10000), range(0x1D400, 0x1D800), range(0x1F000, POINTS))
"""What the table knows: the basic plane, letters that imitate fonts, pictures. What else is below POINTS is unsure."""

ENDS, NOTHING, UNSURE, MANY = 0, -1, -2, -3
ALONE = 1 << 21
"""Set in the letters that are a token of their own."""


class Folding(NamedTuple):
    """What characters become.

    `points[c]` is the letter that c becomes (with ALONE if it is a token), ENDS, NOTHING, or UNSURE; from MANY down, it
    becomes the characters at `MANY - points[c]` in `several`, up to NOTHING.
    """

    points: NDArray[np.int32]
    several: NDArray[np.int32]


@functools.cache
def folding() -> Folding:
    """The table, which is kept from one process to the next; to make it takes a tenth of a second."""
    return Folding(**kept("folding", _made))


def _made() -> dict[str, NDArray[np.int32]]:
    """Make the table.

    The tokeniser decomposes a text (NFKD), folds its case, decomposes again, drops accents and composes (NFC). Letter
    by letter that gives the same where nothing is reordered or composed across letters. Marks move only before
    other marks, and a letter is composed only with what can be the second part of a composition; so a character is
    sure if it begins neither with a mark nor with such a second part, at every step, or if all of it is dropped.
    """
    table, several = np.full(POINTS, UNSURE, np.int32), list[int]()
    seconds = _seconds()
    for known in KNOWN:
        for start in range(known.start, known.stop, BLOCK):
            _block(range(start, min(start + BLOCK, known.stop)), seconds, table, several)
    return {"points": table, "several": np.array([*several, NOTHING], np.int32)}


BLOCK = 2048


def _block(codes: range, seconds: set[str], table: NDArray[np.int32], several: list[int]) -> None:
    """These characters, separated by line ends, go through the tokeniser's steps together."""
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
    """What may be composed with the character before it."""
    jamo = {chr(code) for code in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))}
    parts = (unicodedata.decomposition(chr(code)).split() for code in range(0x10000))
    return jamo | {chr(int(cut[1], 16)) for cut in parts if len(cut) == 2 and not cut[0].startswith("<")}
