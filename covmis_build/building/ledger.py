"""The ledger: which stage made which tables from what, one JSON object a line, only ever appended.

A stage is current when its last line says `done` with today's key and its tables still stand there. A `started`
line goes before the first table is replaced, so that whatever happens in between, the old `done` no longer counts. In a
store nothing is replaced (`far_tables.py`): there the line names the tables that are about to be written.
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
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Event(StrEnum):
    """What a line of the ledger says of its stage."""

    STARTED = "started"
    DONE = "done"


class TableFacts(msgspec.Struct, frozen=True):
    """A table as it was made."""

    rows: int
    bytes: int
    sha256: str


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line: a stage that has started, or is done, with all that its tables were made with."""

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
        """Whether the stage's tables stand there since."""
        return self.event == Event.DONE

    def rows(self, tables: Iterable[str]) -> dict[str, int]:
        """How many rows each of these tables has."""
        return {table: self.tables[table].rows for table in tables}


def read(path: Path) -> list[Entry]:
    """All entries; a torn last line (a kill in mid-write) is forgiven, other damage is an error."""
    if not path.exists():
        return []
    entries = []
    whole = path.read_bytes().split(b"\n")[:-1]  # every entry ends with a line end
    for number, line in enumerate(whole, 1):
        try:
            entries.append(msgspec.json.decode(line, type=Entry))
        except msgspec.MsgspecError:
            raise InputError(
                "is damaged",
                file=path,
                row=number,
                remedy="Delete this ledger and run `covmis run`: it rebuilds the tables; rounds and labels are not affected",
            ) from None
    return entries


def append(path: Path, entry: Entry) -> None:
    """Add one entry, whole and on disk, or nothing."""
    told = msgspec.to_builtins(msgspec.structs.replace(entry, at=storage.moment()))
    storage.append_line(path, json.dumps(told, ensure_ascii=False, sort_keys=True).encode())


def last(entries: Iterable[Entry], stage: str) -> Entry | None:
    """The last entry of a stage that tells of its tables; where they get new names, a start has replaced nothing.

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
    """One short key for any plain values: equal values, equal key."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def content(path: Path, cache: dict[str, list[Any]]) -> str:
    """SHA-256 of a file, remembered in `cache` by path, size and time of change."""
    stat = path.stat()
    known = cache.get(str(path))
    if known and known[:2] == [stat.st_size, stat.st_mtime_ns]:
        return str(known[2])
    # A file changed within the clock's coarsest tick could change again under the same time: do not remember it.
    if dt.datetime.now().timestamp() - stat.st_mtime <= 2:  # noqa: DTZ005 - compared with the file system's clock
        return _hash.__wrapped__(path, stat.st_size, stat.st_mtime_ns)
    digest = _hash(path, stat.st_size, stat.st_mtime_ns)
    cache[str(path)] = [stat.st_size, stat.st_mtime_ns, digest]
    return digest


@functools.lru_cache(1 << 12)
def _hash(path: Path, _size: int, _changed: int) -> str:
    """SHA-256 of a file of this size and time of change; a process that asks again remembers it, too."""
    hasher = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            hasher.update(block)
    return hasher.hexdigest()
