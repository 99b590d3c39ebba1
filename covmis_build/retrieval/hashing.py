"""Hashes of tokens, and tables of them, for compiled code that looks up every word of an archive."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from covmis_build.retrieval.memory import u64

if TYPE_CHECKING:
    from numpy.typing import NDArray

START, SPREAD = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xFF51AFD7ED558CCD)
B7, B29, B32, B57, ONE = (np.uint64(one) for one in (7, 29, 32, 57, 1))


@lru_cache(maxsize=1 << 16)
def hash_of(text: str) -> int:
    """The hash of a word, as it stands in tables."""
    return int(_hash(np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)))


@njit(cache=True, nogil=True)
def spread(value: Any) -> Any:
    """Hashes as they stand in tables; never 0, which is an empty place."""
    value ^= value >> B32
    value *= SPREAD
    return (value ^ (value >> B29)) | ONE


@njit(cache=True, nogil=True)
def _hash(letters: Any) -> Any:
    value = START
    for one in letters:
        value = letter_on(value, one)
    return spread(value)


@njit(inline="always")
def letter_on(value: Any, letter: Any) -> Any:
    """The hash of a word, one letter on; quick, since all letters of an archive go through it."""
    return ((value << B7) | (value >> B57)) + np.uint64(letter)


def hash_table(values: list[int]) -> NDArray[np.uint64]:
    """An open table at most a quarter full."""
    size = 16
    while size < 4 * len(values):
        size *= 2
    table = np.zeros(size, np.uint64)
    _fill(table, np.array(values, np.uint64))
    return table


@njit(cache=True, nogil=True)
def _fill(table: Any, values: Any) -> None:
    mask = np.uint64(len(table) - 1)
    for value in values:
        place = (value >> B29) & mask
        while table[place] != 0 and table[place] != value:
            place = (place + ONE) & mask
        table[place] = value


@njit(cache=True, nogil=True)
def place_in(table: Any, value: Any) -> Any:
    """Where a hash stands that is in the table."""
    mask = np.int64(len(table) - 1)
    place = np.int64(value >> B29) & mask
    while table[place] != value:
        place = (place + 1) & mask
    return place


@njit(nogil=True)
def found_at(table: Any, mask: Any, value: Any) -> Any:
    """Where a hash stands in a table; -1 if it does not."""
    place = np.int64(value >> B29) & mask
    while True:
        found = u64(table + 8 * place)
        if found == value:
            return place
        if found == 0:
            return -1
        place = (place + 1) & mask
