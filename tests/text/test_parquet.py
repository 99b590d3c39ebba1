"""Parquet files of strangers: read in pieces as they are, and refused where a few kilobytes stand for gigabytes."""

from __future__ import annotations

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build.errors import InputError
from covmis_build.text import parquet, sheets
from tests import bombs

ROWS = {
    "text": st.none() | st.text(max_size=20), "number": st.none() | st.integers(-(2**40), 2**40),
    "raw": st.none() | st.binary(max_size=9), "list": st.none() | st.lists(st.text(max_size=5), max_size=4),
    "inside": st.fixed_dictionaries({"a": st.text(max_size=5), "b": st.lists(st.integers(0, 9), max_size=3)}),
    "pairs": st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3)), max_size=3),
}  # fmt: skip
SCHEMA = pa.schema(
    {
        "text": pa.string(), "number": pa.int64(), "raw": pa.binary(), "list": pa.list_(pa.string()),
        "inside": pa.struct({"a": pa.string(), "b": pa.list_(pa.int8())}), "pairs": pa.map_(pa.string(), pa.string()),
    }
)  # fmt: skip


@given(rows=st.lists(st.fixed_dictionaries(ROWS), max_size=40), group=st.sampled_from([1, 7, 100]))
def test_what_is_read_in_pieces_is_what_is_there(rows, group):
    file, table = io.BytesIO(), pa.Table.from_pylist(rows, SCHEMA)
    pq.write_table(table, file, row_group_size=group)
    assert [row for piece in parquet.pieces(file) for row in piece.to_pylist()] == table.to_pylist()


@pytest.mark.parametrize("longest", [1, 40, 1000])
def test_pieces_are_small_whatever_is_repeated(tmp_path, monkeypatch, longest):
    monkeypatch.setattr(parquet, "PIECE", 10_000)
    text = pa.DictionaryArray.from_arrays(pa.array([0] * 500, pa.int32()), pa.array(["x" * longest]))
    pq.write_table(pa.table({"text": text, "list": [["y" * longest]] * 500}), tmp_path / "a.parquet")
    sizes = [
        sum(len(row["text"]) + len(row["list"][0]) for row in piece.to_pylist())
        for piece in parquet.pieces(tmp_path / "a.parquet")
    ]
    assert sum(sizes) == 1000 * longest
    assert max(sizes) <= 10_000


@pytest.mark.parametrize("name", [name for name in bombs.NAMES if name.endswith(".parquet")])
def test_a_few_kilobytes_that_stand_for_gigabytes_are_refused(tmp_path, name):
    bombs.make(tmp_path / name)
    with pytest.raises(InputError, match=r"too much for its size|a row of more than"):
        parquet.read(tmp_path / name)


def test_a_table_for_memory_has_a_limit(tmp_path, monkeypatch):
    pq.write_table(pa.table({"text": [f"{number:0100}" for number in range(1000)]}), tmp_path / "a.parquet")
    assert parquet.read(tmp_path / "a.parquet").num_rows == 1000
    monkeypatch.setattr(parquet, "WHOLE", 50_000)
    with pytest.raises(InputError, match="or for memory"):
        parquet.read(tmp_path / "a.parquet")


def test_what_is_read_whole_has_a_limit(tmp_path, monkeypatch):
    path = tmp_path / "ids.txt"
    path.write_bytes(b"1" * 101)
    monkeypatch.setattr(sheets, "LARGEST", 100)
    with pytest.raises(InputError, match="is larger than"):
        sheets.text_of(path)
    path.write_bytes(b"1" * 100)
    assert len(sheets.text_of(path)) == 100
