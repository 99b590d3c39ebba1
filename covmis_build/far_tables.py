"""A study's tables in an object store: each object's name contains its content's hash, so that none is ever replaced.

The local ledger determines the valid ones: until its entry is written, these are the old objects; those without an entry
are deleted afterwards. A table that is read here is downloaded once, under the same name, to data/build.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build import storage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from covmis_build.addresses import Address

OURS = re.compile(r"[a-z_.]+\.[0-9a-f]{16}\.parquet")


@dataclass(frozen=True)
class FarTables:
    """The tables of one study at a URL, and its folder `data/build`."""

    address: Address
    build: Path

    def here(self, table: str) -> Path:
        """Return the local file of the valid table, downloaded if necessary; a path that does not exist if there is none."""
        name = self._in_force().get(table)
        if name is None:
            return self.build / f"{table}.parquet"
        near = self.build / name
        if not near.exists() and (far := self.address / near.name).exists():
            storage.fetch(far, near, sha256=name.split(".")[-2])
        return near

    def put(self, table: str, path: Path, content: str) -> None:
        """Upload a finished local table; the old one stays valid until the ledger's next entry."""
        name = _name(table, content)
        (self.address / name).put(path)
        storage.put(path, self.build / name)

    def complete(self) -> None:
        """Upload valid tables that exist only here, after `build` was changed or the store was emptied."""
        for name in set(self._in_force().values()) - {path.name for path in self.objects()}:
            if (near := self.build / name).exists():
                (self.address / name).put(near)

    def objects(self) -> list[Path]:
        """Return every stored table, valid or not."""
        return [path for path in self.address.glob("*.parquet") if OURS.fullmatch(path.name)]

    def sweep(self) -> None:
        """Delete this study's tables that are no longer valid, remote and local; never those of others."""
        every = {name for _, names in self._entries() for name in names.values()}
        out = every - set(self._in_force().values())
        out |= {f"{table}.parquet" for table in self._in_force()}  # from before `build` was a URL
        near = [path for path in self.build.glob("*.parquet") if path.name in out]
        for path in [*(path for path in self.objects() if path.name in out), *near]:
            storage.remove(path)

    def _in_force(self) -> dict[str, str]:
        """Return each table's object, from the last complete entry of its stage."""
        stages = {entry["stage"]: names for entry, names in self._entries() if entry["event"] == "done"}
        return {table: name for names in stages.values() for table, name in names.items()}

    def _entries(self) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
        """Return the ledger's lines, and the objects in each. Other readers report damage."""
        log = self.build / "ledger.jsonl"
        for line in log.read_bytes().split(b"\n")[:-1] if log.exists() else ():
            with suppress(ValueError, LookupError, TypeError, AttributeError):
                entry = json.loads(line)
                tables = entry.get("tables", {}).items()
                names = {table: _name(table, facts["sha256"]) for table, facts in tables}
                yield {"stage": entry["stage"], "event": entry["event"]}, names


def _name(table: str, content: str) -> str:
    return f"{table}.{content[:16]}.parquet"
