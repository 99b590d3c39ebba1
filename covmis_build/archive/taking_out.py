"""Remove purged data from a file of an archive, and verify the result before it replaces the file.

The result must contain nothing purged, and every other post. There are many formats, and ids are often composed of
several columns. A file that cannot be cleaned is refused by name and stays unchanged.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.archive import reader, rewriting, streams
from covmis_build.archive.forgetting import PURGED
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from covmis_build.archive.forgetting import Forget
    from covmis_build.archive.rewriting import Rewritten

BY_HAND = (
    "Take it out with the program that wrote the file, or bring the file in with `covmis posts add --convert` and remove it; "
    "then purge again"
)


class _Content(NamedTuple):
    """Content of a file: number of purged posts, one fingerprint of all others, and what is unreadable."""

    forgotten: int
    others: int
    unreadable: int


def take_out(path: Path, forget: Forget, how: reader.ReadingOptions = reader.ReadingOptions()) -> Rewritten:  # noqa: B008 - never changes
    """Rewrite one file. Raises an error if purged data would remain or other posts would be lost."""
    before = _read(path, forget, how)
    done = rewriting.rewrite(path, forget, partial(_check, before, path, forget, how), how.own_forms)
    if not done.lines and before.forgotten:
        raise InputError("contains posts to be purged, and cannot be rewritten", file=path, remedy=BY_HAND)
    return done


def _check(before: _Content, path: Path, forget: Forget, how: reader.ReadingOptions, rewritten: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        named = Path(folder) / path.name  # some formats are detected by the file's name
        named.symlink_to(rewritten.resolve())
        after = _read(named, forget, how)
    if after.forgotten or after.others != before.others or after.unreadable > before.unreadable:
        raise InputError(
            "contains posts to be purged in a form that cannot be rewritten", file=path, remedy=BY_HAND
        )


def _read(path: Path, forget: Forget, how: reader.ReadingOptions) -> _Content:
    forgotten = others = unreadable = 0
    try:
        for job in streams.jobs([(path, path.name)], how.own_forms):
            for line in reader.read(job, forget, how):
                unreadable += bool(line.problem)
                for post in line.posts:
                    if post.post_id in forget.posts:
                        forgotten += 1
                    elif post.availability != PURGED:
                        others += hash((post.post_id, post.text))
    except InputError:  # ids broken by a spreadsheet cannot be checked
        unreadable += 1
    return _Content(forgotten, others, unreadable)
