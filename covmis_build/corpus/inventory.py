"""The root hash of a release covers every byte of every file.

Some files name the root hash themselves. In its place they are hashed with PLACE, which no other file may contain.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

PLACE = "root-hash-of-this-release".ljust(64, "-")
"""As long as the root hash."""


def file_hashes(folder: Path, names: Iterable[str], root: str) -> dict[str, str]:
    """Return the SHA-256 of these files, with PLACE where they name this root hash."""
    return {name: _hash(folder / name, root) for name in names if (folder / name).is_file()}


def _hash(path: Path, root: str) -> str:
    data = path.read_bytes()
    if PLACE.encode() in data and root != PLACE:
        raise InputError(
            "has the words that stand for the root hash",
            file=path,
            remedy="covmis never releases such a file",
        )
    return hashlib.sha256(data.replace(root.encode(), PLACE.encode()) if root else data).hexdigest()
