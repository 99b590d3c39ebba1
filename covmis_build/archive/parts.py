"""The files of the store's parts: location, how each was built, and whether it is unchanged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq

from covmis_build import checked_parquet, storage
from covmis_build.addresses import Address

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

INTAKE = "intake"
"""Folder next to the parts with the intake of each part's files."""
NOTES = b"covmis"

READER = 15
"""Increased manually when a file is parsed differently than before: then all files are read again."""


class ReadUnder(NamedTuple):
    """What a part depends on besides its file: the purge list, and the claims' ids."""

    purge_list: str = ""
    """Hash of the purge list used for reading."""
    forgot: bool = False
    """True if the purge list removed something of the file."""
    claims: str = ""
    """Hash of the claims' ids if a column of the file may name claims."""


class Facts(NamedTuple):
    """Facts about a part when it was built."""

    posts: int
    bytes: int
    sha256: str


class Parts(NamedTuple):
    """The location of a store's parts and their intake. Every process that reads the archive writes there.

    For a store at a URL, this machine caches the parts that it needs.
    """

    folder: Path
    copies: Path

    def file(self, part: str) -> Path:
        """Return the path of a part."""
        return self.folder / f"{part}.parquet"

    def seen(self, part: str) -> Path:
        """Return the path of a part's intake."""
        return self.folder / INTAKE / f"{part}.parquet"

    def here(self, path: Path, facts: Facts | None = None) -> Path:
        """Return the local file, downloaded if it is missing or differs."""
        if not isinstance(path, Address):
            return path
        copy = self.copies / path.relative_to(self.folder)
        if facts is None or not copy.exists() or copy.stat().st_size != facts.bytes:
            storage.fetch(path, copy, sha256=facts.sha256 if facts else "")
        return copy


def write_seen(path: Path, rows: pa.Table, under: ReadUnder, facts: Facts) -> None:
    """Write the intake of a part's files, with facts about the part."""
    notes = {NOTES: json.dumps([under, facts])}
    with storage.replacing(path) as beside:
        checked_parquet.write(beside, rows.replace_schema_metadata(notes), compression="snappy")


def noted(seen: Path) -> tuple[ReadUnder, Facts]:
    """Return what a part was read with, and its facts."""
    if not isinstance(seen, Address):
        checked_parquet.check(seen)
    with seen.open("rb") as file:
        under, facts = json.loads(pq.read_metadata(file).metadata[NOTES])
    return ReadUnder(*under), Facts(*facts)


def stands(path: Path, size: int, sha256: str, content: Callable[[Path], str]) -> bool:
    """True if a part is unchanged. At a URL only its size is compared, because hashing would download it."""
    if not path.exists() or path.stat().st_size != size:
        return False
    return isinstance(path, Address) or content(path) == sha256
