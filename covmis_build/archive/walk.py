"""The files of an archive and their names in tables, for everything that reads posts."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from covmis_build import storage
from covmis_build.addresses import Address
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

NOT_POSTS = "README.md"
"""A file with the user's notes, not posts."""


class ArchiveFile(NamedTuple):
    """A file of an archive, and its name in tables."""

    path: Path
    name: str


def archive_files(archive: Sequence[Path], *, hidden: bool = False) -> list[ArchiveFile]:
    """Return every file below these places, ordered by its name in tables, which begins with the place's own name.

    Files whose names begin with a dot are not posts. `hidden` includes them, for a complete search for traces.
    """
    names: dict[Path, str] = {}
    for place in archive:
        for path in _files_below(place):
            below = path.relative_to(place.parent)
            if hidden or not any(part.startswith(".") for part in below.parts):
                names.setdefault(path, below.as_posix())
    in_order = sorted(names.items(), key=lambda pair: (pair[1], str(pair[0])))
    return [ArchiveFile(path, name) for path, name in _with_unique_names(in_order)]


def first_of_each(archive: Sequence[Path], files: Sequence[ArchiveFile]) -> list[Path]:
    """Return one file of each of these places, to test access."""
    firsts = {
        folder: file.path
        for folder in archive
        for file in reversed(files)
        if file.path.is_relative_to(folder)
    }
    return list(firsts.values())


def unfinished_writes(archive: Sequence[Path]) -> list[Path]:
    """Return leftovers of interrupted writes next to the complete files that they should have replaced."""
    return [file.path for file in archive_files(archive, hidden=True) if storage.is_unfinished(file.path)]


def _files_below(place: Path) -> Iterable[Path]:
    if not place.exists():
        raise InputError(
            "the archive is missing",
            file=place,
            remedy="Put posts there, fetch some with `covmis collect`, or name another place",
        )
    if place.is_file():
        inside: Iterable[Path] = [place]
    else:
        inside = place.rglob("*") if isinstance(place, Address) else _in_folder(place)
    # The listing contains files only. Checking each one would cost a request per file.
    return (
        path for path in inside if path.name != NOT_POSTS and (isinstance(path, Address) or path.is_file())
    )


def _in_folder(place: Path) -> Iterator[Path]:
    """List a folder, following links to folders elsewhere. Unreadable folders are an error."""
    own, seen = place.resolve(), set[Path]()
    for folder, folders, names in os.walk(place, followlinks=True, onerror=_unseen):
        here = Path(folder).resolve()
        if here in seen or (Path(folder).is_symlink() and folder != str(place) and here.is_relative_to(own)):
            folders.clear()  # it is listed under its own name
            continue
        seen.add(here)
        folders.sort()
        for name in names:
            path = Path(folder, name)
            if path.is_symlink() and not path.exists():
                raise InputError(
                    "leads to a file that is not there",
                    file=path,
                    remedy="Is its disk missing? Or remove the link",
                )
            yield path


def _unseen(error: OSError) -> None:
    raise InputError(f"cannot be read: {error.strerror}", file=error.filename) from error


def _with_unique_names(files: list[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """Lengthen the names of files that would be equal by parts of their path, from its end, as needed."""
    count_of_name = Counter(name for _, name in files)
    if all(count == 1 for count in count_of_name.values()):
        return files
    count_of_end = Counter(path.parts[at:] for path, _ in files for at in range(len(path.parts)))
    return [
        (path, name if count_of_name[name] == 1 else _shortest_unique_end(path, count_of_end))
        for path, name in files
    ]


def _shortest_unique_end(path: Path, count_of_end: Counter[tuple[str, ...]]) -> str:
    """Return the shortest unique end of a path. The folders above it are private."""
    ends = (path.parts[-length:] for length in range(1, len(path.parts)))
    return "/".join(next((end for end in ends if count_of_end[end] == 1), path.parts[1:]))
