"""Reading an archive's jobs as posts: whatever the form, line by line, without what is to be forgotten."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

import numpy as np

from covmis_build.addresses import place
from covmis_build.archive import columns, formats, streams, table_files
from covmis_build.archive.columns import Understood
from covmis_build.archive.forgetting import PURGED, Forget
from covmis_build.archive.formats.decoding import Posts, whole
from covmis_build.archive.formats.post import Glances, Post, iso
from covmis_build.archive.ids import time_of_id
from covmis_build.archive.rewriting import line_without
from covmis_build.errors import BrokenIds, InputError, doubted
from covmis_build.options import size_of
from covmis_build.storage import restored
from covmis_build.text.sheets import check_ids

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from covmis_build.archive.table_files import TableFile
    from covmis_build.options import Columns, Retrieval

BOM = b"\xef\xbb\xbf"


class Read(NamedTuple):
    """The posts of a line or row, where it stands, and what is wrong with it if it has none.

    `skipped` counts what is no post, by what it is; `note` is what has to be said about a file, or about a post.
    """

    file: str
    place: int
    form: str
    posts: list[Post]
    problem: str = ""
    skipped: Mapping[str, int] = {}
    note: str = ""


@dataclass(slots=True)
class Glanced:
    """The posts of many lines of a file, as matching sees them first, and the lines of which something has to be said."""

    file: str
    form: str
    post: Callable[[Any], Post]
    seen: Glances = field(default_factory=Glances)
    told: list[Read] = field(default_factory=list)
    lines: int = 0

    def whole(self, number: int) -> Post:
        """The post of this number."""
        return whole(self.seen, number, self.post)


class How(NamedTuple):
    """What the study says about reading: rules for columns, and the ids that claims may have."""

    rules: tuple[Columns, ...] = ()
    claims: frozenset[str] = frozenset()
    limits: streams.Limits = streams.Limits()

    @classmethod
    def of(cls, options: Retrieval, claims: Iterable[str] = ()) -> Self:
        """As the settings say it."""
        limits = streams.Limits(size_of(options.longest_line), options.unpacked_ratio)
        return cls(options.columns, frozenset(claims), limits)

    def rule(self, name: str) -> Columns | None:
        """The rule for a file, if there is one."""
        return columns.rule_of(name, self.rules)


class Part(NamedTuple):
    """A part of a job that somebody else has unpacked: its blocks, and the form of the file that they go on with.

    Of a table a block is whole rows, and its offset the number of the first.
    """

    blocks: Sequence[streams.Block]
    file: str = ""
    form: str = ""


def read(
    job: streams.Job,
    forget: Forget = Forget(),  # noqa: B008 - empty
    how: How = How(),  # noqa: B008 - likewise
) -> Iterator[Read]:
    """Everything in a job, line by line, in whatever form it is.

    A post that is to be forgotten comes as its id alone, and `purged` for its availability; what repeats it, without it.
    """
    if job.kind == streams.TABLE:
        reads: Iterator[Read] = (row for row in _table(job, forget, how) if row is not None)
    else:
        reads = _lines(streams.blocks(job, how.limits), forget)
    rule = how.rule(job.name)
    yield from _with_times_of_ids(reads) if rule and rule.time_from_id else reads


ENOUGH = 256
"""Posts that are matched together."""


def glance(
    job: streams.Job,
    forget: Forget = Forget(),  # noqa: B008 - empty
    how: How = How(),  # noqa: B008 - likewise
    part: Part | None = None,
    places: Mapping[str, Sequence[int]] | None = None,
) -> Iterator[Glanced]:
    """The same as `read` gives, many lines at a time, for whoever needs few of the posts whole.

    Where places are given, sorted, for files, only the lines that stand there are decoded.
    """
    waiting, rule = _Waiting(), how.rule(job.name)
    if rule and rule.time_from_id:
        yield from waiting.of_rows(read(job, forget, how))
    elif job.kind == streams.TABLE:
        yield from waiting.of_rows(_table(job, forget, how, waiting.add_rows, part, places))
    else:
        blocks = part.blocks if part else streams.blocks(job, how.limits)
        file, form = (part.file, part.form) if part else ("", "")
        for block in blocks:
            if block.file != file and (first := first_line(bytes(block.data))):
                file, form = block.file, formats.detect(first)
            for lines in (block,) if places is None else _at(block, places.get(block.file, ())):
                form = waiting.add_lines(lines, form, forget)
            if waiting.count >= ENOUGH:
                yield from waiting.settled()
    yield from waiting.settled()


def _at(block: streams.Block, places: Sequence[int]) -> Iterator[streams.Block]:
    """Those lines of a block that stand at these places."""
    size = 1 if block.single else len(block.data)
    wanted = places[bisect_left(places, block.offset) : bisect_left(places, block.offset + size)]
    if block.single and wanted:
        yield block
    elif wanted and not block.problem:
        data = bytes(block.data)
        for place in wanted:
            begin = place - block.offset
            end = data.find(b"\n", begin)
            yield block._replace(offset=place, data=data[begin : end if end >= 0 else len(data)])


class _Waiting:
    """Posts that wait until they are enough, by file and form."""

    def __init__(self) -> None:
        self.by_form: dict[tuple[str, str], Glanced] = {}
        self.count = 0

    def settled(self) -> Iterator[Glanced]:
        """What waits; it waits no longer."""
        yield from self.by_form.values()
        self.by_form, self.count = {}, 0

    def of(self, file: str, form: str) -> Glanced:
        """Where posts of a file wait."""
        if (file, form) not in self.by_form:
            post = formats.GLANCING[form].post if form in formats.GLANCING else columns.post
            self.by_form[file, form] = Glanced(file, form, post)
        return self.by_form[file, form]

    def of_rows(self, rows: Iterable[Read | None]) -> Iterator[Glanced]:
        """Rows, or lines, that somebody else has read; None where they are here already."""
        for row in rows:
            if row is not None:
                self.add(row)
            if self.count >= ENOUGH:
                yield from self.settled()

    def add(self, line: Read) -> None:
        """The posts of a line that was read, and what has to be said about it."""
        known = self.of(line.file, line.form)
        for post in line.posts:
            known.seen.add_post(line.place, post)
        if line.problem or line.skipped or line.note:
            known.told.append(line)
        known.lines += bool(line.posts or not line.note)
        self.count += len(line.posts)

    def add_rows(self, line: Read, rows: list[list[str]], reading: columns.Reading) -> bool:
        """Rows of a table of which nothing has to be said, the first of them at this place; False if they are others."""
        known = self.of(line.file, line.form)
        if not reading.glances(line.place, rows, known.seen):
            return False
        known.lines += len(rows)
        self.count += len(rows)
        return True

    def add_lines(self, block: streams.Block, form: str, forget: Forget) -> str:
        """Decode a block's lines, and say its form; what is not plainly a line of the form is read in full."""
        touched = bool(forget) and forget.touches(bytes(block.data))
        if form not in formats.GLANCING or block.problem or block.single or touched:
            for line in _lines([block], forget, form=form):
                self.add(line)
                form = form or line.form
            return form
        known, lines = self.of(block.file, form), block.contents()
        before, seen = len(known.seen), known.seen
        sizes = np.fromiter(map(len, lines), np.int64, len(lines)) + 1
        offsets = (block.offset + np.cumsum(sizes) - sizes).tolist()
        try:
            _look(form, offsets, lines, seen)
            known.lines += len(lines)
        except formats.UNREADABLE:
            seen.shorten(before)
            offsets = list(self._line_by_line(block.file, form, offsets, lines, forget))
        self.count += len(seen) - before
        none = set(offsets).difference(seen.places[before:])
        if none:
            known.told.append(Read(block.file, min(none), form, [], skipped={OTHER: len(none)}))
        return form

    def _line_by_line(
        self, file: str, form: str, offsets: Iterable[int], lines: Iterable[bytes], forget: Forget
    ) -> Iterator[int]:
        """The places of those lines that are plainly of the form; the others are read in full."""
        known = self.of(file, form)
        for at, line in zip(offsets, lines, strict=True):
            before = len(known.seen)
            try:
                _look(form, [at], [line], known.seen)
            except formats.UNREADABLE:
                known.seen.shorten(before)
                for read_line in _lines([streams.Block(file, at, line)], forget, form=form):
                    self.add(read_line)
            else:
                known.lines += 1
                yield at


def _look(form: str, places: Iterable[int], lines: Iterable[bytes], seen: Glances) -> None:
    glancing = formats.GLANCING[form]
    glancing.glances(zip(places, map(glancing.decoder.decode, lines), strict=True), seen)


def _with_times_of_ids(reads: Iterable[Read]) -> Iterator[Read]:
    """Posts whose own time cannot be read get their id's, since the study says so."""
    for line in reads:
        counted = 0
        for post in line.posts:
            if not iso(post.created_at) and (time := time_of_id(post.post_id)):
                post.created_at = time
                counted += 1
        notes = [FROM_ID, *(note for note in line.note.split("; ") if note not in {"", NO_TIME})]
        yield line._replace(note="; ".join(notes)) if counted else line


FROM_ID, NO_TIME = "time taken from the id", "no time that can be read"
EMPTIED = "a number out of range was left out"


def _emptied(posts: Iterable[Post]) -> str:
    """Numbers that no table can hold go, and it is said; the posts stay."""
    return EMPTIED if any([post.empty_numbers() for post in posts]) else ""  # noqa: C419 - of each of them


def _lines(blocks: Iterable[streams.Block], forget: Forget, form: str = "") -> Iterator[Read]:
    current, known = "", bool(form)
    for block in blocks:
        if block.problem:
            yield Read(block.file, block.offset, form, [], in_one_line(block.problem))
            continue
        if not known and block.file != current and (first := first_line(bytes(block.data))):
            form, current = formats.detect(first), block.file
        for _, at, line, _ in block.lines():
            content = line if at else line.removeprefix(BOM)
            if content and not content.isspace():
                line_read = _read(block.file, at, form, content, forget)
                form = form or line_read.form
                yield line_read


class Opened(NamedTuple):
    """A table, and what it is understood to be; `tool` has it read if its header is known."""

    table: TableFile
    understood: Understood
    tool: formats.TableTool | None


def open_job(job: streams.Job, how: How) -> Opened:
    """What a table is understood to be. What cannot be read raises an InputError, broken ids BrokenIds."""
    path = place(job.path)
    status = path.stat()
    seen = (job, status.st_size, status.st_mtime_ns, f"{how.rule(job.name)} {hash(how.claims)}")
    if seen not in _SEEN:
        while len(_SEEN) >= MOST_SEEN:
            _SEEN.pop(next(iter(_SEEN)))
        _SEEN[seen] = _opened(job, how.rule(job.name), how)
    return _SEEN[seen]


_SEEN: dict[tuple[streams.Job, int, int, str], Opened] = {}
MOST_SEEN = 256
"""What tables were understood to be, once a process: it takes a look at every row."""


def _opened(job: streams.Job, rule: Columns | None, how: How) -> Opened:
    name = file_of(job)
    with doubted(name):
        table = table_files.open_table(partial(streams.open_whole, job, how.limits))
        known = formats.tool_of(frozenset(table.header)) if rule is None or not rule.format else rule.format
        own = rule is not None and (rule.id is not None or bool(rule.text))
        tool = None if own else formats.TABLES.get(known)
        if tool is None:
            return Opened(table, columns.understand(table, name, rule, how.claims), None)
        return Opened(table, _of_tool(table, known, tool, name), tool)


def _of_tool(table: TableFile, known: str, tool: formats.TableTool, name: str) -> Understood:
    understood = Understood(known, f"its header, {table.form}", table.header)
    at = table.header.index(tool.ID) if tool.ID in table.header else table.header.index("id")
    native = [cells[at].strip() for _, cells in table.rows() if cells is not None]
    understood.rows, understood.taken = len(native), {"id": [table.header[at]]}
    understood.suspicious = check_ids(name, [id_ for id_ in native if id_.isdigit()])
    return understood


def file_of(job: streams.Job) -> str:
    """The file that a job reads, as tables name it: of a packed file, its member."""
    return f"{job.name}!{job.member}" if job.member else job.name


Take: TypeAlias = "Callable[[Read, list[list[str]], columns.Reading], bool]"
"""Takes rows of a table all at once, if nothing has to be said about any; the first stands where the line says."""


def _table(
    job: streams.Job, forget: Forget, how: How, take: Take | None = None, part: Part | None = None,
    places: Mapping[str, Sequence[int]] | None = None,
) -> Iterator[Read | None]:  # fmt: skip
    """The rows of a table, or of a part of it; None for those that were taken."""
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
    for note in () if part and part.file else understood.notes:  # once, with the first rows
        yield Read(name, 0, understood.form, [], note=note)
    wanted = None if places is None else places.get(name, ())
    try:
        with doubted(name):
            for table in [opened.table] if part is None else _tables(opened.table, part):
                yield from _rows(opened, table, name, forget, take, wanted)
    except InputError as error:
        yield Read(name, 0, understood.form, [], in_one_line(error.problem))


def _tables(table: TableFile, part: Part) -> Iterator[TableFile]:
    """The rows of a part; of a file that can no longer be cut, none: it has changed since."""
    if table.cutting is not None:
        for block in part.blocks:
            yield table.cutting.table((block.offset, bytes(block.data)))


def _rows(
    opened: Opened,
    table: TableFile,
    name: str,
    forget: Forget,
    take: Take | None,
    wanted: Sequence[int] | None,
) -> Iterator[Read | None]:
    line, reading = Read(name, 0, opened.understood.form, []), columns.Reading(table, opened.understood)
    if take is None or forget or opened.tool or not reading.plain_columns:
        for number, cells in table.rows():
            yield _row(line._replace(place=number), cells, opened.tool or reading, table.header, forget)
        return
    for first, block in table.blocks():
        if wanted is not None and bisect_left(wanted, first) == bisect_left(wanted, first + len(block)):
            continue
        rows = [cells for cells in block if cells is not None]
        if len(rows) == len(block) and take(line._replace(place=first), rows, reading):
            yield None
            continue
        for number, cells in table.settled(first, block):
            own = line._replace(place=number)
            alone = cells is not None and take(own, [cells], reading)
            yield None if alone else _row(own, cells, reading, table.header, forget)


def _row(
    line: Read,
    cells: list[str] | None,
    reading: formats.TableTool | columns.Reading,
    header: list[str],
    forget: Forget,
) -> Read:
    """What a row is, with all that has to be said about it."""
    if cells is None:
        return line._replace(problem=columns.TOO_MANY_CELLS)
    try:
        if isinstance(reading, columns.Reading):
            post = reading.post(cells)
        else:
            post = reading.post(dict(zip(header, cells, strict=True)))
    except (ValueError, KeyError) as error:
        return line._replace(problem=in_one_line(error))
    timeless = columns.timeless(post)
    if forget and _named(post, cells, forget):
        post = _gone(post)
    emptied = _emptied([post])
    return line._replace(posts=[post], note="; ".join(filter(None, (NO_TIME if timeless else "", emptied))))


def _named(post: Post, cells: Iterable[str], forget: Forget) -> bool:
    """Whether a row names a forgotten post or author in any cell."""
    names = forget.names
    return post.post_id in forget.posts or not names.isdisjoint(restored(cell.strip()) for cell in cells)


def _gone(post: Post) -> Post:
    return Post(
        post.post_id, post.native_id, post.platform, availability=PURGED, retrieved_at=post.retrieved_at,
        claimed=post.claimed,
    )  # fmt: skip


def first_line(data: bytes) -> bytes:
    """The first line of a block with something in it."""
    left = data.removeprefix(BOM).lstrip()
    return left.split(b"\n", 1)[0]


def _read(file: str, place: int, form: str, content: bytes, forget: Forget) -> Read:
    try:
        posts = formats.READERS[form](content)
        line = Read(file, place, form, posts, skipped=_skipped(posts), note=_emptied(posts))
    except formats.UNREADABLE as error:
        line = _in_another_form(file, place, content, error)
    return _without(line, content, forget) if forget and line.posts and forget.touches(content) else line


def in_one_line(problem: object) -> str:
    """What is wrong, with no more of the file's own words than a line holds: a header may be anything."""
    told = " ".join(str(problem).split())
    return told if len(told) <= LONGEST_PROBLEM else f"{told[: LONGEST_PROBLEM - 1]}…"


LONGEST_PROBLEM = 300


def _skipped(posts: list[Post]) -> Mapping[str, int]:
    """What of a line is no post: a form may count it; a line without any is an event of another kind."""
    return posts.skipped if isinstance(posts, Posts) else {} if posts else {OTHER: 1}


OTHER = "other events"


def _in_another_form(file: str, place: int, content: bytes, error: Exception) -> Read:
    """A line that is not of the file's form: perhaps of another, or else unreadable."""
    form = formats.detect(content)
    try:
        posts = formats.READERS[form](content)
        return Read(file, place, form, posts, skipped=_skipped(posts), note=_emptied(posts))
    except formats.UNREADABLE as again:
        missing = "not JSON" if formats.loads(content) is None else "no known form of post"
        return Read(file, place, form, [], in_one_line(str(again) or str(error) or missing))


def _without(line: Read, content: bytes, forget: Forget) -> Read:
    """The line as `covmis purge` would leave it; of the posts that are gone, their ids."""
    if line.form in formats.WHOLE:
        gone_or_not = [_gone(post) if post.post_id in forget.posts else post for post in line.posts]
        return line._replace(posts=gone_or_not)
    left, differs = line_without(content, forget)
    if not differs:
        return line
    try:
        kept = formats.READERS[line.form](left) if left.strip() else []
        _emptied(kept)
    except formats.UNREADABLE:
        kept = []  # nothing of it remains that is a post
    there = {post.post_id for post in kept}
    gone = [_gone(post) for post in line.posts if post.post_id not in there and not post.repost_of]
    return line._replace(posts=kept + gone)
