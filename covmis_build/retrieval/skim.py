"""Which lines of a block surely hold nothing that is looked for: found without a Python object for each line.

Nearly all posts of an archive match no query. A line is passed over here only if all of this is certain: it is JSON
that the format's reader reads (every value has the type that the reader declares), it is one plain post with an id
and a text, no query that waits under a token of the text has all the tokens there that it cannot do without, and no
address in it can be one that is asked for. Everything else, and everything that is not certain (rare characters,
numbers with exponents, escapes in keys, an id that is wanted), is left to the reader and the matcher. So nothing can
be lost, and what is found stays their work.

Tokens are compared by hashes of 64 bits: one that is the same by chance costs a look, and changes nothing.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit

from covmis_build.retrieval.grammar import BACKSLASH, LINE, QUOTE, blank, literal, number, over, points
from covmis_build.retrieval.hashing import hash_of, hash_table, place_in, spread
from covmis_build.retrieval.memory import i16, i32, i64, put_i32, put_i64, u8
from covmis_build.retrieval.shapes import BOOL, FLOAT, ID, INSIDE, LIST, NULL, OBJECT, PLACES, STR, TEXT
from covmis_build.retrieval.verdicts import LAST, LOOK, PASS, WORD, of_string
from covmis_build.text.folding import Folding, folding

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from covmis_build.retrieval.shapes import Shape

DEEPEST = 60
LONGEST = 1 << 16
"""Values in more than 60 others, and texts of more characters, are left to the reader."""

LINES = 4096
"""Lines to look at that one call of the compiled code can name."""


class Asked(NamedTuple):
    """What is looked for, in tables of hashes: tokens, telling parts of addresses, ids; and parts of hosts as text.

    Where a token is at `words[p]`, `first[p]` is where its queries begin in `needs`: for each the number of tokens that
    it cannot do without, and these; then -1 in place of a number. `links` is whether addresses matter at all, `every`
    whether any address may be asked for.
    """

    words: NDArray[np.uint64]
    first: NDArray[np.int32]
    needs: NDArray[np.uint64]
    cores: NDArray[np.uint64]
    ids: NDArray[np.uint64]
    hosts: NDArray[np.uint8]
    host_start: NDArray[np.int32]
    links: bool
    every: bool
    named: bool


class _Tables(NamedTuple):
    """The addresses of everything that compiled code looks up, and the sizes that it needs."""

    words: int
    words_mask: int
    first: int
    needs: int
    cores: int
    cores_mask: int
    ids: int
    ids_mask: int
    hosts: int
    host_start: int
    host_count: int
    points: int
    several: int
    place: int
    element: int
    other: int
    key: int
    start: int
    kinds: int
    below: int
    role: int
    prefix: int
    prefix_size: int
    links: int
    every: int
    named: int
    reads: int
    text: int
    hashes: int


def asked(
    words: Mapping[str, Collection[Collection[str]]] = MappingProxyType({}), cores: Collection[str] = (),
    hosts: Collection[str] = (), ids: Collection[int] = (), *, links: bool = False, every: bool = False,
) -> Asked:  # fmt: skip
    """What is looked for: under each word what its queries cannot do without; ids by the CRC of the post ids."""
    waiting: dict[int, list[list[int]]] = {}
    for word, queries in words.items():
        others = ([hash_of(one) for one in query if one != word] for query in queries)
        waiting.setdefault(hash_of(word), []).extend(others)
    table = hash_table(list(waiting))
    first, needs = np.zeros(len(table), np.int32), list[int]()
    for value, each in waiting.items():
        first[place_in(table, np.uint64(value))] = len(needs)
        needs += [number for some in each for number in (len(some), *some)]
        needs.append(LAST)
    return Asked(
        table,
        first,
        np.array(needs, np.uint64),
        hash_table(list(map(hash_of, cores))),
        hash_table([int(spread(np.uint64(one))) for one in ids]),
        np.frombuffer("".join(hosts).encode() + b"\0", np.uint8),
        np.cumsum([0, *map(len, hosts)]).astype(np.int32),
        links,
        every or not {"http", "https"}.isdisjoint(cores),
        bool(ids),
    )


def skim(data: bytes | memoryview, shape: Shape, wanted: Asked) -> tuple[int, list[tuple[int, int, bool]]]:
    """How many lines are passed over, and where the others begin and end; true where a query waits under a token."""
    block = np.frombuffer(data if data[-1:] == b"\n" else bytes(data) + b"\n", np.uint8)
    text = np.empty(LONGEST + 1, np.int32)
    hashes = np.empty(LONGEST, np.uint64)
    tables = _tables(shape, wanted, folding(), text, hashes)
    begins, ends, verdicts = np.empty(LINES, np.int64), np.empty(LINES, np.int64), np.empty(LINES, np.uint8)
    passed, at, found = 0, 0, list[tuple[int, int, bool]]()
    while at < len(block):
        at, count, more = _over_block(block, at, tables, begins, ends, verdicts)
        passed += more
        words = verdicts[:count] == WORD
        found += zip(begins[:count].tolist(), ends[:count].tolist(), words.tolist(), strict=True)
    return passed, found


def _tables(
    shape: Shape, wanted: Asked, letters: Folding, text: NDArray[np.int32], hashes: NDArray[np.uint64]
) -> _Tables:
    sized = [(table.ctypes.data, len(table) - 1) for table in (wanted.cores, wanted.ids)]
    return _Tables._make([
        wanted.words.ctypes.data, len(wanted.words) - 1, wanted.first.ctypes.data, wanted.needs.ctypes.data,
        *sized[0], *sized[1], wanted.hosts.ctypes.data, wanted.host_start.ctypes.data, len(wanted.host_start) - 1,
        *(table.ctypes.data for table in (letters.points, letters.several, *shape)), len(shape.prefix),
        int(wanted.links), int(wanted.every), int(wanted.named), int(wanted.links or wanted.words.any()),
        text.ctypes.data, hashes.ctypes.data,
    ])  # fmt: skip


@njit(nogil=True)
def _line(i: Any, last: Any, tables: Any, stack: Any) -> Any:
    """The verdict on a line, and a place in it from which its end can be looked for.

    From `last` on there are not eight bytes left to read at once. The stack has the shape of every object and list
    around a value, twice, and one more in lists.
    """
    i = blank(i)
    if u8(i) != ord("{"):
        return LOOK, i
    top, depth, verdict = 2, 1, PASS
    seen, has_id, has_text = 0, False, False
    i = blank(i + 1)
    while True:
        if top & 1:
            entry = i16(tables.element + 2 * (top >> 1))
        else:
            if u8(i) != QUOTE:
                return LOOK, i
            entry, end = _entry(i + 1, last, top >> 1, tables.place, tables.start, tables.key, tables.other)
            if end < 0:
                return LOOK, i
            i = blank(end)
            if u8(i) != ord(":"):
                return LOOK, i
            i = blank(i + 1)
        byte, kinds, role = u8(i), u8(tables.kinds + entry), u8(tables.role + entry)
        if depth == 1 and (role == TEXT or role == ID):
            if seen & (1 << (entry & 63)):
                return LOOK, i  # of two values for one key the last counts
            seen |= 1 << (entry & 63)
        if byte == QUOTE:
            if not kinds & STR or role == INSIDE:
                return LOOK, i
            if role == 0:
                end = over(i + 1, last)
            else:
                size, end = points(i + 1, last, tables.text, LONGEST)
                if end > 0 and size > 0:
                    has_id |= depth == 1 and role == ID
                    has_text |= depth == 1 and role == TEXT
                    found = of_string(size, role, tables)
                    if found == LOOK:
                        return LOOK, i
                    verdict = max(verdict, found)
            if end < 0:
                return LOOK, i
            i = end
        elif byte == ord("{") or byte == ord("["):
            listed = byte == ord("[")
            if not kinds & (LIST if listed else OBJECT) or role == INSIDE or depth == DEEPEST:
                return LOOK, i
            put_i64(stack + 8 * depth, top)
            top = 2 * i16(tables.below + 2 * entry) + listed
            depth += 1
            i = blank(i + 1)
            if u8(i) != (ord("]") if listed else ord("}")):
                continue
        elif byte == ord("n") or byte == ord("t") or byte == ord("f"):
            end = literal(i, last)
            if end < 0 or not kinds & (NULL if byte == ord("n") else BOOL):
                return LOOK, i
            if role == INSIDE and byte != ord("n"):
                return LOOK, i
            i = end
        else:
            kind, end = number(i)
            if end < 0 or not kinds & kind or role == INSIDE:
                return LOOK, i
            if role == ID:
                if kind == FLOAT or byte == ord("-"):
                    return LOOK, i
                for k in range(end - i):
                    put_i32(tables.text + 4 * k, u8(i + k))
                has_id |= depth == 1
                if of_string(end - i, role, tables) == LOOK:
                    return LOOK, i
            i = end
        while True:
            i = blank(i)
            if u8(i) == ord(","):
                i = blank(i + 1)
                break
            if u8(i) != (ord("]") if top & 1 else ord("}")):
                return LOOK, i
            i, depth = i + 1, depth - 1
            if depth == 0:
                i = blank(i)
                return verdict if has_id and has_text and u8(i) == LINE else LOOK, i
            top = i64(stack + 8 * depth)


@njit(nogil=True)
def _entry(begin: Any, last: Any, shape: Any, place: Any, start: Any, key: Any, other: Any) -> Any:
    """The entry of a key, from behind its quotation mark, in this shape; and where the key ends."""
    end = over(begin, last)
    size = end - 1 - begin
    if end < 0 or shape == 0 or size == 0:
        return 0, end
    at = (u8(begin) + 3 * u8(end - 2) + 5 * size) & (PLACES - 1)
    entry = i16(place + 2 * (shape * PLACES + at))
    while entry >= 0:
        first = i32(start + 4 * entry)
        if i32(start + 4 * entry + 4) - first == size:
            k = 0
            while k < size and u8(begin + k) == u8(key + first + k):
                k += 1
            if k == size:
                return entry, end
        entry = i16(other + 2 * entry)
    for k in range(size):
        if u8(begin + k) == BACKSLASH:
            return 0, -1  # an escaped key may be one of ours
    return 0, end


def _compiled(sources: int) -> Any:
    """The compiled code, kept on disk. Whether it is stale numba asks of this file alone; so the others are a part of it."""

    @njit(cache=True, nogil=True)
    def over_block(block: Any, at: Any, tables: Any, begins: Any, ends: Any, verdicts: Any) -> Any:
        """Go over lines until the block ends or no more can be named; empty lines are nothing."""
        if sources < 0:
            return at, 0, 0
        stack = np.empty(DEEPEST + 1, np.int64)
        base, size = np.int64(block.ctypes.data), len(block)
        count, passed = 0, 0
        while at < size and count < len(begins):
            verdict, end = _line(base + at, base + size - 8, tables, np.int64(stack.ctypes.data))
            while u8(end) != LINE:
                end += 1
            end -= base
            if verdict == PASS:
                passed += 1
            elif end > at:
                begins[count], ends[count], verdicts[count] = at, end, verdict
                count += 1
            at = end + 1
        return at, count, passed

    return over_block


_USED = (
    "retrieval/grammar.py", "retrieval/hashing.py", "retrieval/memory.py", "retrieval/shapes.py",
    "retrieval/verdicts.py", "text/folding.py",
)  # fmt: skip
_SOURCES = b"".join((Path(__file__).parents[1] / name).read_bytes() for name in _USED)
_over_block = _compiled(int.from_bytes(hashlib.sha256(_SOURCES).digest()[:6], "big"))
