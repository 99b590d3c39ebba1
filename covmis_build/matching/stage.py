"""The stage `retrieve`: from the archive's posts and the queries to hits, matched posts, and dropped ones.

Of several copies of a post one counts (see archive/store.py); a hit is valid if that copy matches. The result does not depend
on the order of files and lines, the number of processes or the engine. `provenance` has the places of each post.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from covmis_build import tables
from covmis_build.archive.store import POSTS
from covmis_build.engine.port import silent, under_names_of
from covmis_build.matching.find import FOUND, LOOKED_AT, finding
from covmis_build.options import KINDS, Retrieval

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pandas as pd

    from covmis_build.archive.store import Store
    from covmis_build.engine import Engine, Progress, Table
    from covmis_build.matching.kept import Kept

Given = Callable[["Sequence[str]"], "pd.DataFrame"]


@dataclass(frozen=True)
class Retrieved:
    """The result of `retrieve`."""

    posts: Table
    hits: Table
    provenance: Table
    dropped: Table


def retrieve(
    engine: Engine,
    store: Store,
    queries: pd.DataFrame,
    options: Retrieval,
    *,
    progress: Progress = silent,
    given: pd.DataFrame | Given | None = None,
    claims: Collection[str] | None = None,
    kept: Kept | None = None,
) -> Retrieved:
    """Match every post of the archive with every query.

    Posts that files assign to other `claims` than these are not assigned (None: every claim counts).

    `given` are posts in a claim list (claim_id, post_id, and kind if it is not title), which become hits without a query. A function
    is called with the ids of the posts that queries match, and returns them. The tables are sorted by their keys. With the `kept`
    matches of the same posts only new ones are looked for.
    """
    progress("matching", 0, 1)
    if kept is not None and claims is not None:
        found = kept.found(engine, queries, claims)
    else:
        texts = (batch.column("text") for batch in store.posts.select(["text"]).batches())
        kernel = finding(queries, len(store.posts), texts, None if claims is None else frozenset(claims))
        found = engine.map(kernel, store.posts.select(LOOKED_AT), FOUND)
    if callable(given):
        matched = engine.sql(_matched(options), found=found).to_arrow()
        given = given(matched.column("post_id").to_pylist())
    listed = engine.table(_listed_posts(given))
    progress("matching", 1, 1)
    return _tables(engine, store, found, listed, options)


def _tables(engine: Engine, store: Store, found: Table, given: Table, options: Retrieval) -> Retrieved:
    named = {"store": store.posts, "older": store.older, "found": found, "given": given}
    gone = engine.sql(_GONE, store=store.posts)
    chosen = engine.sql(_CHOSEN, gone=gone, **named)
    judged = engine.sql(_judged(options), found=found, given=given, chosen=chosen)
    hits = engine.sql(_HITS, judged=judged)
    texts = engine.sql(_TEXTS, chosen=chosen, **named)
    reposts = engine.sql(_REPOSTS, store=store.posts, hits=hits)
    posts = engine.sql(_POSTS, hits=hits, chosen=chosen, texts=texts, reposts=reposts)
    dropped = engine.sql(_DROPPED, judged=judged, hits=hits, gone=gone, store=store.posts)
    provenance = engine.sql(_PROVENANCE, store=store.posts, hits=hits)
    return Retrieved(
        posts,
        hits,
        under_names_of(engine, provenance, tables.SCHEMAS["provenance"]),
        under_names_of(engine, dropped, tables.SCHEMAS["dropped"]),
    )


_GIVEN = pa.schema(
    [("claim_id", pa.string()), ("post_id", pa.string()), ("kind", pa.string()), ("matched", tables.STRINGS)]
)


def _table(schema: pa.Schema, rows: Sequence[Sequence[object]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )


def _listed_posts(given: pd.DataFrame | None) -> pa.Table:
    """Return the posts of a claim list; bare numbers are posts on X."""
    if given is None or not len(given):
        return _GIVEN.empty_table()
    ids = [id_ if ":" in (id_ := str(raw).strip()) else f"x:{id_}" for raw in given["post_id"]]
    kinds = given["kind"] if "kind" in given.columns else ["title"] * len(ids)
    named = sorted(set(zip(map(str, given["claim_id"]), ids, map(str, kinds), strict=True)))
    return _table(_GIVEN, [(*row, []) for row in named])


_GONE = """
SELECT post_id, retrieved_at, CASE WHEN availability = 'available' THEN 'no text' ELSE availability END AS fate
FROM store WHERE NOT has_content AND repost_of = ''
"""
"""Posts of which only the id is known, with the reason; a reposted post's own row has the text."""

_CHOSEN = f"""
SELECT c.*, g.fate FROM ({POSTS}
    AND s.post_id IN (SELECT post_id FROM found UNION ALL SELECT post_id FROM given)
) AS c
LEFT JOIN (
  SELECT post_id, retrieved_at AS gone_at, fate,
    row_number() OVER (PARTITION BY post_id ORDER BY retrieved_at DESC, fate) AS nth
  FROM gone WHERE fate <> 'id only'
) AS g ON c.post_id = g.post_id AND g.nth = 1 AND (g.gone_at = '' OR g.gone_at >= c.retrieved_at)
"""
"""For each post of a query, search or list, the copy that counts, with its current availability."""


_KIND = " ".join(["CASE h.kind", *(f"WHEN '{kind}' THEN {place}" for place, kind in enumerate(KINDS)), "END"])
"""For a post that a list has twice for a claim, the first kind counts."""


def _judged(options: Retrieval) -> str:
    """Return every claimed or matched (claim, post, query) with the reason for dropping it; empty if kept."""
    (since, until), required = options.span, _required(options)
    dates = (
        " OR ".join(
            [f"c.created_at < '{since}'"] * bool(since)
            + [f"c.created_at >= '{until}'", "c.created_at = ''"] * bool(until)
            + ["c.created_at = ''"] * bool(since)
        )
        or "1 = 0"
    )
    reposts = "c.repost_of <> ''" if options.reposts == "drop" else "1 = 0"
    return f"""
SELECT claim_id, post_id, query_id, kind, verified, matched, reason, repost_of FROM (
  SELECT h.claim_id, h.post_id, h.query_id, h.kind, h.verified, h.matched, c.repost_of,
    CASE WHEN c.post_id IS NULL THEN 'unavailable'
         WHEN h.verified = 'yes' AND NOT h.counts THEN 'only an older copy matches'
         WHEN {reposts} THEN 'repost'
         WHEN {dates} THEN 'outside since and until'
         WHEN h.verified = 'no' AND h.kind IN ({required}) THEN 'does not match locally'
         ELSE '' END AS reason,
    row_number() OVER (
      PARTITION BY h.claim_id, h.post_id, h.query_id
      ORDER BY CASE WHEN h.verified = 'yes' AND h.counts THEN 0 WHEN h.verified = 'yes' THEN 2 ELSE 1 END,
        h.verified, {_KIND}, h.kind
    ) AS nth
  FROM (
    SELECT f.claim_id, f.post_id, f.query_id, f.kind, f.verified, f.matched, k.row IS NOT NULL AS counts
    FROM found AS f LEFT JOIN chosen AS k ON f.part = k.part AND f.row = k.row
    UNION ALL
    SELECT claim_id, post_id, '' AS query_id, kind, 'not_applicable' AS verified, matched, true AS counts FROM given
  ) AS h LEFT JOIN chosen AS c ON h.post_id = c.post_id
) AS every WHERE nth = 1
"""


def _matched(options: Retrieval) -> str:
    """Return the posts of which some copy matches a query."""
    unverified = f"verified = 'no' AND kind IN ({_required(options)})"
    return f"SELECT DISTINCT post_id FROM found WHERE NOT ({unverified}) ORDER BY post_id"


def _required(options: Retrieval) -> str:
    return ", ".join(f"'{kind}'" for kind in options.require_match) or "''"


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


_TEXTS = f"""
SELECT post_id, text FROM ({POSTS}
  AND s.post_id IN (SELECT reply_to FROM chosen WHERE reply_to <> '' UNION ALL SELECT quote_of FROM chosen WHERE quote_of <> '')
) AS answered_or_quoted
"""
"""The texts that chosen posts answer and quote, if in the archive."""

_REPOSTS = """
SELECT repost_of AS post_id, COUNT(DISTINCT post_id) AS reposts FROM store
WHERE repost_of <> '' AND repost_of IN (SELECT post_id FROM hits) GROUP BY repost_of
"""

_POSTS = f"""
SELECT {", ".join(f"{_FILLED.get(name, 'c.' + name)} AS {name}" for name in tables.SCHEMAS["posts"].names)}
FROM (SELECT DISTINCT post_id FROM hits) AS h
JOIN chosen AS c ON h.post_id = c.post_id
LEFT JOIN texts AS parent ON c.reply_to = parent.post_id
LEFT JOIN texts AS quoted ON c.quote_of = quoted.post_id
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
  LEFT JOIN (SELECT post_id, MIN(fate) AS fate FROM gone GROUP BY post_id) AS g ON j.post_id = g.post_id
  UNION ALL
  SELECT 'post' AS unit, '' AS claim_id, post_id, MIN(fate) AS reason, '' AS kept_instead FROM gone
  WHERE fate <> 'id only' AND post_id NOT IN (
    SELECT post_id FROM store WHERE has_content AND post_id IN (SELECT post_id FROM gone)
  ) GROUP BY post_id
) AS every ORDER BY unit, claim_id, post_id
"""

_PROVENANCE = """
SELECT post_id, file, place, form AS format, retrieved_at, query FROM (
  SELECT post_id, file, place, form, retrieved_at, query,
    row_number() OVER (PARTITION BY post_id, file ORDER BY place, form, retrieved_at, query) AS nth
  FROM (
    SELECT s.* FROM store AS s WHERE s.has_content AND s.post_id IN (SELECT post_id FROM hits)
  ) AS copies
) AS every WHERE nth = 1 ORDER BY post_id, file
"""
