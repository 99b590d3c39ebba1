r"""Texts as bags of words, counted in compiled code.

A word is two or more word characters of the lower-cased text. In scripts without spaces, where that would be a whole
sentence, it is a pair of neighbouring characters. There are two rules for word characters. "unicode": also the signs that
are part of words in Bengali, Hindi, Tamil, Thai and others; what queries ignore within words (separate accents, joiners) is
ignored. "scikit-learn": its default tokeniser, `\w\w+`, which cuts words at these signs.

Lower case and word characters come from a table of all code points, made with Python's own `str.lower` and `re`. Two letters
do not fit into a table: capital sigma, whose lower case depends on its neighbours, and dotted capital I, which becomes two
characters. Python lower-cases texts with these first.

Hashes only find candidates: texts and words are equal if their bytes are.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covmis_build.errors import InputError
from covmis_build.text.compiled import kept, njit
from covmis_build.text.tokens import DROPPED, UNSPACED, signs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from covmis_build.options import WordRule

SMALL = 20_000
"""With fewer texts a second thread costs more time than it saves."""

START, PRIME, SPREAD = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xC2B2AE3D27D4EB4F),
    np.uint64(0xFF51AFD7ED558CCD),
)
B29, B32 = np.uint64(29), np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
IGNORED = np.int32(1 << 30)
"""In the table of letters: a character that neither belongs to a word nor ends it."""


@dataclass(frozen=True)
class Bags:
    """The distinct texts ("rows") and their words.

    `row` is the row of each text, and `copies` the number of texts per row. The words of row r are
    `term[start[r]:start[r + 1]]`, in no particular order, each `count` times. `documents` is the number of texts with
    each term, and `rows_with` the number of rows.
    """

    row: NDArray[np.int64]
    copies: NDArray[np.int64]
    start: NDArray[np.int64]
    term: NDArray[np.int32]
    count: NDArray[np.int32]
    documents: NDArray[np.int64]
    rows_with: NDArray[np.int64]


def bags(texts: Sequence[str] | pa.Array | pa.ChunkedArray, words: WordRule = "unicode") -> Bags:
    """Count the words of texts: a sequence of strings, or an Arrow column, which is faster."""
    data, offset = utf8(texts)
    row, first = distinct(data, offset)
    table = letters(words)
    if len(first) < SMALL:
        start, term, count, *_, hashes = _read(data, offset, first, table)
        terms = len(hashes)
    else:
        start, term, count, terms = in_two_threads(data, offset, first, table)
    copies = np.bincount(row, minlength=len(first))
    documents, rows_with = frequencies(start, term, copies, terms)
    return Bags(row, copies, start, term, count, documents, rows_with)


@dataclass(frozen=True)
class Words:
    """The words of each text, without deduplication of texts; terms with their letters and hashes.

    Letters are coded as in `_words`: codes are equal if words are equal, but their order is different.
    """

    start: NDArray[np.int64]
    term: NDArray[np.int32]
    count: NDArray[np.int32]
    letters: pa.LargeBinaryArray
    hashes: NDArray[np.uint64]


def words_of(texts: pa.ChunkedArray, words: WordRule = "unicode") -> Words:
    """Return the words of each of these texts."""
    data, offset = utf8(texts)
    start, term, count, _, pool, at, hashes = _read(data, offset, np.arange(len(texts)), letters(words))
    buffers = [None, pa.py_buffer(at[: len(hashes) + 1]), pa.py_buffer(pool)]
    return Words(start, term, count, pa.Array.from_buffers(pa.large_binary(), len(hashes), buffers), hashes)


def utf8(texts: Sequence[str] | pa.Array | pa.ChunkedArray) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the texts as one buffer of UTF-8 with the offset of each, for lookup in the table of letters."""
    if isinstance(texts, pa.ChunkedArray | pa.Array):
        whole = texts.cast(pa.large_string())
        column = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
        column = column if column.null_count == 0 else column.fill_null("")
    else:
        column = _column(texts)
    data, offset = _buffers(column)
    special = pa.array(_special(data, offset))
    if pc.any(special).as_py():
        lowered = [
            bytes(text).decode("utf-8", "surrogatepass").lower().encode("utf-8", "surrogatepass")
            for text in column.cast(pa.large_binary()).filter(special).to_pylist()
        ]
        column = pc.replace_with_mask(
            column.cast(pa.large_binary()), special, pa.array(lowered, pa.large_binary())
        )
        data, offset = _buffers(column)
    return data, offset


def _column(texts: Sequence[str]) -> pa.Array:
    """Return Python strings as an Arrow column; a missing one is empty."""
    try:
        return pa.array(texts, pa.large_string()).fill_null("")
    except UnicodeEncodeError:  # an unpaired surrogate: invalid Unicode, but possible in Python strings
        if all(text is None or isinstance(text, str) for text in texts):
            halves = [(text or "").encode("utf-8", "surrogatepass") for text in texts]
            return pa.array(halves, pa.large_binary())
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        pass
    raise InputError("texts must be strings", remedy="Turn them into text first, missing ones into None")


def _buffers(column: pa.Array) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    _, places, data = column.buffers()
    offset = np.frombuffer(places, np.int64, len(column) + 1, column.offset * 8)
    letters = np.frombuffer(data if data is not None and data.size else b"\0", np.uint8)
    for array in (letters, offset):  # some are read-only: one type for all, so routines are compiled once
        array.flags.writeable = False
    return letters, offset


@functools.cache
def letters(words: WordRule = "unicode") -> NDArray[np.int32]:
    """Return for each code point its lower case if it is a word character (negative in scripts without spaces), otherwise 0.

    `IGNORED` stands for characters that are skipped.
    """
    return kept("letters", _build_tables)[words]


def _build_tables() -> dict[str, NDArray[np.int32]]:
    points = np.arange(0x110000, dtype="<u4")
    every = points.tobytes().decode("utf-32-le", "surrogatepass")
    lower = every.replace("Σ", "σ").replace("İ", "i").lower()
    word = np.zeros(0x110000, bool)
    for run in re.finditer(r"\w+", every):
        word[run.start() : run.end()] = True
    low = np.frombuffer(lower.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int32)
    of_scikit = np.where(word[low], low, 0).astype(np.int32)
    word[[ord(sign) for sign in signs()]] = True
    whole = np.where(word[low], low, 0).astype(np.int32)
    for run in re.finditer(f"[{UNSPACED}]+", every):
        for table in (of_scikit, whole):
            table[run.start() : run.end()] *= -1
    for mark in DROPPED.finditer(every):
        # an enclosing mark is a sign of its own: the digits of keycap emoji are no words
        whole[mark.start()] = 0 if unicodedata.category(mark[0]) == "Me" else IGNORED
    return {"scikit-learn": of_scikit, "unicode": whole}


def distinct(
    data: NDArray[np.uint8], offset: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the row of each text, and the first text of each row; byte-identical texts share one row."""
    row: NDArray[np.int64]
    first: NDArray[np.int64]
    row, first, rows = _distinct(data, offset)
    return row, first[:rows].copy()


def _read(
    data: NDArray[np.uint8], offset: NDArray[np.int64], texts: NDArray[np.int64], table: NDArray[np.int32]
) -> tuple[Any, ...]:
    """Return the words of these texts and their vocabulary, trimmed to size."""
    start, term, count, slots, pool, at, hashes, terms = _tokenise(data, offset, texts, table)
    entries = start[-1]
    return start, term[:entries].copy(), count[:entries].copy(), slots, pool, at, hashes[:terms].copy()


def in_two_threads(
    data: NDArray[np.uint8], offset: NDArray[np.int64], first: NDArray[np.int64], table: NDArray[np.int32]
) -> tuple[Any, Any, Any, int]:
    """Let two threads each read half of the rows into separate vocabularies, then map the second to the first."""
    half = len(first) // 2
    with ThreadPoolExecutor(2) as pool:
        left, right = pool.map(lambda part: _read(data, offset, part, table), (first[:half], first[half:]))
    start, term, count, slots, pool_a, at_a, hashes_a = left
    start_b, term_b, count_b, _, pool_b, at_b, hashes_b = right
    name, terms = _rename(slots, pool_a, at_a, hashes_a, pool_b, at_b, hashes_b)
    _apply(name, term_b)
    return (
        np.concatenate([start, start_b[1:] + start[-1]]),
        np.concatenate([term, term_b]),
        np.concatenate([count, count_b]),
        int(terms),
    )


# Compiled: no Python objects, no interpreter lock.


@njit(helper=True)
def _mix(value: Any) -> Any:
    value ^= value >> B32
    value *= SPREAD
    return value ^ (value >> B29)


@njit
def _distinct(data: Any, offset: Any) -> Any:
    n = len(offset) - 1
    size = 16
    while size < 2 * n:
        size *= 2
    mask = np.uint64(size - 1)
    slots = np.zeros(size, np.uint64)  # upper half: hash; lower half: row + 1
    row, first = np.empty(n, np.int64), np.empty(n, np.int64)
    rows = 0
    for text in range(n):
        begin, end = offset[text], offset[text + 1]
        value = START ^ np.uint64(end - begin)
        at = begin
        while at + 8 <= end:  # eight bytes at a time
            word = np.uint64(0)
            for k in range(8):
                word |= np.uint64(data[at + k]) << np.uint64(8 * k)
            value = (value ^ word) * PRIME
            value ^= value >> B29
            at += 8
        while at < end:
            value = (value ^ np.uint64(data[at])) * PRIME
            at += 1
        value = _mix(value)
        place = value & mask
        while True:
            entry = slots[place]
            if entry == 0:
                slots[place] = (value >> B32 << B32) | np.uint64(rows + 1)
                first[rows], row[text] = text, rows
                rows += 1
                break
            if entry >> B32 == value >> B32:
                known = np.int64(entry & LOW) - 1
                if _same(data, begin, end, data, offset[first[known]], offset[first[known] + 1]):
                    row[text] = known
                    break
            place = (place + np.uint64(1)) & mask
    return row, first, rows


@njit(helper=True)
def _same(a: Any, begin_a: Any, end_a: Any, b: Any, begin_b: Any, end_b: Any) -> Any:
    if end_a - begin_a != end_b - begin_b:
        return False
    for k in range(end_a - begin_a):
        if a[begin_a + k] != b[begin_b + k]:
            return False
    return True


@njit(helper=True)
def _room(array: Any, needed: Any) -> Any:
    """Return the array, or a longer copy."""
    if needed <= len(array):
        return array
    longer = np.empty(max(needed, len(array) + len(array) // 2), array.dtype)
    for k in range(len(array)):
        longer[k] = array[k]
    return longer


@njit
def _special(data: Any, offset: Any) -> Any:
    """Mark texts with a capital sigma (CE A3) or a dotted capital I (C4 B0)."""
    letters = np.zeros(len(offset) - 1, np.bool_)
    for text in range(len(letters)):
        flags = 0
        for k in range(offset[text], offset[text + 1] - 1):
            pair = np.uint16(data[k]) << 8 | data[k + 1]
            flags |= (pair == 0xCEA3) | (pair == 0xC4B0)
        letters[text] = flags
    return letters


@njit
def _tokenise(data: Any, offset: Any, texts: Any, table: Any) -> Any:
    """Count the words of each of these texts, and build the vocabulary."""
    expected = 1024 + 16 * len(texts)
    start = np.zeros(len(texts) + 1, np.int64)
    term, count = np.empty(expected, np.int32), np.empty(expected, np.int32)
    pool, at = np.empty(1024, np.uint8), np.zeros(1024, np.int64)  # the letters of each term
    hashes, seen, entry_of = np.empty(1024, np.uint64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    slots = np.zeros(4096, np.uint64)  # upper half: hash; lower half: term + 1
    letter, ends, values = np.empty(1024, np.uint8), np.zeros(512, np.int64), np.empty(512, np.uint64)
    terms, entries = np.int64(0), np.int64(0)
    for number in range(len(texts)):
        begin, end = offset[texts[number]], offset[texts[number] + 1]
        most = (end - begin) // 2 + 2
        letter, ends, values = _room(letter, 2 * (end - begin) + 8), _room(ends, most), _room(values, most)
        words = _words(data, begin, end, table, letter, ends, values)
        term, count = _room(term, entries + words), _room(count, entries + words)
        pool, at = _room(pool, at[terms] + ends[words]), _room(at, terms + words + 1)
        hashes, seen, entry_of = (
            _room(hashes, terms + words),
            _room(seen, terms + words),
            _room(entry_of, terms + words),
        )
        while 2 * (terms + words) > len(slots):
            slots = _wider(slots, hashes, terms)
        mask = np.uint64(len(slots) - 1)
        for k in range(words):
            low, high, value = ends[k], ends[k + 1], values[k]
            place = value & mask
            while True:
                entry = slots[place]
                word = np.int64(entry & LOW) - 1
                if entry == 0:
                    word = np.int64(terms)
                    slots[place] = (value >> B32 << B32) | np.uint64(terms + 1)
                    hashes[word], seen[word], at[word + 1] = value, -1, at[word] + high - low
                    for place_in_word in range(high - low):
                        pool[at[word] + place_in_word] = letter[low + place_in_word]
                    terms += 1
                    break
                if entry >> B32 == value >> B32 and _same(letter, low, high, pool, at[word], at[word + 1]):
                    break
                place = (place + np.uint64(1)) & mask
            if seen[word] == number:
                count[entry_of[word]] += 1
            else:
                seen[word], entry_of[word] = number, entries
                term[entries], count[entries] = word, 1
                entries += 1
        start[number + 1] = entries
    return start, term, count, slots, pool, at, hashes, terms


@njit(helper=True)
def _words(data: Any, i: Any, end: Any, table: Any, letter: Any, ends: Any, values: Any) -> Any:
    """Return a text's number of words. Their letters, end positions and hashes are written to the arrays.

    Letters are one byte below 128, otherwise three bytes above: our own code, which is unique per word.
    """
    words, top, length, value, before = 0, 0, 0, START, np.int32(0)
    while i <= end:
        code = np.int32(0)
        if i < end:
            code = np.int32(data[i])
            i += 1
            if code >= 128:
                code, i = decode(data, i - 1)
            code = table[code]
        else:
            i += 1
        if code == IGNORED:
            continue
        if code > 0:
            if code >= 128:
                letter[top], letter[top + 1] = 128 | (code >> 14), 128 | ((code >> 7) & 127)
                top += 2
            letter[top] = code if code < 128 else 128 | (code & 127)
            value = (value ^ np.uint64(code)) * PRIME
            length += 1
            top += 1
            before = np.int32(0)
            continue
        if length >= 2:
            values[words] = _mix(value)
            words += 1
            ends[words] = top
        top, length, value = ends[words], 0, START
        if code < 0 and before > 0:  # the word is this pair of characters
            for character in (before, np.int32(-code)):
                letter[top], letter[top + 1] = 128 | (character >> 14), 128 | ((character >> 7) & 127)
                letter[top + 2] = 128 | (character & 127)
                value = (value ^ np.uint64(character)) * PRIME
                top += 3
            values[words] = _mix(value)
            words += 1
            ends[words] = top
            value = START
        before = np.int32(-code)
    return words


@njit(helper=True)
def decode(data: Any, i: Any) -> Any:
    """Decode a code point from two to four bytes of UTF-8. Returns it and the position of the next."""
    byte = np.int32(data[i])
    if byte < 0xE0:
        return ((byte & 31) << 6) | (np.int32(data[i + 1]) & 63), i + 2
    if byte < 0xF0:
        return ((byte & 15) << 12) | ((np.int32(data[i + 1]) & 63) << 6) | (np.int32(data[i + 2]) & 63), i + 3
    high = ((byte & 7) << 18) | ((np.int32(data[i + 1]) & 63) << 12)
    return high | ((np.int32(data[i + 2]) & 63) << 6) | (np.int32(data[i + 3]) & 63), i + 4


@njit(helper=True)
def _wider(slots: Any, hashes: Any, terms: Any) -> Any:
    wider = np.zeros(2 * len(slots), np.uint64)
    mask = np.uint64(len(wider) - 1)
    for word in range(terms):
        place = hashes[word] & mask
        while wider[place] != 0:
            place = (place + np.uint64(1)) & mask
        wider[place] = (hashes[word] >> B32 << B32) | np.uint64(word + 1)
    return wider


@njit
def _rename(slots: Any, pool_a: Any, at_a: Any, hashes_a: Any, pool_b: Any, at_b: Any, hashes_b: Any) -> Any:
    """Return for each term of b its number in a, or a new one."""
    mask = np.uint64(len(slots) - 1)
    name, terms = np.empty(len(hashes_b), np.int32), len(hashes_a)
    for word in range(len(hashes_b)):
        place, name[word] = hashes_b[word] & mask, -1
        while slots[place] != 0:
            known = np.int64(slots[place] & LOW) - 1
            if slots[place] >> B32 == hashes_b[word] >> B32 and _same(
                pool_b, at_b[word], at_b[word + 1], pool_a, at_a[known], at_a[known + 1]
            ):
                name[word] = known
                break
            place = (place + np.uint64(1)) & mask
        if name[word] < 0:
            name[word] = terms
            terms += 1
    return name, terms


@njit
def _apply(name: Any, term: Any) -> None:
    for k in range(len(term)):
        term[k] = name[term[k]]


@njit
def frequencies(start: Any, term: Any, copies: Any, terms: Any) -> Any:
    """Return for each term the number of texts and of rows with it."""
    documents, rows_with = np.zeros(terms, np.int64), np.zeros(terms, np.int64)
    for row in range(len(start) - 1):
        for k in range(start[row], start[row + 1]):
            documents[term[k]] += copies[row]
            rows_with[term[k]] += 1
    return documents, rows_with
