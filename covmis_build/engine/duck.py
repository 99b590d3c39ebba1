"""The engine for one machine: DuckDB for SQL (with disk spilling), processes for kernels, Parquet files as tables."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
import threading
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, cast

import pyarrow as pa

from covmis_build import checked_parquet, tables
from covmis_build.children import follow_parent
from covmis_build.engine.port import each_block, quiet
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import TracebackType

    import duckdb
    import pandas as pd

    from covmis_build.engine.port import Groups, Kernel, Table
    from covmis_build.options import WordRule

BLOCK = 50_000
"""Rows per call of a kernel: enough for a process, and small enough for a laptop's memory."""

ROW_GROUP = 50_000
"""Rows per row group of a Parquet file; fixed so that equal rows give equal bytes."""


@dataclass(frozen=True)
class ParquetTable:
    """A table of one or more consecutive Parquet files, or some of its columns."""

    files: tuple[Path, ...]
    columns: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        schema = checked_parquet.schema_of(self.files[0])
        return pa.schema([schema.field(name) for name in self.columns]) if self.columns else schema

    def select(self, columns: Sequence[str]) -> ParquetTable:
        """Return these columns only."""
        return ParquetTable(self.files, tuple(columns))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return all rows in blocks."""
        for path in self.files:
            with checked_parquet.reading(path) as file:
                yield from file.iter_batches(batch_size=BLOCK, columns=list(self.columns) or None)

    def to_arrow(self) -> pa.Table:
        """Return all rows in memory."""
        batches = list(self.batches())
        return pa.Table.from_batches(batches) if batches else self.schema.empty_table()

    def to_pandas(self) -> pd.DataFrame:
        """Return all rows as a DataFrame."""
        return tables.frame(self.to_arrow())

    def write(self, path: Path) -> None:
        """Write all rows to one file."""
        write_blocks((pa.Table.from_batches([batch]) for batch in self.batches()), self.schema, path)

    def __len__(self) -> int:
        """Count the rows from the files' footers."""
        return sum(map(checked_parquet.rows_in, self.files))


def write_blocks(
    blocks: Iterator[pa.Table], schema: pa.Schema, path: Path, *, compression: str = "zstd"
) -> None:
    """Write blocks of rows as one Parquet file, which depends only on the rows, not on the blocks."""
    temporary = compression == SCRATCH
    with checked_parquet.writing(path, schema, temporary=temporary, compression=compression) as writer:
        waiting: list[pa.Table] = []
        rows = 0
        for block in blocks:
            if not block.num_rows:
                continue
            waiting.append(block.cast(schema))
            rows += block.num_rows
            while rows >= ROW_GROUP:
                joined = pa.concat_tables(waiting)
                writer.write_table(joined.slice(0, ROW_GROUP).combine_chunks())
                waiting, rows = [joined.slice(ROW_GROUP)], rows - ROW_GROUP
        if rows:
            writer.write_table(pa.concat_tables(waiting).combine_chunks())


def _stop(pool: ProcessPoolExecutor) -> None:
    """End the processes at once; their work is no longer needed.

    A process killed while it sends a result leaves a partial one in the pipe. The pool would wait forever for the rest as long as
    this process holds the pipe's writing end.
    """
    for process in list((pool._processes or {}).values()):  # noqa: SLF001 - the pool has no public way
        process.terminate()
    pool._result_queue._writer.close()  # type: ignore[attr-defined]  # noqa: SLF001


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay interruptions: Python would lose one during a fork, DuckDB one while loading and connecting."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[bool] = []
    signal.signal(signal.SIGINT, lambda *_: came.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        before(signal.SIGINT, None)


SCRATCH = "lz4"
"""Compression of temporary tables: faster than that of stored ones, with half the ratio."""

SENT = 1 << 20
"""Maximum bytes of rows that a process sends; more are written to a file."""


class Task(NamedTuple):
    """A kernel, its rows (a range of a file in these columns), and the file for a large result."""

    kernel: Kernel
    source: Path
    columns: tuple[str, ...]
    start: int
    length: int
    schema: pa.Schema
    path: Path


def _rows(task: Task) -> pa.Table:
    with checked_parquet.reading(task.source, whole=False) as file:  # `map` has checked it
        group, skipped = 0, 0
        while skipped + file.metadata.row_group(group).num_rows <= task.start:
            skipped += file.metadata.row_group(group).num_rows
            group += 1
        columns = list(task.columns) or None
        return file.read_row_group(group, columns=columns).slice(task.start - skipped, task.length)


def _apply(task: Task) -> pa.Table | Path:
    """Return the kernel's rows if few, or the file with them."""
    blocks = each_block(task.kernel(_rows(task)))
    few, size = list[pa.Table](), 0
    for block in blocks:
        few.append(block.cast(task.schema))
        size += block.nbytes
        if size > SENT:
            write_blocks(itertools.chain(few, blocks), task.schema, task.path, compression=SCRATCH)
            return task.path
    return pa.concat_tables(few) if few else task.schema.empty_table()


def _in_order(pool: ProcessPoolExecutor, tasks: Iterable[Task], ahead: int) -> Iterator[pa.Table | Path]:
    """Yield results in the order of the tasks, with a limited number waiting, because they may be large."""
    waiting: deque[Future[pa.Table | Path]] = deque()
    for task in tasks:
        with _uninterrupted():
            waiting.append(pool.submit(_apply, task))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


@dataclass
class DuckEngine:
    """The default engine; `workers` is the number of processes for kernels (0: one per processor)."""

    scratch: Path | None = None
    workers: int = 0
    memory: str = ""
    name: str = "duckdb"
    _numbers: Iterator[int] = field(default_factory=itertools.count, repr=False)
    _folder: Path | None = field(default=None, repr=False)
    _database: duckdb.DuckDBPyConnection | None = field(default=None, repr=False)

    def fresh(self) -> DuckEngine:
        """Return an engine with another folder."""
        return DuckEngine(self.scratch, self.workers, self.memory)

    def __enter__(self) -> Self:
        """Create a folder for temporary tables."""
        if self.scratch:
            self.scratch.mkdir(parents=True, exist_ok=True)
        self._folder = Path(tempfile.mkdtemp(prefix="engine-", dir=self.scratch))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Delete the temporary tables."""
        self._close()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _new(self) -> Path:
        if self._folder is None:
            raise RuntimeError("use the engine in a with statement: its tables live as long as it does")
        return self._folder / f"{next(self._numbers):05d}.parquet"

    def _connection(self) -> duckdb.DuckDBPyConnection:
        """Return a new connection to the single database, which spills into the temporary folder.

        Opening and closing a database would take longer than most queries of a small study.
        """
        with _uninterrupted():
            import duckdb

            if self._database is None:
                spill = str(self._new().parent / "spill")
                settings = {"temp_directory": spill, "preserve_insertion_order": "true"}
                if self.memory:
                    settings["memory_limit"] = self.memory
                self._database = duckdb.connect(config=settings)
            connection = self._database.cursor()
        return quiet(connection)

    def _close(self) -> None:
        """Close the database: its threads must not run while processes are forked."""
        if self._database is not None:
            with _uninterrupted():
                self._database.close()
                self._database = None

    @property
    def sees_this_disk(self) -> bool:
        """Always true on one machine."""
        return True

    def reach(self, files: Sequence[Path]) -> None:
        """Always succeeds on one machine."""

    def table(
        self, source: Path | Sequence[Path] | pa.Table | pd.DataFrame, *, columns: Sequence[str] = ()
    ) -> Table:
        """Return a handle on Parquet files, an Arrow table or a DataFrame; for files, with these columns."""
        if isinstance(source, Path):
            return ParquetTable((source,), tuple(columns))
        if isinstance(source, list | tuple):
            return ParquetTable(tuple(source), tuple(columns))
        rows = source if isinstance(source, pa.Table) else tables.arrow(cast("pd.DataFrame", source))
        return self._keep(iter([rows]), rows.schema)

    def map(self, kernel: Kernel, source: Table, schema: pa.Schema, *, rows: int = 0) -> Table:
        """Send blocks to processes and return results in order. Few rows are processed here."""
        tasks, handle = list[Task](), self._on_disk(source)
        for path in handle.files:
            start = 0
            with checked_parquet.reading(path) as file:
                for group in range(file.num_row_groups):
                    size, step = file.metadata.row_group(group).num_rows, rows or BLOCK
                    tasks += [
                        Task(
                            kernel,
                            path,
                            handle.columns,
                            start + at,
                            min(step, size - at),
                            schema,
                            self._new(),
                        )
                        for at in range(0, size, step)
                    ]
                    start += size
        workers = self.workers or os.cpu_count() or 1
        if workers > 1 and len(tasks) > 1:
            self._close()
            with ProcessPoolExecutor(workers, initializer=follow_parent) as pool:
                try:
                    return self._joined(_in_order(pool, tasks, 4 * workers), schema)
                except BrokenProcessPool:
                    raise InputError(
                        "a process was ended from outside, most likely because there was no memory left",
                        remedy=f"Close other programs, or use fewer processes (`--workers {workers // 2 or 1}`), then run again",
                    ) from None
                except BaseException:
                    _stop(pool)
                    raise
        return self._joined(map(_apply, tasks), schema)

    def _joined(self, results: Iterator[pa.Table | Path], schema: pa.Schema) -> ParquetTable:
        """Combine sent rows and files of rows, in order, to one table."""
        files = list[Path]()
        for are_files, group in itertools.groupby(results, lambda result: isinstance(result, Path)):
            if are_files:
                files += group
            else:
                files += self._keep(group, schema).files
        return ParquetTable(tuple(files)) if files else self._keep(iter([]), schema)

    def _keep(self, blocks: Iterator[pa.Table], schema: pa.Schema) -> ParquetTable:
        """Write rows to a file of the temporary folder."""
        path = self._new()
        write_blocks(blocks, schema, path, compression=SCRATCH)
        return ParquetTable((path,))

    def sql(self, query: str, **tables: Table) -> Table:
        """Run the query in a separate connection, so that its views are private."""
        with self._connection() as connection:
            import duckdb

            for name, handle in tables.items():
                files = checked_parquet.listed(self._on_disk(handle).files)
                chosen = (
                    ", ".join(handle.columns) if isinstance(handle, ParquetTable) and handle.columns else "*"
                )
                connection.execute(f"CREATE TEMP VIEW {name} AS SELECT {chosen} FROM read_parquet({files})")
            try:
                reader = connection.sql(query).to_arrow_reader(BLOCK)
                return self._keep((pa.Table.from_batches([batch]) for batch in reader), reader.schema)
            except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
                raise InputError(
                    f"not enough memory or disk space: {str(error).splitlines()[0]}",
                    remedy="Free disk space or memory, then run again",
                ) from error

    def near_duplicates(
        self,
        source: Table,
        *,
        threshold: float,
        grouping: Literal["components", "greedy"],
        scope: str = "",
        words: WordRule = "unicode",
    ) -> Groups:
        """Run the kernel of `text.near_duplicates` on the whole column."""
        from covmis_build.engine.port import Groups
        from covmis_build.text.near_duplicates import group_table

        members, chains = group_table(
            source.to_arrow(), threshold=threshold, grouping=grouping, scope=scope, words=words
        )
        return Groups(self.table(members), self.table(chains))

    def _on_disk(self, table: Table) -> ParquetTable:
        if isinstance(table, ParquetTable):
            return table
        path = self._new()
        table.write(path)
        return ParquetTable((path,))
