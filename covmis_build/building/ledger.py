"""The ledger: a JSON line per event of a stage, with its inputs and tables; only appended.

A stage is current if its last line is `done` with the current key and its tables are unchanged. A `started` line is written
before the first table is replaced, so that after an interruption the old `done` is no longer valid. In an object store
tables are not replaced (`far_tables.py`): there the line names the tables to be written.
"""

from __future__ import annotations

import datetime as dt
import functools
import hashlib
import json
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build import storage
from covmis_build.addresses import Address, place
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


class Event(StrEnum):
    """The event of a line."""

    STARTED = "started"
    DONE = "done"


class TableFacts(msgspec.Struct, frozen=True):
    """A table as it was built."""

    rows: int
    bytes: int
    sha256: str


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A line: a stage that has started or is done, with all inputs of its tables."""

    stage: str
    event: Event
    key: str
    key_without_rounds: str = ""
    engine: str = ""
    seed: int | None = None
    seconds: float = 0.0
    tables: dict[str, TableFacts] = {}
    covmis: str = ""
    settings: dict[str, Any] = {}
    at: str = ""

    @property
    def done(self) -> bool:
        """True if the stage's tables have been complete since."""
        return self.event == Event.DONE

    def rows(self, tables: Iterable[str]) -> dict[str, int]:
        """Return the number of rows of each of these tables."""
        return {table: self.tables[table].rows for table in tables}


def read(path: Path) -> list[Entry]:
    """Read all entries. An incomplete last line (after an interruption) is ignored; other damage is an error."""
    if not path.exists():
        return []
    entries = []
    whole = path.read_bytes().split(b"\n")[:-1]  # every entry ends with a line feed
    for number, line in enumerate(whole, 1):
        try:
            entries.append(msgspec.json.decode(_checked(line), type=Entry))
        except ValueError:  # msgspec's errors, too
            raise InputError(
                "is damaged",
                file=path,
                row=number,
                remedy="Delete this ledger and run `covmis run`: it rebuilds the tables; rounds and labels are not affected",
            ) from None
    return entries


def append(path: Path, entry: Entry) -> None:
    """Append one entry to the file on disk, completely or not at all."""
    told = msgspec.to_builtins(msgspec.structs.replace(entry, at=storage.moment()))
    content = json.dumps(told, ensure_ascii=False, sort_keys=True).encode()
    storage.append_line(path, content[:-1] + _HASH % hashlib.sha256(content).hexdigest().encode())


_HASH = b', "sha256": "%b"}'
"""The end of a line: the hash of the line without it. Lines of versions before 0.3.0 have none."""
_AT = -len(_HASH % bytes(64))


def _checked(line: bytes) -> bytes:
    """Return a line without its hash, or raise a ValueError if the hash is of another line."""
    content, end = line[:_AT] + b"}", line[_AT:]
    if not end.startswith(_HASH.partition(b"%")[0]):
        return line
    if end != _HASH % hashlib.sha256(content).hexdigest().encode():
        raise ValueError("the content does not have this hash")
    return content


def last(entries: Iterable[Entry], stage: str) -> Entry | None:
    """Return a stage's last entry about its tables. If new tables get new names, a start has not replaced any.

    >>> done, begun = (Entry("read", event, "key") for event in (Event.DONE, Event.STARTED))
    >>> last([done, begun], "read").event, last([begun, done], "read").event, last([done], "clean")
    (<Event.STARTED: 'started'>, <Event.DONE: 'done'>, None)
    """
    latest = None
    for entry in entries:
        if entry.stage == stage and (entry.done or not entry.tables):
            latest = entry
    return latest


def key_of(*parts: Any) -> str:
    """Return a short hash of any plain values."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def content(path: Path, cache: dict[str, list[Any]]) -> str:
    """Return a file's SHA-256, cached by path and state."""
    state = [*storage.state_of(path)]
    known = cache.get(str(path))
    if known and known[:-1] == state:
        return str(known[-1])
    # A file changed within the clock's resolution could change again with the same time: do not cache it.
    if dt.datetime.now().timestamp() - path.stat().st_mtime <= 2:  # noqa: DTZ005 - compared with the file system's clock
        return _hash.__wrapped__(path)
    digest = _hash(path, *state)
    cache[str(path)] = [*state, digest]
    return digest


def damaged(cache: Mapping[str, list[Any]]) -> list[Path]:
    """Return files that have lost the content with this SHA-256, although size and times say that nobody changed them."""
    paths = [place(path) for path in cache]
    return [
        path
        for path in paths
        if not isinstance(path, Address) and path.is_file()
        if cache[str(path)][:-1] == [*storage.state_of(path)]
        and _hash.__wrapped__(path) != cache[str(path)][-1]
    ]


@functools.lru_cache(1 << 12)
def _hash(path: Path, *_state: int) -> str:
    """Return the SHA-256 of a file in this state, cached in the process."""
    hasher = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            hasher.update(block)
    return hasher.hexdigest()
