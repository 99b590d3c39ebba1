"""What the values of a table amount to, counted before they are expanded: equal to what each is alone."""

from __future__ import annotations

import io
import pickle
from collections import deque
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covmis_build.errors import InputError
from covmis_build.files import frames, parquet_plan
from covmis_build.files.parquet_pages import pages
from covmis_build.files.reading import MANY_ROWS, Sheet
from covmis_build.files.sizes import OF_A_VALUE, sizes

TEXTS = pa.array(["abcde", "", "z" * 200, None])


def alone(value) -> int:
    """The bytes of a value, from the value itself."""
    if isinstance(value, dict):
        return OF_A_VALUE + sum(map(alone, value.values()))
    if isinstance(value, list | tuple):
        return OF_A_VALUE + sum(map(alone, value))
    return OF_A_VALUE + (len(value) if isinstance(value, str | bytes) else 0)


@pytest.mark.parametrize(
    "array",
    [
        TEXTS,
        TEXTS.cast(pa.large_string()),
        TEXTS.cast(pa.string_view()),
        TEXTS.dictionary_encode(),
        pa.array([1, 2, None]),
        pa.array([["a", "bbb"], None, [], ["c" * 9]]),
        pa.array([["a", "bbb"], [], ["c" * 9]], pa.list_view(pa.string())),
        pa.array([["a", "bbb"], ["cc", "d"], ["e", "f"]], pa.list_(pa.string(), 2)),
        pa.array([["xxx", "y"], ["xxx"] * 3, []], pa.list_(pa.dictionary(pa.int32(), pa.string()))),
        pa.array([{"a": "xx", "b": [1, 2]}, {"a": "y", "b": []}, {"a": "zzzz", "b": [3]}]),
        pa.array([[("k", "vvvvv")], [("k2", "w"), ("k3", "")], []], pa.map_(pa.string(), pa.string())),
        pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 5], pa.int32()), pa.array(["aa", "b", "cccc"])),
        pa.array(['{"a": 1}', "[]"], pa.json_()),
    ],
    ids=lambda array: str(array.type)[:40],
)
def test_a_value_amounts_to_what_it_is_alone(array):
    for part in (array, array.slice(1)):
        assert sizes(part).tolist() == [alone(value) for value in part.to_pylist()]


@pytest.mark.parametrize("begin", [0, 1000])
def test_texts_in_lists_that_are_one_text_are_counted_before_they_are_expanded(tmp_path, begin):
    """Two thousand times a text of a megabyte, or a thousand after other rows."""
    shared = pa.DictionaryArray.from_arrays(
        pa.array([0] * begin + [1] * (2000 - begin), pa.int32()), pa.array(["a", "x" * (1 << 20)])
    )
    table = pa.table({"id": ["1"], "text": pa.ListArray.from_arrays([0, len(shared)], shared)})
    pq.write_table(table, tmp_path / "lists.parquet", store_schema=False)
    pool = pa.default_memory_pool()
    before = pool.max_memory()
    with (tmp_path / "lists.parquet").open("rb") as file, pytest.raises(InputError, match="too much"):
        deque(frames.batches(file), maxlen=0)
    assert pool.max_memory() - before < 256 << 20


def test_rows_that_share_a_text_are_read_as_it_is_stored(tmp_path):
    """Each once, so that a long one costs other rows nothing; and expanded a few at a time."""
    words = ["a" * (8 << 20), "b"]
    at = pa.array([0, 1, 1, 0] * 8 + [1] * 50_000, pa.int32())
    pq.write_table(
        pa.table({"text": pa.DictionaryArray.from_arrays(at, pa.array(words))}),
        tmp_path / "a.parquet",
        store_schema=False,
    )
    with (tmp_path / "a.parquet").open("rb") as file:
        how = parquet_plan.plan(file, pq.ParquetFile(file), 1 << 40)
        pieces = list(frames.batches(file))
    assert how.as_stored == ["text"]
    assert how.rows[0] >= frames.ROWS
    assert max(piece.column(0).to_pylist().count(words[0]) for piece in pieces) <= 8
    assert [value for piece in pieces for value in piece.column(0).to_pylist()] == [
        words[place] for place in at.to_pylist()
    ]


def written(path, encoding, texts, **how):
    how = how or {"use_dictionary": False, "column_encoding": {"text": encoding}}
    pq.write_table(pa.table({"text": texts}), path, compression="zstd", store_schema=False, **how)
    return path


@pytest.mark.parametrize(
    ("encoding", "rows"), [("DELTA_BYTE_ARRAY", 4), ("PLAIN", 16), ("DELTA_LENGTH_BYTE_ARRAY", 16)]
)
def test_texts_that_cannot_be_read_as_they_are_stored_are_decoded_a_few_at_a_time(tmp_path, encoding, rows):
    """Forty texts of eight megabytes; where they may share their beginnings, all pages could be in each of them."""
    texts = ["x" * (8 << 20)] + ["x" * (8 << 20), "y"][encoding == "DELTA_BYTE_ARRAY" :][:1] * 39
    table = pa.table({"text": texts})
    with pq.ParquetWriter(
        tmp_path / "a.parquet", table.schema, compression="zstd", write_batch_size=1,
        use_dictionary=False, column_encoding={"text": encoding},
    ) as writer:  # fmt: skip
        writer.write_table(table)
    with (tmp_path / "a.parquet").open("rb") as file:
        how = parquet_plan.plan(file, pq.ParquetFile(file), 1 << 40)
    assert (how.as_stored, how.rows) == ([], [rows])


def test_a_page_that_memory_does_not_hold_is_refused_before_it_is_decompressed(tmp_path):
    path = written(tmp_path / "a.parquet", "PLAIN", ["x" * (64 << 20)] * 9)
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    with path.open("rb") as file, pytest.raises(InputError, match="too much"):
        parquet_plan.plan(file, pq.ParquetFile(file), 1 << 40)
    assert pool.bytes_allocated() == before


def test_copies_of_a_dictionary_are_counted(tmp_path, monkeypatch):
    path = written(tmp_path / "a.parquet", "", ["a" * 1000, "b"] * 5000, use_dictionary=True)
    with path.open("rb") as file:
        assert parquet_plan.plan(file, pq.ParquetFile(file), 1 << 40).rows == [1024]
        monkeypatch.setattr(parquet_plan, "COPIED", 9 * (1009 + 2 * parquet_plan.OF_AN_ENTRY) - 1)
        with pytest.raises(InputError, match="too much"):
            parquet_plan.plan(file, pq.ParquetFile(file), 1 << 40)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_headers_of_pages_say_what_the_footer_says(tmp_path, version, dictionary):
    path = tmp_path / "a.parquet"
    texts = [f"text {number % 900}" for number in range(5000)]
    pq.write_table(
        pa.table({"text": texts}), path, use_dictionary=dictionary, data_page_version=version, data_page_size=4096,
        write_page_checksum=True,
    )  # fmt: skip
    with path.open("rb") as file:
        chunk = pq.ParquetFile(file).metadata.row_group(0).column(0)
        read = list(pages(file, chunk))
    assert sum(page.values for page in read if not page.dictionary) == chunk.num_values == 5000
    assert [page.values for page in read if page.dictionary] == [900] * dictionary
    headers = chunk.total_uncompressed_size - sum(page.size for page in read)
    assert 0 < headers < 80 * len(read)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_a_table_without_rows_is_read(tmp_path, version, dictionary):
    """Its columns have a page of nothing, or a dictionary of nothing and no page of data."""
    empty = pa.table({"id": pa.array([], pa.string()), "at": pa.array([], pa.list_(pa.string()))})
    pq.write_table(empty, tmp_path / "a.parquet", use_dictionary=dictionary, data_page_version=version)
    data = (tmp_path / "a.parquet").read_bytes()
    assert pq.ParquetFile(io.BytesIO(data)).metadata.num_row_groups == 1
    assert sum(batch.num_rows for batch in frames.batches(io.BytesIO(data))) == 0


@pytest.mark.parametrize("kind", [9, 0x15 & 15 | 0x70])
def test_a_header_that_another_reader_may_understand_is_refused(tmp_path, kind):
    path = written(tmp_path / "a.parquet", "PLAIN", ["x"])
    data = bytearray(path.read_bytes())
    data[4] = 0x10 | kind if kind < 16 else kind
    with pytest.raises(InputError, match="page"):
        deque(frames.batches(io.BytesIO(data)), maxlen=0)


@pytest.mark.parametrize("text", ["è \U0001f34b", "\ud800"])
def test_many_rows_leave_a_child_process_as_they_are(text) -> None:
    """As columns, which need a third of the memory; what is no Unicode, one by one."""
    rows = [{"id": str(row), "text": text, "": ""} for row in range(MANY_ROWS)]
    sheet = Sheet(["id", "text", ""], rows, list(range(2, MANY_ROWS + 2)))
    assert isinstance(sheet.__getstate__()["rows"], list) == (text == "\ud800")
    assert pickle.loads(pickle.dumps(sheet)) == sheet
    uneven = replace(sheet, rows=[*rows, {"id": "1"}])
    assert pickle.loads(pickle.dumps(uneven)) == uneven
