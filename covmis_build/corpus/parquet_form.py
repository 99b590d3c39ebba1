"""Parquet files that hold their rows as covmis writes them, and nothing else.

Versions of the library write other bytes for the same rows, and record which version it was. So bytes are not compared but what a file
consists of: known columns, row groups, compression, the footer's figures and keys, and no byte that the footer does not account for.
"""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from covmis_build import tables
from covmis_build.checked_parquet import MARK

if TYPE_CHECKING:
    from collections.abc import Collection

LIBRARY = re.compile(r"parquet-cpp-arrow version \d+\.\d+\.\d+")
FOOTER_KEYS = {b"ARROW:schema", MARK}
FIGURES = ("path_in_schema", "physical_type", "compression", "num_values")
LIMITS = ("min", "max", "null_count")


def is_alike(told: bytes, again: bytes) -> bool:
    """True if a file has these bytes, or the same rows as another version of the library writes them."""
    if told == again:
        return True
    with _opened(told) as theirs, _opened(again) as ours:
        rows: bool = theirs.read().equals(ours.read())
        return (
            rows
            and bool(theirs.metadata.created_by != ours.metadata.created_by)
            and _consists_of(theirs, len(told)) == _consists_of(ours, len(again))
        )


def is_plain(data: bytes, table: str) -> bool:
    """True if a file holds rows of this table and nothing else. Files of earlier versions lack columns."""
    schema = tables.SCHEMAS[table]
    with _opened(data) as file:
        known = [name for name in schema.names if name in file.schema_arrow.names]
        if file.schema_arrow.names != known:
            return False
        out = io.BytesIO()
        bare = pa.schema([field.remove_metadata() for field in file.schema_arrow])
        with pq.ParquetWriter(out, bare, compression="zstd") as writer:
            for group in range(file.num_row_groups):
                writer.write_table(file.read_row_group(group).cast(bare))
        again = out.getvalue()
        with _opened(again) as ours:
            return _consists_of(file, len(data)) == _consists_of(ours, len(again))


def _opened(data: bytes) -> pq.ParquetFile:
    return pq.ParquetFile(io.BytesIO(data), page_checksum_verification=True)


def _consists_of(file: pq.ParquetFile, size: int) -> list[Any]:
    """Return what a Parquet file consists of besides its rows."""
    footer = file.metadata
    groups = [footer.row_group(at) for at in range(footer.num_row_groups)]
    columns = [[group.column(at) for at in range(footer.num_columns)] for group in groups]
    known = 2 * len(b"PAR1") + 4 + footer.serialized_size
    known += sum(column.total_compressed_size for group in columns for column in group)
    return [
        bool(LIBRARY.fullmatch(footer.created_by)) and size == known and _no_others(footer.metadata or {}),
        _no_others(file.schema_arrow.metadata or {}),
        [field.remove_metadata() for field in file.schema_arrow],
        [bool(set(field.metadata or {}) - {b"PARQUET:field_id"}) for field in file.schema_arrow],
        [group.num_rows for group in groups],
        [[_figures(column) for column in group] for group in columns],
    ]


def _no_others(keys: Collection[bytes]) -> bool:
    return FOOTER_KEYS.issuperset(keys)


def _figures(column: pq.ColumnChunkMetaData) -> list[Any]:
    told = column.to_dict()
    limits = told["statistics"] or {}
    return [*(told[name] for name in FIGURES), *(str(limits.get(name)) for name in LIMITS)]
