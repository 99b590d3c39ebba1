"""The handle on big tables: what a stage may ask of an engine, whichever engine it is.

Two verbs that DuckDB and Spark serve with equal results, `map` and `sql`; and one operation on a whole column,
near-duplicates. All text semantics (lower case, words, patterns, hashes, chance) live in kernels,
never in SQL; SQL is plain relational work and ends in ORDER BY, or its rows come in no particular order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    import duckdb
    import pandas as pd
    import pyarrow as pa

Kernel = Callable[["pa.Table"], "pa.Table | Iterator[pa.Table]"]
"""A pure function from a block of rows to rows, which may come a few at a time; picklable, so it can run in another process."""


def each_block(rows: pa.Table | Iterator[pa.Table]) -> Iterator[pa.Table]:
    """A kernel's rows as they come."""
    import pyarrow as pa

    return iter([rows]) if isinstance(rows, pa.Table) else rows


Progress = Callable[[str, int, int], None]
"""Called with a step's name, how much is done and how much there is (0: unknown)."""


def silent(step: str, done: int, total: int) -> None:
    """Report no progress."""


def quiet(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """The connection without progress of its own. In Jupyter without ipywidgets it has none, and refuses the setting."""
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(True,)]:
        connection.execute("SET enable_progress_bar = false")
    return connection


Notice = Callable[[str], None]
"""Called with a sentence on what long work has just done."""


def unheard(sentence: str) -> None:
    """Tell nobody."""


class Table(Protocol):
    """A lazy handle: rows stay on disk (or on the cluster) until they are requested."""

    @property
    def schema(self) -> pa.Schema:
        """The columns."""

    def select(self, columns: Sequence[str]) -> Table:
        """These columns alone."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, a block at a time."""

    def to_arrow(self) -> pa.Table:
        """All rows, in memory."""

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a DataFrame: strings as objects, lists as Python lists."""

    def write(self, path: Path) -> None:
        """All rows as one Parquet file."""

    def __len__(self) -> int:
        """Count the rows."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Texts in groups of near-duplicate ones, and what their chains look like.

    `members` has one row for each of the source's: its keys (`post_id`, and the scope's column), `group_id` (the
    smallest post id of the group), `kept` (the post that represents it) and `similarity` to that post.
    `chains` is the table of that name: the largest groups and the two least similar texts of each.
    """

    members: Table
    chains: Table


class Engine(Protocol):
    """What a bulk stage may ask for."""

    name: str

    @property
    def sees_this_disk(self) -> bool:
        """Whether every process of it can write to this machine's disk."""

    def reach(self, files: Sequence[Path]) -> None:
        """Refuse files that not every machine of the engine sees, before work begins that reads them."""

    def table(
        self, source: Path | Sequence[Path] | pa.Table | pd.DataFrame, *, columns: Sequence[str] = ()
    ) -> Table:
        """A handle on a Parquet file or several, an Arrow table or a DataFrame; `columns` are those of files that are needed."""

    def map(self, kernel: Kernel, source: Table, schema: pa.Schema, *, rows: int = 0) -> Table:
        """The kernel's rows for every block of the source; a block has at most `rows` rows (0: the engine's choice).

        A source whose rows are themselves much work (files to read) asks for blocks of one row.
        """

    def sql(self, query: str, **tables: Table) -> Table:
        """The rows of a query over the named tables, in SQL that DuckDB and Spark both speak."""

    def near_duplicates(
        self, source: Table, *, threshold: float, grouping: Literal["components", "greedy"], scope: str = ""
    ) -> Groups:
        """Groups of texts with a similarity above the threshold, as `text.near_duplicates` defines it.

        The source has `post_id`, `text`, `priority` (the lowest of a group represents it; ties go to the smaller
        post id), and the column named by `scope` if only rows that share its value are compared; idf is fitted on
        distinct posts in any case.
        """

    def fresh(self) -> Engine:
        """The same engine with room of its own, for a stage: what is slow to start is started once."""

    def __enter__(self) -> Self:
        """Make room for scratch tables."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the scratch tables."""


def under_names_of(engine: Engine, rows: Table, schema: pa.Schema) -> Table:
    """The same columns under the schema's names, some of which are words of SQL."""
    import pyarrow as pa

    loose = pa.schema([field.with_nullable(True) for field in schema])
    return engine.map(partial(_renamed, names=schema.names), rows, loose)


def _renamed(block: pa.Table, *, names: list[str]) -> pa.Table:
    return block.rename_columns(names)
