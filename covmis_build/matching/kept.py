"""Matches of an archive that are kept between runs, by query and part of the store: only what is new is looked for.

Which posts a query matches depends on its type, expression, text and language, and on the part of the store; not on claims,
other queries or settings. So a changed claim list matches the new queries only, and a new file all queries; what went is
dropped. The file depends only on the present queries and parts, not on the runs before. It may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pyarrow as pa

from covmis_build import checked_parquet, storage, tables
from covmis_build.archive.counted import groups_of, rows_of
from covmis_build.engine.duck import write_blocks
from covmis_build.matching.find import MATCHES, matching
from covmis_build.matching.matcher import Row

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.archive.counted import Group
    from covmis_build.engine import Engine, Table

FILE = "matches/matches.parquet"
"""In the folder of the store, with which a purge deletes it."""
NOTES = b"covmis.matches"
FEW = 32
"""So few queries are looked for in threads: they match little, and starting processes would take longer."""


class Part(NamedTuple):
    """A part of the store: its file here, and the SHA-256 of its content."""

    file: Path
    sha256: str


class Covered(msgspec.Struct, frozen=True):
    """What a file of matches covers; with another version of the rules it covers nothing."""

    version: str
    queries: list[str] = []
    parts: dict[str, str] = {}
    """Name → SHA-256."""


@dataclass(frozen=True)
class Kept:
    """The kept matches of an archive's parts; `version` is raised when queries match differently."""

    path: Path
    parts: Sequence[Part]
    version: int
    hashes: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        hashes = {part.file.stem: part.sha256 for part in sorted(self.parts)}
        object.__setattr__(self, "hashes", hashes)

    def found(self, engine: Engine, queries: pd.DataFrame, claims: Collection[str]) -> Table:
        """Return what `find` returns for these queries, and for assignments to these claims."""
        rows = [Row(*map(str, row)) for row in queries[list(Row._fields)].itertuples(index=False, name=None)]
        matches = self._brought_up_to_date(engine, {key_of(row): row for row in rows})
        asked = [(key_of(row), row.claim_id, row.query_id, row.kind, row.expression) for row in rows]
        return engine.sql(
            _FOUND,
            matches=matches,
            asked=engine.table(_texts(("key", "claim_id", "query_id", "kind", "expression"), asked)),
            claims=engine.table(_texts(("claim_id",), [(claim,) for claim in sorted(claims)])),
        )

    def _brought_up_to_date(self, engine: Engine, queries: Mapping[str, Row]) -> Table:
        """Look for what is new, drop what went, and return the matches."""
        wanted = Covered(self._rules, sorted(queries), self.hashes)
        known = self._known()
        if known == wanted:
            return engine.table(self.path)
        same = [part for part in self.parts if known.parts.get(part.file.stem) == part.sha256]
        other_parts = [part for part in self.parts if part not in same]
        fresh = {key: row for key, row in queries.items() if key not in set(known.queries)}
        pieces = {
            "of_new_queries": _look_for(engine, fresh, same if fresh else [], assigned=False),
            "of_new_parts": _look_for(engine, queries, other_parts, assigned=True),
        }
        if same:
            pieces |= {"older": engine.table(self.path)}
        kept = (
            "SELECT * FROM older WHERE part IN (SELECT name FROM parts)"
            " AND (key = '' OR key IN (SELECT key FROM queries))"
        )
        union = [kept if name == "older" else f"SELECT * FROM {name}" for name in pieces]
        made = engine.sql(
            f"SELECT * FROM ({' UNION ALL '.join(union)}) AS u ORDER BY {', '.join(IN_ORDER)}",
            parts=engine.table(_texts(("name",), [(part.file.stem,) for part in same])),
            queries=engine.table(_texts(("key",), [(key,) for key in wanted.queries])),
            **pieces,
        )
        schema = MATCHES.with_metadata({NOTES: msgspec.json.encode(wanted)})
        with storage.replacing(self.path) as beside:
            write_blocks((pa.Table.from_batches([batch]) for batch in made.batches()), schema, beside)
        return engine.table(self.path)

    @property
    def _rules(self) -> str:
        """Whatever else decides what a text matches."""
        return f"{self.version} {unicodedata.unidata_version}"

    def _known(self) -> Covered:
        nothing = Covered(self._rules)
        if not self.path.exists():
            return nothing
        with checked_parquet.reading(self.path) as file:
            notes = (file.schema_arrow.metadata or {}).get(NOTES, b"")
        try:
            known = msgspec.json.decode(notes, type=Covered)
        except msgspec.MsgspecError:
            return nothing
        return known if known.version == self._rules else nothing


def key_of(row: Row) -> str:
    """Return the name of a query by all that decides which posts it matches."""
    text = json.dumps([row.kind, row.expression, row.text, row.language])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _look_for(engine: Engine, queries: Mapping[str, Row], parts: Sequence[Part], *, assigned: bool) -> Table:
    """Return the matches of these queries in these parts, under the queries' keys."""
    if not parts:
        return engine.table(tables.without_rows(MATCHES))
    files = [part.file for part in sorted(parts)]
    store = engine.table(files)
    rows = [row._replace(query_id=key, claim_id="") for key, row in sorted(queries.items())]
    texts = (batch.column("text") for batch in store.select(["text"]).batches())
    kernel, columns = matching(rows, len(store), texts, assigned=assigned)
    if len(rows) > FEW or assigned:
        return engine.map(kernel, store.select(columns), MATCHES)
    with ThreadPoolExecutor(getattr(engine, "workers", 0) or os.cpu_count()) as threads:
        blocks = threads.map(partial(_of_group, kernel=kernel, columns=columns), groups_of(files))
        return engine.table(pa.concat_tables([tables.without_rows(MATCHES), *blocks]))


def _of_group(group: Group, kernel: Callable[[pa.Table], pa.Table], columns: Sequence[str]) -> pa.Table:
    return kernel(rows_of(group, columns))


def _texts(names: Sequence[str], rows: Sequence[tuple[str, ...]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    arrays = [tables.column(column, tables.STRING) for column in columns]
    return pa.Table.from_arrays(arrays, names=list(names))


IN_ORDER = ("part", "row", "key", "claim_id", "query_id", "kind", "expression")
"""One row each, but for assignments that a file repeats."""

_FOUND = """
SELECT m.part, m.row, m.post_id, q.claim_id, q.query_id, q.kind, 'yes' AS verified, m.matched
FROM matches AS m JOIN asked AS q ON m.key = q.key WHERE m.key <> ''
UNION ALL
SELECT m.part, m.row, m.post_id, m.claim_id, m.query_id, m.kind, 'not_applicable' AS verified, m.matched
FROM matches AS m WHERE m.key = '' AND m.query_id = '' AND m.claim_id IN (SELECT claim_id FROM claims)
UNION ALL
SELECT m.part, m.row, m.post_id, m.claim_id, m.query_id, m.kind, 'no' AS verified, m.matched
FROM matches AS m JOIN asked AS q ON m.query_id = q.query_id AND m.expression = q.expression
WHERE m.key = '' AND m.query_id <> '' AND m.claim_id IN (SELECT claim_id FROM claims)
"""
"""As `find`: matches of the present queries, and assignments by searches and lists unless the query changed since."""
