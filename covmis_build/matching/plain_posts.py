"""The posts of an archive as texts, for whoever counts and searches in them: no reposts, and copies as they come."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from covmis_build.archive.reader import How, file_of, read
from covmis_build.archive.streams import jobs
from covmis_build.archive.walk import archive_files
from covmis_build.engine import silent
from covmis_build.errors import InputError, counted
from covmis_build.matching.passes import NOTHING, check_tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from covmis_build.archive.forgetting import Forget
    from covmis_build.engine import Progress


def state(archive: Sequence[Path], forget: Forget = NOTHING, how: How = How()) -> str:  # noqa: B008 - empty
    """What tells that the archive's files, or what is to be forgotten, have changed: names, sizes and times; ids."""
    files = archive_files(archive)
    if not files:
        raise InputError("the archive has no files", remedy="Put posts into data/archive")
    known: list[object] = [(name, path.stat().st_size, path.stat().st_mtime_ns) for path, name in files]
    known += [str(rule) for rule in how.rules]
    return json.dumps([known, *([sorted(forget.posts | forget.authors)] if forget else [])])


def plain_posts(
    archive: Sequence[Path],
    progress: Progress = silent,
    forget: Forget = NOTHING,
    how: How = How(),  # noqa: B008 - empty
    unread: list[str] | None = None,
) -> Iterator[tuple[str, str, list[str], list[str], str]]:
    """Id, text, addresses, titles of link cards and time of every post that has a text and is no repost.

    What could not be read is told in `unread`, a sentence for each file, once all posts are taken.
    """
    listed, problems = jobs(archive_files(archive)), Counter[str]()
    refused = {job: reason for job, reason, _ in check_tables(listed, how)}
    for at, job in enumerate(listed):
        progress("indexing", at, len(listed))
        for line in read(job, forget=forget, how=how) if job not in refused else ():
            problems[line.file] += bool(line.problem)
            for post in line.posts:
                if post.text and not post.repost_of:
                    titles = [title for _, title, _ in post.cards if title]
                    yield post.post_id, post.text, post.urls, titles, post.created_at
    if unread is not None:
        unread += [f"{file_of(job)} is not searched: {reason}" for job, reason in refused.items()]
        unread += [
            f"{file}: {counted(count, 'lines')} could not be read and {'is' if count == 1 else 'are'} not searched "
            "(`covmis posts look FILE` says why)"
            for file, count in sorted(problems.items())
            if count
        ]
