"""Preselect texts that may match, in one compiled pass over the bytes of a block of texts.

A text with result "no" has no match; one with "yes" is tested completely. Words are compared by 64-bit hashes: a collision
costs one more test and changes no result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covmis_build.text.bags import decode
from covmis_build.text.compiled import njit
from covmis_build.text.folding import ALONE, ENDS, MANY, NOTHING, POINTS, UNSURE, folding

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    Utf8 = tuple[NDArray[np.uint8], NDArray[np.int64]]
    """Texts as one buffer of UTF-8, and the offset of each; behind each is a byte that is not its own."""

WORD, LINK, UNSURE_CUT = 1, 2, 4
"""Flags: a query is registered under one of the words and has all required ones; a URL may be one searched for; the text
must be processed by `tokens`.
"""

SEED, SPREAD, ALL = 0x9E3779B97F4A7C15, 0xFF51AFD7ED558CCD, 2**64 - 1
LAST = ALL
"""Marks the end of a word's queries."""
HOST, NAME = 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Sought:
    """The search terms: tokens and distinctive parts of URLs as hashes; site names as text.

    The queries of the token at `words[p]` begin at `first[p]` in `needs`: for each its number, the number of other required
    tokens, and these; then LAST instead of a number. `links`: URLs matter at all. `every`: any URL may be searched for. A URL
    is a candidate if it has one of the first `hosts` names, or a distinctive part and any name. `heads` marks
    whether two bytes begin a name: HOST for the first names, NAME for the others.
    """

    words: NDArray[np.uint64]
    rare: NDArray[np.uint8]
    first: NDArray[np.int32]
    needs: NDArray[np.uint64]
    cores: NDArray[np.uint64]
    names: NDArray[np.uint8]
    start: NDArray[np.int64]
    heads: NDArray[np.uint8]
    hosts: int
    links: bool
    every: bool

    @classmethod
    def of(
        cls,
        words: Mapping[str, Mapping[int, Collection[str]]],
        cores: Collection[str] = (),
        hosts: Sequence[str] = (),
        names: Iterable[str] = (),
        *,
        links: bool = False,
        every: bool = False,
    ) -> Sought:
        """Create it from each word's queries with their required words; host parts, and names that go with `cores`, in lower case."""
        table = hash_table(map(hashed, words))
        place = {value: place for place, value in enumerate(table.tolist())}
        first, needs = np.zeros(len(table), np.int32), list[int]()
        for word, queries in words.items():
            first[place[hashed(word)]] = len(needs)
            for query, required in queries.items():
                others = [hashed(other) for other in required if other != word]
                needs += (query, len(others), *others)
            needs.append(LAST)
        sites, heads = [*hosts, *names], np.zeros(1 << 16, np.uint8)
        for at, name in enumerate(sites):
            second = name[1:2].encode()
            heads[[name.encode()[0] << 8 | other for other in (second or range(256))]] |= (
                HOST if at < len(hosts) else NAME
            )
        return cls(
            table,
            _filter(table),
            first,
            np.array(needs, np.uint64),
            hash_table(map(hashed, cores)),
            np.frombuffer("".join(sites).encode() + b"\0", np.uint8),
            np.cumsum([0, *map(len, sites)]).astype(np.int64),
            heads,
            len(hosts),
            links,
            every or not {"http", "https"}.isdisjoint(cores),
        )

    def load(self) -> None:
        """Load the compiled code, so that forked processes have it, too."""
        empty = Owned(_one(b""), np.zeros(1, np.int64))
        self.look(empty.texts, empty, [empty])

    def look(self, texts: pa.Array, titles: Owned, links: Sequence[Owned]) -> tuple[Any, dict[int, Cut]]:
        """Return the flags of posts with these texts, titles and URLs, and the tokens of flagged texts."""
        flags, cuts = np.zeros(len(texts), np.uint8), dict[int, Cut]()
        if len(texts):
            cuts = self._cut(texts, np.arange(len(texts)), flags)
        if len(titles.texts):
            of_titles = np.zeros(len(texts), np.uint8)
            self._cut(titles.texts, titles.owners, of_titles)
            flags |= of_titles & (WORD | LINK)
        for owned in links if self.links else ():
            if len(owned.texts):
                _addresses(
                    *utf8(owned.texts),
                    owned.owners,
                    self.cores,
                    self.names,
                    self.start,
                    self.heads,
                    self.hosts,
                    self.every,
                    flags,
                )
        return flags, cuts

    def _cut(self, texts: pa.Array, owners: Any, flags: Any) -> dict[int, Cut]:
        """Set flags of the texts' owners. Returns, by number, texts whose words have queries with all required words."""
        data, offset = utf8(texts)
        known, letters = folding(), np.empty(2 * len(data) + ROOM, np.uint32)
        begin, woken = np.empty(len(texts) + 1, np.int64), np.empty((len(texts) + ROOM, 2), np.int64)
        count, end = _texts(
            data,
            offset,
            owners,
            known.points[:128],
            known.points,
            known.several,
            self.words,
            self.rare,
            self.first,
            self.needs,
            self.cores,
            self.names,
            self.start,
            self.heads,
            self.hosts,
            self.links,
            self.every,
            flags,
            letters,
            begin,
            woken,
        )
        if not count:
            return {}
        written = letters[:end].tobytes().decode("utf-32")
        cuts: dict[int, Cut] = {}
        for text, query in woken[:count].tolist():
            if text in cuts:
                cuts[text].waiting.append(query)
            else:
                cuts[text] = Cut(written[begin[text] : begin[text + 1]], [query])
        return cuts


class Owned(NamedTuple):
    """Texts, with the number of the post that each belongs to."""

    texts: pa.Array
    owners: NDArray[np.int64]


class Cut(NamedTuple):
    """A text's tokens separated by blanks, and the queries registered under them (possibly repeated)."""

    spaced: str
    waiting: list[int]


ASLEEP = Cut("", [])
"""The result for a text without queries."""

ROOM = 1024
"""Buffer size, more than usually needed; `tokens` processes a text for which it is too small."""


def _one(letters: bytes) -> pa.Array:
    """Return an array of one text; Arrow's own conversion loads pandas."""
    offsets = pa.py_buffer(np.array([0, len(letters)], np.int32))
    return pa.StringArray.from_buffers(1, offsets, pa.py_buffer(letters))


def utf8(texts: pa.Array) -> Utf8:
    """Return texts as one buffer of UTF-8, each followed by a zero, and the start of each.

    A zero within a text is replaced by another control character, which also ends words.
    """
    ended = pc.binary_join_element_wise(texts, _one(b"\0")[0], _one(b"")[0])
    offset = np.frombuffer(ended.buffers()[1], np.int32, len(ended) + 1, 4 * ended.offset).astype(np.int64)
    data = np.frombuffer(ended.buffers()[2], np.uint8)[: offset[-1]]
    if np.count_nonzero(data == 0) > len(texts):
        return utf8(pc.replace_substring(texts, "\0", "\1"))
    return data, offset


def hashed(word: str) -> int:
    """Return the hash of a word, computed letter by letter."""
    value = SEED
    for letter in map(ord, word):
        value = ((value << 7 | value >> 57) + letter) & ALL
    return value


def hash_table(values: Iterable[int]) -> NDArray[np.uint64]:
    """Return an open hash table, at most a quarter full: a value is at its slot, or at the first free one after it."""
    known = sorted(set(values))
    bits = max(4, (4 * len(known)).bit_length())
    table = [0] * (1 << bits)
    for value in known:
        place = (value * SPREAD & ALL) >> (64 - bits)
        while table[place]:
            place = (place + 1) % len(table)
        table[place] = value
    return np.array(table, np.uint64)


def _filter(table: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Return a bit filter of the table's hashes in a larger table, which rejects nearly all other hashes."""
    bits = max(15, (len(table) << 1).bit_length())
    places = (table[table > 0] * np.uint64(SPREAD)) >> np.uint64(64 - bits)
    flags = np.zeros(1 << bits, bool)
    flags[places] = True
    return np.packbits(flags, bitorder="little")


# Compiled: no Python objects, no interpreter lock.

seed, last, spread = np.uint64(SEED), np.uint64(LAST), np.uint64(SPREAD)
b1, b3, b7, b57 = (np.uint64(bits) for bits in (1, 3, 7, 57))
SLASH, DOT, COLON, PERCENT, BLANK, UNDERSCORE = 47, 46, 58, 37, 32, 95
RUN = np.array([chr(byte).isalnum() or chr(byte) in "_-" for byte in range(128)] + [False] * 128)
"""Characters of the distinctive parts of URLs."""
LOWER = np.frombuffer(bytes(range(256)).lower(), np.uint8)
SHORT = np.frombuffer(b"://t.co/", np.uint8)


@njit(helper=True)
def _on(value: Any, letter: Any) -> Any:
    """Add one letter to a word's hash; fast, because all letters of an archive pass through it."""
    return ((value << b7) | (value >> b57)) + np.uint64(letter)


@njit(helper=True)
def _bits(size: Any) -> Any:
    """Return the shift of a hash for a table of this size."""
    left = np.uint64(64)
    while size > 1:
        size >>= 1
        left -= b1
    return left


@njit(helper=True)
def _place(table: Any, shift: Any, value: Any) -> Any:
    """Return a hash's position in a table; -1 if absent."""
    mask = np.uint64(len(table) - 1)
    place = (value * spread) >> shift
    while table[place] != 0:
        if table[place] == value:
            return np.int64(place)
        place = (place + b1) & mask
    return np.int64(-1)


@njit(helper=True)
def _waits(value: Any, rare: Any, rare_shift: Any, words: Any, shift: Any) -> Any:
    """True if a query is registered under a token."""
    place = (value * spread) >> rare_shift
    if (rare[place >> b3] >> np.uint8(place & np.uint64(7))) & np.uint8(1) == 0:
        return False
    return _place(words, shift, value) >= 0


@njit(helper=True)
def _wake(
    noted: Any, count: Any, words: Any, shift: Any, first: Any, needs: Any, text: Any, woken: Any, awake: Any
) -> Any:
    """Collect the queries registered under one of these tokens whose required tokens are all present.

    They are appended after `count` others. Returns the new count, or -1 if the buffer is full.
    """
    for token in range(count):
        place = _place(words, shift, noted[token])
        if place < 0:
            continue
        at = np.int64(first[place])
        while needs[at] != last:
            size, met = np.int64(needs[at + 1]), 0
            while met < size:
                there = False
                for number in range(count):
                    there |= noted[number] == needs[at + 2 + met]
                if not there:
                    break
                met += 1
            if met == size:
                if awake == len(woken):
                    return -1
                woken[awake, 0], woken[awake, 1] = text, np.int64(needs[at])
                awake += 1
            at += size + 2
    return awake


@njit(helper=True)
def _is_candidate(
    data: Any, begin: Any, end: Any, cores: Any, shift: Any, names: Any, start: Any, heads: Any, hosts: Any
) -> Any:
    """True if a URL is a candidate: it has a distinctive part and a name, or a host part; or it may be a redirect.

    A URL detected in a text may end before an underscore that is part of this one, so parts also count without underscores.
    """
    value, bare, longer, core = seed, seed, False, False
    for k in range(begin, end + 1):
        byte = data[k] if k < end else np.uint8(BLANK)
        if k < end and not (BLANK < byte < 127 and byte != PERCENT):
            return True
        if RUN[byte]:
            value = _on(value, byte)
            longer = byte == UNDERSCORE
            if not longer:
                bare = value
        elif value != seed:
            core |= _place(cores, shift, value) >= 0 or (longer and _place(cores, shift, bare) >= 0)
            value, bare, longer = seed, seed, False
    count, kinds = (len(start) - 1, np.uint8(HOST | NAME)) if core else (hosts, np.uint8(HOST))
    if count > 0:
        for k in range(begin, end):
            pair = np.int64(LOWER[data[k]]) << 8 | (np.int64(LOWER[data[k + 1]]) if k + 1 < end else 0)
            if heads[pair] & kinds and _named(data, k, end, names, start, count):
                return True
    return False


@njit(helper=True)
def _named(data: Any, begin: Any, end: Any, names: Any, start: Any, count: Any) -> Any:
    """True if one of the first `count` names is at this position."""
    for name in range(count):
        first, size = start[name], start[name + 1] - start[name]
        same = 0
        while same < size and begin + same < end and LOWER[data[begin + same]] == names[first + same]:
            same += 1
        if same == size:
            return True
    return False


@njit(helper=True)
def _shortened(data: Any, k: Any, end: Any) -> Any:
    """True if a piece is a t.co URL, which contains no information; it may be cut off by an ellipsis."""
    if end - k < 12 or data[k] != 104 or data[k + 1] != 116 or data[k + 2] != 116 or data[k + 3] != 112:
        return False
    k += 5 if data[k + 4] == 115 else 4
    for mark in SHORT:
        if k == end or data[k] != mark:
            return False
        k += 1
    while k < end and BLANK < data[k] < 127:
        k += 1
    return k == end or (k + 3 == end and data[k] == 0xE2 and data[k + 1] == 0x80 and data[k + 2] == 0xA6)


@njit(helper=True)
def _pieces(
    data: Any,
    begin: Any,
    end: Any,
    cores: Any,
    shift: Any,
    names: Any,
    start: Any,
    heads: Any,
    hosts: Any,
    every: Any,
) -> Any:
    """True if a URL written in a text may be one searched for.

    A URL is inside a piece between blanks that has a slash, and a dot or colon. Non-ASCII blanks do not separate pieces here;
    pieces with them are tested completely.
    """
    k = begin
    while k < end:
        piece, slash, host = k, False, False
        while k < end and not (data[k] == BLANK or 9 <= data[k] <= 13 or 28 <= data[k] <= 31):
            slash |= data[k] == SLASH
            host |= (data[k] == DOT) | (data[k] == COLON)
            k += 1
        asked = slash and host and not _shortened(data, piece, k)
        if asked and (every or _is_candidate(data, piece, k, cores, shift, names, start, heads, hosts)):
            return True
        k += 1
    return False


@njit
def _texts(
    data: Any,
    offset: Any,
    owner: Any,
    plain: Any,
    points: Any,
    several: Any,
    words: Any,
    rare: Any,
    first: Any,
    needs: Any,
    cores: Any,
    names: Any,
    start: Any,
    heads: Any,
    hosts: Any,
    links: Any,
    every: Any,
    flags: Any,
    letters: Any,
    begins: Any,
    woken: Any,
) -> Any:
    """Flag the owner of every text that may match, and record the tokens of texts with queries.

    X's three escapes (`&lt;`) may remain: the characters end a token just like the escapes, and the additional tokens `lt`,
    `gt` and `amp` lose nothing.
    """
    longest = 0
    for text in range(len(offset) - 1):
        longest = max(longest, offset[text + 1] - offset[text])
    noted = np.empty(2 * longest + 16, np.uint64)
    shift, rare_shift, core_shift = _bits(len(words)), _bits(8 * len(rare)), _bits(len(cores))
    awake, kept = np.int64(0), np.int64(0)
    for text in range(len(offset) - 1):
        k, end = np.int64(offset[text]), np.int64(offset[text + 1]) - 1
        sure = bool(kept + 2 * (end - k) + 8 <= len(letters))
        if not sure:
            k = end
        value, count, waits, slash, part = seed, 0, False, False, -1
        begins[text] = kept
        at = np.uint64(kept)
        letters[at] = BLANK
        at += b1
        while k < end or part >= 0:
            if part < 0:
                byte = data[np.uint64(k)]
                if byte < 128:
                    k += 1
                    letter = plain[byte]
                    if letter > 0:
                        value = _on(value, letter)
                        letters[at] = letter
                        at += b1
                        continue
                    slash |= byte == SLASH
                    if value != seed:
                        noted[count] = value
                        count += 1
                        waits |= _waits(value, rare, rare_shift, words, shift)
                        value = seed
                        letters[at] = BLANK
                        at += b1
                    continue
                point, k = decode(data, k)
                letter = points[point] if point < POINTS else np.int32(UNSURE)
            else:
                letter = several[part]
                part = part + 1 if letter != NOTHING else -1
            if np.int64(at) + 2 * (end - k) + 8 > len(letters):
                letter = np.int32(UNSURE)
            if 0 < letter < ALONE:
                value = _on(value, letter)
                letters[at] = letter
                at += b1
                continue
            if letter == NOTHING:
                continue
            if letter == UNSURE or count + 2 > len(noted):
                sure = False
                break
            if letter <= MANY:
                part = MANY - letter
                continue
            if value != seed:
                noted[count] = value
                count += 1
                waits |= _waits(value, rare, rare_shift, words, shift)
                value = seed
                letters[at] = BLANK
                at += b1
            if letter != ENDS:
                alone = _on(seed, letter - ALONE)
                noted[count] = alone
                count += 1
                waits |= _waits(alone, rare, rare_shift, words, shift)
                letters[at] = letter - ALONE
                letters[at + b1] = BLANK
                at += np.uint64(2)
        if value != seed:
            noted[count] = value
            count += 1
            waits |= _waits(value, rare, rare_shift, words, shift)
            letters[at] = BLANK
            at += b1
        if sure and waits:
            before = awake
            awake = _wake(noted, count, words, shift, first, needs, text, woken, awake)
            if awake < 0:
                sure, awake = False, before
            elif awake > before:
                flags[owner[text]] |= WORD
                kept = np.int64(at)
        if not sure:
            flags[owner[text]] = WORD | LINK | UNSURE_CUT
            continue
        if slash and links:
            begin = np.int64(offset[text])
            if _pieces(data, begin, end, cores, core_shift, names, start, heads, hosts, every):
                flags[owner[text]] |= LINK
    begins[len(offset) - 1] = kept
    return awake, kept


@njit
def _addresses(
    data: Any,
    offset: Any,
    owner: Any,
    cores: Any,
    names: Any,
    start: Any,
    heads: Any,
    hosts: Any,
    every: Any,
    flags: Any,
) -> None:
    """Flag the owner of every URL that may be searched for."""
    shift = _bits(len(cores))
    for link in range(len(offset) - 1):
        if every or _is_candidate(
            data, offset[link], offset[link + 1] - 1, cores, shift, names, start, heads, hosts
        ):
            flags[owner[link]] |= LINK
