"""Frames of Spark, as the engine and its near-duplicates use them."""

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
    """Whether Spark runs inside this process's own machine; `local-cluster[…]` has workers."""
    return master == "local" or master.startswith("local[")


KEPT: list[DataFrame] = []
"""What `settled` has asked Spark to keep: it keeps that until somebody says so, however long nobody looks at it."""


def settled(data: DataFrame, *, now: bool = False) -> DataFrame:
    """The same rows, computed once (when first needed, or now; on a cluster always now), and their plan forgotten.

    A plan that keeps all its ancestors grows with every step until the driver is busy with nothing else. How rows were
    made is kept next to them, unlike in a checkpoint: where a worker is lost, the others make them again. Rows are kept
    on disk: in memory, a dozen tables of a million posts leave no room for the next sort in a heap of 6 GB. They are
    kept as columns, and read as such: who asks for two of thirty does not pay for the texts of posts.
    """
    from pyspark import StorageLevel
    from pyspark.sql.classic.dataframe import DataFrame as Classic

    session = data.sparkSession
    if is_here(
        session.sparkContext.master
    ):  # no worker can be lost, and a checkpoint is freed when nobody needs it
        return data.localCheckpoint(eager=now, storageLevel=StorageLevel.DISK_ONLY)
    # Python has no words for rows without their plan, nor for rows that Spark keeps, read without their plan
    java: Any = data._jdf  # noqa: SLF001
    spark: Any = session._jsparkSession  # noqa: SLF001
    rows = Classic(
        spark.internalCreateDataFrame(java.queryExecution().toRdd(), java.schema(), False), session
    )
    KEPT.append(rows.persist(StorageLevel.DISK_ONLY))
    columns = spark.sharedState().cacheManager().lookupCachedData(rows._jdf).get().cachedRepresentation()  # noqa: SLF001
    columns.cacheBuilder().cachedColumnBuffers().count()  # a query that reads them twice would make them twice
    return Classic(session._jvm.org.apache.spark.sql.classic.Dataset.ofRows(spark, columns), session)  # noqa: SLF001


def ddl(schema: pa.Schema) -> Any:
    """The schema in Spark's types; everything may be null, as Spark itself has it after reading a file."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(pa.schema([field.with_nullable(True) for field in schema]))


def batchwise(kernel: Kernel, schema: pa.Schema, rows: int = 0) -> Any:
    """The kernel as `mapInArrow` wants it, for blocks of at most so many rows."""
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
"""Bytes of rows that Spark is given at once: for each column of a batch Java does some work, however few rows it has."""


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
