"""Remove purged data from a file of an archive, and verify the result before it replaces the file.

The result must contain nothing purged, and every other post. There are many formats, and ids are often composed of
several columns. A file that cannot be cleaned is refused by name and stays unchanged.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from covmis_build import storage
from covmis_build.archive import reader, rewriting, streams
from covmis_build.archive.forgetting import PURGED
from covmis_build.children import each_in_child, got_on, in_child
from covmis_build.errors import CovmisError, InputError, doubted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from covmis_build.archive.forgetting import Forget

BY_HAND = (
    "Take it out with the program that wrote the file, or bring the file in with `covmis posts add --convert` and remove it; "
    "then purge again"
)


class _Content(NamedTuple):
    """Content of a file: number of purged posts, one fingerprint of all others, and what is unreadable."""

    forgotten: int
    others: int
    unreadable: int
    touched: bool = False
    """Whether the file must be rewritten."""


def take_out(
    files: Sequence[Path],
    forget: Forget,
    how: reader.ReadingOptions = reader.ReadingOptions(),  # noqa: B008 - never changes
) -> Iterator[int | CovmisError]:
    """Rewrite files, and yield for each how many lines changed, or why it stays unchanged.

    Child processes read the files and write the new ones. Only this process replaces a file: if it is killed, a child process
    that still runs cannot.
    """
    given = [(path, forget, how) for path in files]
    for path, before in zip(files, each_in_child(_before, given), strict=True):
        yield before if isinstance(before, InputError) else _replaced(path, before, forget, how)


def _before(path: Path, forget: Forget, how: reader.ReadingOptions) -> _Content:
    content = _read(path, forget, how)
    with doubted(path, remedy=rewriting.MEND):
        touched = rewriting.is_touched(path, forget, how.own_forms)
    if content.forgotten and not touched:
        raise InputError("contains posts to be purged, and cannot be rewritten", file=path, remedy=BY_HAND)
    return content._replace(touched=touched)


def _replaced(path: Path, before: _Content, forget: Forget, how: reader.ReadingOptions) -> int | CovmisError:
    if not before.touched:
        return 0
    try:
        with storage.replacing(path) as beside:
            return in_child(_write, path, beside, before, forget, how)
    except CovmisError as error:
        return error


def _write(path: Path, beside: Path, before: _Content, forget: Forget, how: reader.ReadingOptions) -> int:
    """Write the new file. An error if purged data would remain or other posts would be lost."""
    with doubted(path, remedy=rewriting.MEND):
        lines = rewriting.write_without(path, beside, forget, how.own_forms)
        with tempfile.TemporaryDirectory() as folder:
            named = Path(folder) / path.name  # some formats are detected by the file's name
            named.symlink_to(beside.resolve())
            after = _read(named, forget, how)
    if after.forgotten or after.others != before.others or after.unreadable > before.unreadable:
        raise InputError(
            "contains posts to be purged in a form that cannot be rewritten", file=path, remedy=BY_HAND
        )
    return lines


def _read(path: Path, forget: Forget, how: reader.ReadingOptions) -> _Content:
    forgotten = others = unreadable = 0
    try:
        for job in streams.jobs([(path, path.name)], how.own_forms):
            for number, line in enumerate(reader.read(job, forget, how)):
                if number % rewriting.GETS_ON == 0:
                    got_on()
                unreadable += bool(line.problem)
                for post in line.posts:
                    if post.post_id in forget.posts:
                        forgotten += 1
                    elif post.availability != PURGED:
                        others += hash((post.post_id, post.text))
    except InputError:  # ids broken by a spreadsheet cannot be checked
        unreadable += 1
    return _Content(forgotten, others, unreadable)
