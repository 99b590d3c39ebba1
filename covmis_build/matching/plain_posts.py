"""The posts of an archive as texts, for whoever counts and searches in them: no reposts, and of copies the longest."""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from covmis_build import keyed, tables
from covmis_build.archive.formats.post import iso
from covmis_build.archive.parts import to_cut
from covmis_build.archive.reader import How, file_of, glance
from covmis_build.archive.streams import jobs
from covmis_build.archive.walk import archive_files, first_of_each
from covmis_build.engine import silent
from covmis_build.errors import InputError, counted
from covmis_build.matching import rows
from covmis_build.matching.passes import MANY, NOTHING, check_tables, cut, jobs_table, work
from covmis_build.matching.rows import Copy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from covmis_build.archive.forgetting import Forget
    from covmis_build.engine import Engine, Progress

PLAIN = pa.schema(
    [("post_id", tables.STRING), ("text", tables.STRING), ("length", tables.COUNT), ("urls", tables.STRINGS),
     ("titles", tables.STRINGS), ("created_at", tables.STRING), ("file", tables.STRING), ("place", tables.COUNT),
     ("unreadable", tables.COUNT)]
)  # fmt: skip
"""A post with a text; or of a file, how many of its lines could not be read."""


class Drawn(NamedTuple):
    """The share of the posts that are looked at, drawn by keyed numbers: with all copies, whatever else is there."""

    share: float = 1.0
    seed: int = 0

    def of(self, ids: Sequence[str]) -> Sequence[bool]:
        """Whether each of these posts is drawn."""
        if self.share >= 1:
            return [True] * len(ids)
        return [number < self.share for number in keyed.uniforms(self.seed, "index", ids)]


ALL = Drawn()


def state(archive: Sequence[Path], forget: Forget = NOTHING, how: How = How(), drawn: Drawn = ALL) -> str:  # noqa: B008 - empty
    """What tells that the archive's files, what is to be forgotten, or what is drawn have changed."""
    files = archive_files(archive)
    if not files:
        raise InputError("the archive has no files", remedy="Put posts into data/archive")
    known: list[object] = [(name, path.stat().st_size, path.stat().st_mtime_ns) for path, name in files]
    known += [str(rule) for rule in how.rules]
    known += [list(drawn)] * (drawn.share < 1)
    return json.dumps([known, *([sorted(forget.posts | forget.authors)] if forget else [])])


def plain_posts(
    engine: Engine, archive: Sequence[Path], progress: Progress = silent, forget: Forget = NOTHING,
    how: How = How(), unread: list[str] | None = None, drawn: Drawn = ALL,  # noqa: B008 - empty
) -> Iterator[tuple[str, str, list[str], list[str], str]]:  # fmt: skip
    """Id, text, addresses, titles of link cards and time of every post that has a text and is no repost, in the order of ids.

    Of several copies the longest text counts. What could not be read is told in `unread`, a sentence for each file.
    """
    files = archive_files(archive)
    engine.reach(first_of_each(archive, files))
    listed = jobs(files)
    refused = {job: reason for job, reason, _ in check_tables(listed, how)}
    readable = [job for job in listed if job not in refused]
    progress("indexing", 0, 2)
    handed_on = partial(cut, how=how, jobs=to_cut(readable, os.cpu_count() or 1))
    kernel = partial(texts, forget=forget, how=how, drawn=drawn)
    plain = engine.map(kernel, engine.table(jobs_table(readable)), PLAIN, rows=1, cut=handed_on)
    progress("indexing", 1, 2)
    if unread is not None:
        problems = engine.sql(_UNREADABLE, plain=plain).to_arrow().to_pylist()
        unread += [f"{file_of(job)} is not searched: {reason}" for job, reason in refused.items()]
        unread += [
            f"{row['file']}: {counted(row['lines'], 'lines')} could not be read and {'is' if row['lines'] == 1 else 'are'} "
            "not searched (`covmis posts look FILE` says why)"
            for row in problems
        ]
    for batch in engine.sql(_LONGEST, plain=plain).batches():
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


_UNREADABLE = """
SELECT file, CAST(SUM(unreadable) AS BIGINT) AS lines FROM plain WHERE unreadable > 0 GROUP BY file ORDER BY file"""

_LONGEST = """
SELECT post_id, text, urls, titles, created_at FROM (
  SELECT *, row_number() OVER (
    PARTITION BY post_id ORDER BY length DESC, text DESC, created_at DESC, file, place
  ) AS nth FROM plain WHERE unreadable = 0
) AS copies WHERE nth = 1 ORDER BY post_id"""


def texts(block: pa.Table, *, forget: Forget, how: How, drawn: Drawn) -> Iterator[pa.Table]:
    """The posts of jobs that have a text and are no reposts; and how many lines could not be read."""
    for _, job, part in work(block):
        kept, unreadable = list[Copy](), Counter[str]()
        for glanced in glance(job, forget, how, part):
            seen, file = glanced.seen, glanced.file
            unreadable[file] += sum(bool(line.problem) for line in glanced.told)
            for number, is_drawn in enumerate(drawn.of(seen.ids)):
                if is_drawn and seen.texts[number] and number not in seen.reposts:
                    post = glanced.whole(number)
                    if post.text and not post.repost_of:
                        kept.append(Copy(post, file, seen.places[number], glanced.form))
            if len(kept) >= MANY:
                yield _rows(kept)
                kept = []
        yield _rows(kept)
        lines = {file: count for file, count in unreadable.items() if count}
        yield rows.table(PLAIN, len(lines), {"file": list(lines), "unreadable": list(lines.values())})


def _rows(kept: Sequence[Copy]) -> pa.Table:
    posts = [copy.post for copy in kept]
    return rows.table(PLAIN, len(kept), {
        "post_id": [post.post_id for post in posts],
        "text": [post.text for post in posts],
        "length": [len(post.text) for post in posts],
        "urls": [post.urls for post in posts],
        "titles": [[title for _, title, _ in post.cards if title] for post in posts],
        "created_at": [iso(post.created_at) for post in posts],
        "file": [copy.file for copy in kept],
        "place": [copy.place for copy in kept],
        "unreadable": [0] * len(kept),
    })  # fmt: skip
