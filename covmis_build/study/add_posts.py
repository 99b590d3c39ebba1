"""Add a file of posts to the archive unchanged. `covmis run` imports it from there."""

from __future__ import annotations

import hashlib
import re
import shlex
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.addresses import place
from covmis_build.archive.walk import NOT_POSTS, archive_files
from covmis_build.errors import InputError
from covmis_build.report.result import Result
from covmis_build.storage import STUDY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from covmis_build.report.summary import Summary
    from covmis_build.study.of_study import OfStudy
    from covmis_build.tables import Frame

BLOCK = 1 << 20
LONGEST_NAME = 120
RESERVED = {STUDY.casefold(), NOT_POSTS.casefold()}
"""A folder with a study.toml is a study; a README.md of the archive is not read as posts."""
UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"|?*\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]')
"""Characters that do not belong in a file name: forbidden by operating systems, or changing the writing direction."""


@dataclass(frozen=True, slots=True, repr=False)
class AddedPosts(Result):
    """The file in the archive, and its size in bytes."""

    file: str
    size: int
    added: bool = True
    """False if a file with this content was in the archive already: nothing was added then."""

    @property
    def summary(self) -> Summary:
        """Return the file's path and the next step."""
        size = f"{self.size / 1e6:,.1f} MB" if self.size >= 1e5 else f"{self.size:,} bytes"
        return [
            f"Added {self.file} ({size})."
            if self.added
            else f"Already there: {self.file} has the same content ({size}). Nothing was added.",
            f"Next: `covmis status`; `covmis posts look {shlex.quote(self.file)}` shows how it is read.",
        ]


def add_posts(study: OfStudy, source: Path | str | Iterable[bytes] | Frame, name: str = "") -> AddedPosts:
    """Copy a file of posts into the archive byte by byte. An existing file of the same name is never replaced.

    `source` may also be the content as blocks of bytes, with `name` as the file's name, or a data frame, which becomes a Parquet file
    (posts.parquet if it has no name). Content that is there, under
    whatever name, is not added again: posts without ids would be there twice.
    """
    from covmis_build.tables import Frame

    if isinstance(source, str | Path):
        path = place(source)
        if not path.is_file():
            raise InputError("is no file", file=path, remedy="Name a file of posts")
        blocks, name = _blocks(path), name or path.name
    elif isinstance(source, Frame):
        name = f"{name.removesuffix('.parquet') or 'posts'}.parquet"
        blocks = iter([as_parquet(source, name)])
    else:
        blocks = iter(source)
    target = study.places.collected / safe_name(name)
    with study.locked(study.places.notes, "covmis posts add"):
        try:
            return AddedPosts(study.places.relative(target), _copied(study, blocks, target, name))
        except _AlreadyThere as there:
            return AddedPosts(study.places.relative(there.path), there.size, added=False)


def as_parquet(frame: Frame, name: str) -> bytes:
    """Return a data frame as a Parquet file. An index of pandas is no column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from_pandas = getattr(frame, "reset_index", None)
    try:
        table = pa.table(from_pandas(drop=True) if from_pandas else frame).replace_schema_metadata()
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(
            f"a column holds values of several types: {str(error)[:120]}",
            file=name,
            remedy='Make it text, like df["id"].astype(str)',
        ) from None
    if not table.num_rows:
        raise InputError("the frame has no rows", file=name, remedy="Give a row for each post")
    out = pa.BufferOutputStream()
    pq.write_table(table, out)
    return bytes(out.getvalue())


class _AlreadyThere(Exception):
    """A file of the archive has this content."""

    def __init__(self, path: Path, size: int) -> None:
        super().__init__(path)
        self.path, self.size = path, size


def _copied(study: OfStudy, blocks: Iterable[bytes], target: Path, name: str) -> int:
    """Write a new file of the archive. Returns its size."""
    size, digest = 0, hashlib.sha256()
    with storage.replacing(target) as beside:
        with beside.open("wb") as file:
            for block in blocks:
                size += file.write(block)
                digest.update(block)
        if not size:
            raise InputError("is empty", file=name, remedy="Export the posts again")
        for known in archive_files(study.places.archives):
            if known.path.stat().st_size == size and storage.sha256_of(known.path) == digest.hexdigest():
                raise _AlreadyThere(known.path, size)
        if target.exists():
            raise InputError(
                "is in the archive already, with other content",
                file=study.places.relative(target),
                remedy="Give the new file another name; or take the old one out first with `covmis posts remove`",
            )
    return size


def safe_name(name: str) -> str:
    r"""Return a safe file name: without folders, forbidden characters and names that mean something in a study.

    >>> safe_name("../../study.toml"), safe_name("C:\\data\\posts?.csv"), safe_name(".hidden"), safe_name("..")
    ('posts study.toml', 'posts_.csv', 'hidden', 'posts')
    """
    base = UNSAFE.sub("_", re.split(r"[/\\]", unicodedata.normalize("NFC", name))[-1])
    base = base.lstrip(" .~").rstrip(" .")[-LONGEST_NAME:] or "posts"
    return f"posts {base}" if base.casefold() in RESERVED else base


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block
