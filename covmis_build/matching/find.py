"""The kernel of the stage `retrieve`: match a block of posts with the queries, in any process or on any machine."""

from __future__ import annotations

import gc
import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from covmis_build import tables
from covmis_build.archive.counted import rows_of
from covmis_build.archive.post import Post
from covmis_build.archive.store import STORE
from covmis_build.matching.matcher import Matcher, Row, read_queries
from covmis_build.text.tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.archive.counted import CountedPosts, Rows
    from covmis_build.matching.matcher import Match
    from covmis_build.text.scan import Cut, Sought

LOOKED_AT = (
    "post_id", "text", "urls", "cards", "quote_of", "repost_of", "has_content", "claimed", "part", "row",
)  # fmt: skip
"""Columns of the store needed for matching."""

FOUND = pa.schema(
    [("part", tables.STRING), ("row", tables.COUNT), ("post_id", tables.STRING), ("claim_id", tables.STRING),
     ("query_id", tables.STRING), ("kind", tables.STRING), ("verified", tables.STRING), ("matched", tables.STRINGS)]
)  # fmt: skip
"""A row of the store with a query that it matches (verified: yes), or to which a search or a list assigned it (no,
not_applicable).
"""

MATCHES = pa.schema(
    [("part", tables.STRING), ("row", tables.COUNT), ("post_id", tables.STRING), ("key", tables.STRING),
     ("matched", tables.STRINGS), ("claim_id", tables.STRING), ("query_id", tables.STRING), ("kind", tables.STRING),
     ("expression", tables.STRING)]
)  # fmt: skip
"""The same by queries' keys, whatever claim they are of; or, without a key, an assignment as its file has it."""

WORTH = 8_000
"""Minimum number of posts to load compiled code, which takes as long as matching this many without it."""
LEARNED = 2_000
"""Posts in which words are counted, so that queries are registered under rare words."""
FEWER_COLLECTIONS = (100_000, 50, 100)
"""Garbage collection thresholds: results are many long-lived objects, and frequent collections take time."""


class Asked(NamedTuple):
    """The queries prepared for a process; `sought` is their compiled form for many posts."""

    matcher: Matcher
    sought: Sought | None
    expressions: dict[str, str]


def asked_table(rows: Iterable[Row | tuple[str, ...]]) -> pa.Table:
    """Return these queries as a table, without loading pandas."""
    columns = list(zip(*rows, strict=True)) or [()] * len(Row._fields)
    arrays = [tables.column(column, tables.STRING) for column in columns]
    return pa.Table.from_arrays(arrays, names=list(Row._fields))


def finding(
    queries: pd.DataFrame | pa.Table,
    posts: int,
    texts: Iterator[pa.Array],
    claims: frozenset[str] | None = None,
) -> partial[pa.Table]:
    """Return the kernel for this number of posts; the first texts show which words are rare.

    Assignments of posts to other `claims` are ignored (None: all count).

    Loads compiled code first, so that forked processes have it, too.
    """
    table = tables.fit(queries, tables.SCHEMAS["queries"], "queries")
    return partial(find, **_prepared(table, posts, texts)._asdict(), claims=claims)


def matching(
    rows: Sequence[Row], posts: int, texts: Iterator[pa.Array], *, assigned: bool
) -> tuple[partial[pa.Table], list[str]]:
    """Return a kernel for `MATCHES`, for queries with their keys as ids, and the columns that it looks at.

    `assigned`: also return assignments by searches and lists.
    """
    how = _prepared(asked_table(rows), posts, texts)
    matcher = asked_for(*how).matcher
    unneeded = set[str]()
    if not matcher.asked:
        unneeded |= {"urls", "quote_of"} | (set() if assigned else {"repost_of"})
        unneeded |= set() if matcher.by_title else {"cards"}
    unneeded |= set() if assigned else {"claimed"}
    columns = [name for name in LOOKED_AT if name not in unneeded]
    return partial(match, **how._asdict(), assigned=assigned), columns


class Prepared(NamedTuple):
    """What a process needs to prepare the queries."""

    queries: bytes
    counts: tuple[tuple[str, int], ...]
    compiled: bool


def _prepared(queries: pa.Table, posts: int, texts: Iterator[pa.Array]) -> Prepared:
    """Load what these queries need for so many posts."""
    sink, table = pa.BufferOutputStream(), queries.sort_by("query_id")
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    stream, compiled = bytes(sink.getvalue()), bool(len(queries)) and posts > WORTH
    first = next(texts, None) if compiled else None
    learned = [] if first is None else first.slice(0, LEARNED).to_pylist()
    how = Prepared(stream, _common_words(learned, table["expression"].to_pylist()), compiled)
    asked_for(*how)
    return how


def numbers_found(posts: CountedPosts, queries: pd.DataFrame | pa.Table) -> list[Rows]:
    """Return the numbers of the posts that each query matches in `retrieve`, ascending."""
    texts = (rows_of(group, ["text"])["text"].chunk(0) for group in posts.groups)
    kernel = finding(queries, len(posts.counts), texts)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        blocks = threads.map(lambda group: kernel(posts.rows(group, LOOKED_AT)), posts.groups)
        matches = pa.concat_tables([tables.without_rows(FOUND), *blocks])
    matches = matches.filter(pc.equal(matches["verified"], tables.text("yes")))
    number, ids = posts.at(matches), tables.column(list(map(str, queries["query_id"])), tables.STRING)
    query = tables.numbers(pc.index_in(matches["query_id"], value_set=ids))
    number, query = number[posts.counts[number]], query[posts.counts[number]]
    order = np.lexsort((number, query))
    return np.split(number[order], np.searchsorted(query[order], np.arange(len(queries) + 1)))[1:-1]


def _common_words(texts: Iterable[str], expressions: Iterable[str]) -> tuple[tuple[str, int], ...]:
    """Count the texts that contain each word of the queries."""
    words = {word for text in expressions for word in tokens(text)}
    counts = Counter(word for text in texts for word in words.intersection(tokens(text)))
    return tuple(sorted(counts.items()))


@lru_cache(maxsize=2)
def asked_for(queries: bytes, counts: tuple[tuple[str, int], ...], compiled: bool) -> Asked:
    """Return an Arrow stream's queries, prepared once per process."""
    with pa.ipc.open_stream(queries) as source:
        table = source.read_all()
    columns = {name: table.column(name).to_pylist() for name in Row._fields}
    matcher = Matcher(read_queries(zip(*columns.values(), strict=True)), dict(counts))
    sought = matcher.sought() if compiled else None
    if sought is not None:
        sought.load()
    return Asked(matcher, sought, dict(zip(columns["query_id"], columns["expression"], strict=True)))


def find(
    block: pa.Table,
    *,
    queries: bytes,
    counts: tuple[tuple[str, int], ...],
    compiled: bool,
    claims: frozenset[str] | None = None,
) -> pa.Table:
    """Return the matches in a block of the store, with the columns LOOKED_AT."""
    gc.set_threshold(*FEWER_COLLECTIONS)
    block = block.combine_chunks()
    asked = asked_for(queries, counts, compiled)
    hits = [
        (at, query.claim_id, query.query_id, query.kind, "yes", parts)
        for at, matches in matches_of(block, asked)
        for query, parts in matches
    ]
    hits += [hit for hit in _claimed(block, asked.expressions) if claims is None or hit[1] in claims]
    at, *columns = list(zip(*hits, strict=True)) or [()] * 6
    own = block.select(["part", "row", "post_id"]).take(tables.column(at, tables.COUNT))
    kinds = FOUND.types[3:]
    arrays = [tables.column(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.Table.from_arrays([*own.columns, *arrays], schema=FOUND)


def match(
    block: pa.Table, *, queries: bytes, counts: tuple[tuple[str, int], ...], compiled: bool, assigned: bool
) -> pa.Table:
    """Return the matches in a block of the store, of which columns that no query looks at may be absent."""
    gc.set_threshold(*FEWER_COLLECTIONS)
    block = block.combine_chunks()
    asked = asked_for(queries, counts, compiled)
    assignments = list(_assigned(block)) if assigned else []
    for name in set(LOOKED_AT) - set(block.column_names):
        block = block.append_column(name, tables.blank(len(block), STORE.field(name).type))
    hits: list[tuple[object, ...]] = [
        (at, query.query_id, parts, "", "", "", "")
        for at, matches in matches_of(block, asked)
        for query, parts in matches
    ]
    hits += [(at, "", [], *assignment) for at, *assignment in assignments]
    at, *columns = list(zip(*hits, strict=True)) or [()] * 7
    own = block.select(["part", "row", "post_id"]).take(tables.column(at, tables.COUNT))
    arrays = [tables.column(column, kind) for column, kind in zip(columns, MATCHES.types[3:], strict=True)]
    return pa.Table.from_arrays([*own.columns, *arrays], schema=MATCHES)


def matches_of(block: pa.Table, asked: Asked) -> Iterator[tuple[int, list[Match]]]:
    """Return the block's posts that match a query, by number."""
    if not asked.matcher.queries:
        return
    for at, post, linked, cut in _candidates(block, asked):
        matches = asked.matcher.match(post, linked=linked, cut=cut)
        if matches:
            yield at, matches


def _candidates(block: pa.Table, asked: Asked) -> Iterator[tuple[int, Post, bool, Cut | None]]:
    """Return candidate posts, whether a URL may match, and the text's tokens if certain."""
    if asked.sought is None:
        for at, post in _posts(block, np.arange(len(block))):
            yield at, post, True, None
        return
    from covmis_build.text.scan import ASLEEP, LINK, UNSURE_CUT

    flags, cuts = _look(block, asked.sought, asked.matcher)
    for at, post in _posts(block, flags.nonzero()[0]):
        yield at, post, bool(flags[at] & LINK), None if flags[at] & UNSURE_CUT else cuts.get(at, ASLEEP)


def _look(block: pa.Table, sought: Sought, matcher: Matcher) -> tuple[NDArray[np.uint8], dict[int, Cut]]:
    """Run one compiled pass over the texts, titles and URLs of a block."""
    from covmis_build.text.scan import LINK, Owned

    texts, urls, cards = (block[name].combine_chunks() for name in ("text", "urls", "cards"))
    of_cards = pc.list_flatten(cards)
    owner_of_card = tables.numbers(pc.list_parent_indices(cards)).astype(np.int64)
    links = [
        Owned(pc.list_flatten(urls), tables.numbers(pc.list_parent_indices(urls)).astype(np.int64)),
        Owned(pc.struct_field(of_cards, "url"), owner_of_card),
    ]
    flags, cuts = sought.look(texts, Owned(pc.struct_field(of_cards, "title"), owner_of_card), links)
    if matcher.posts:
        posts = tables.column(list(matcher.posts), tables.STRING)
        for name in ("post_id", "quote_of", "repost_of"):
            flags[tables.numbers(pc.is_in(block[name].combine_chunks(), posts))] |= LINK
    return flags, cuts


def _posts(block: pa.Table, numbers: NDArray[np.int64]) -> Iterator[tuple[int, Post]]:
    """Return posts of a block with all data for matching; those without content match nothing."""
    names = ["post_id", "text", "urls", "cards", "quote_of", "repost_of", "has_content"]
    rows = block.select(names).take(tables.column(numbers, tables.COUNT)).to_pydict()
    for at, post_id, text, urls, cards, quote_of, repost_of, has_content in zip(
        numbers.tolist(), *(rows[name] for name in names), strict=True
    ):
        if has_content:
            tuples = [(card["url"], card["title"], card["description"]) for card in cards]
            yield (
                at,
                Post(post_id, "", "", text, urls=urls, cards=tuples, quote_of=quote_of, repost_of=repost_of),
            )


def _claimed(
    block: pa.Table, expressions: dict[str, str]
) -> Iterator[tuple[int, str, str, str, str, list[str]]]:
    """Return unmatched assignments by searches and lists; none if the query changed since."""
    for at, claim, query, kind, expression in _assigned(block):
        if not query:
            yield at, claim, "", kind, "not_applicable", []
        elif expressions.get(query) == expression:
            yield at, claim, query, kind, "no", []


def _assigned(block: pa.Table) -> Iterator[tuple[int, str, str, str, str]]:
    """Return each assignment by a search or a list: number, claim, query if any, its type and its expression then.

    A repost without its own content is ignored: the reposted post has a row.
    """
    counts = pc.list_value_length(block["claimed"])
    (numbers,) = np.nonzero(tables.numbers(counts) > 0)
    names = ["claimed", "has_content", "repost_of"]
    rows = block.select(names).take(tables.column(numbers, tables.COUNT)).to_pylist()
    for at, row in zip(numbers.tolist(), rows, strict=True):
        if not row["has_content"] and row["repost_of"]:
            continue
        for claim in row["claimed"]:
            yield at, claim["claim_id"], claim["query_id"], claim["kind"], claim["expression"]
