"""Tables of a study in a store: an object's name has its content's hash, so that none is ever replaced.

Which of them are in force says the ledger, which stays on this machine: until its entry is written, the old ones are, and what
no entry names any more is removed after it. A table that is read here is fetched once, under the same name, into data/build.
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
    """The tables of one study at an address, and its folder `data/build`."""

    address: Address
    build: Path

    def here(self, table: str) -> Path:
        """The file of the table in force, fetched if it is not here; there is none if nobody has made it."""
        name = self._in_force().get(table)
        if name is None:
            return self.build / f"{table}.parquet"
        near = self.build / name
        if not near.exists() and (far := self.address / near.name).exists():
            storage.fetch(far, near, sha256=name.split(".")[-2])
        return near

    def put(self, table: str, path: Path, content: str) -> None:
        """Set a table that waits here next to the others, which count until the ledger's next entry."""
        name = _name(table, content)
        (self.address / name).put(path)
        storage.put(path, self.build / name)

    def complete(self) -> None:
        """Put what is in force and lies here alone: `build` is another address now, or somebody has emptied it."""
        for name in set(self._in_force().values()) - {path.name for path in self.objects()}:
            if (near := self.build / name).exists():
                (self.address / name).put(near)

    def objects(self) -> list[Path]:
        """Every table that lies there, in force or not."""
        return [path for path in self.address.glob("*.parquet") if OURS.fullmatch(path.name)]

    def sweep(self) -> None:
        """Remove the tables that this study has made and that are no more in force, there and here; nobody else's."""
        every = {name for _, names in self._entries() for name in names.values()}
        out = every - set(self._in_force().values())
        out |= {f"{table}.parquet" for table in self._in_force()}  # of before there was an address
        near = [path for path in self.build.glob("*.parquet") if path.name in out]
        for path in [*(path for path in self.objects() if path.name in out), *near]:
            storage.remove(path)

    def _in_force(self) -> dict[str, str]:
        """Each table's object, by the last whole entry of its stage."""
        stages = {entry["stage"]: names for entry, names in self._entries() if entry["event"] == "done"}
        return {table: name for names in stages.values() for table, name in names.items()}

    def _entries(self) -> Iterator[tuple[dict[str, Any], dict[str, str]]]:
        """The lines of the ledger, and the objects that each names. A reader that needs it reports damage."""
        log = self.build / "ledger.jsonl"
        for line in log.read_bytes().split(b"\n")[:-1] if log.exists() else ():
            with suppress(ValueError, LookupError, TypeError, AttributeError):
                entry = json.loads(line)
                tables = entry.get("tables", {}).items()
                names = {table: _name(table, facts["sha256"]) for table, facts in tables}
                yield {"stage": entry["stage"], "event": entry["event"]}, names


def _name(table: str, content: str) -> str:
    return f"{table}.{content[:16]}.parquet"
