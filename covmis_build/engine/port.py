"""The interface of engines for large tables.

DuckDB and Spark implement two operations with equal results, `map` and `sql`, and one on a whole column, near-duplicates.
All text semantics (lower case, words, patterns, hashes, random numbers) are in kernels, never in SQL. SQL is plain
relational and ends in ORDER BY; otherwise its rows have no particular order.
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

    from covmis_build.options import WordRule

Kernel = Callable[["pa.Table"], "pa.Table | Iterator[pa.Table]"]
"""A pure function from a block of rows to rows, possibly in parts; picklable, to run in another process."""


def each_block(rows: pa.Table | Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Return a kernel's rows as an iterator of blocks."""
    import pyarrow as pa

    return iter([rows]) if isinstance(rows, pa.Table) else rows


Progress = Callable[[str, int, int], None]
"""Called with a step's name, the amount done and the total (0: unknown)."""


def silent(step: str, done: int, total: int) -> None:
    """Report no progress."""


def quiet(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Disable the connection's own progress bar. In Jupyter without ipywidgets DuckDB refuses the setting."""
    if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() == [(True,)]:
        connection.execute("SET enable_progress_bar = false")
    return connection


Notice = Callable[[str], None]
"""Called with a sentence on what a long operation has just done."""


def unheard(sentence: str) -> None:
    """Ignore the sentence."""


class Table(Protocol):
    """A lazy handle: rows stay on disk (or on the cluster) until requested."""

    @property
    def schema(self) -> pa.Schema:
        """The columns."""

    def select(self, columns: Sequence[str]) -> Table:
        """Return these columns only."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return all rows in blocks."""

    def to_arrow(self) -> pa.Table:
        """Return all rows in memory."""

    def to_pandas(self) -> pd.DataFrame:
        """Return all rows as a DataFrame: strings as objects, lists as Python lists."""

    def write(self, path: Path) -> None:
        """Write all rows to one Parquet file."""

    def __len__(self) -> int:
        """Count the rows."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Near-duplicate clusters and their report.

    `members` has one row per source row: its keys (`post_id`, and the scope's column), `group_id` (the cluster's
    smallest post id), `kept` (the post that represents it) and `similarity` to that post. `chains` is the table of that name:
    the largest clusters and each cluster's two least similar texts.
    """

    members: Table
    chains: Table


class Engine(Protocol):
    """The operations available to large stages."""

    name: str

    @property
    def sees_this_disk(self) -> bool:
        """True if all its processes can write to this machine's disk."""

    def reach(self, files: Sequence[Path]) -> None:
        """Refuse files that some machine of the engine cannot read, before the work begins."""

    def table(
        self, source: Path | Sequence[Path] | pa.Table | pd.DataFrame, *, columns: Sequence[str] = ()
    ) -> Table:
        """Return a handle on Parquet files, an Arrow table or a DataFrame; `columns` are the needed ones of files."""

    def map(self, kernel: Kernel, source: Table, schema: pa.Schema, *, rows: int = 0) -> Table:
        """Apply the kernel to every block of the source; a block has at most `rows` rows (0: the engine's choice).

        If each row is much work (such as a file to read), use blocks of one row.
        """

    def sql(self, query: str, **tables: Table) -> Table:
        """Return the rows of a query on the named tables, in SQL that both DuckDB and Spark accept."""

    def near_duplicates(
        self,
        source: Table,
        *,
        threshold: float,
        grouping: Literal["components", "greedy"],
        scope: str = "",
        words: WordRule = "unicode",
    ) -> Groups:
        """Cluster texts with a similarity above the threshold, as defined in `text.near_duplicates`.

        The source has `post_id`, `text`, `priority` (the lowest of a cluster represents it; ties go to the smaller post id),
        and the column named by `scope` if only rows with the same value are compared. idf is always fitted on all distinct
        posts.
        """

    def fresh(self) -> Engine:
        """Return the same engine with separate temporary tables, for a stage; slow parts are started once."""

    def __enter__(self) -> Self:
        """Create the temporary folder."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete the temporary tables."""


def under_names_of(engine: Engine, rows: Table, schema: pa.Schema) -> Table:
    """Rename columns to the schema's names, some of which are SQL keywords."""
    import pyarrow as pa

    loose = pa.schema([field.with_nullable(True) for field in schema])
    return engine.map(partial(_renamed, names=schema.names), rows, loose)


def _renamed(block: pa.Table, *, names: list[str]) -> pa.Table:
    return block.rename_columns(names)
