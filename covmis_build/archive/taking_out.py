"""A file of an archive without what is to be forgotten, read again before it takes the place of the old one.

It has to hold nothing of it any more, and every other post. The forms of posts are many, and ids are often put
together from several columns: what cannot be taken out so is refused by name, and stays as it was.
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
    "Take it out with the program that wrote the file, or bring the file in with `covmis posts import` and remove it; "
    "then purge again"
)


class _Content(NamedTuple):
    """What is read in a file: how many posts that are to be forgotten, the others as one number, what is unreadable."""

    forgotten: int
    others: int
    unreadable: int


def take_out(path: Path, forget: Forget, how: reader.How = reader.How()) -> Rewritten:  # noqa: B008 - never changes
    """Rewrite one file; raise where that would leave something, or take something else."""
    before = _read(path, forget, how)
    done = rewriting.rewrite(path, forget, check=partial(_check, before, path, forget, how))
    if not done.lines and before.forgotten:
        raise InputError("contains posts to be purged, and cannot be rewritten", file=path, remedy=BY_HAND)
    return done


def _check(before: _Content, path: Path, forget: Forget, how: reader.How, rewritten: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        named = Path(folder) / path.name  # names tell what some files are
        named.symlink_to(rewritten.resolve())
        after = _read(named, forget, how)
    if after.forgotten or after.others != before.others or after.unreadable > before.unreadable:
        raise InputError(
            "contains posts to be purged in a form that cannot be rewritten", file=path, remedy=BY_HAND
        )


def _read(path: Path, forget: Forget, how: reader.How) -> _Content:
    forgotten = others = unreadable = 0
    try:
        for job in streams.jobs([(path, path.name)]):
            for line in reader.read(job, forget, how):
                unreadable += bool(line.problem)
                for post in line.posts:
                    if post.post_id in forget.posts:
                        forgotten += 1
                    elif post.availability != PURGED:
                        others += hash((post.post_id, post.text))
    except InputError:  # of ids that a spreadsheet has broken, nothing can be said
        unreadable += 1
    return _Content(forgotten, others, unreadable)
