"""The check of a sheet's row: a word that knows the round, the person, the row and the post.

A word has eight letters: three for the row, five from a hash of round, person, row and post. The alphabet has no vowel, no
digit and no `l`, so no spreadsheet takes a word for a number (12E5), a date (2 mar), a truth value or a formula, and case
does not matter. Until version 0.2.0 a check was the row's number and a word that knew only row and post ("2 kegi"); such
sheets are still read.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, NamedTuple

from covmis_build import keyed

if TYPE_CHECKING:
    from collections.abc import Iterable

LETTERS = "bcdfghjkmnpqrstvwxyz"
ROWS = 20**3
"""Row numbers are told apart up to here; after that they begin again."""
SHAPE = re.compile(rf"\b([{LETTERS}]{{3}})[{LETTERS}]{{5}}\b|\b(\d{{1,7}}) [a-z]{{4}}\b")
"""A check, also within the formula that shows it."""


class Owner(NamedTuple):
    """Whose sheet it is: the round and the annotator that it was written for."""

    round: str
    person: str


class Check(NamedTuple):
    """A check as it came back."""

    word: str
    row: int
    old: bool
    """True if it knows only row and post."""

    def owners(self, item: str, known: Iterable[Owner]) -> list[Owner]:
        """Return for which of these owners it was written next to this post. None: it belongs to another post."""
        if self.old:
            return list(known) if self.word == _old_word(item, self.row) else []
        return [owner for owner in known if self.word == check_word(owner, item, self.row)]


def check_word(owner: Owner, item: str, row: int) -> str:
    """Return the check for this item in this row of this person's sheet.

    >>> check_word(Owner("001", "a1"), "c1|x:1255", 2)
    'bbdphxpm'
    """
    known = "\x1f".join(("check", *owner, str(row % ROWS), item)).encode()
    return _spelled(row, 3) + _spelled(int.from_bytes(hashlib.sha256(known).digest()[:8], "big"), 5)


def read_check(text: str) -> Check | None:
    """Return the check in a cell or its formula.

    >>> read_check('=IF(E2="","BBDPHXPM","BBDPHXPM")').row, read_check("2 kegi").old, read_check("#REF!")
    (2, True, None)
    """
    match = SHAPE.search(text.casefold())
    if not match:
        return None
    if match[2]:
        return Check(match[0], int(match[2]), old=True)
    row = sum(LETTERS.index(sign) * 20**power for power, sign in enumerate(reversed(match[1])))
    return Check(match[0], row, old=False)


def _spelled(number: int, letters: int) -> str:
    return "".join(LETTERS[number // 20**power % 20] for power in reversed(range(letters)))


def _old_word(item: str, row: int) -> str:
    first, second, third, fourth = keyed.digest(0, "check", item, str(row))[:4]
    vowels, others = "aeiou", "bdfgklmnprstvz"
    return f"{row} {others[first % 14]}{vowels[second % 5]}{others[third % 14]}{vowels[fourth % 5]}"
