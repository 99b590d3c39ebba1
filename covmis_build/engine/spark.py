"""The engine for many machines: the same operations on Apache Spark, which must be installed (extra `spark`, and Java).

Kernels receive Arrow batches (`mapInArrow`, `applyInArrow`) and return the same rows as everywhere. Spark stores results on
its disks until the engine is closed, and recomputes those of a lost worker. Workers cannot read this machine's disk: tables
are sent to them. Only requested results return, one partition at a time.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile
import uuid
import warnings
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self, cast

import pyarrow as pa
import pyarrow.parquet as pq

from covmis_build import checked_parquet, tables
from covmis_build.addresses import Address
from covmis_build.engine import spark_workers
from covmis_build.engine.duck import BLOCK, write_blocks
from covmis_build.engine.pieces import (
    PIECES,
    WHOLE,
    Source,
    answering,
    as_pieces,
    by_columns,
    by_pieces,
    counted,
    packed,
    plain_schema,
    schema_of,
    unpacked,
)
from covmis_build.engine.spark_frames import KEPT, ddl, is_here, settled
from covmis_build.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    from covmis_build.engine.port import Groups, Kernel, Table
    from covmis_build.options import WordRule


COMPARED_HERE, FEW_TEXTS = "spark.covmis.comparedHere", 1_000_000
"""Setting: maximum number of texts whose near-duplicates this machine computes alone; a million need some 2 GB."""


JOINED_BY_ONE, FEW_ROWS = "spark.covmis.joinedByOne", 10_000_000
"""Setting: maximum number of rows of tables that one worker joins alone."""


def open_spark(*, scratch: Path | None = None, settings: Mapping[str, str] | None = None) -> SparkEngine:
    """Return the engine on Spark: the active session, or a new one with these settings.

    `spark.master` names the cluster (default: from spark-submit or the configuration, otherwise this machine, `local[*]`).
    All other settings, such as `spark.executor.memory`, are passed to Spark unchanged.
    """
    try:
        import pyspark  # noqa: F401 - Java is started when something is first asked
    except ImportError as error:
        raise MissingExtra.of("spark", "the engine 'spark'") from error
    return SparkEngine(scratch, settings or {})


def _started(scratch: Path | None, settings: Mapping[str, str]) -> SparkSession:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    # no pandas functions of Spark are used
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    wanted = dict(settings)
    # the workers' Python, which Spark reads only from the environment
    named = wanted.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable
    os.environ["PYSPARK_PYTHON"] = named
    master = wanted.pop("spark.master", "") or SparkConf().get("spark.master", "local[*]") or "local[*]"
    defaults = {
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "FATAL",  # errors that matter are raised, in one line
        # use as many partitions as stored rows need, instead of 200 with a task each in every later step
        "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
        # stored rows are read only a few times: detecting repetition per column takes longer than it saves
        "spark.sql.inMemoryColumnarStorage.compressed": "false",
    }
    if is_here(master):  # one machine: no web page, and not 200 partitions per shuffle
        defaults |= {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        }
        defaults |= {"spark.local.dir": str(scratch)} if scratch else {}
    else:  # a driver only plans, which does not justify optimised compilation
        defaults["spark.driver.defaultJavaOptions"] = "-XX:TieredStopAtLevel=1"
    builder = SparkSession.builder.appName("covmis").master(master)
    for name, value in (defaults | wanted).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@dataclass(frozen=True)
class SparkTable:
    """A table in Spark: stored pieces, pieces that are files, or results of Spark SQL."""

    schema: pa.Schema
    pieces: DataFrame
    files: tuple[str, ...] = ()
    columns: DataFrame | None = None

    def select(self, columns: Sequence[str]) -> SparkTable:
        """Return these columns only."""
        rows = self.columns.select(*columns) if self.columns else None
        schema = pa.schema([self.schema.field(name) for name in columns])
        return SparkTable(schema, _as_pieces_of(rows, schema) if rows else self.pieces, self.files, rows)

    @cached_property
    def counts(self) -> list[int]:
        """Return the number of rows of each piece."""
        if self.files:
            told = self.pieces.mapInArrow(counted(self.schema.names), "rows long")
        else:
            told = self.pieces.select("rows")
        return [row["rows"] for row in told.collect()]

    @cached_property
    def frame(self) -> DataFrame:
        """Return the table for Spark SQL."""
        if self.columns:
            return self.columns
        return settled(self.pieces.mapInArrow(by_columns(self.schema.names), ddl(self.schema)))

    def spread(self, at_once: int) -> DataFrame:
        """Group the pieces into tasks; a query answer comes from one worker in one piece."""
        if (
            self.files
            or self.columns
            or self.pieces.rdd.getNumPartitions() > 1
            or len(self.counts) <= at_once
        ):
            return self.pieces
        from pyspark.sql.functions import expr

        tasks = -(-len(self.counts) // at_once)
        return self.pieces.repartitionById(tasks, expr(f"int(number div {at_once})"))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Return all rows in order, a few pieces at a time."""
        names = self.schema.names
        if self.files:
            rows = self.pieces.mapInArrow(by_pieces(same, names, self.schema), ddl(PIECES))
        else:
            rows = self.spread(AT_ONCE)
        for row in rows.select("content").toLocalIterator():
            yield from unpacked(row["content"]).select(names).to_batches()

    def to_arrow(self) -> pa.Table:
        """Return all rows in memory."""
        batches = list(self.batches())
        return pa.Table.from_batches(batches) if batches else self.schema.empty_table()

    def to_pandas(self) -> pd.DataFrame:
        """Return all rows as a DataFrame."""
        return tables.frame(self.to_arrow())

    def write(self, path: Path) -> None:
        """Write all rows to one Parquet file on this machine."""
        write_blocks((pa.Table.from_batches([batch]) for batch in self.batches()), self.schema, path)

    def __len__(self) -> int:
        """Count the rows."""
        return int(self.columns.count()) if self.columns else sum(self.counts)


AT_ONCE = 4
"""Number of pieces that are transferred together."""


def same(block: pa.Table) -> pa.Table:
    """Return the same rows."""
    return block


def _as_pieces_of(rows: DataFrame, schema: pa.Schema) -> DataFrame:
    """Convert results of Spark SQL to pieces."""
    return rows.mapInArrow(as_pieces(schema), ddl(PIECES))


@dataclass
class SparkEngine:
    """Spark with the engine's interface; an existing session is left unchanged."""

    scratch: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    name: str = "spark"
    of: SparkEngine | None = None
    """The engine whose session this one shares, if any."""
    _stack: ExitStack = field(default_factory=ExitStack, repr=False)
    _kept_before: int = field(default_factory=lambda: len(KEPT), repr=False)

    @cached_property
    def session(self) -> SparkSession:
        """Spark, started on first use, with workers that have the same covmis."""
        if self.of:
            return self.of.session
        session = self.started()
        if not is_here(session.sparkContext.master):
            spark_workers.check(session)
        return session

    def started(self) -> SparkSession:
        """Spark, without checking its workers."""
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        session = active if active and not self.settings else _started(self.scratch, self.settings)
        if active is None:
            self._stack.callback(session.stop)
        return session

    @cached_property
    def _folder(self) -> Path:
        """Folder of files for workers; kept as long as Spark runs, because new workers request all of them."""
        if self.of:
            return self.of._folder  # noqa: SLF001 - of this class
        if self.scratch:
            self.scratch.mkdir(parents=True, exist_ok=True)
        return Path(self._stack.enter_context(tempfile.TemporaryDirectory(dir=self.scratch)))

    def fresh(self) -> SparkEngine:
        """Return an engine with the same session. Its stored results are freed when it is closed."""
        return SparkEngine(self.scratch, self.settings, of=self)

    def __enter__(self) -> Self:
        """Nothing to prepare."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop Spark if it was started here, otherwise free the stored results; report failures in one line."""
        kept, KEPT[self._kept_before :] = KEPT[self._kept_before :], []
        if error is None:
            for data in kept:
                data.unpersist()
        self._stack.close()
        if error is not None and (reported := spark_workers.error_from_worker(error)):
            raise reported from error

    @property
    def sees_this_disk(self) -> bool:
        """True if Spark runs only on this machine."""
        return is_here(self.session.sparkContext.master)

    def reach(self, files: Sequence[Path]) -> None:
        """Check that the cluster's workers can read these files."""
        if not is_here(self.session.sparkContext.master):
            spark_workers.check(self.session, files)

    def table(
        self, source: Path | Sequence[Path] | pa.Table | pd.DataFrame, *, columns: Sequence[str] = ()
    ) -> Table:
        """Return a handle on Parquet files of this machine or at URLs, an Arrow table or a DataFrame."""
        if isinstance(source, Path):
            source = [source]
        if isinstance(source, list | tuple):
            return self._of_files(source, columns)
        rows = source if isinstance(source, pa.Table) else tables.arrow(cast("pd.DataFrame", source))
        return self._sent(rows, rows.schema)

    def _of_files(self, sources: Sequence[Path], columns: Sequence[str]) -> SparkTable:
        """Return files that workers read in place or download once; a task reads a piece of one."""
        names, groups, counts = list[str](), list[int](), list[int]()
        for source in sources:
            if isinstance(source, Address):  # this machine would take too long to read each file's row groups
                names, groups, counts = [*names, str(source)], [*groups, WHOLE], [*counts, -1]
                continue
            name = self._name_for_workers(source)
            with checked_parquet.reading(source) as file:
                own = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
            names += [name] * len(own)
            groups += range(len(own))
            counts += own
        with sources[0].open("rb") as first:
            every = pq.read_schema(first)
        schema = pa.schema([every.field(name) for name in columns or every.names])
        listed = pa.table(
            [range(len(names)), counts, names, groups, pa.nulls(len(names), pa.binary())], schema=PIECES
        )
        # tables without rows still have columns
        return SparkTable(plain_schema(schema), self._dealt(listed), tuple(dict.fromkeys(names)) or ("",))

    def _name_for_workers(self, source: Path) -> str:
        """Return the name with which workers find a file of this machine."""
        if is_here(self.session.sparkContext.master):
            return str(source.resolve())
        name = f"{uuid.uuid4().hex}.parquet"
        try:
            os.link(source, self._folder / name)  # the current content, even if the file is replaced later
        except OSError:
            shutil.copyfile(source, self._folder / name)
        self.session.sparkContext.addFile(str(self._folder / name))
        return name

    def _sent(self, rows: pa.Table, schema: pa.Schema, most: int = 0) -> SparkTable:
        """Return rows of this machine as pieces with a maximum number of rows."""
        blocks = (rows.slice(at, most or BLOCK) for at in range(0, len(rows), most or BLOCK))
        pieces = [
            batch for number, block in enumerate(blocks) for batch in packed(iter([block]), schema, number)
        ]
        return SparkTable(plain_schema(schema), self._dealt(pa.Table.from_batches(pieces, PIECES)))

    def _dealt(self, pieces: pa.Table) -> DataFrame:
        """Distribute pieces, one per task."""
        from pyspark.sql.functions import expr

        # Spark cannot infer the types of an empty table
        data = self.session.createDataFrame(pieces.combine_chunks() if len(pieces) else [], ddl(PIECES))
        return data.repartitionById(len(pieces), expr("int(number)")) if len(pieces) > 1 else data.coalesce(1)

    def _send_words(self, words: pa.Table) -> str:
        """Send a table that each worker downloads once and maps into memory."""
        path = self._folder / f"{uuid.uuid4().hex}.arrow"
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, words.schema) as writer:
            writer.write_table(words)
        self.session.sparkContext.addFile(str(path))
        return path.name

    def map(self, kernel: Kernel, source: Table, schema: pa.Schema, *, rows: int = 0) -> Table:
        """Apply the kernel to each piece. Few rows with much work become separate tasks."""
        its = self._own(source)
        if rows:
            its = self._sent(its.to_arrow(), its.schema, rows)
        rows_of_tasks = its.spread(1).mapInArrow(
            by_pieces(kernel, its.schema.names, schema, rows), ddl(PIECES)
        )
        return SparkTable(plain_schema(schema), settled(rows_of_tasks))

    def sql(self, query: str, **tables: Table) -> Table:
        """Let one worker answer, which takes less time than planning for all; for many rows, use Spark SQL."""
        its = {name: self._own(table) for name, table in tables.items()}
        if sum(map(len, its.values())) > int(self.session.conf.get(JOINED_BY_ONE, str(FEW_ROWS))):
            return self._by_all(query, its)
        sources = {name: Source(table.schema, table.files) for name, table in its.items()}
        schema = schema_of(query, sources)
        pieces = [
            table.pieces.selectExpr(f"'{name}' AS name", "number", "content")
            for name, table in its.items()
            if not table.files
        ]
        if pieces:
            asked = functools.reduce(lambda some, more: some.union(more), pieces).coalesce(1)
        else:
            asked = self.session.range(0, 1, 1, 1)
        return SparkTable(schema, settled(asked.mapInArrow(answering(query, sources, schema), ddl(PIECES))))

    def _by_all(self, query: str, its: Mapping[str, SparkTable]) -> SparkTable:
        """Run the query on the tables, registered as views only for parsing."""
        for name, table in its.items():
            table.frame.createOrReplaceTempView(name)
        try:
            return self._of_columns(self.session.sql(query))
        finally:
            for name in its:
                self.session.catalog.dropTempView(name)

    def _of_columns(self, data: DataFrame) -> SparkTable:
        """Store results of Spark SQL."""
        from pyspark.sql.pandas.types import to_arrow_schema

        data = settled(data)
        schema = to_arrow_schema(data.schema)
        return SparkTable(schema, _as_pieces_of(data, schema), columns=data)

    def near_duplicates(
        self,
        source: Table,
        *,
        threshold: float,
        grouping: Literal["components", "greedy"],
        scope: str = "",
        words: WordRule = "unicode",
    ) -> Groups:
        """Run the exact join of `spark_join.py` on the cluster. Few texts are compared here, which is faster."""
        from covmis_build.engine.port import Groups
        from covmis_build.engine.spark_join import near_duplicates
        from covmis_build.text.near_duplicates import group_table

        if len(source) <= int(self.session.conf.get(COMPARED_HERE, str(FEW_TEXTS))):
            grouped = group_table(
                source.to_arrow(), threshold=threshold, grouping=grouping, scope=scope, words=words
            )
            return Groups(*map(self.table, grouped))
        members, chains = near_duplicates(
            self._own(source).frame,
            threshold=threshold,
            grouping=grouping,
            scope=scope,
            words=words,
            send=self._send_words,
        )
        return Groups(self._of_columns(members), self.table(chains))

    def _own(self, table: Table) -> SparkTable:
        """Return the table in Spark; tables of another engine are sent there."""
        handle = table if isinstance(table, SparkTable) else self.table(table.to_arrow())
        assert isinstance(handle, SparkTable)
        return handle
