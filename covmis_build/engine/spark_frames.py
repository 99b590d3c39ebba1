"""Helpers for Spark data frames, used by the engine and its near-duplicates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from covmis_build.engine.pieces import plain
from covmis_build.engine.port import each_block
from covmis_build.engine.spark_workers import agree, edition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from covmis_build.engine.port import Kernel


def is_here(master: str) -> bool:
    """True if Spark runs on this machine only; `local-cluster[…]` has workers."""
    return master == "local" or master.startswith("local[")


KEPT: list[DataFrame] = []
"""Frames that `settled` stored in Spark, which keeps them until they are released."""


def settled(data: DataFrame, *, now: bool = False) -> DataFrame:
    """Return the same rows, computed once (on first use, or `now`; on a cluster always now), without their plan.

    A plan with all its ancestors grows with every step until the driver is busy with it. Unlike a checkpoint, the way to
    recompute rows is stored as well, in case a worker is lost. Rows are on disk: in memory, a dozen tables of a
    million posts leave no space for sorting in a 6 GB heap. They are stored by column, so that reading two columns of thirty
    does not load the posts' texts.
    """
    from pyspark import StorageLevel
    from pyspark.sql.classic.dataframe import DataFrame as Classic

    session = data.sparkSession
    if is_here(session.sparkContext.master):  # no worker can be lost, and a checkpoint is freed when unused
        return data.localCheckpoint(eager=now, storageLevel=StorageLevel.DISK_ONLY)
    # Python has no public access to rows without their plan, nor to stored rows without their plan
    java: Any = data._jdf  # noqa: SLF001
    spark: Any = session._jsparkSession  # noqa: SLF001
    rows = Classic(
        spark.internalCreateDataFrame(java.queryExecution().toRdd(), java.schema(), False), session
    )
    KEPT.append(rows.persist(StorageLevel.DISK_ONLY))
    columns = spark.sharedState().cacheManager().lookupCachedData(rows._jdf).get().cachedRepresentation()  # noqa: SLF001
    columns.cacheBuilder().cachedColumnBuffers().count()  # otherwise a query that reads them twice would compute them twice
    return Classic(session._jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark, columns), session)  # noqa: SLF001


def ddl(schema: pa.Schema) -> Any:
    """Return the schema in Spark's types; everything is nullable, as in Spark after reading a file."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(pa.schema([field.with_nullable(True) for field in schema]))


def batchwise(kernel: Kernel, schema: pa.Schema, rows: int = 0) -> Any:
    """Return the kernel for `mapInArrow`, with a maximum number of rows per block."""
    wanted = edition()

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        agree(wanted)
        for batch in batches:
            step = rows or max(1, len(batch))
            for start in range(0, max(1, len(batch)), step):
                block = pa.Table.from_batches([batch.slice(start, step)])
                yield from _in_batches(each_block(kernel(block)), schema)

    return run


BATCH = 8 << 20
"""Bytes of rows per batch for Spark, because Java has a fixed cost per column and batch."""


def _in_batches(blocks: Iterator[pa.Table], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    waiting, size = list[pa.Table](), 0
    for block in blocks:
        waiting.append(plain(block, schema))
        size += block.nbytes
        if size >= BATCH:
            yield from pa.concat_tables(waiting).combine_chunks().to_batches()
            waiting, size = [], 0
    if waiting:
        yield from pa.concat_tables(waiting).combine_chunks().to_batches()
