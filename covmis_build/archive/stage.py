"""The stage `read`: the archive's files become parts of the store, each file once.

A part has the posts of one file, of a range of a large file, or of several small ones. Its name is a hash of its inputs,
so that unchanged files are not read again. Every part is built in its own process: a file that crashes it is
reported as unreadable, with the reason.
"""

from __future__ import annotations

import gc
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from covmis_build import registry, storage, tables
from covmis_build.addresses import Address, place
from covmis_build.archive import columns, formats, streams, words_file
from covmis_build.archive.forgetting import Forget
from covmis_build.archive.intake import Outcome
from covmis_build.archive.parts import INTAKE, READER, Facts, Parts, ReadUnder, noted, stands, write_seen
from covmis_build.archive.reader import ReadingOptions, file_of, in_one_line, open_job, read
from covmis_build.archive.store import OLDER_COPIES, STORE, PartWriter, Store
from covmis_build.archive.streams import Job
from covmis_build.archive.walk import archive_files, first_of_each
from covmis_build.children import got_on, in_child
from covmis_build.engine.port import silent, under_names_of
from covmis_build.errors import BrokenIds, InputError
from covmis_build.files.columns import POSTS, column_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from covmis_build.archive.reader import Read
    from covmis_build.engine import Engine, Progress, Table
    from covmis_build.options import Retrieval

NOTHING = Forget()
SEEN = pa.schema(
    [("file", tables.STRING), ("form", tables.STRING), ("outcome", tables.STRING), ("reason", tables.STRING),
     ("amount", tables.COUNT), ("place", tables.COUNT), ("example", tables.STRING)]
)  # fmt: skip
"""The intake of a file: counts, and each unreadable line (outcome `line`, with the problem as reason)."""
LINE = "line"

WORK = pa.schema([("part", tables.STRING), ("jobs", tables.STRING)])
"""A part to build, and its jobs as JSON, which can also represent file names that are not valid text."""
MADE = pa.schema(
    [("part", tables.STRING), *zip(Facts._fields, (tables.COUNT, tables.COUNT, tables.STRING), strict=True)]
)
"""A finished part."""
DAMAGED = "its content changed, but not its size and times"
UNDAMAGED = "Restore it from a copy; or take the file in as it is now with `touch FILE` and `covmis run`"
"""Of a file of the archive: what is wrong with it, and what makes it right."""
GETS_ON = 1000
"""Lines after which a child process reports progress."""
FOOTERS = 16
"""Number of parts that are checked in parallel: in a store each is a network request."""

SMALL, MOST_FILES = 2 << 20, 16
"""Maximum bytes of a file that is combined with others into one part. One in MOST_FILES files ends a part whatever its
size, so that a new file changes few parts.
"""


class Archive(NamedTuple):
    """An imported archive: its store, each part's files and facts, and the intake."""

    store: Store
    files: dict[str, list[str]]
    parts: dict[str, Facts]
    intake: Table
    unreadable: Table


def read_archive(
    engine: Engine,
    archive: Sequence[Path],
    parts: Parts,
    options: Retrieval,
    *,
    claims: Collection[str] = (),
    forget: Forget = NOTHING,
    content: Callable[[Path], str] | None = None,
    progress: Progress = silent,
) -> Archive:
    """Read new and changed files of these places into the parts of a store.

    `claims` are the ids that a column may name. Of posts in `forget` only the id is read. `content` returns a file's SHA-256
    (default: it is computed).
    """
    how, content = ReadingOptions.of(options, claims), content or storage.sha256_of
    files = archive_files(archive)
    engine.reach(first_of_each(archive, files))
    _check_place(engine, parts.folder)
    contents = {str(file.path): content(file.path) for file in files}
    jobs_of = {
        part_of(jobs, contents, how): jobs
        for jobs in _grouped_into_parts(streams.jobs(files, how.own_forms), contents)
    }
    now = ReadUnder(
        _hash(sorted(forget.posts | forget.authors)) if forget else "", claims=_hash(sorted(how.claims))
    )
    known = _sweep(parts, jobs_of)

    def standing(part: str) -> Facts | None:
        return _standing(parts, part, jobs_of[part], forget, how, now, content) if part in known else None

    with ThreadPoolExecutor(FOOTERS) as pool:
        facts = {
            part: there for part, there in zip(jobs_of, pool.map(standing, jobs_of), strict=True) if there
        }
    wanted = {part: jobs for part, jobs in jobs_of.items() if part not in facts}
    for part in known & wanted.keys():  # damaged, or read with another purge list: it must not be used
        storage.remove(parts.file(part))
        storage.remove(parts.copies / parts.file(part).name)
    words_file.sweep(parts.copies / words_file.FOLDER, facts)
    _refuse_damaged({job.path for jobs in wanted.values() for job in jobs}, contents)
    progress("reading", len(facts), len(jobs_of))
    work = pa.table({"part": list(wanted), "jobs": list(map(json.dumps, wanted.values()))}, schema=WORK)
    kernel = partial(_read_parts, folder=str(parts.folder), forget=forget, how=how, now=now)
    for batch in engine.map(kernel, engine.table(work), MADE, rows=1).batches():
        facts |= {row.pop("part"): Facts(**row) for row in batch.to_pylist()}
    progress("reading", len(jobs_of), len(jobs_of))
    posts = posts_of(engine, parts, facts)
    seen = _table(engine, parts, {parts.seen(part): None for part in jobs_of}, SEEN)
    return Archive(
        Store(posts, engine.sql(OLDER_COPIES, store=posts)),
        {part: list(dict.fromkeys(map(file_of, jobs))) for part, jobs in jobs_of.items()},
        {part: facts[part] for part in sorted(facts)},
        under_names_of(engine, engine.sql(_INTAKE, seen=seen), tables.SCHEMAS["intake"]),
        under_names_of(engine, engine.sql(_UNREADABLE, seen=seen), tables.SCHEMAS["unreadable"]),
    )


def _refuse_damaged(paths: Collection[str], contents: Mapping[str, str]) -> None:
    """Refuse files that are about to be read and have lost their content, although size and times say that they are as before."""
    for path in map(place, sorted(paths)):
        if not isinstance(path, Address) and storage.sha256_of(path) != contents[str(path)]:
            raise InputError(DAMAGED, file=path, remedy=UNDAMAGED)


def _check_place(engine: Engine, folder: Path) -> None:
    """Refuse a store on a local disk with a cluster, whose workers would write to their own disks."""
    if not (engine.sees_this_disk or isinstance(folder, Address)):
        raise InputError(
            "the workers of a cluster cannot write the posts of the archive into a folder of this machine",
            remedy='Name a place in a bucket, as the first line of study.toml: build = "s3://BUCKET/STUDY"',
        )


def _sweep(parts: Parts, wanted: Collection[str]) -> set[str]:
    """Delete unneeded parts, local and remote. Returns the names of the others."""
    known = set[str]()
    for folder in dict.fromkeys((parts.copies, parts.folder)):
        for path in (*folder.glob("*.parquet"), *(folder / INTAKE).glob("*.parquet")):
            if path.stem not in wanted:
                storage.remove(path)
            elif path.parent == parts.folder:
                known.add(path.stem)
    return known


def posts_of(engine: Engine, parts: Parts, facts: Mapping[str, Facts]) -> Table:
    """Return the posts of these parts of a store."""
    return _table(engine, parts, {parts.file(part): made for part, made in facts.items()}, STORE)


def _table(engine: Engine, parts: Parts, files: Mapping[Path, Facts | None], schema: pa.Schema) -> Table:
    """Read these files of a store, in order of names. A cluster reads them in place."""
    near = engine.sees_this_disk
    paths = [parts.here(path, files[path]) if near else path for path in sorted(files)]
    return engine.table(paths or schema.empty_table())


_INTAKE = f"""
SELECT file, form, outcome, reason, amount, place, example FROM (
  SELECT file, form, outcome, reason, CAST(SUM(amount) OVER same AS BIGINT) AS amount, place, example,
    row_number() OVER (PARTITION BY file, form, outcome, reason ORDER BY place, example) AS nth
  FROM seen WHERE outcome <> '{LINE}' WINDOW same AS (PARTITION BY file, form, outcome, reason)
) AS every WHERE nth = 1 ORDER BY file, form, outcome, reason
"""
_UNREADABLE = f"""
SELECT file, place, reason FROM seen WHERE outcome IN ('{LINE}', '{Outcome.REFUSED}') ORDER BY file, place, reason
"""


def part_of(jobs: Sequence[Job], contents: Mapping[str, str], how: ReadingOptions) -> str:
    """Return the name of a part: equal files read in the same way have the same name."""
    told = [
        [job.name, job.member, job.start, job.end, job.kind, contents[job.path], str(how.rule(job.name))]
        for job in jobs
    ]
    return _hash(
        [READER, list(how.limits), told, *map(str, how.own_forms), *registry.versions(formats.GROUP)]
    )


def _grouped_into_parts(jobs: Iterable[Job], contents: Mapping[str, str]) -> Iterator[list[Job]]:
    """Group jobs into parts, in order."""
    small, size = list[Job](), 0
    for job in jobs:
        own = job.end - job.start if job.end else place(job.path).stat().st_size
        if own > SMALL:
            yield [job]
            continue
        small.append(job)
        size += own
        if size > SMALL or int(contents[job.path][:8], 16) % MOST_FILES == 0:
            yield small
            small, size = [], 0
    if small:
        yield small


def _standing(
    parts: Parts,
    part: str,
    jobs: Sequence[Job],
    forget: Forget,
    how: ReadingOptions,
    now: ReadUnder,
    content: Callable[[Path], str],
) -> Facts | None:
    """Return an existing part's facts if building it again would give the same; otherwise None."""
    path = parts.file(part)
    try:
        under, facts = noted(parts.seen(part))
        if not stands(path, facts.bytes, facts.sha256, content):
            return None
    except (OSError, pa.ArrowException, LookupError, TypeError, ValueError):  # the file is damaged
        return None
    if under.claims not in {"", now.claims}:
        return None
    if under.purge_list != now.purge_list and (
        under.forgot or any(_touches(job, forget, how) for job in jobs)
    ):
        return None
    return facts


def _touches(job: Job, forget: Forget, how: ReadingOptions) -> bool:
    """True if a file may contain purged data; tables are not checked."""
    if job.kind == streams.TABLE:
        return bool(forget)
    return any(forget.touches(bytes(block.data)) for block in streams.blocks(job, how.limits, how.own_forms))


def _hash(told: object) -> str:
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:24]


def _read_parts(
    block: pa.Table, *, folder: str, forget: Forget, how: ReadingOptions, now: ReadUnder
) -> Iterator[pa.Table]:
    """Build the parts that these rows name. Returns their facts. Broken ids are an error."""
    for row in block.to_pylist():
        jobs = [Job(*job) for job in json.loads(row["jobs"])]
        make = partial(in_child, _make, place(folder), row["part"], jobs, forget, how, now)
        try:
            facts = make({})
        except InputError as error:
            if isinstance(error, BrokenIds):
                raise
            facts = make({job: _problem_of(job, forget, how) for job in jobs})
        yield pa.Table.from_pylist([{"part": row["part"], **facts._asdict()}], schema=MADE)


def _problem_of(job: Job, forget: Forget, how: ReadingOptions) -> str:
    """Return why reading a file crashes its process; empty if it does not."""
    try:
        in_child(_exhaust, job, forget, how)
    except InputError as error:
        return error.problem
    return ""


def _exhaust(job: Job, forget: Forget, how: ReadingOptions) -> None:
    for _ in read(job, forget, how):
        pass


def _make(
    folder: Path,
    part: str,
    jobs: Sequence[Job],
    forget: Forget,
    how: ReadingOptions,
    now: ReadUnder,
    crashed: Mapping[Job, str],
) -> Facts:
    """Build one part. The intake is written before the posts, so that an existing part is always complete."""
    gc.set_threshold(*FEWER_COLLECTIONS)
    tally, of_claims, parts = Tally(), False, Parts(folder, folder)
    with storage.replacing(parts.file(part)) as beside:
        writer = PartWriter(beside, part)
        for job in jobs:
            why, paste = (crashed[job], "") if crashed.get(job) else _refusal(job, how)
            if why:
                tally.refuse(file_of(job), why, paste)
                continue
            of_claims |= job.kind == streams.TABLE and bool(
                column_of(open_job(job, how).table.header, POSTS["claim"])
            )
            for number, line in enumerate(read(job, forget, how)):
                if number % GETS_ON == 0:
                    got_on()
                tally.see(line)
                if line.posts:
                    writer.add(line)
        forgot = bool(forget) and any(_touches(job, forget, how) for job in jobs)
        writer.close()
        under = now._replace(forgot=forgot, claims=now.claims if of_claims else "")
        facts = Facts(writer.count, beside.stat().st_size, storage.sha256_of(beside))
        write_seen(parts.seen(part), tally.table(), under, facts)
    return facts


FEWER_COLLECTIONS = (100_000, 50, 100)
"""Garbage collection thresholds: posts are many long-lived objects, and the default costs a seventh of the time."""


def _refusal(job: Job, how: ReadingOptions) -> tuple[str, str]:
    """Return why a file is refused, and the settings to fill in; empty if it is not."""
    if job.path != job.path.encode("utf-8", "replace").decode():
        return "the file's name is no text: rename it", ""  # no table can hold it
    if job.kind != streams.TABLE:
        return "", ""
    try:
        understood = open_job(job, how).understood
    except BrokenIds:
        raise
    except InputError as error:
        return error.problem, ""
    if not understood.questions:
        return "", ""
    return understood.questions[0], columns.to_paste(understood, job.name.partition("/")[2] or job.name)


@dataclass(slots=True)
class Amounts:
    """The number of lines and posts of a format in a file, with their first places."""

    first_line: int
    lines: int = 0
    posts: int = 0
    first_post: int = -1


class Tally:
    """Counts of a file's lines by format, outcome and reason, and each unreadable line."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str, str, str], tuple[int, int, str]] = {}
        self.amounts: dict[tuple[str, str], Amounts] = {}
        self.problems: list[tuple[str, str, int, str]] = []

    def refuse(self, file: str, why: str, paste: str) -> None:
        """Count a refused file."""
        name = file.encode("utf-8", "replace").decode()
        self.counts[name, "", Outcome.REFUSED.value, in_one_line(why)] = (1, 0, paste)

    def add(self, line: Read, outcome: Outcome, reason: str = "", count: int = 1, example: str = "") -> None:
        """Add to a count. Place and example are those of the first occurrence, also for repeated members of an archive."""
        key, first = (line.file, line.form, outcome.value, reason), (line.place, example[:200])
        if known := self.counts.get(key):
            count, first = known[0] + count, min(first, known[1:])
        self.counts[key] = (count, *first)

    def see(self, line: Read) -> None:
        """Count a line."""
        file, place, form, posts, _, _, note = line
        if posts or not note:
            amounts = self.amounts.get((file, form))
            if amounts is None:
                amounts = self.amounts[file, form] = Amounts(place)
            amounts.lines += 1
            amounts.posts += len(posts)
            amounts.first_line = min(amounts.first_line, place)
            if posts and not 0 <= amounts.first_post <= place:
                amounts.first_post = place
        for post in posts:
            if post.repost_of:
                self.add(
                    line, Outcome.REPOSTS, "by id" if post.repost_of != "?" else "by a column or the text"
                )
        for reason, count in line.skipped.items():
            self.add(line, Outcome.SKIPPED, reason, count)
        if line.problem:
            self.add(line, Outcome.UNREADABLE, line.problem.partition(": ")[0][:80], example=line.problem)
            self.problems.append((line.file, line.form, line.place, line.problem))
        if line.note:
            about = line.posts[0] if line.posts else None
            self.add(
                line, Outcome.NOTED, line.note, example=f"{about.post_id} {about.text[:80]}" if about else ""
            )

    def table(self) -> pa.Table:
        """Return the counts, then the unreadable lines."""
        rows = [(*key, *value) for key, value in self.counts.items()]
        for (file, form), amounts in self.amounts.items():
            rows.append((file, form, Outcome.LINES.value, "", amounts.lines, amounts.first_line, ""))
            if amounts.posts:
                rows.append((file, form, Outcome.POSTS.value, "", amounts.posts, amounts.first_post, ""))
        rows += [(file, form, LINE, problem, 1, place, "") for file, form, place, problem in self.problems]
        given = list(zip(*rows, strict=True)) or [()] * len(SEEN)
        return pa.table(
            [tables.column(column, field.type) for column, field in zip(given, SEEN, strict=True)],
            schema=SEEN,
        )
