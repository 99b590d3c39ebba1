"""The tables that stages exchange: one Arrow schema each (from `records`), and one way to fit rows to it.

Keys are strings and never null. Times are ISO 8601 in UTC to the second (`2020-04-22T12:34:56Z`), empty if unknown:
they sort as text and mean the same in every engine. See docs/reference/tables.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import pyarrow as pa

from covmis_build import records
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

STRING, STRINGS, COUNT, REAL, FLAG = (
    records.STRING,
    records.STRINGS,
    records.COUNT,
    records.REAL,
    records.FLAG,
)
"""The types of most cells, also for schemas within a subpackage."""

SCHEMAS: dict[str, pa.Schema] = {name: table.schema for name, table in records.TABLES.items()}


def conform(frame: pd.DataFrame, table: str) -> pa.Table:
    """Return the frame as this table: only declared columns, in declared order and type.

    Missing columns are an error (except those of later versions), additional ones are dropped, and a null key is an error.
    """
    return fit(frame, SCHEMAS[table], table)


def fit(rows: pd.DataFrame | pa.Table, schema: pa.Schema, table: str) -> pa.Table:
    """Fit rows of either kind to this schema; `table` is the name for errors."""
    columns = rows.column_names if isinstance(rows, pa.Table) else list(rows.columns)
    missing = [name for name in schema.names if name not in columns]
    if lacking := [name for name in missing if name not in later(table)]:
        raise InputError(f"the table {table} lacks the columns {', '.join(lacking)}")
    if missing:
        rows = with_later(rows, table) if isinstance(rows, pa.Table) else rows.reindex(columns=schema.names)
    loose = pa.schema([field.with_nullable(True) for field in schema])
    if isinstance(rows, pa.Table):
        fitted = rows.select(schema.names).cast(loose)
    else:
        fitted = pa.Table.from_pandas(rows[schema.names], schema=loose, preserve_index=False)
    for field in schema:
        if not field.nullable and fitted.column(field.name).null_count:
            raise InputError(f"the table {table} has a row without {field.name}")
    return fitted.replace_schema_metadata(None).cast(schema)


def of_records(rows: Sequence[NamedTuple], table: str) -> pa.Table:
    """Convert records, which have the table's columns as fields, to rows of the table."""
    schema = SCHEMAS[table]
    cells = zip(*rows, strict=True) if rows else ([] for _ in schema)
    columns = dict(zip(rows[0]._fields if rows else schema.names, cells, strict=True))
    return pa.table([pa.array(columns[field.name], field.type) for field in schema], schema=schema)


def later(table: str) -> set[str]:
    """Return the columns of a table that files of earlier versions do not have."""
    known = records.TABLES.get(table)
    return {column.name for column in known.columns if column.since} if known else set()


def with_later(rows: pa.Table, table: str) -> pa.Table:
    """Add columns of nulls that the file's version did not have."""
    for name in SCHEMAS[table].names:
        if name not in rows.column_names and name in later(table):
            rows = rows.append_column(name, pa.nulls(len(rows), SCHEMAS[table].field(name).type))
    return rows


def with_times(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame for users: times (UTC, to the second) instead of texts; NaT if unknown."""
    import pandas as pd

    times = [name for name in ("created_at", "retrieved_at") if name in frame.columns]
    return frame.assign(**{name: pd.to_datetime(frame[name].replace("", None), utc=True) for name in times})


def empty(table: str) -> pd.DataFrame:
    """Return this table without rows, as a DataFrame."""
    return frame(SCHEMAS[table].empty_table())


def frame(table: pa.Table) -> pd.DataFrame:
    """Convert an Arrow table to the DataFrame of stages: strings as objects, lists as Python lists."""
    import pandas as pd

    columns = {}
    for name, kind in zip(table.schema.names, table.schema.types, strict=True):
        values = table.column(name)
        plain = pa.types.is_string(kind) or pa.types.is_list(kind) or pa.types.is_struct(kind)
        columns[name] = pd.Series(values.to_pylist(), dtype=object) if plain else values.to_pandas()
    return pd.DataFrame(columns, columns=table.schema.names)


@runtime_checkable
class Frame(Protocol):
    """A data frame of pandas, polars, Arrow, DuckDB, or of any library that lends its columns to Arrow."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


def frame_of(given: Any) -> pd.DataFrame:
    """Return a user's data as a DataFrame: a frame of pandas, polars, Arrow or DuckDB, columns by name, or rows.

    >>> frame_of({"label": ["favor"]}).columns.tolist(), frame_of(pa.table({"label": ["favor"]})).columns.tolist()
    (['label'], ['label'])
    """
    import pandas as pd

    remedy = "Give a DataFrame, or columns by name"
    if given is None or isinstance(given, str | int | float):
        raise InputError(f"this is no table: {given!r}"[:80], remedy=remedy)
    try:
        if isinstance(given, pd.DataFrame):
            return given
        if isinstance(given, Frame):
            lent: pd.DataFrame = pa.table(given).to_pandas(integer_object_nulls=True)  # floats round long ids
            return lent
        return pd.DataFrame(given)
    except (ValueError, TypeError) as error:
        raise InputError(f"this is no table: {error}", remedy=remedy) from None


def with_frames(given: Any) -> Any:
    """Return what was given, with frames of polars, Arrow or DuckDB as DataFrames: itself, or in a dict or list.

    >>> with_frames({"mine": pa.table({"label": ["favor"]})})["mine"].columns.tolist(), with_frames(["favor"])
    (['label'], ['favor'])
    """
    import pandas as pd

    if isinstance(given, dict):
        return {name: with_frames(value) for name, value in given.items()}
    if isinstance(given, list | tuple):
        return type(given)(map(with_frames, given)) if any(isinstance(one, Frame) for one in given) else given
    if isinstance(given, Frame) and not isinstance(given, pd.Series):
        return frame_of(given)
    return given


def in_order_of(first: Any, given: Any, what: str) -> Any:
    """Return values in the order of the first ones if both have ids (Series index, dict keys); otherwise unchanged.

    >>> list(in_order_of({"a": 1, "b": 0}, {"b": 0.5, "a": 0.2}, "probabilities"))
    [0.2, 0.5]
    """
    import pandas as pd

    first, given = (pd.Series(one, dtype=object) if isinstance(one, dict) else one for one in (first, given))
    if not isinstance(first, pd.Series | pd.DataFrame) or not isinstance(given, pd.Series):
        return given
    if first.index.equals(given.index):
        return given
    if lacking := [item for item in first.index if item not in given.index]:
        raise InputError(f"{what} lack the item {lacking[0]}", remedy="Give every item one")
    if not given.index.is_unique or len(first) != len(given):
        raise InputError(
            f"{what} have another index than the values before them",
            remedy="Give both the same index, or lists if row 1 belongs to row 1, row 2 to row 2, and so on",
        )
    return given.reindex(first.index)


def arrow(frame: pd.DataFrame) -> pa.Table:
    """Convert any DataFrame to an Arrow table: plain strings, without pandas metadata."""
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
    plain = [
        field.with_type(STRING)
        if pa.types.is_large_string(field.type) or pa.types.is_null(field.type)
        else field
        for field in table.schema
    ]
    return table.cast(pa.schema(plain))


def column(values: Sequence[Any] | NDArray[Any], kind: pa.DataType) -> pa.Array:
    """Convert values to an Arrow column: texts, integers, lists and structs of these (given as tuples).

    Arrow's own conversion of lists loads pandas, which takes longer than many a block of rows.
    """
    import numpy as np

    if isinstance(values, np.ndarray):
        data = np.ascontiguousarray(values, kind.to_pandas_dtype())
        return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(data)])
    if pa.types.is_string(kind):
        data, offset = utf8(values)
        return pa.StringArray.from_buffers(
            len(values), pa.py_buffer(offset.astype(np.int32)), pa.py_buffer(data)
        )
    if pa.types.is_list(kind):
        ends = np.cumsum(np.fromiter(map(len, values), np.int32, len(values)), dtype=np.int32)
        offsets = pa.Array.from_buffers(
            pa.int32(), len(values) + 1, [None, pa.py_buffer(np.append(np.int32(0), ends))]
        )
        inner = column([value for row in values for value in row], kind.value_type)
        return pa.ListArray.from_arrays(offsets, inner, type=kind)
    if pa.types.is_struct(kind):
        parts = list(zip(*values, strict=True)) or [()] * kind.num_fields
        fields = [kind.field(at) for at in range(kind.num_fields)]
        arrays = [column(part, field.type) for part, field in zip(parts, fields, strict=True)]
        return pa.StructArray.from_arrays(arrays, fields=fields)
    known = np.array([value is not None for value in values], bool)
    numbers = np.array([value or 0 for value in values], np.int64)
    valid = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [valid, pa.py_buffer(numbers)])


def blank(rows: int, kind: pa.DataType) -> pa.Array:
    """Return a column of so many empty texts or lists."""
    import numpy as np

    offsets = pa.py_buffer(np.zeros(rows + 1, np.int32))
    if pa.types.is_list(kind):
        return pa.ListArray.from_buffers(kind, rows, [None, offsets], children=[column([], kind.value_type)])
    return pa.StringArray.from_buffers(rows, offsets, pa.py_buffer(b""))


def without_rows(schema: pa.Schema) -> pa.Table:
    """Return a table with these columns; Arrow's own loads pandas."""
    return pa.Table.from_arrays([column([], kind) for kind in schema.types], schema=schema)


def text(value: str) -> pa.StringScalar:
    """Return a text to compare a column with; Arrow's own conversion loads pandas."""
    return column([value], STRING)[0]


def numbers(array: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return a column of numbers or flags without nulls as an array; Arrow's own conversion loads pandas."""
    import numpy as np

    if isinstance(array, pa.ChunkedArray):
        parts = [numbers(chunk) for chunk in array.chunks]
        return np.concatenate(parts) if parts else numbers(pa.nulls(0, array.type))
    if array.null_count:
        raise ValueError("a column of numbers has nulls")
    data, rows = array.buffers()[1] or b"", slice(array.offset, array.offset + len(array))
    if pa.types.is_boolean(array.type):
        return np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[rows].view(bool)
    return np.frombuffer(data, array.type.to_pandas_dtype())[rows]


def utf8(texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return texts as one buffer of UTF-8, and the offset of each."""
    import numpy as np

    if texts and texts[0] == texts[-1] and texts.count(texts[0]) == len(texts):  # as in many columns
        only = texts[0].encode("utf-8", "replace")
        return np.frombuffer(only * len(texts) or b"\0", np.uint8), np.arange(len(texts) + 1) * len(only)
    try:
        each = list(map(str.encode, texts))
    except UnicodeEncodeError:
        each = [text.encode("utf-8", "replace") for text in texts]
    data = b"".join(each)
    offset = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, each), np.int64, len(each)), out=offset[1:])
    return np.frombuffer(data or b"\0", np.uint8), offset
