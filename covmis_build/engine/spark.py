"""Many machines: the same verbs on Apache Spark, which has to be there already (the extra `spark`, and Java).

Kernels get Arrow batches (`mapInArrow`, `applyInArrow`) and give the rows that they give anywhere. Results are kept
by Spark, on its disks, until the engine is left; what a lost worker had is made again by the others. Workers see
nothing of this machine's disk: tables are sent to them. Only what is requested comes back, one partition after the
other.
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

from covmis_build import tables
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
)  # fmt: skip
from covmis_build.engine.spark_frames import KEPT, ddl, is_here, settled
from covmis_build.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    from covmis_build.engine.port import Groups, Kernel, Table


COMPARED_HERE, FEW_TEXTS = "spark.covmis.comparedHere", 1_000_000
"""The setting that says up to how many texts this machine looks for near-duplicates on its own: a million take some 2 GB."""


JOINED_BY_ONE, FEW_ROWS = "spark.covmis.joinedByOne", 10_000_000
"""The setting that says up to how many rows of tables one worker joins on its own."""


def open_spark(*, scratch: Path | None = None, settings: Mapping[str, str] | None = None) -> SparkEngine:
    """The engine on Spark: the session that is active, or a new one with these settings.

    `spark.master` names the cluster (default: what spark-submit or the configuration says, or else this machine,
    `local[*]`); every other setting is passed through as Spark knows it, `spark.executor.memory` and so on.
    """
    try:
        import pyspark  # noqa: F401 - Java is started when something is first asked
    except ImportError as error:
        raise MissingExtra.of("spark", "the engine 'spark'") from error
    return SparkEngine(scratch, settings or {})


def _started(scratch: Path | None, settings: Mapping[str, str]) -> SparkSession:
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    # nothing of pandas in Spark is used here
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    wanted = dict(settings)
    # the workers' Python; Spark itself asks the environment alone
    named = wanted.get("spark.pyspark.python") or os.environ.get("PYSPARK_PYTHON") or sys.executable
    os.environ["PYSPARK_PYTHON"] = named
    master = wanted.pop("spark.master", "") or SparkConf().get("spark.master", "local[*]") or "local[*]"
    defaults = {
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "FATAL",  # what matters is raised, in one line
        # rows that are kept lie in as many pieces as they need; otherwise in 200, each a task for every later step
        "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
        # they are read a few times: to look for what repeats in each column takes longer than that saves
        "spark.sql.inMemoryColumnarStorage.compressed": "false",
    }
    if is_here(master):  # one machine: no page at a port, and not 200 pieces for every shuffle
        defaults |= {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1)),
        }
        defaults |= {"spark.local.dir": str(scratch)} if scratch else {}
    else:  # a driver only plans: what it runs is not worth being compiled as well as can be
        defaults["spark.driver.defaultJavaOptions"] = "-XX:TieredStopAtLevel=1"
    builder = SparkSession.builder.appName("covmis").master(master)
    for name, value in (defaults | wanted).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


@dataclass(frozen=True)
class SparkTable:
    """A table that lies in Spark: pieces that it keeps, pieces that are files, or what its own SQL has found."""

    schema: pa.Schema
    pieces: DataFrame
    files: tuple[str, ...] = ()
    columns: DataFrame | None = None

    def select(self, columns: Sequence[str]) -> SparkTable:
        """These columns alone."""
        rows = self.columns.select(*columns) if self.columns else None
        schema = pa.schema([self.schema.field(name) for name in columns])
        return SparkTable(schema, as_pieces_of(rows, schema) if rows else self.pieces, self.files, rows)

    @cached_property
    def counts(self) -> list[int]:
        """How many rows each piece has."""
        if self.files:
            told = self.pieces.mapInArrow(counted(self.schema.names), "rows long")
        else:
            told = self.pieces.select("rows")
        return [row["rows"] for row in told.collect()]

    @cached_property
    def frame(self) -> DataFrame:
        """The table as Spark's own SQL has it."""
        if self.columns:
            return self.columns
        return settled(self.pieces.mapInArrow(by_columns(self.schema.names), ddl(self.schema)))

    def spread(self, at_once: int) -> DataFrame:
        """The pieces, so many in a task: an answer comes from one worker, in one."""
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
        """All rows, in order; a few pieces at a time come here."""
        names = self.schema.names
        if self.files:
            rows = self.pieces.mapInArrow(by_pieces(same, names, self.schema), ddl(PIECES))
        else:
            rows = self.spread(AT_ONCE)
        for row in rows.select("content").toLocalIterator():
            yield from unpacked(row["content"]).select(names).to_batches()

    def to_arrow(self) -> pa.Table:
        """All rows, in memory."""
        batches = list(self.batches())
        return pa.Table.from_batches(batches) if batches else self.schema.empty_table()

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a DataFrame."""
        return tables.frame(self.to_arrow())

    def write(self, path: Path) -> None:
        """All rows as one Parquet file, written here."""
        write_blocks((pa.Table.from_batches([batch]) for batch in self.batches()), self.schema, path)

    def __len__(self) -> int:
        """Count the rows."""
        return int(self.columns.count()) if self.columns else sum(self.counts)


AT_ONCE = 4
"""Pieces of a table that come here together."""


def same(block: pa.Table) -> pa.Table:
    """The same rows."""
    return block


def as_pieces_of(rows: DataFrame, schema: pa.Schema) -> DataFrame:
    """What Spark's own SQL has found, as pieces."""
    return rows.mapInArrow(as_pieces(schema), ddl(PIECES))


@dataclass
class SparkEngine:
    """Spark behind the engine's verbs; a session that was there before is left as it was."""

    scratch: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    name: str = "spark"
    of: SparkEngine | None = None
    """Whose session this uses, if it has none of its own."""
    _stack: ExitStack = field(default_factory=ExitStack, repr=False)
    _kept_before: int = field(default_factory=lambda: len(KEPT), repr=False)

    @cached_property
    def session(self) -> SparkSession:
        """Spark, started when something is first asked of it; its workers have the same covmis."""
        if self.of:
            return self.of.session
        session = self.started()
        if not is_here(session.sparkContext.master):
            spark_workers.check(session)
        return session

    def started(self) -> SparkSession:
        """Spark, whatever its workers have."""
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        session = active if active and not self.settings else _started(self.scratch, self.settings)
        if active is None:
            self._stack.callback(session.stop)
        return session

    @cached_property
    def _folder(self) -> Path:
        """Where files wait that workers fetch: as long as Spark runs, for new workers ask for all of them."""
        if self.of:
            return self.of._folder  # noqa: SLF001 - of this class
        if self.scratch:
            self.scratch.mkdir(parents=True, exist_ok=True)
        return Path(self._stack.enter_context(tempfile.TemporaryDirectory(dir=self.scratch)))

    def fresh(self) -> SparkEngine:
        """The same session; what Spark keeps for it is freed when it is left."""
        return SparkEngine(self.scratch, self.settings, of=self)

    def __enter__(self) -> Self:
        """Nothing to make room for."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop Spark if it was started here, or free what it kept; say in one line what went wrong there."""
        kept, KEPT[self._kept_before :] = KEPT[self._kept_before :], []
        if error is None:
            for data in kept:
                data.unpersist()
        self._stack.close()
        if error is not None and (told := spark_workers.told(error)):
            raise told from error

    @property
    def sees_this_disk(self) -> bool:
        """Whether Spark runs on this machine alone."""
        return is_here(self.session.sparkContext.master)

    def reach(self, files: Sequence[Path]) -> None:
        """Ask the workers of a cluster whether they see these files."""
        if not is_here(self.session.sparkContext.master):
            spark_workers.check(self.session, files)

    def table(
        self, source: Path | Sequence[Path] | pa.Table | pd.DataFrame, *, columns: Sequence[str] = ()
    ) -> Table:
        """A handle on Parquet files of this machine or at addresses, an Arrow table or a DataFrame."""
        if isinstance(source, Path):
            source = [source]
        if isinstance(source, list | tuple):
            return self._of_files(source, columns)
        rows = source if isinstance(source, pa.Table) else tables.arrow(cast("pd.DataFrame", source))
        return self._sent(rows, rows.schema)

    def _of_files(self, sources: Sequence[Path], columns: Sequence[str]) -> SparkTable:
        """Files that workers read where they lie, or that each worker fetches once; a task reads a piece of one."""
        names, groups, counts = list[str](), list[int](), list[int]()
        for source in sources:
            if isinstance(source, Address):  # to ask each for its row groups would take this machine longest
                names, groups, counts = [*names, str(source)], [*groups, WHOLE], [*counts, -1]
                continue
            name = self._name_for_workers(source)
            with pq.ParquetFile(source) as file:
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
        # a table of files that have no rows still has its columns
        return SparkTable(plain_schema(schema), self._dealt(listed), tuple(dict.fromkeys(names)) or ("",))

    def _name_for_workers(self, source: Path) -> str:
        """The name by which a worker finds a file of this machine."""
        if is_here(self.session.sparkContext.master):
            return str(source.resolve())
        name = f"{uuid.uuid4().hex}.parquet"
        try:
            os.link(source, self._folder / name)  # as it is now, whatever takes its place
        except OSError:
            shutil.copyfile(source, self._folder / name)
        self.session.sparkContext.addFile(str(self._folder / name))
        return name

    def _sent(self, rows: pa.Table, schema: pa.Schema, most: int = 0) -> SparkTable:
        """Rows of this machine, as pieces of at most so many."""
        blocks = (rows.slice(at, most or BLOCK) for at in range(0, len(rows), most or BLOCK))
        pieces = [
            batch for number, block in enumerate(blocks) for batch in packed(iter([block]), schema, number)
        ]
        return SparkTable(plain_schema(schema), self._dealt(pa.Table.from_batches(pieces, PIECES)))

    def _dealt(self, pieces: pa.Table) -> DataFrame:
        """Pieces, each of which is a task."""
        from pyspark.sql.functions import expr

        # of a table without any rows Spark cannot tell the types
        data = self.session.createDataFrame(pieces.combine_chunks() if len(pieces) else [], ddl(PIECES))
        return data.repartitionById(len(pieces), expr("int(number)")) if len(pieces) > 1 else data.coalesce(1)

    def _send_words(self, words: pa.Table) -> str:
        """A table that each worker fetches once and maps into its memory."""
        path = self._folder / f"{uuid.uuid4().hex}.arrow"
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, words.schema) as writer:
            writer.write_table(words)
        self.session.sparkContext.addFile(str(path))
        return path.name

    def map(self, kernel: Kernel, source: Table, schema: pa.Schema, *, rows: int = 0) -> Table:
        """The kernel's rows for each piece; few rows that are much work are tasks of their own."""
        its = self._own(source)
        if rows:
            its = self._sent(its.to_arrow(), its.schema, rows)
        rows_of_tasks = its.spread(1).mapInArrow(
            by_pieces(kernel, its.schema.names, schema, rows), ddl(PIECES)
        )
        return SparkTable(plain_schema(schema), settled(rows_of_tasks))

    def sql(self, query: str, **tables: Table) -> Table:
        """Let one worker answer, which takes it less than to plan that for all; of many rows, let Spark's own SQL."""
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
        """Run the query over the tables, which are views only while it is read."""
        for name, table in its.items():
            table.frame.createOrReplaceTempView(name)
        try:
            return self._of_columns(self.session.sql(query))
        finally:
            for name in its:
                self.session.catalog.dropTempView(name)

    def _of_columns(self, data: DataFrame) -> SparkTable:
        """Keep what Spark's own SQL has found."""
        from pyspark.sql.pandas.types import to_arrow_schema

        data = settled(data)
        schema = to_arrow_schema(data.schema)
        return SparkTable(schema, as_pieces_of(data, schema), columns=data)

    def near_duplicates(
        self, source: Table, *, threshold: float, grouping: Literal["components", "greedy"], scope: str = ""
    ) -> Groups:
        """The exact join of `spark_join.py`, spread over the cluster; few texts are compared here, in less time than to plan that."""
        from covmis_build.engine.port import Groups
        from covmis_build.engine.spark_join import near_duplicates
        from covmis_build.text.near_duplicates import group_table

        if len(source) <= int(self.session.conf.get(COMPARED_HERE, str(FEW_TEXTS))):
            grouped = group_table(source.to_arrow(), threshold=threshold, grouping=grouping, scope=scope)
            return Groups(*map(self.table, grouped))
        members, chains = near_duplicates(
            self._own(source).frame,
            threshold=threshold,
            grouping=grouping,
            scope=scope,
            send=self._send_words,
        )
        return Groups(self._of_columns(members), self.table(chains))

    def _own(self, table: Table) -> SparkTable:
        """The table in Spark; another engine's table is sent there."""
        handle = table if isinstance(table, SparkTable) else self.table(table.to_arrow())
        assert isinstance(handle, SparkTable)
        return handle
