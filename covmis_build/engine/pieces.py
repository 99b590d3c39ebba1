"""Rows in Spark as pieces: parts of tables as bytes that only Python reads.

Java moves and stores pieces without parsing them: converting Arrow rows to its own and back costs more than all processing. A
piece is a Parquet file (or a row group of it), or rows as Arrow bytes.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from covmis_build import checked_parquet, storage
from covmis_build.addresses import Address, place
from covmis_build.engine.duck import BLOCK
from covmis_build.engine.port import each_block, quiet
from covmis_build.engine.spark_workers import agree, edition
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import duckdb

    from covmis_build.engine.port import Kernel

PIECES = pa.schema([("number", pa.int64()), ("rows", pa.int64()), ("file", pa.string()), ("row_group", pa.int64()),
                    ("content", pa.binary())])  # fmt: skip
"""`rows` is the number of rows in a piece (-1: unknown); `row_group` -1 means the whole file."""
ENOUGH = 8 << 20
"""Bytes of rows per piece."""
WHOLE = -1
MEMORY = "2GB"
"""Memory for DuckDB on a worker before it uses the disk, since a cluster's machines are shared."""
PACKED = pa.ipc.IpcWriteOptions(compression="lz4")


class Source(NamedTuple):
    """A table in an SQL query: its columns, and its files unless its rows come as pieces."""

    schema: pa.Schema
    files: tuple[str, ...] = ()


def packed(blocks: Iterator[pa.Table], schema: pa.Schema, first: int = 0) -> Iterator[pa.RecordBatch]:
    """Convert rows to pieces; small blocks are joined."""
    waiting, size = list[pa.Table](), 0
    for block in blocks:
        if len(block):
            waiting.append(plain(block, schema))
            size += block.nbytes
        if size >= ENOUGH:
            yield _piece(first, waiting)
            waiting, size, first = [], 0, first + 1
    if waiting:
        yield _piece(first, waiting)


def _piece(number: int, blocks: list[pa.Table]) -> pa.RecordBatch:
    rows, sink = pa.concat_tables(blocks).combine_chunks(), pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=PACKED) as writer:
        writer.write_table(rows)
    content = sink.getvalue()
    offsets = pa.py_buffer(np.array([0, content.size], np.int32))
    columns = [pa.array(column) for column in ([number], [len(rows)], [""], [WHOLE])]
    columns.append(pa.Array.from_buffers(pa.binary(), 1, [None, offsets, content]))
    return pa.RecordBatch.from_arrays(columns, schema=PIECES)


def unpacked(content: bytes) -> pa.Table:
    """Return the rows of a piece."""
    with pa.ipc.open_stream(content) as stream:
        return stream.read_all()


def opened(batch: pa.RecordBatch, names: list[str]) -> Iterator[pa.Table]:
    """On a worker: return the rows of pieces in these columns."""
    for piece in batch.to_pylist():
        if not piece["file"]:
            yield unpacked(piece["content"]).select(names)
            continue
        with checked_parquet.reading(here(piece["file"]), whole=False) as file:
            group = piece["row_group"]
            for number in range(file.num_row_groups) if group == WHOLE else [group]:
                yield file.read_row_group(number, names, use_threads=False)


def here(name: str) -> Path:
    """On a worker: return the path of a file that was sent, downloaded once, or is on a visible disk."""
    from pyspark import SparkFiles

    far = place(name)
    if not isinstance(far, Address):
        return far if far.is_absolute() else Path(SparkFiles.get(name))
    stat = far.stat()
    key = hashlib.sha256(json.dumps([name, stat.st_size, stat.st_mtime_ns]).encode()).hexdigest()
    copy = Path(SparkFiles.getRootDirectory(), f"{key}.parquet")
    if not copy.exists():
        storage.fetch(far, copy)
        checked_parquet.check(copy)
    return copy


def by_pieces(kernel: Kernel, names: list[str], schema: pa.Schema, rows: int = 0) -> Any:
    """Return the kernel for `mapInArrow` over pieces, with a maximum number of rows per block."""
    wanted = edition()

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        agree(wanted)
        yield from packed(
            (
                made
                for batch in batches
                for block in opened(batch, names)
                for start in range(0, len(block), rows or BLOCK)
                for made in each_block(kernel(block.slice(start, rows or BLOCK)))
            ),
            schema,
        )

    return run


def by_columns(names: list[str]) -> Any:
    """Convert pieces to columns for Spark SQL."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for rows in opened(batch, names):
                yield from plain(rows, rows.schema).to_batches()

    return run


def as_pieces(schema: pa.Schema) -> Any:
    """Convert results of Spark SQL to pieces."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from packed((pa.Table.from_batches([batch]) for batch in batches), schema)

    return run


def counted(names: list[str]) -> Any:
    """On a worker: count the rows of pieces."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = sum(len(block) for block in opened(batch, names[:1]))
            yield pa.RecordBatch.from_arrays([pa.array([rows])], ["rows"])

    return run


def answering(query: str, sources: Mapping[str, Source], schema: pa.Schema) -> Any:
    """Answer a query on one worker with the embedded engine; pieces come with their table's name."""
    wanted = edition()

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import SparkFiles

        agree(wanted)
        with TemporaryDirectory(dir=SparkFiles.getRootDirectory()) as folder:
            files = {
                name: Path(folder, f"{name}.arrow") for name, source in sources.items() if not source.files
            }
            writers = {
                name: pa.ipc.new_file(str(path), plain_schema(sources[name].schema))
                for name, path in files.items()
            }
            for batch in batches if writers else ():
                for piece in batch.to_pylist():
                    names = sources[piece["name"]].schema.names
                    writers[piece["name"]].write_table(unpacked(piece["content"]).select(names))
            for writer in writers.values():
                writer.close()
            with _database(folder) as database:
                for name, source in sources.items():
                    if source.files:
                        listed = ", ".join(
                            f"'{str(here(file)).replace(chr(39), chr(39) * 2)}'" for file in source.files
                        )
                        columns = ", ".join(source.schema.names)
                        database.execute(
                            f"CREATE VIEW {name} AS SELECT {columns} FROM read_parquet([{listed}])"
                        )
                    else:
                        database.register(name, pa.ipc.open_file(pa.memory_map(str(files[name]))).read_all())
                yield from packed(_answer(database, query), schema)

    return run


def schema_of(query: str, sources: Mapping[str, Source]) -> pa.Schema:
    """Return the columns of an answer."""
    with _database("") as database:
        for name, source in sources.items():
            database.register(name, plain_schema(source.schema).empty_table())
        return plain_schema(database.sql(query).to_arrow_reader(1).schema)


def _database(folder: str) -> duckdb.DuckDBPyConnection:
    import duckdb

    config = {"temp_directory": f"{folder}/spill", "memory_limit": MEMORY} if folder else {}
    return quiet(duckdb.connect(config=config))


def _answer(database: duckdb.DuckDBPyConnection, query: str) -> Iterator[pa.Table]:
    import duckdb

    try:
        for batch in database.sql(query).to_arrow_reader(BLOCK):
            yield pa.Table.from_batches([batch])
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise InputError(
            f"a worker has too little memory: {str(error).splitlines()[0]}",
            remedy="--conf spark.covmis.joinedByOne=0 has all workers join tables",
        ) from error


def plain(block: pa.Table, schema: pa.Schema) -> pa.Table:
    """Convert a kernel's rows to exactly the declared columns and types."""
    return block.cast(plain_schema(schema))


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema with all columns nullable, as in Spark after reading a file."""
    return pa.schema([field.with_nullable(True).remove_metadata() for field in schema])
