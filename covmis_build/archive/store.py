"""The store: every post of the archive as a Parquet row, independent of any query.

A part of the store is a file of the archive, a range of a large one, or a member of a compressed one. This module
defines the columns, the conversion of posts to rows, and which copy of a post counts.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa

from covmis_build import checked_parquet, records, tables
from covmis_build.archive.dates import iso
from covmis_build.archive.post import Post

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from covmis_build.archive.reader import Read
    from covmis_build.engine import Table


ROWS = 20_000
"""Posts per row group, which one process matches at a time."""
TOGETHER = 2_000
"""Posts converted to columns at a time; more objects would exceed the processor's cache."""

CLAIMED = pa.list_(
    pa.struct([(name, tables.STRING) for name in ("claim_id", "query_id", "kind", "expression")])
)
OF_POSTS = [field for field in tables.SCHEMAS["posts"] if field.name != "repost_count"]
STORE = pa.schema(
    [
        *(pa.field(field.name, field.type) for field in OF_POSTS),
        ("has_content", tables.FLAG),
        ("claimed", CLAIMED),
        ("query", tables.STRING),
        ("file", tables.STRING),
        ("place", tables.COUNT),
        ("form", tables.STRING),
        ("part", tables.STRING),
        ("row", tables.COUNT),
    ]
)
"""A row of the store. `part` and `row` identify it; `place` is the post's place in its file (`offset` in other tables);
`has_content` is false without text and link; `claimed` are the claims that a list or a search assigned to it; `query` is
the search that returned it.
"""

FEW_VALUES = [
    "platform", "language", "availability", "file", "form", "part", "retrieved_at", "created_at", "repost_of",
]  # fmt: skip
LIKE_IDS = dict.fromkeys(("post_id", "native_id", "conversation"), "DELTA_BYTE_ARRAY")
_UNKNOWN = (None, None, None, None)


class Store(NamedTuple):
    """Every post of an archive, and the rows that do not count because another copy does."""

    posts: Table
    older: Table


class PartWriter:
    """Writes posts as rows of a part."""

    def __init__(self, path: Path, part: str) -> None:
        self.part, self.count = part, 0
        self._lines: list[Read] = []
        self._posts = 0
        self._waiting, self._rows = list[pa.Table](), 0
        self._file = ExitStack()
        writing = checked_parquet.writing(path, STORE, use_dictionary=FEW_VALUES, column_encoding=LIKE_IDS)
        self._to = self._file.enter_context(writing)

    def add(self, line: Read) -> None:
        """Add the posts of one line."""
        self._lines.append(line)
        self._posts += len(line.posts)
        if self._posts >= TOGETHER:
            self._settle(ROWS)

    def close(self) -> None:
        """Write the remaining posts."""
        self._settle(1)
        self._file.close()

    def _settle(self, enough: int) -> None:
        if self._posts:
            posts = [post for line in self._lines for post in line.posts]
            places = [line.place for line in self._lines for _ in line.posts]
            about = [(line.file, line.form) for line in self._lines for _ in line.posts]
            self._waiting.append(rows(posts, places, about, self.part, self.count))
            self.count += self._posts
            self._rows += self._posts
            self._lines, self._posts = [], 0
        if self._rows >= enough:
            self._to.write_table(pa.concat_tables(self._waiting), row_group_size=self._rows)
            self._waiting, self._rows = [], 0


def rows(
    posts: Sequence[Post],
    places: Sequence[int],
    about: Sequence[tuple[str, str]],
    part: str = "",
    first: int = 0,
) -> pa.Table:
    """Convert posts to rows of the store."""
    values: dict[str, Any] = dict(
        zip(Post.__struct_fields__, zip(*map(msgspec.structs.astuple, posts), strict=True), strict=True)
    )
    values["created_at"] = list(map(iso, values["created_at"]))
    values["metrics"] = [known or _UNKNOWN for known in values["metrics"]]
    values["claimed"] = [
        [msgspec.structs.astuple(claim) for claim in claims] if claims else () for claims in values["claimed"]
    ]
    values["query"] = [claims[0][1] if claims else "" for claims in values["claimed"]]
    values["file"], values["form"] = zip(*about, strict=True)
    texts, urls, cards = values["text"], values["urls"], values["cards"]
    made = {
        "has_content": pa.array(
            [bool(text or url or card) for text, url, card in zip(texts, urls, cards, strict=True)]
        ),
        "place": pa.array(np.array(places, np.int64)),
        "part": pa.array([part] * len(posts), tables.STRING),
        "row": pa.array(np.arange(first, first + len(posts), dtype=np.int64)),
    }
    columns = [
        made[field.name] if field.name in made else _column(values[field.name], field.type) for field in STORE
    ]
    return pa.Table.from_arrays(columns, schema=STORE)


def _column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return a column. Most formats leave most columns empty, which is fast here."""
    if pa.types.is_struct(kind):
        parts = zip(*values, strict=True)
        arrays = [pa.array(part, kind.field(at).type) for at, part in enumerate(parts)]
        return pa.StructArray.from_arrays(arrays, fields=[kind.field(at) for at in range(kind.num_fields)])
    if not any(values):
        return tables.blank(len(values), kind)
    if kind in (tables.STRING, tables.STRINGS):
        with suppress(UnicodeEncodeError):  # an unpaired surrogate: `tables.column` repairs it
            return pa.array(values, kind)
    return tables.column(values, kind)


FULLER = [
    "text",
    "created_at",
    "language",
    "urls",
    "cards",
    "media",
    "reply_to",
    "parent_text",
    "quote_of",
    "quoted_text",
    "repost_of",
    "conversation",
    *(f"COALESCE(metrics.{name}, -1)" for name in records.METRICS.names),
    "availability",
]
IN_ORDER = f"""retrieved_at DESC, length(text) DESC, {", ".join(f"{column} DESC" for column in FULLER)}, file, place, part, row"""
"""Of several copies of a post the last retrieved counts, then the one with the longest text. If both are equal, the
other columns decide, so that the choice is the same on every machine: existing before missing values, then larger
before smaller counts.
"""

OLDER_COPIES = f"""
SELECT part, row FROM (
  SELECT part, row, row_number() OVER (PARTITION BY post_id ORDER BY {IN_ORDER}) AS rank_of_copy
  FROM store WHERE has_content AND post_id IN (
    SELECT post_id FROM store WHERE has_content GROUP BY post_id HAVING COUNT(*) > 1
  )
) AS copies WHERE rank_of_copy > 1 ORDER BY part, row
"""
"""The rows that do not count."""

POSTS = """
SELECT s.* FROM store AS s LEFT JOIN older AS o ON s.part = o.part AND s.row = o.row
WHERE s.has_content AND o.row IS NULL"""
"""Each post of the archive once: the copy that counts."""
