"""What the passes over an archive find, as rows by name: posts that matter, what is gone, where the others stand."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from covmis_build import tables
from covmis_build.archive.formats.post import fingerprint, iso
from covmis_build.archive.reader import Part
from covmis_build.archive.streams import Block

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from covmis_build.archive.formats.post import Post

_S, _N = tables.STRING, tables.COUNT
_PLACES, _IDS = pa.list_(_N), tables.STRINGS
JOBS = pa.schema(
    [
        ("number", _N),
        ("path", _S),
        ("name", _S),
        ("member", _S),
        ("start", _N),
        ("finish", _N),
        ("content", _S),
    ]
)
PARTS = pa.schema(
    [*JOBS, ("file", _S), ("offset", _N), ("data", pa.binary()), ("problem", _S), ("single", tables.FLAG),
     ("known_file", _S), ("known_form", _S)]
)  # fmt: skip
"""Blocks of a job that somebody else has unpacked, and the file and form that the first of them goes on with."""

LINES = pa.schema([*JOBS, ("files", _IDS), ("places", _PLACES), ("ids", _IDS)])
"""Jobs, and the posts in them that are read again: each one's file, place and id."""

COPIES = pa.schema(
    [*((column.name, column.type) for column in tables.SCHEMAS["posts"]), ("copy", _S), ("length", _N), ("file", _S),
     ("place", _N), ("form", _S), ("query", _S)]
)  # fmt: skip
"""Whole posts, a row for each copy of one."""

OTHERS = pa.schema([("job", _N), ("file", _S), ("place", _N), ("post_id", _S), ("reposter", _S)])
"""Posts that are no hits, and where they stand; or posts that are reposted, and by which."""

FOUND = pa.schema(
    [("what", _S), *COPIES, ("claim_id", _S), ("query_id", _S), ("kind", _S), ("verified", _S),
     ("matched", tables.STRINGS), ("detail", _S), ("outcome", _S), ("example", _S), ("amount", _N), ("job", _N),
     ("places", _PLACES), ("ids", _IDS), ("reposters", _IDS), ("reposted", _IDS)]
)  # fmt: skip
"""Rows of the first pass. `what` is post (a copy that is a hit), hit (of a copy, or of a post that is gone), gone (no
longer available), unreadable, intake (what was seen in a file) or elsewhere; a row has the columns of its kind."""


class Hit(NamedTuple):
    """A query that a post satisfies, or that says so."""

    claim_id: str
    query_id: str
    kind: str
    verified: str
    matched: Sequence[str] = ()


class Copy(NamedTuple):
    """A post, where it stands, and what it is a hit of."""

    post: Post
    file: str
    place: int
    form: str
    hits: Sequence[Hit] = ()


def table(
    schema: pa.Schema, count: int, columns: Mapping[str, Sequence[Any] | pa.Array | pa.ChunkedArray]
) -> pa.Table:
    """Rows with these columns; in the others there is nothing."""

    def array(name: str, kind: pa.DataType) -> pa.Array:
        values = columns.get(name)
        if values is None:
            return pa.nulls(count, kind)
        return values if isinstance(values, pa.Array | pa.ChunkedArray) else tables.column(values, kind)

    return pa.Table.from_arrays([array(column.name, column.type) for column in schema], schema=schema)


def part(job: Mapping[str, Any], part: Part) -> pa.Table:
    """A part of a job as rows, one a block."""
    count = len(part.blocks)
    blocks = {name: [getattr(block, name) for block in part.blocks] for name in Block._fields}
    named = {**job, "known_file": part.file, "known_form": part.form}
    return pa.table({**blocks, **{name: [value] * count for name, value in named.items()}}, schema=PARTS)


def part_of(block: pa.Table) -> Part:
    """And such rows as a part of a job."""
    fields = (block.column(name).to_pylist() for name in Block._fields)
    (first,) = block.select(["known_file", "known_form"]).slice(0, 1).to_pylist()
    return Part(list(map(Block, *fields)), first["known_file"], first["known_form"])


def records(schema: pa.Schema, what: str, rows: Sequence[Any], names: Sequence[str]) -> pa.Table:
    """Named tuples as rows of one kind."""
    columns = {name: [getattr(row, name) for row in rows] for name in names}
    return table(schema, len(rows), {"what": [what] * len(rows), **columns})


_SAME = [
    column
    for column in tables.SCHEMAS["posts"].names
    if column not in {"created_at", "repost_count", "metrics"}
]
_UNKNOWN = (None, None, None, None)


def copies(schema: pa.Schema, kept: Sequence[Copy]) -> pa.Table:
    """Posts as rows, in either schema that has them."""
    posts = [copy.post for copy in kept]
    columns: dict[str, Sequence[Any]] = {name: list(map(attrgetter(name), posts)) for name in _SAME}
    columns |= {name: list(map(attrgetter(name), kept)) for name in ("file", "place", "form")}
    return table(schema, len(kept), columns | {
        "what": ["post"] * len(kept),
        "created_at": [iso(post.created_at) for post in posts],
        "repost_count": [0] * len(kept),
        "metrics": [post.metrics or _UNKNOWN for post in posts],
        "copy": list(map(fingerprint, posts)),
        "length": [len(post.text) for post in posts],
        "query": [post.claimed[0].query_id if post.claimed else "" for post in posts],
    })  # fmt: skip


def hits(posts: pa.Table, of_each: Sequence[Sequence[Hit]]) -> pa.Table:
    """The hits of posts as rows of the first pass; of those that are gone there is no copy."""
    whose = pa.array(np.repeat(np.arange(len(of_each)), list(map(len, of_each))))
    together = [hit for hits_of_post in of_each for hit in hits_of_post]
    columns: dict[str, Any] = {name: list(map(attrgetter(name), together)) for name in Hit._fields}
    columns["what"] = ["hit"] * len(together)
    columns |= {name: posts[name].combine_chunks().take(whose).fill_null("") for name in ("post_id", "copy")}
    return table(FOUND, len(together), columns)
