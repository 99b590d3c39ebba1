"""Reading an archive's jobs as posts: whatever the form, line by line, without what is to be forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.retrieval import formats, streams
from covmis_build.retrieval.forgetting import PURGED, Forget
from covmis_build.retrieval.formats import sheet
from covmis_build.retrieval.formats.post import Glance, Post
from covmis_build.retrieval.rewriting import line_without

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Read(NamedTuple):
    """The posts of a line, where it stands, and what is wrong with it if it has none."""

    file: str
    place: int
    form: str
    posts: list[Post]
    problem: str = ""


PASSED_OVER = Read("", 0, "", [])
"""Stands for a line with one post that does not matter, as a glance at it told."""


def read(
    job: streams.Job, matters: Callable[[Glance], bool] | None = None, forget: Forget = Forget()  # noqa: B008 - empty
) -> Iterator[Read]:  # fmt: skip
    """Everything in a job, line by line, in whatever form it is; plain posts that do not matter are passed over.

    A post that is to be forgotten comes as its id alone, and `purged` for its availability; what repeats it, without it.
    """
    path = Path(job.path)
    if path.suffix.lower() in sheet.SUFFIXES and not job.member:
        for row, found in sheet.read_file(path, forget.names):
            wrong = found if isinstance(found, str) else ""
            yield Read(job.name, row, "csv", [] if isinstance(found, str) else found, wrong)
        return
    form, current, glance = "", "", None
    for file, place, line, problem in streams.lines(job):
        if problem:
            yield Read(file, place, form, [], problem)
            continue
        content = line if place else line.removeprefix(b"\xef\xbb\xbf")
        if not content or content.isspace():
            continue
        if file != current:
            form, current = formats.detect(content), file
            glance = formats.GLANCES.get(form) if matters else None
        touched = bool(forget) and forget.touches(content)
        try:
            if glance and matters and not touched and (seen := glance(content)) and not matters(seen):
                yield PASSED_OVER
                continue
        except formats.UNREADABLE:
            pass  # a full reading says why, or finds another form
        try:
            one = Read(file, place, form, formats.READERS[form](content))
        except formats.UNREADABLE as error:
            one = _in_another_form(file, place, content, error)
            form = form or one.form
        yield _without(one, content, forget) if touched and one.posts else one


def _in_another_form(file: str, place: int, content: bytes, error: Exception) -> Read:
    """A line that is not of the file's form: perhaps of another, or else unreadable."""
    form = formats.detect(content)
    try:
        return Read(file, place, form, formats.READERS[form](content))
    except formats.UNREADABLE as again:
        missing = "not JSON" if formats.loads(content) is None else "no known form of post"
        return Read(file, place, form, [], (str(again) or str(error) or missing)[:200])


def _without(one: Read, content: bytes, forget: Forget) -> Read:
    """The line as `covmis purge` would leave it; of the posts that are gone, their ids."""
    left, differs = line_without(content, forget)
    if not differs:
        return one
    try:
        kept = formats.READERS[one.form](left) if left.strip() else []
    except formats.UNREADABLE:
        kept = []  # nothing of it remains that is a post
    there = {post.post_id for post in kept}
    gone = [
        Post(
            post.post_id, post.native_id, post.platform, availability=PURGED, retrieved_at=post.retrieved_at,
            claimed=post.claimed,
        )
        for post in one.posts
        if post.post_id not in there and not post.repost_of
    ]  # fmt: skip
    return one._replace(posts=kept + gone)
