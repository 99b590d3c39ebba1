"""Many machines: the same verbs on Apache Spark, which has to be there already (the extra `spark`, and Java).

Kernels get Arrow batches (`mapInArrow`, `applyInArrow`) and give the rows that they give anywhere. Results are kept
by Spark, on its disks, until the engine is left; what a lost worker had is made again by the others. Workers see
nothing of this machine's disk: tables are sent to them. Only what is asked for comes back, one partition after the
other.
"""

from __future__ import annotations

import itertools
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
from covmis_build.engine import spark_workers
from covmis_build.engine.duck import write_blocks
from covmis_build.engine.spark_frames import KEPT, batchwise, ddl, is_here, row_groups, settled
from covmis_build.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import TracebackType

    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

    from covmis_build.engine.port import Groups, Kernel, Table


COMPARED_HERE, FEW_TEXTS = "spark.covmis.comparedHere", 1_000_000
"""The setting that says up to how many texts this machine looks for near-duplicates by itself: a million take some 2 GB."""


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
    """A table that lies in Spark."""

    data: DataFrame

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        from pyspark.sql.pandas.types import to_arrow_schema

        return to_arrow_schema(self.data.schema)

    def select(self, columns: Sequence[str]) -> SparkTable:
        """These columns alone."""
        return SparkTable(self.data.select(*columns))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, in order; one partition at a time comes here."""
        for row in self.data.mapInArrow(_packed, "rows binary").toLocalIterator():
            with pa.ipc.open_stream(row["rows"]) as stream:
                yield from stream

    def to_arrow(self) -> pa.Table:
        """All rows, in memory."""
        batches = list(self.batches())
        return pa.Table.from_batches(batches) if batches else self.schema.empty_table()

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a DataFrame."""
        return tables.frame(self.to_arrow())

    def write(self, path: Path) -> None:
        """All rows as one Parquet file, written here."""
        batches = self.batches()
        first = next(batches, None)
        schema = self.schema if first is None else first.schema
        every = itertools.chain([] if first is None else [first], batches)
        write_blocks((pa.Table.from_batches([batch]) for batch in every), schema, path)

    def __len__(self) -> int:
        """Count the rows."""
        return int(self.data.count())


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
        """A handle on Parquet files of this machine, an Arrow table or a DataFrame."""
        if isinstance(source, Path):
            source = [source]
        if isinstance(source, list | tuple):
            if not is_here(self.session.sparkContext.master):
                return self._sent(source, columns)
            # as it stands: a folder may be called `100% [new]`, where Spark would look for a pattern
            read = self.session.read.option("__globPaths__", "false")
            data = read.parquet(*(f"file:{path.resolve()}" for path in source))
            return SparkTable(data.select(*columns) if columns else data)
        rows = source if isinstance(source, pa.Table) else tables.arrow(cast("pd.DataFrame", source))
        # of a table without any rows Spark cannot tell the types of lists
        data = rows.combine_chunks() if len(rows) else []
        return SparkTable(self.session.createDataFrame(data, ddl(rows.schema)))

    def _sent(self, sources: Sequence[Path], columns: Sequence[str]) -> SparkTable:
        """Files of this machine, which each worker fetches once; a task reads these columns of a row group of its copy."""
        names, numbers = list[str](), list[int]()
        for source in sources:
            name = f"{uuid.uuid4().hex}.parquet"
            try:
                os.link(source, self._folder / name)  # as it is now, whatever takes its place
            except OSError:
                shutil.copyfile(source, self._folder / name)
            self.session.sparkContext.addFile(str(self._folder / name))
            with pq.ParquetFile(source) as file:
                groups, every = file.num_row_groups, file.schema_arrow
            names += [name] * groups
            numbers += range(groups)
        schema = pa.schema([every.field(name) for name in columns or every.names])
        groups_to_read = pa.table(
            {"file": pa.array(names, tables.STRING), "row_group": pa.array(numbers, tables.COUNT)}
        )
        listed = self.frame(self.table(groups_to_read)).repartition(max(1, len(names)))
        return self._keep(listed.mapInArrow(row_groups(schema), ddl(schema)))

    def _send_words(self, words: pa.Table) -> str:
        """A table that each worker fetches once and maps into its memory."""
        path = self._folder / f"{uuid.uuid4().hex}.arrow"
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, words.schema) as writer:
            writer.write_table(words)
        self.session.sparkContext.addFile(str(path))
        return path.name

    def map(self, kernel: Kernel, source: Table, schema: pa.Schema, *, rows: int = 0) -> Table:
        """The kernel's rows for each Arrow batch; few rows that are much work are spread over the cluster."""
        data = self.frame(source)
        if rows:
            # out of one partition: several would each begin to deal at a place of their own
            data = data.coalesce(1).repartition(max(1, -(-data.count() // rows)))
        return self._keep(data.mapInArrow(batchwise(kernel, schema, rows), ddl(schema)))

    def sql(self, query: str, **tables: Table) -> Table:
        """Run the query over the tables, which are views only while it is read."""
        for name, table in tables.items():
            self.frame(table).createOrReplaceTempView(name)
        try:
            return self._keep(self.session.sql(query))
        finally:
            for name in tables:
                self.session.catalog.dropTempView(name)

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
            self.frame(source), threshold=threshold, grouping=grouping, scope=scope, send=self._send_words
        )
        return Groups(self._keep(members), self.table(chains))

    def frame(self, table: Table) -> DataFrame:
        """The table in Spark; another engine's table is sent there."""
        handle = table if isinstance(table, SparkTable) else self.table(table.to_arrow())
        assert isinstance(handle, SparkTable)
        return handle.data

    def _keep(self, data: DataFrame) -> SparkTable:
        return SparkTable(settled(data))


def _packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each batch as one row of bytes, so that rows reach the driver as Arrow and in order."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.RecordBatch.from_arrays([pa.array([sink.getvalue().to_pybytes()], pa.binary())], ["rows"])
