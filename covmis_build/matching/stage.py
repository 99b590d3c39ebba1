"""The stage `retrieve`: from files of posts and the queries to hits, the posts they hit, and what was dropped.

Of several copies of a post the latest retrieved counts, then the one with the longest text, then the one with the
smallest content hash; a hit holds if the copy that counts matches. What comes out is the same whatever the order
of files and lines, the number of processes and the engine; where a post was found is in `provenance`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from covmis_build import tables
from covmis_build.addresses import place
from covmis_build.archive import streams
from covmis_build.archive.parts import to_cut
from covmis_build.archive.reader import How, file_of, in_one_line
from covmis_build.archive.walk import archive_files, first_of_each
from covmis_build.engine import silent
from covmis_build.errors import InputError
from covmis_build.matching import passes as kernels
from covmis_build.matching import prefilter, rows
from covmis_build.options import KINDS, Retrieval

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.archive.forgetting import Forget
    from covmis_build.engine import Engine, Progress, Table

Given = Callable[["Sequence[str]"], "pd.DataFrame"]

POSTS = ", ".join(tables.SCHEMAS["posts"].names)


@dataclass(frozen=True)
class Retrieved:
    """What `retrieve` found; `counts` has lines, posts, reposts, unreadable lines and unavailable posts seen."""

    posts: Table
    hits: Table
    provenance: Table
    unreadable: Table
    intake: Table
    dropped: Table
    counts: dict[str, int]


def retrieve(
    engine: Engine, archive: Sequence[Path], queries: pd.DataFrame, options: Retrieval, *,
    progress: Progress = silent, given: pd.DataFrame | Given | None = None, forget: Forget = kernels.NOTHING,
    claims: Collection[str] | None = None,
) -> Retrieved:  # fmt: skip
    """Match every post of the archive with every query.

    `archive` lists files and folders. `given` has posts that a claim list names itself (claim_id, post_id, and kind
    if it is not title): they become hits without a query; a function gives them once it is known which posts queries find,
    whose ids it is called with. The tables are in the order of their keys. Posts in `forget`
    that somebody has put back are dropped as purged; nothing of their text is in any table. `claims` are the ids that
    a column of a file may name (default: those of the queries).
    """
    how = How.of(options, queries["claim_id"] if claims is None else claims)
    files = archive_files(archive)
    engine.reach(first_of_each(archive, files))
    cut = streams.jobs(files)
    refused = kernels.check_tables(cut, how)
    wrong = [
        (file_of(job).encode("utf-8", "replace").decode(), in_one_line(problem), paste)
        for job, problem, paste in refused
    ]
    unread = {job for job, *_ in refused}
    progress("reading", 0, 2)
    readable = [job for job in cut if job not in unread]
    jobs = kernels.jobs_table(readable)
    if sum(place(job.path).stat().st_size for job in readable if not job.start) > LARGE:
        prefilter.load()
    find = partial(kernels.find, queries=_stream(queries), forget=forget, how=how)
    handed_on = partial(kernels.cut, how=how, jobs=to_cut(readable, os.cpu_count() or 1))
    first_pass = engine.map(find, engine.table(jobs), rows.FOUND, rows=1, cut=handed_on)
    if callable(given):
        matched = engine.sql(_matched(options), first_pass=first_pass).to_arrow()
        given = given(matched.column("post_id").to_pylist())
    listed = engine.table(_given(given))
    progress("reading", 1, 2)
    lines, reposts = _elsewhere(engine, first_pass, jobs, listed)
    gather = partial(kernels.gather, forget=forget, how=how)
    copies = engine.map(gather, engine.table(lines), rows.COPIES, rows=1)
    progress("reading", 2, 2)
    return _tables(engine, first_pass, copies, engine.table(reposts), listed, options, wrong)


LARGE = 16 << 20
"""Bytes of an archive from which on compiled code is loaded before processes are forked, once for all."""


def _elsewhere(engine: Engine, first_pass: Table, jobs: pa.Table, given: Table) -> tuple[pa.Table, pa.Table]:
    """The lines of wanted posts that the first pass has not kept; and how often wanted posts were reposted."""
    others = engine.map(kernels.single, engine.sql(_OTHERS, first_pass=first_pass), rows.OTHERS)
    wanted = engine.sql(_WANTED, others=others, first_pass=first_pass, given=given).to_arrow()
    of_reposts = pc.is_null(wanted.column("job"))
    by_job = (
        wanted.filter(pc.invert(of_reposts))
        .group_by("job", use_threads=False)
        .aggregate([(column, "list") for column in ("file", "place", "post_id")])
    )
    lines = pa.table(
        [*jobs.take(by_job.column("job")).columns, *by_job.drop_columns("job").columns], schema=rows.LINES
    )
    return lines, wanted.filter(of_reposts).select(["post_id", "reposts"])


def _tables(
    engine: Engine, first_pass: Table, copies: Table, reposts: Table, given: Table,
    options: Retrieval, wrong: list[tuple[str, str, str]],
) -> Retrieved:  # fmt: skip
    chosen = engine.sql(_CHOSEN, copies=copies, first_pass=first_pass)
    judged = engine.sql(_judged(options), first_pass=first_pass, given=given, chosen=chosen)
    hits = engine.sql(_HITS, judged=judged)
    posts = engine.sql(_POSTS, hits=hits, chosen=chosen, reposts=reposts)
    refused = engine.table(_table(_REFUSED, wrong))
    dropped = _as(
        engine,
        "dropped",
        engine.sql(_DROPPED, judged=judged, hits=hits, first_pass=first_pass, chosen=chosen),
    )
    unreadable = _as(engine, "unreadable", engine.sql(_UNREADABLE, first_pass=first_pass, refused=refused))
    provenance = _as(
        engine, "provenance", engine.sql(_PROVENANCE, copies=copies, first_pass=first_pass, hits=hits)
    )
    seen = engine.sql(_INTAKE, first_pass=first_pass, refused=refused)
    intake = _as(engine, "intake", seen)
    sums = engine.sql(_COUNTS, seen=seen, first_pass=first_pass).to_pandas()
    counts = dict.fromkeys(("lines", "posts", "reposts"), 0)
    counts |= {str(name): int(amount) for name, amount in zip(sums["name"], sums["amount"], strict=True)}
    counts["unreadable"] = counts.get("unreadable", 0) + len(wrong)
    return Retrieved(posts, hits, provenance, unreadable, intake, dropped, counts)


def _as(engine: Engine, name: str, rows: Table) -> Table:
    """Rows under the table's own names of columns, some of which are words of SQL."""
    schema = tables.SCHEMAS[name]
    loose = pa.schema([field.with_nullable(True) for field in schema])
    return engine.map(partial(kernels.renamed, names=schema.names), rows, loose)


_REFUSED = pa.schema([("file", pa.string()), ("problem", pa.string()), ("paste", pa.string())])
_GIVEN = pa.schema(
    [("claim_id", pa.string()), ("post_id", pa.string()), ("kind", pa.string()), ("matched", tables.STRINGS)]
)


def _table(schema: pa.Schema, rows: Sequence[Sequence[object]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )


def _given(given: pd.DataFrame | None) -> pa.Table:
    """Posts that a claim list names; bare numbers are posts on X."""
    if given is None or not len(given):
        return _GIVEN.empty_table()
    ids = [id_ if ":" in (id_ := str(raw).strip()) else f"x:{id_}" for raw in given["post_id"]]
    kinds = given["kind"] if "kind" in given.columns else ["title"] * len(ids)
    named = sorted(set(zip(map(str, given["claim_id"]), ids, map(str, kinds), strict=True)))
    return _table(_GIVEN, [(*row, []) for row in named])


def _stream(queries: pd.DataFrame) -> bytes:
    """The queries in the order of their ids, as bytes that travel with the kernel."""
    return _bytes(tables.conform(queries, "queries").sort_by("query_id"))


def _bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


_OTHERS = "SELECT job, file, places, ids, reposters, reposted FROM first_pass WHERE what = 'elsewhere'"
_WANTED = """
SELECT job, file, place, post_id, COUNT(DISTINCT reposter) AS reposts FROM others WHERE post_id <> '' AND post_id IN (
  SELECT post_id FROM first_pass WHERE what IN ('post', 'gone') UNION ALL SELECT post_id FROM given
  UNION ALL SELECT reply_to FROM first_pass WHERE what = 'post' AND reply_to <> ''
  UNION ALL SELECT quote_of FROM first_pass WHERE what = 'post' AND quote_of <> ''
) GROUP BY job, file, place, post_id ORDER BY job, file, place, post_id
"""

_COPIES = ", ".join(rows.COPIES.names)
_EVERY_COPY = f"(SELECT {_COPIES} FROM first_pass WHERE what = 'post' UNION ALL SELECT {_COPIES} FROM copies)"
_CHOSEN = f"""
SELECT c.*, g.detail AS fate FROM (
  SELECT {POSTS}, copy, row_number() OVER (
    PARTITION BY post_id ORDER BY retrieved_at DESC, length DESC, copy, file, place
  ) AS rank_of_copy FROM {_EVERY_COPY} AS every
) AS c
LEFT JOIN (
  SELECT post_id, retrieved_at AS told_at, detail,
    row_number() OVER (PARTITION BY post_id ORDER BY retrieved_at DESC, detail) AS nth
  FROM first_pass WHERE what = 'gone' AND detail <> 'id only'
) AS g ON c.post_id = g.post_id AND g.nth = 1 AND (g.told_at = '' OR g.told_at >= c.retrieved_at)
WHERE c.rank_of_copy = 1
"""


_KIND = " ".join(["CASE h.kind", *(f"WHEN '{kind}' THEN {place}" for place, kind in enumerate(KINDS)), "END"])
"""Of a post that a list names twice for a claim, the first kind counts."""


def _judged(options: Retrieval) -> str:
    """Every claimed or matched (claim, post, query) with the reason that drops it, empty if none does."""
    (since, until), required = span(options), _required(options)
    dates = " OR ".join(
        [f"c.created_at < '{since}'"] * bool(since) + [f"c.created_at >= '{until}'", "c.created_at = ''"] * bool(until)
        + ["c.created_at = ''"] * bool(since)
    ) or "1 = 0"  # fmt: skip
    reposts = "c.repost_of <> ''" if options.reposts == "drop" else "1 = 0"
    return f"""
SELECT claim_id, post_id, query_id, kind, verified, matched, reason, repost_of FROM (
  SELECT h.claim_id, h.post_id, h.query_id, h.kind, h.verified, h.matched, c.repost_of,
    CASE WHEN c.post_id IS NULL THEN 'unavailable'
         WHEN h.verified = 'yes' AND h.copy <> c.copy THEN 'only an older copy matches'
         WHEN {reposts} THEN 'repost'
         WHEN {dates} THEN 'outside since and until'
         WHEN h.verified = 'no' AND h.kind IN ({required}) THEN 'does not match locally'
         ELSE '' END AS reason,
    row_number() OVER (
      PARTITION BY h.claim_id, h.post_id, h.query_id
      ORDER BY CASE WHEN h.verified = 'yes' AND h.copy = c.copy THEN 0 WHEN h.verified = 'yes' THEN 2 ELSE 1 END,
        h.verified, h.copy, {_KIND}, h.kind
    ) AS nth
  FROM (
    SELECT claim_id, post_id, query_id, kind, verified, matched, copy FROM first_pass WHERE what = 'hit'
    UNION ALL
    SELECT claim_id, post_id, '' AS query_id, kind, 'not_applicable' AS verified, matched, '' AS copy FROM given
  ) AS h LEFT JOIN chosen AS c ON h.post_id = c.post_id
) AS every WHERE nth = 1
"""


def _matched(options: Retrieval) -> str:
    """The posts of which some copy satisfies a query."""
    unverified = f"verified = 'no' AND kind IN ({_required(options)})"
    return (
        f"SELECT DISTINCT post_id FROM first_pass WHERE what = 'hit' AND NOT ({unverified}) ORDER BY post_id"
    )


def _required(options: Retrieval) -> str:
    return ", ".join(f"'{kind}'" for kind in options.require_match) or "''"


def span(options: Retrieval) -> tuple[str, str]:
    """The first moment of `since` and the first after `until`, as tables write times; empty where there is no limit."""
    return _moment(options.since, "since"), _moment(options.until, "until")


def _moment(text: str, name: str) -> str:
    """A day or time of the settings as tables write times; a day is meant whole: the last one is inside."""
    if not text:
        return ""
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"[retrieval] {name} is '{text}'", remedy="Write a date such as 2020-04-30"
        ) from None
    when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    if name == "until":
        when += timedelta(days=1) if len(text) == len("2020-04-30") else timedelta(seconds=1)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


_HITS = """
SELECT claim_id, post_id, query_id, kind, verified, matched FROM judged WHERE reason = ''
ORDER BY claim_id, post_id, query_id
"""

_FILLED = {
    "parent_text": "COALESCE(NULLIF(parent.text, ''), c.parent_text)",
    "quoted_text": "COALESCE(NULLIF(quoted.text, ''), c.quoted_text)",
    "repost_count": "COALESCE(r.reposts, 0)",
    "availability": "COALESCE(c.fate, c.availability)",
}


def _text_of(reference: str) -> str:
    """The text of the post that a post answers or quotes: of few posts, so that whole rows need not be joined again."""
    return (
        f"SELECT a.post_id, b.text FROM chosen AS a JOIN chosen AS b ON a.{reference} = b.post_id "
        f"WHERE a.{reference} <> ''"
    )


_POSTS = f"""
SELECT {", ".join(f"{_FILLED.get(name, 'c.' + name)} AS {name}" for name in tables.SCHEMAS["posts"].names)}
FROM (SELECT DISTINCT post_id FROM hits) AS h
JOIN chosen AS c ON h.post_id = c.post_id
LEFT JOIN ({_text_of("reply_to")}) AS parent ON c.post_id = parent.post_id
LEFT JOIN ({_text_of("quote_of")}) AS quoted ON c.post_id = quoted.post_id
LEFT JOIN reposts AS r ON c.post_id = r.post_id
ORDER BY c.post_id
"""

_DROPPED = """
SELECT unit, claim_id, post_id, 'retrieve' AS step, reason, kept_instead, CAST(NULL AS DOUBLE) AS similarity,
  '' AS group_id FROM (
  SELECT 'pair' AS unit, j.claim_id, j.post_id,
    CASE WHEN j.reason <> 'unavailable' THEN j.reason
         WHEN g.fate IS NULL OR g.fate = 'id only' THEN 'not in the archive' ELSE g.fate END AS reason,
    CASE WHEN j.reason = 'repost' AND k.post_id IS NOT NULL THEN j.repost_of ELSE '' END AS kept_instead
  FROM (
    SELECT claim_id, post_id, MIN(reason) AS reason, MIN(repost_of) AS repost_of FROM judged
    GROUP BY claim_id, post_id HAVING MIN(reason) <> ''
  ) AS j
  LEFT JOIN (SELECT DISTINCT claim_id, post_id FROM hits) AS k
    ON j.claim_id = k.claim_id AND j.repost_of = k.post_id
  LEFT JOIN (SELECT post_id, MIN(detail) AS fate FROM first_pass WHERE what = 'gone' GROUP BY post_id) AS g
    ON j.post_id = g.post_id
  UNION ALL
  SELECT 'post' AS unit, '' AS claim_id, f.post_id, MIN(f.detail) AS reason, '' AS kept_instead
  FROM first_pass AS f LEFT JOIN chosen AS c ON f.post_id = c.post_id
  WHERE f.what = 'gone' AND c.post_id IS NULL AND f.detail <> 'id only' GROUP BY f.post_id
) AS every ORDER BY unit, claim_id, post_id
"""

_UNREADABLE = """
SELECT file, place, detail AS problem FROM (
  SELECT file, place, detail FROM first_pass WHERE what = 'unreadable'
  UNION ALL SELECT file, CAST(0 AS BIGINT) AS place, problem AS detail FROM refused
) AS every ORDER BY file, place, detail
"""

_INTAKE = """
SELECT file, form AS format, outcome, reason, amount, place, example FROM (
  SELECT file, form, outcome, detail AS reason, CAST(SUM(amount) OVER same AS BIGINT) AS amount, place, example,
    row_number() OVER (PARTITION BY file, form, outcome, detail ORDER BY place, example) AS nth
  FROM first_pass WHERE what = 'intake' WINDOW same AS (PARTITION BY file, form, outcome, detail)
  UNION ALL SELECT file, '' AS form, 'refused' AS outcome, problem AS reason, CAST(1 AS BIGINT) AS amount,
    CAST(0 AS BIGINT) AS place, paste AS example, 1 AS nth FROM refused
) AS every WHERE nth = 1 ORDER BY file, form, outcome, reason
"""

_PROVENANCE = f"""
SELECT post_id, file, place, form AS format, retrieved_at, query FROM (
  SELECT g.post_id, g.file, g.place, g.form, g.retrieved_at, g.query,
    row_number() OVER (PARTITION BY g.post_id, g.file ORDER BY g.place, g.form, g.retrieved_at, g.query) AS nth
  FROM {_EVERY_COPY} AS g JOIN (SELECT DISTINCT post_id FROM hits) AS h ON g.post_id = h.post_id
) AS every WHERE nth = 1 ORDER BY post_id, file
"""

_COUNTS = """
SELECT name, amount FROM (
  SELECT outcome AS name, CAST(SUM(amount) AS BIGINT) AS amount FROM seen
  WHERE outcome IN ('lines', 'posts', 'reposts', 'unreadable') GROUP BY outcome
  UNION ALL SELECT 'unavailable' AS name, COUNT(DISTINCT post_id) AS amount FROM first_pass
    WHERE what = 'gone' AND detail <> 'id only'
) AS every ORDER BY name
"""
