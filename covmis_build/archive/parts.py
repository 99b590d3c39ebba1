"""The parts of the store as files: where they lie, how each was made, and whether it still is what was made."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq

from covmis_build import storage
from covmis_build.addresses import Address

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

INTAKE = "intake"
"""The folder next to the parts: what was read from the files of each."""
NOTES = b"covmis"

READER = 6
"""Raised by hand when a file is read as something else than before: all files are read again."""


class ReadUnder(NamedTuple):
    """What a part depends on besides its file: the list of what is to be forgotten, and the ids of claims."""

    purge_list: str = ""
    """Hash of the list under which the file was read."""
    forgot: bool = False
    """Whether something of the file was left out because of the list."""
    claims: str = ""
    """Hash of the claims' ids, if a column of the file may name claims."""


class Facts(NamedTuple):
    """A part as it was made."""

    posts: int
    bytes: int
    sha256: str


class Parts(NamedTuple):
    """Where the parts of a store lie, and what was seen in their files: every process that reads the archive writes there.

    Of a store at an address this machine keeps copies of the parts that it needs itself.
    """

    folder: Path
    copies: Path

    def file(self, part: str) -> Path:
        """A part."""
        return self.folder / f"{part}.parquet"

    def seen(self, part: str) -> Path:
        """What was seen in the files of a part."""
        return self.folder / INTAKE / f"{part}.parquet"

    def here(self, path: Path, facts: Facts | None = None) -> Path:
        """The file on this machine, fetched if it is not here as it was made."""
        if not isinstance(path, Address):
            return path
        copy = self.copies / path.relative_to(self.folder)
        if facts is None or not copy.exists() or copy.stat().st_size != facts.bytes:
            storage.fetch(path, copy, sha256=facts.sha256 if facts else "")
        return copy


def write_seen(path: Path, rows: pa.Table, under: ReadUnder, facts: Facts) -> None:
    """What was seen in the files of a part, with a note on the part."""
    notes = {NOTES: json.dumps([under, facts])}
    with storage.replacing(path) as beside:
        pq.write_table(rows.replace_schema_metadata(notes), beside)


def noted(seen: Path) -> tuple[ReadUnder, Facts]:
    """What a part was read under, and what came of it."""
    with seen.open("rb") as file:
        under, facts = json.loads(pq.read_metadata(file).metadata[NOTES])
    return ReadUnder(*under), Facts(*facts)


def stands(path: Path, size: int, sha256: str, content: Callable[[Path], str]) -> bool:
    """Whether a part is there as it was made; at an address its size says so, for to hash it would be to fetch it."""
    if not path.exists() or path.stat().st_size != size:
        return False
    return isinstance(path, Address) or content(path) == sha256
