"""The letters of texts and numbers that stand for stretches of them, so that copies are found however they are written.

Only letters and digits count, without case and accents: spaces, line wraps, punctuation and quotation marks do not. A long
text is recognised by any stretch of it, a short one only as a whole line, cell or value. The numbers are hashes; the texts are not
kept.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    Numbers = npt.NDArray[np.uint64]

WINDOW, STEP = 24, 4
"""Bytes of letters that are compared at once, and between two of these: any 27 in a row of a text are found."""
FEWEST, FEWEST_WORDS = 12, 3
"""Bytes of letters, and words in ASCII, of the shortest text that is searched for. `Vaccines work` is everywhere."""
BLOCK = 1 << 20
_ADDRESS = re.compile(r"https?://\S+")
_BEYOND = re.compile(r"[^\w\x00-\x7f]+")
_NO_LETTERS = bytes(sorted(set(range(128)) - set(b"abcdefghijklmnopqrstuvwxyz0123456789")))
_EDGE = re.compile(r"[\r\n\t\f\v\0\u2028\u2029\"“”,;|<>={}\[\]]+")
"""What ends a line, a cell or a value."""
_PRIME, _BITS = 0x9E3779B97F4A7C15, 22
_MASK = (1 << 64) - 1


def letters_of(text: str) -> bytes:
    r"""Return the letters and digits of a text in UTF-8, without case and accents.

    >>> letters_of('Größe —\nist "nicht" alles')
    b'grosseistnichtalles'
    """
    if text.isascii():
        return text.encode().lower().translate(None, _NO_LETTERS)
    plain = _BEYOND.sub("", unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold()))
    return plain.encode("utf-8", "ignore").translate(None, _NO_LETTERS)


class Stretches(NamedTuple):
    """Numbers of the stretches of texts: of long texts in order, of short ones by their length."""

    long: tuple[int, ...] = ()
    short: tuple[tuple[int, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.long or self.short)

    def __or__(self, more: Stretches) -> Stretches:
        return Stretches(tuple(sorted({*self.long, *more.long})), tuple(sorted({*self.short, *more.short})))

    def __sub__(self, fewer: Stretches) -> Stretches:
        return Stretches(
            tuple(sorted({*self.long} - {*fewer.long})), tuple(sorted({*self.short} - {*fewer.short}))
        )

    def among(self, texts: Iterable[str]) -> Stretches:
        """Return those that these texts have."""
        there, seen = Finder(self), Stretches()
        for several in _joined(texts):
            seen |= there.of_texts(several)
        return seen


def stretches_of(texts: Iterable[str]) -> Stretches:
    """Return the stretches by which these texts are recognised. Web addresses in them do not count."""
    long, short = set[int](), set[tuple[int, int]]()
    for text in texts:
        pieces = [letters for piece in _ADDRESS.split(text) if len(letters := letters_of(piece)) >= WINDOW]
        whole = letters_of(text)
        for letters in pieces or ([whole] if len(whole) >= WINDOW else []):
            long |= {int(number) for number in _numbers(letters, WINDOW)}
        if FEWEST <= len(whole) < WINDOW and (not whole.isascii() or len(text.split()) >= FEWEST_WORDS):
            short.add((len(whole), int(_numbers(whole, len(whole))[0])))
    return Stretches(tuple(sorted(long)), tuple(sorted(short)))


class Finder:
    """Finds stretches in texts of any length."""

    def __init__(self, wanted: Stretches) -> None:
        by_length: dict[int, list[int]] = {WINDOW: list(wanted.long)} if wanted.long else {}
        for length, number in wanted.short:
            by_length.setdefault(length, []).append(number)
        self._wanted = {length: np.array(sorted(each), np.uint64) for length, each in by_length.items()}
        self._maybe: dict[int, npt.NDArray[np.bool_]] = {}
        for length, numbers in self._wanted.items():
            self._maybe[length] = np.zeros(1 << _BITS, bool)
            self._maybe[length][numbers >> np.uint64(64 - _BITS)] = True

    def __bool__(self) -> bool:
        return bool(self._wanted)

    def within(self, text: str) -> bool:
        """True if a text has a stretch of a long text, or a short text as a line, cell or value."""
        letters = letters_of(text)
        if WINDOW in self._wanted and any(
            len(self._those(block, WINDOW, STEP)) for block in _blocks(letters)
        ):
            return True
        shorts = [length for length in self._wanted if length < WINDOW]
        present = any(len(self._those(block, length)) for block in _blocks(letters) for length in shorts)
        return present and self._as_a_whole(text)

    def of_texts(self, texts: list[str]) -> Stretches:
        """Return the stretches that these texts have: short ones only if they are all of one of them."""
        alone = [letters_of(text) for text in texts]
        long, short = set[int](), set[tuple[int, int]]()
        if WINDOW in self._wanted:
            long |= {int(number) for number in self._those(b"\0".join(alone), WINDOW)}
        for letters in set(alone):
            if len(letters) in self._wanted and len(letters) < WINDOW:
                short |= {(len(letters), int(number)) for number in self._those(letters, len(letters))}
        return Stretches(tuple(sorted(long)), tuple(sorted(short)))

    def _as_a_whole(self, text: str) -> bool:
        """True if a line, a cell, or several cells in a row (a comma ends none for certain) are a short text."""
        cells = [letters for cell in _EDGE.split(text) if (letters := letters_of(cell))]
        for at in range(len(cells)):
            joined = b""
            for cell in cells[at:]:
                joined += cell
                if len(joined) >= WINDOW:
                    break
                if len(joined) in self._wanted and len(self._those(joined, len(joined))):
                    return True
        return False

    def _those(self, letters: bytes, length: int, step: int = 1) -> Numbers:
        """Return the numbers of the wanted stretches of this length that occur at every place, or at every so many."""
        wanted = self._wanted[length]
        if len(letters) < length:
            return wanted[:0]
        numbers = _numbers(letters, length, step)
        maybe = numbers[self._maybe[length][numbers >> np.uint64(64 - _BITS)]]
        at = np.searchsorted(wanted, maybe)
        there: Numbers = maybe[wanted[np.minimum(at, len(wanted) - 1)] == maybe]
        return there


def _joined(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yield the texts in lists of a size that is quick to compare."""
    waiting, size = list[str](), 0
    for text in texts:
        waiting.append(text)
        size += len(text)
        if size > BLOCK >> 3:
            yield waiting
            waiting, size = [], 0
    if waiting:
        yield waiting


def _blocks(letters: bytes) -> Iterator[bytes]:
    for at in range(0, max(len(letters), 1), BLOCK):
        yield letters[at : at + BLOCK + WINDOW]


@cache
def _powers() -> tuple[Numbers, Numbers, Numbers]:
    """Return a number for each byte, the powers of the prime, and those of its inverse, all modulo 2**64."""
    room, inverse = 2 * BLOCK, pow(_PRIME, -1, 1 << 64)
    of_byte = [(number + 1) * 0xD1342543DE82EF95 * (number + 0x632BE5AB) & _MASK for number in range(256)]
    columns = []
    for factor in (_PRIME, inverse):
        column = np.full(room, factor, np.uint64)
        column[0] = 1
        columns.append(np.multiply.accumulate(column))
    return np.array(of_byte, np.uint64), columns[0], columns[1]


def _numbers(letters: bytes, length: int, step: int = 1) -> Numbers:
    """Return the hash of the stretches of this length: a polynomial modulo 2**64, mixed."""
    of_byte, powers, inverses = _powers()
    values = of_byte[np.frombuffer(letters, np.uint8)] * powers[: len(letters)]
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    numbers: Numbers = sums[length::step] - sums[:-length:step]
    numbers *= inverses[: len(letters) - length + 1 : step]
    numbers ^= numbers >> np.uint64(29)
    numbers *= np.uint64(0xBF58476D1CE4E5B9)
    numbers ^= numbers >> np.uint64(32)
    return numbers
