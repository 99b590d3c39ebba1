"""Read an archive's jobs as posts: any format, line by line, without purged posts."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Self

from covmis_build import storage
from covmis_build.addresses import place
from covmis_build.archive import columns, formats, streams, whose
from covmis_build.archive.columns import Understood
from covmis_build.archive.forgetting import PURGED, Forget
from covmis_build.archive.formats.decoding import Posts
from covmis_build.archive.ids import time_of_id
from covmis_build.archive.post import Post
from covmis_build.archive.rewriting import line_without
from covmis_build.errors import BrokenIds, InputError, doubted
from covmis_build.files.ids import check_ids
from covmis_build.files.packed import Limits
from covmis_build.files.reading import open_table
from covmis_build.files.table import Switches
from covmis_build.options import size_of
from covmis_build.storage import restored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from covmis_build.files.table import Table
    from covmis_build.options import Columns, PostForm, Retrieval

BOM = b"\xef\xbb\xbf"


class Read(NamedTuple):
    """The posts of a line or row, its place, and the problem if there are none.

    `skipped` counts non-posts by kind. `note` is a remark on a file or a post.
    """

    file: str
    place: int
    form: str
    posts: list[Post]
    problem: str = ""
    skipped: Mapping[str, int] = {}
    note: str = ""


class ReadingOptions(NamedTuple):
    """The study's reading options: rules for columns, the claims' ids, and forms of its own."""

    rules: tuple[Columns, ...] = ()
    claims: frozenset[str] = frozenset()
    limits: Limits = Limits()
    own_forms: tuple[PostForm, ...] = ()

    @classmethod
    def of(cls, options: Retrieval, claims: Iterable[str] = ()) -> Self:
        """Create them from the settings."""
        limits = Limits(size_of(options.longest_line), options.unpacked_ratio)
        formats.with_own(options.forms)  # one that cannot be used is an error before any file is read
        return cls(options.columns, frozenset(claims), limits, options.forms)

    @property
    def forms(self) -> formats.Forms:
        """All forms that a file may have."""
        return formats.with_own(self.own_forms)

    def rule(self, name: str) -> Columns | None:
        """Return the rule for a file, if any."""
        return columns.rule_of(name, self.rules)


def read(
    job: streams.Job,
    forget: Forget = Forget(),  # noqa: B008 - empty
    how: ReadingOptions = ReadingOptions(),  # noqa: B008 - likewise
) -> Iterator[Read]:
    """Read all lines of a job, in any format.

    A purged post comes as its id alone, with availability `purged`. Posts that repeat it come without it.
    """
    table, rule = job.kind == streams.TABLE, how.rule(job.name)
    reads = (
        _rows(job, forget, how)
        if table
        else _lines(streams.blocks(job, how.limits, how.own_forms), forget, how.forms)
    )
    yield from _with_times_of_ids(reads) if rule and rule.time_from_id else reads


def _with_times_of_ids(reads: Iterable[Read]) -> Iterator[Read]:
    """Take posts' missing times from their ids, as the study requests; others keep their own."""
    for line in reads:
        counted = 0
        for post in line.posts:
            if time := time_of_id(post.post_id):
                post.created_at = time
                counted += 1
        notes = [FROM_ID, *(note for note in line.note.split("; ") if note not in {"", NO_TIME})]
        yield line._replace(note="; ".join(notes)) if counted else line


FROM_ID, NO_TIME = "time taken from the id", "no time that can be read"
EMPTIED = "a number out of range was left out"


def _emptied(posts: Iterable[Post]) -> str:
    """Remove counts that no table can store, with a note. The posts stay."""
    note = ""
    for post in posts:
        if post.empty_numbers():
            note = EMPTIED
    return note


def _lines(blocks: Iterable[streams.Block], forget: Forget, forms: formats.Forms) -> Iterator[Read]:
    current = form = ""
    for block in blocks:
        if block.problem:
            yield Read(block.file, block.offset, form, [], in_one_line(block.problem))
            continue
        data = bytes(block.data)
        if block.file != current and (first := first_line(data)):
            form, current = forms.detect(first), block.file
        forgets = bool(forget) and forget.touches(data)
        read_line = forms.reader(form)
        file, at = block.file, block.offset
        for line in [data] if block.single else block.contents():
            content = line if at else line.removeprefix(BOM)
            try:
                posts = read_line(content)
            except formats.UNREADABLE as error:
                if content and not content.isspace():
                    line_read = _in_another_form(file, at, content, error, forms)
                    form = form or line_read.form
                    read_line = forms.reader(form)
                    yield _without_purged(line_read, content, forget, forms) if forgets else line_read
            else:
                skipped = NOTHING if posts and type(posts) is list else _skipped(posts)
                line_read = Read(file, at, form, posts, "", skipped, _emptied(posts))
                yield _without_purged(line_read, content, forget, forms) if forgets else line_read
            at += len(line) + 1


class Opened(NamedTuple):
    """A table and its detected meaning. `of_tool` makes posts of rows if a tool's header is known."""

    table: Table
    understood: Understood
    of_tool: Callable[[Sequence[str]], Post | str] | None


def open_job(job: streams.Job, how: ReadingOptions) -> Opened:
    """Detect a table's meaning. Raises InputError, or BrokenIds for broken ids."""
    path = place(job.path)
    seen = (job, storage.state_of(path), f"{how.rule(job.name)} {hash(how.claims)} {how.own_forms}")
    if seen not in _SEEN:
        while len(_SEEN) >= MOST_SEEN:
            _SEEN.pop(next(iter(_SEEN)))
        _SEEN[seen] = _opened(job, how.rule(job.name), how)
    return _SEEN[seen]


_SEEN: dict[tuple[streams.Job, tuple[int, ...], str], Opened] = {}
MOST_SEEN = 256
"""Maximum number of cached detections per process: each one reads all rows."""


def _opened(job: streams.Job, rule: Columns | None, how: ReadingOptions) -> Opened:
    name = file_of(job)
    with doubted(name):
        switches = Switches() if rule is None else _switches_of(rule)
        table = open_table(partial(streams.open_whole, job, how.limits), switches=switches)
        known = how.forms.tool_of(frozenset(table.header)) if rule is None or not rule.format else rule.format
        own = rule is not None and (rule.id is not None or bool(rule.text))
        tool = None if own else how.forms.table(known)
        if tool is None:
            return Opened(
                table, columns.understand(table, name, rule, how.claims, partial(_hash_of, job, how)), None
            )
        id_column, make_post = formats.of_rows(tool, table.header)
        return Opened(table, _of_tool(table, known, id_column, name), make_post)


def _switches_of(rule: Columns) -> Switches:
    """Return how a rule says that a text file is to be read."""
    if len(rule.separator) > 1:
        raise InputError(
            f"the separator '{rule.separator}' is not one sign", remedy='Like separator = ";" or "\\t"'
        )
    return Switches(rule.separator, rule.header, rule.encoding, rule.lines)


def _hash_of(job: streams.Job, how: ReadingOptions) -> str:
    """Return the hash of a job's decompressed content, used in ids of its rows."""
    with streams.open_whole(job, how.limits) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[: columns.HASHED]  # type: ignore[arg-type]


def _of_tool(table: Table, known: str, id_column: str, name: str) -> Understood:
    understood = Understood(known, f"its header, {table.form}", table.header)
    if id_column not in table.header:  # the tool's ids are made of other columns
        return understood
    at = table.header.index(id_column)
    native = [cells[at].strip() for _, cells, problem in table.rows() if not problem]
    understood.rows, understood.taken = len(native), {"id": [table.header[at]]}
    check_ids(
        name, [id_ for id_ in native if id_.isdigit()], addressed=partial(whose.in_addresses, table, at)
    )
    return understood


def file_of(job: streams.Job) -> str:
    """Return a job's file as named in tables; for an archive, with its member."""
    return f"{job.name}!{job.member}" if job.member else job.name


def _rows(job: streams.Job, forget: Forget, how: ReadingOptions) -> Iterator[Read]:
    """Read the rows of a table."""
    name = file_of(job)
    try:
        opened = open_job(job, how)
    except BrokenIds:
        raise
    except InputError as error:
        yield Read(name, 0, "table", [], in_one_line(error))
        return
    understood = opened.understood
    if understood.questions:
        yield Read(name, 0, understood.form, [], in_one_line(understood.questions[0]))
        return
    for note in understood.notes:
        yield Read(name, 0, understood.form, [], note=note)
    try:
        with doubted(name):
            yield from _rows_of(opened, name, forget)
    except InputError as error:
        yield Read(name, 0, understood.form, [], in_one_line(error.problem))


def _rows_of(opened: Opened, name: str, forget: Forget) -> Iterator[Read]:
    form, make_post = opened.understood.form, _maker_of_posts(opened)
    timed = opened.of_tool is not None or "created_at" in opened.understood.taken
    for number, cells, problem in opened.table.rows():
        if problem:
            yield Read(name, number, form, [], in_one_line(problem))
            continue
        try:
            post = make_post(number, cells)
        except (ValueError, KeyError) as error:
            yield Read(name, number, form, [], in_one_line(error))
            continue
        if isinstance(post, str):
            yield Read(name, number, form, [], skipped={post: 1})
            continue
        post.mend()
        note = NO_TIME if timed and columns.timeless(post) else ""
        if forget and _named(post, cells, forget):
            post = _gone(post)
        if post.empty_numbers():
            note = f"{note}; {EMPTIED}" if note else EMPTIED
        yield Read(name, number, form, [post], "", NOTHING, note)


def _maker_of_posts(opened: Opened) -> Callable[[int, list[str]], Post | str]:
    """Return a function of a row's number and cells: its post, or why it is none. It raises ValueError or KeyError for others."""
    table, understood, of_tool = opened
    if of_tool is None:
        return columns.Reading(table, understood).post
    return lambda _, cells: of_tool(cells)


def _named(post: Post, cells: Iterable[str], forget: Forget) -> bool:
    """True if a row names a purged post or author in any cell."""
    names = forget.names
    return post.post_id in forget.posts or not names.isdisjoint(restored(cell.strip()) for cell in cells)


def _gone(post: Post) -> Post:
    return Post(
        post.post_id,
        post.native_id,
        post.platform,
        availability=PURGED,
        retrieved_at=post.retrieved_at,
        claimed=post.claimed,
    )


def first_line(data: bytes) -> bytes:
    """Return the first line of a block that is not blank."""
    left = data.removeprefix(BOM).lstrip()
    return left.split(b"\n", 1)[0]


def in_one_line(problem: object) -> str:
    """Return the problem in one line. The quoted content is cut, because a header may be anything."""
    told = " ".join(str(problem).split())
    return told if len(told) <= LONGEST_PROBLEM else f"{told[: LONGEST_PROBLEM - 1]}…"


LONGEST_PROBLEM = 500


def _skipped(posts: list[Post]) -> Mapping[str, int]:
    """Count a line's non-posts. Formats may count them; otherwise a line without posts is another kind of event."""
    return posts.skipped if isinstance(posts, Posts) else {} if posts else {OTHER: 1}


OTHER, NOTHING = "other events", dict[str, int]()


def _in_another_form(file: str, place: int, content: bytes, error: Exception, forms: formats.Forms) -> Read:
    """Read a line that does not have the file's format: perhaps it has another, otherwise it is unreadable."""
    form = forms.detect(content)
    try:
        posts = forms.reader(form)(content)
        return Read(file, place, form, posts, skipped=_skipped(posts), note=_emptied(posts))
    except formats.UNREADABLE as again:
        missing = "not JSON" if formats.loads(content) is None else formats.UNKNOWN
        return Read(file, place, form, [], in_one_line(str(again) or str(error) or missing))


def _without_purged(line: Read, content: bytes, forget: Forget, forms: formats.Forms) -> Read:
    """Return the line as `covmis purge` would leave it, and the ids of purged posts."""
    if not line.posts or not forget.touches(content):
        return line
    if forms.is_whole(line.form):
        gone_or_not = [_gone(post) if post.post_id in forget.posts else post for post in line.posts]
        return line._replace(posts=gone_or_not)
    left, differs = line_without(content, forget, forms)
    if not differs:
        return line
    try:
        kept = forms.reader(line.form)(left) if left.strip() else []
        _emptied(kept)
    except formats.UNREADABLE:
        kept = []  # nothing of it is a post any more
    there = {post.post_id for post in kept}
    gone = [_gone(post) for post in line.posts if post.post_id not in there and not post.repost_of]
    return line._replace(posts=kept + gone)
