"""The store: every post of the archive as a row of Parquet, whatever anybody asks of it later.

A part of the store is a file of the archive, a range of a large one, or a file inside a packed one. This file says
which columns a row has, how posts become rows, and which copy of a post counts.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from covmis_build import tables
from covmis_build.archive.formats.post import Post, iso

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


ROWS = 20_000
"""Posts of a row group: what one process matches at a time."""
TOGETHER = 2_000
"""Posts that become columns together; as objects many more would crowd the processor's memory."""

CLAIMED = pa.list_(
    pa.struct([(name, tables.STRING) for name in ("claim_id", "query_id", "kind", "expression")])
)
OF_POSTS = [field for field in tables.SCHEMAS["posts"] if field.name != "repost_count"]
STORE = pa.schema(
    [*(pa.field(field.name, field.type) for field in OF_POSTS), ("has_content", tables.FLAG), ("claimed", CLAIMED),
     ("file", tables.STRING), ("place", tables.COUNT), ("form", tables.STRING), ("part", tables.STRING),
     ("row", tables.COUNT)]
)  # fmt: skip
"""A row of the store. `part` and `row` name it; `place` is where the post stands in its file (`offset` in other tables);
`has_content` is false where there is neither text nor link; `claimed` is which claims a list or a search put it to."""

FEW_VALUES = [
    "platform", "language", "availability", "file", "form", "part", "retrieved_at", "created_at", "repost_of",
]  # fmt: skip
LIKE_IDS = dict.fromkeys(("post_id", "native_id", "conversation"), "DELTA_BYTE_ARRAY")
NOTES = b"covmis"
_UNKNOWN = (None, None, None, None)


class ReadUnder(NamedTuple):
    """What a part depends on besides its file: the list of what is to be forgotten, and the ids of claims."""

    purge_list: str = ""
    """Hash of the list under which the file was read."""
    forgot: bool = False
    """Whether something of the file was left out because of the list."""
    claims: str = ""
    """Hash of the claims' ids, if a column of the file may name claims."""


class PartWriter:
    """Writes posts as rows of a part as they come."""

    def __init__(self, path: Path, part: str) -> None:
        self.part, self.count = part, 0
        self._posts, self._places, self._about = list[Post](), list[int](), list[tuple[str, str]]()
        self._waiting, self._rows = list[pa.Table](), 0
        self._to = pq.ParquetWriter(
            path, STORE, compression="zstd", use_dictionary=FEW_VALUES, column_encoding=LIKE_IDS
        )

    def add(self, posts: Sequence[Post], place: int, about: tuple[str, str]) -> None:
        """Posts of one line; `about` is the file that it stands in, and its form."""
        for post in posts:
            self._posts.append(post)
            self._places.append(place)
            self._about.append(about)
        if len(self._posts) >= TOGETHER:
            self._settle(ROWS)

    def close(self, under: ReadUnder) -> None:
        """Write the rest, with a note under which list and claims the file was read."""
        self._settle(1)
        self._to.add_key_value_metadata({NOTES.decode(): json.dumps(under._asdict())})
        self._to.close()

    def _settle(self, enough: int) -> None:
        if self._posts:
            self._waiting.append(rows(self._posts, self._places, self._about, self.part, self.count))
            self.count += len(self._posts)
            self._rows += len(self._posts)
            self._posts, self._places, self._about = [], [], []
        if self._rows >= enough:
            self._to.write_table(pa.concat_tables(self._waiting), row_group_size=self._rows)
            self._waiting, self._rows = [], 0


def rows(
    posts: Sequence[Post], places: Sequence[int], about: Sequence[tuple[str, str]], part: str = "", first: int = 0
) -> pa.Table:
    """Posts as rows of the store."""
    values: dict[str, Any] = dict(
        zip(Post.__struct_fields__, zip(*map(msgspec.structs.astuple, posts), strict=True), strict=True)
    )
    values["created_at"] = list(map(iso, values["created_at"]))
    values["metrics"] = [known or _UNKNOWN for known in values["metrics"]]
    values["claimed"] = [
        [msgspec.structs.astuple(claim) for claim in claims] if claims else () for claims in values["claimed"]
    ]
    values["file"], values["form"] = zip(*about, strict=True)
    texts, urls, cards = values["text"], values["urls"], values["cards"]
    made = {
        "has_content": pa.array([bool(text or url or card) for text, url, card in zip(texts, urls, cards, strict=True)]),
        "place": pa.array(np.array(places, np.int64)),
        "part": pa.array([part] * len(posts), tables.STRING),
        "row": pa.array(np.arange(first, first + len(posts), dtype=np.int64)),
    }  # fmt: skip
    columns = [made[field.name] if field.name in made else _column(values[field.name], field.type) for field in STORE]
    return pa.Table.from_arrays(columns, schema=STORE)


def _column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """A column; most forms leave most columns empty, which takes no time here."""
    if pa.types.is_struct(kind):
        parts = zip(*values, strict=True)
        arrays = [
            pa.array(part, kind.field(at).type) for at, part in enumerate(parts)
        ]
        return pa.StructArray.from_arrays(arrays, fields=[kind.field(at) for at in range(kind.num_fields)])
    if not any(values):
        offsets = pa.py_buffer(np.zeros(len(values) + 1, np.int32))
        if pa.types.is_list(kind):
            return pa.ListArray.from_buffers(kind, len(values), [None, offsets], children=[pa.array([], kind.value_type)])
        return pa.StringArray.from_buffers(len(values), offsets, pa.py_buffer(b""))
    if kind == tables.STRING or kind == tables.STRINGS:
        with suppress(UnicodeEncodeError):  # half a character: `tables.column` mends it
            return pa.array(values, kind)
    return tables.column(values, kind)


def read_under(path: Path) -> ReadUnder:
    """What a part depends on besides its file."""
    return ReadUnder(**json.loads(pq.read_schema(path).metadata[NOTES]))


IN_ORDER = """retrieved_at DESC, length(text) DESC, text, created_at, language, urls, cards, media, reply_to, parent_text,
  quote_of, quoted_text, repost_of, conversation, COALESCE(metrics.replies, -1), COALESCE(metrics.reposts, -1),
  COALESCE(metrics.likes, -1), COALESCE(metrics.quotes, -1), availability, file, place, part, row"""
"""Of several copies of a post the one that was retrieved last counts, then the one with the longest text; that it is the
same one on every machine, the other columns decide."""

OLDER_COPIES = f"""
SELECT part, row FROM (
  SELECT part, row, row_number() OVER (PARTITION BY post_id ORDER BY {IN_ORDER}) AS rank_of_copy
  FROM store WHERE has_content AND post_id IN (
    SELECT post_id FROM store WHERE has_content GROUP BY post_id HAVING COUNT(*) > 1
  )
) AS copies WHERE rank_of_copy > 1 ORDER BY part, row
"""
"""The rows of the store that do not count, because another copy of the same post does."""

