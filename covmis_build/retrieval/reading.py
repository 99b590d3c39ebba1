"""Reading an archive's jobs as posts: whatever the form, line by line, without what is to be forgotten."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.retrieval import formats, streams
from covmis_build.retrieval.forgetting import PURGED, Forget
from covmis_build.retrieval.formats import sheet
from covmis_build.retrieval.formats.post import Glance, Post
from covmis_build.retrieval.rewriting import line_without
from covmis_build.retrieval.shapes import LOOK, WORD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from covmis_build.retrieval.asked import Asked
    from covmis_build.retrieval.skim import Skim

WORTH = 32 << 20
"""Bytes of a job from which on compiled code is worth loading; packed ones count eightfold."""


BOM = b"\xef\xbb\xbf"


class Read(NamedTuple):
    """The posts of a line, where it stands, and what is wrong with it if it has none.

    Or, where nothing else is given, so many lines that were passed over: each one post that does not matter. `linked`
    is false if it is known that no address in the post can be one that is asked for.
    """

    file: str
    place: int
    form: str
    posts: list[Post]
    problem: str = ""
    passed: int = 0
    linked: bool = True


class Wanted(NamedTuple):
    """Which plain posts matter, as a glance tells, and the same for compiled code, once it can be told."""

    matters: Callable[[Glance], bool]
    asked: Callable[[], Asked | None]


def read(job: streams.Job, wanted: Wanted | None = None, forget: Forget = Forget()) -> Iterator[Read]:  # noqa: B008 - empty
    """Everything in a job, line by line, in whatever form it is; plain posts that do not matter are passed over.

    A post that is to be forgotten comes as its id alone, and `purged` for its availability; what repeats it, without it.
    """
    if Path(job.path).suffix.lower() in sheet.SUFFIXES and not job.member:
        yield from _sheet(job, forget)
        return
    form, current = "", ""
    asked = wanted.asked if wanted and _large(job) else lambda: None
    skims: dict[str, Skim] = {}
    for block in streams.blocks(job):
        file, place, data, problem, single = block
        if problem:
            yield Read(file, place, form, [], problem)
            continue
        if file != current and (first := _first(bytes(data))):
            form, current = formats.detect(first), file
        passed, lines = 0, _every(block)
        if (
            not single
            and form in formats.SHAPES
            and (sought := asked())
            and not (forget and forget.touches(bytes(data)))
        ):
            if form not in skims:
                skims[form] = _skim(form, sought)
            passed, lines = _skimmed(block, skims[form])
        if passed:
            yield Read(file, place, form, [], passed=passed)
        for at, line, verdict in lines:
            content = line if at else line.removeprefix(BOM)
            if content and not content.isspace():
                one = _read(file, at, form, content, wanted, forget, verdict)
                form = form or one.form
                yield one


def _sheet(job: streams.Job, forget: Forget) -> Iterator[Read]:
    for row, found in sheet.read_file(Path(job.path), forget.names):
        wrong = found if isinstance(found, str) else ""
        yield Read(job.name, row, "csv", [] if isinstance(found, str) else found, wrong)


Lines = Iterable[tuple[int, bytes, int]]
"""Offsets and lines, and what is known already of each."""


def _every(block: streams.Block) -> Lines:
    return ((at, line, LOOK) for _, at, line, _ in block.lines())


def _skim(form: str, asked: Asked) -> Skim:
    from covmis_build.retrieval.skim import Skim

    return Skim(formats.SHAPES[form](), asked)


def _skimmed(block: streams.Block, skim: Skim) -> tuple[int, Lines]:
    """The number of lines that compiled code passes over, and the others."""
    passed, places = skim(block.data)
    return passed, (
        (block.offset + begin, bytes(block.data[begin:end]), verdict) for begin, end, verdict in places
    )


def _first(data: bytes) -> bytes:
    """The first line of a block with something in it."""
    left = data.removeprefix(BOM).lstrip()
    return left.split(b"\n", 1)[0]


def _large(job: streams.Job) -> bool:
    """Whether compiled code is worth loading for a job, or is there already."""
    size = job.end - job.start or 8 * Path(job.path).stat().st_size
    return size >= WORTH or "covmis_build.retrieval.skim" in sys.modules


def _read(
    file: str, place: int, form: str, content: bytes, wanted: Wanted | None, forget: Forget, verdict: int
) -> Read:
    touched = bool(forget) and forget.touches(content)
    glance = formats.GLANCES.get(form) if wanted and verdict == LOOK and not touched else None
    try:
        if glance and wanted and (seen := glance(content)) and not wanted.matters(seen):
            return PASSED_OVER
    except formats.UNREADABLE:
        pass  # a full reading says why, or finds another form
    try:
        one = Read(file, place, form, formats.READERS[form](content), linked=verdict != WORD)
    except formats.UNREADABLE as error:
        one = _in_another_form(file, place, content, error)
    return _without(one, content, forget) if touched and one.posts else one


PASSED_OVER = Read("", 0, "", [], passed=1)


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
