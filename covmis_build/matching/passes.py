"""What runs over a block of jobs, in whatever process or machine: finding hits, then reading again what they need.

The first pass keeps whole what matched, and of all other posts a number and their place. The second reads only those
lines again that the first could not know to matter: other copies of posts that matched, what they answer and quote.
"""

from __future__ import annotations

import gc
from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covmis_build import tables
from covmis_build.archive import columns, streams
from covmis_build.archive.forgetting import Forget
from covmis_build.archive.intake import Outcome
from covmis_build.archive.parts import parts
from covmis_build.archive.reader import EMPTIED, Glanced, How, Part, glance, open_job
from covmis_build.errors import BrokenIds, InputError
from covmis_build.matching import rows
from covmis_build.matching.matcher import Match, Matcher, read_queries
from covmis_build.matching.prefilter import Prefilter
from covmis_build.matching.rows import Copy, Hit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from covmis_build.archive.formats.post import Claimed, Glances, Post

NOTHING = Forget()
FEWER_COLLECTIONS = (100_000, 50, 100)
"""Rows are many objects that live long; looking for circles among them again and again takes a seventh of the time."""


class Queries(NamedTuple):
    """The queries as a process needs them: ready to match, and their expressions by id."""

    matcher: Matcher
    candidates: Prefilter
    expressions: dict[str, str]


@lru_cache(maxsize=2)
def _queries(stream: bytes) -> Queries:
    """The queries of an Arrow stream, made ready once a process."""
    with pa.ipc.open_stream(stream) as source:
        table = source.read_all()
    ids, claims, kinds, texts = (
        table.column(name).to_pylist() for name in ("query_id", "claim_id", "kind", "expression")
    )
    matcher = Matcher(read_queries(zip(ids, claims, kinds, texts, strict=True)))
    return Queries(matcher, Prefilter(matcher), dict(zip(ids, texts, strict=True)))


class Count(NamedTuple):
    """How often something was seen in a file, where first, and an example."""

    file: str
    form: str
    outcome: str
    detail: str
    amount: int
    place: int
    example: str


class Intake:
    """What a job's files were seen to hold, counted by file, form, outcome and reason."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str, str, str], Count] = {}

    def add(
        self,
        about: Glanced,
        outcome: Outcome,
        place: int,
        reason: str = "",
        *,
        count: int = 1,
        example: str = "",
    ) -> None:
        """Count this; place and example are the first one's, also where a file stands twice in a packed one."""
        key = (about.file, about.form, outcome.value, reason)
        known, first = self.counts.get(key), (place, example[:200])
        if known:
            count, first = known.amount + count, min(first, (known.place, known.example))
        self.counts[key] = Count(*key, count, *first)

    def see(self, glanced: Glanced) -> None:
        """Count what some lines were."""
        if glanced.lines:
            first = min((*glanced.seen.places[:1], *(line.place for line in glanced.told)), default=0)
            self.add(glanced, Outcome.LINES, first, count=glanced.lines)
        seen = glanced.seen
        if seen.ids:
            self.add(glanced, Outcome.POSTS, seen.places[0], count=len(seen))
        for number, reposted in sorted(seen.reposts.items()):
            told = "by id" if reposted != "?" else "by what it says"
            self.add(glanced, Outcome.REPOSTS, seen.places[number], told)
        for line in glanced.told:
            for reason, count in line.skipped.items():
                self.add(glanced, Outcome.SKIPPED, line.place, reason, count=count)
            if line.problem:
                head = line.problem.partition(": ")[0][:80]
                self.add(glanced, Outcome.UNREADABLE, line.place, head, example=line.problem)
            if line.note:
                about = line.posts[0] if line.posts else None
                example = f"{about.post_id} {about.text[:80]}" if about else ""
                self.add(glanced, Outcome.NOTED, line.place, line.note, example=example)


class _Problem(NamedTuple):
    file: str
    place: int
    detail: str


class _Gone(NamedTuple):
    """A post without content, and why; `retrieved_at` is when that was told."""

    post_id: str
    retrieved_at: str
    detail: str
    hits: Sequence[Hit]


class _Others:
    """The posts of a file that are no hits and where they stand, and its reposts, until they become a row.

    They become columns every now and then: as objects they would be most of what the first pass keeps.
    """

    def __init__(self) -> None:
        self.places, self.ids = list[pa.Array](), list[pa.Array]()
        self.reposters, self.reposted = list[str](), list[str]()
        self.new_places, self.new_ids = list[int](), list[str]()

    def add(self, seen: Glances, kept: AbstractSet[int]) -> None:
        for number, reposted in sorted(seen.reposts.items()):
            self.reposters.append(seen.ids[number])
            self.reposted.append(reposted)
        begin = len(self.new_ids)
        self.new_ids += seen.ids
        self.new_places += seen.places
        for number in sorted(kept, reverse=True):
            del self.new_ids[begin + number], self.new_places[begin + number]
        if len(self.new_ids) >= MANY:
            self._settle()

    def _settle(self) -> None:
        self.ids.append(tables.column(self.new_ids, tables.STRING))
        self.places.append(pa.array(np.array(self.new_places, np.int64)))
        self.new_places, self.new_ids = [], []

    @property
    def are_enough(self) -> bool:
        return len(self.ids) >= COLUMNS or len(self.reposted) >= MANY * COLUMNS

    def row(self, job: int, file: str) -> pa.Table:
        self._settle()
        named = {
            "what": ["elsewhere"], "job": [job], "file": [file], "places": _list(self.places), "ids": _list(self.ids),
            "reposters": [self.reposters], "reposted": [self.reposted],
        }  # fmt: skip
        return rows.table(rows.FOUND, 1, named)


def _list(parts: Sequence[pa.Array]) -> pa.ListArray:
    values = pa.concat_arrays(parts)
    return pa.ListArray.from_arrays(pa.array(np.array([0, len(values)], np.int32)), values)


def find(
    block: pa.Table,
    *,
    queries: bytes,
    forget: Forget = NOTHING,
    how: How = How(),  # noqa: B008 - empty
) -> Iterator[pa.Table]:
    """The first pass: posts that are hits, outcomes, unreadable lines, counts; of what is to be forgotten only that it is there."""
    gc.set_threshold(*FEWER_COLLECTIONS)
    asked = _queries(queries)
    for number, job, part in work(block):
        copies, gone, problems = list[Copy](), list[_Gone](), list[_Problem]()
        intake, elsewhere = Intake(), defaultdict[str, _Others](_Others)
        for glanced in glance(job, forget, how, part):
            intake.see(glanced)
            problems += [
                _Problem(line.file, line.place, line.problem) for line in glanced.told if line.problem
            ]
            kept, without = dict(_kept(glanced, asked)), dict(_without_content(glanced, asked.expressions))
            for copy in kept.values():
                if copy.post.empty_numbers():
                    intake.add(glanced, Outcome.NOTED, copy.place, EMPTIED, example=copy.post.post_id)
            copies += kept.values()
            if len(copies) >= MANY:
                yield from _copies_with_hits(copies)
                copies = []
            gone += without.values()
            others = elsewhere[glanced.file]
            others.add(glanced.seen, kept.keys() | without.keys())
            if others.are_enough:
                yield elsewhere.pop(glanced.file).row(number, glanced.file)
        counts = list(intake.counts.values())
        yield from _copies_with_hits(copies)
        yield from _gone_with_hits(gone)
        yield rows.records(rows.FOUND, "unreadable", problems, _Problem._fields)
        yield rows.records(rows.FOUND, "intake", counts, Count._fields)
        for file, others in elsewhere.items():
            yield others.row(number, file)


MANY = 1_000
"""Posts that become rows, or columns, together; as objects they would crowd out of the processor's memory what is worked on."""

COLUMNS = 100
"""So often posts that are no hits become columns before these become a row."""


def _copies_with_hits(copies: Sequence[Copy]) -> list[pa.Table]:
    posts = rows.copies(rows.FOUND, copies)
    return [posts, rows.hits(posts, [copy.hits for copy in copies])]


def _gone_with_hits(gone: Sequence[_Gone]) -> list[pa.Table]:
    posts = rows.records(rows.FOUND, "gone", gone, ("post_id", "retrieved_at", "detail"))
    return [posts, rows.hits(posts, [post.hits for post in gone])]


def _kept(glanced: Glanced, asked: Queries) -> Iterator[tuple[int, Copy]]:
    """The posts that are hits, by their number: what matched, and what was claimed by a query that collected, or a list."""
    standing = dict(_standing(glanced.seen.claimed, asked.expressions))
    candidates = {candidate.number: candidate for candidate in asked.candidates(glanced.seen)}
    texts = glanced.seen.texts
    for number in sorted(candidates.keys() | standing.keys()):
        post = glanced.whole(number)
        if not _whole(post):
            continue
        matches: Sequence[Match] = ()
        if candidate := candidates.get(number):
            same = post.text == texts[number]  # a glance may hold more
            cut = candidate.cut if same else None
            matches = asked.matcher.match(post, linked=candidate.linked, cut=cut)
        hits = [Hit(query.claim_id, query.query_id, query.kind, "yes", parts) for query, parts in matches]
        hits += standing.get(number, ())
        if hits:
            yield number, Copy(post, glanced.file, glanced.seen.places[number], glanced.form, hits)


def _standing(
    claimed: Mapping[int, tuple[Claimed, ...]], expressions: dict[str, str]
) -> Iterator[tuple[int, list[Hit]]]:
    """What claims are worth without a match, by number; nothing if the query that made one has changed since."""
    last, hits = None, list[Hit]()
    for number, claims in sorted(claimed.items()):
        if claims is not last:  # the posts of a page share theirs
            last, hits = claims, []
            for claim in claims:
                if not claim.query_id:
                    hits.append(Hit(claim.claim_id, "", claim.kind, "not_applicable"))
                elif expressions.get(claim.query_id) == claim.expression:
                    hits.append(Hit(claim.claim_id, claim.query_id, claim.kind, "no"))
        if hits:
            yield number, hits


def _without_content(glanced: Glanced, expressions: dict[str, str]) -> Iterator[tuple[int, _Gone]]:
    """Outcomes, and posts of which only the id is known; the reposted post's own row brings its text."""
    texts = glanced.seen.texts
    if all(map(str.strip, texts)):
        return
    for number in [number for number, text in enumerate(texts) if not text.strip()]:
        post = glanced.whole(number)
        if not (_whole(post) or post.repost_of):
            why = "no text" if post.availability == "available" else post.availability
            hits = [hit for _, standing in _standing({number: post.claimed}, expressions) for hit in standing]
            yield number, _Gone(post.post_id, post.retrieved_at, why, hits)


def gather(block: pa.Table, *, forget: Forget = NOTHING, how: How = How()) -> pa.Table:  # noqa: B008 - empty
    """The second pass: these posts at these places, whole; none that is to be forgotten."""
    gc.set_threshold(*FEWER_COLLECTIONS)
    wanted: dict[streams.Job, dict[tuple[str, int], set[str]]] = {}
    for row in block.to_pylist():
        ids = wanted.setdefault(_job(row), {})
        for file, place, post_id in zip(row["files"], row["places"], row["ids"], strict=True):
            ids.setdefault((file, place), set()).add(post_id)
    copies = []
    for job, ids in wanted.items():
        places: dict[str, list[int]] = {}
        for file, place in sorted(ids):
            places.setdefault(file, []).append(place)
        for glanced in glance(job, forget, how, places=places):
            its = zip(glanced.seen.ids, glanced.seen.places, strict=True)
            for number, (post_id, place) in enumerate(its):
                if post_id in ids.get((glanced.file, place), ()) and _whole(post := glanced.whole(number)):
                    post.empty_numbers()
                    copies.append(Copy(post, glanced.file, place, glanced.form))
    return rows.copies(rows.COPIES, copies)


def _whole(post: Post) -> bool:
    return bool(post.text or post.cards or post.urls)


def single(block: pa.Table) -> Iterator[pa.Table]:
    """A row for each post that is no hit, and for each repost, out of rows that have lists of them."""
    for at in range(len(block)):
        row = block.slice(at, 1)
        whose = pc.list_parent_indices(row.column("ids").combine_chunks())
        where = {name: row.column(name).take(whose) for name in ("job", "file")}
        where |= {
            "place": pc.list_flatten(row.column("places")),
            "post_id": pc.list_flatten(row.column("ids")),
        }
        yield rows.table(rows.OTHERS, len(whose), where)
        pairs = {
            "post_id": pc.list_flatten(row.column("reposted")),
            "reposter": pc.list_flatten(row.column("reposters")),
        }
        yield rows.table(rows.OTHERS, len(pairs["post_id"]), pairs)


def _job(row: dict[str, Any]) -> streams.Job:
    return streams.Job(row["path"], row["name"], row["member"], row["start"], row["finish"], row["content"])


def jobs_table(jobs: Sequence[streams.Job]) -> pa.Table:
    """Jobs as rows, numbered."""
    names = dict(
        zip(streams.Job._fields, ("path", "name", "member", "start", "finish", "content"), strict=True)
    )
    fields = {column: [getattr(job, name) for job in jobs] for name, column in names.items()}
    return rows.table(rows.JOBS, len(jobs), {"number": range(len(jobs)), **fields})


def work(block: pa.Table) -> Iterator[tuple[int, streams.Job, Part | None]]:
    """The jobs of a block; or the part of one that is unpacked already."""
    if "data" not in block.column_names:
        yield from ((row["number"], _job(row), None) for row in block.to_pylist())
    elif len(block):
        (first,) = block.slice(0, 1).to_pylist()
        yield first["number"], _job(first), rows.part_of(block)


def cut(block: pa.Table, *, how: How, jobs: AbstractSet[streams.Job]) -> Iterator[pa.Table]:
    """A job as it is; or, of one of these, what is in it as it is unpacked, for processes that match it."""
    (row,) = block.to_pylist()
    job, whole = _job(row), True
    for part in parts(job, how) if job in jobs else ():
        whole = False
        yield rows.part(row, part)
    if whole:
        yield block


def renamed(block: pa.Table, *, names: list[str]) -> pa.Table:
    """The same columns under these names."""
    return block.rename_columns(names)


def check_tables(jobs: Iterable[streams.Job], how: How) -> list[tuple[streams.Job, str, str]]:
    """Files that cannot be read, the reason, and the settings to fill in; broken ids stop here, before anything is read."""
    wrong = []
    for job in jobs:
        if job.path != job.path.encode("utf-8", "replace").decode():
            wrong.append((job, "the file's name is no text: rename it", ""))  # no table can hold it
        elif job.kind == streams.TABLE:
            try:
                understood = open_job(job, how).understood
            except BrokenIds:
                raise
            except InputError as error:
                wrong.append((job, error.problem, ""))
            else:
                paste = columns.to_paste(understood, job.name.partition("/")[2] or job.name)
                wrong += [(job, question, paste) for question in understood.questions[:1]]
    return wrong
