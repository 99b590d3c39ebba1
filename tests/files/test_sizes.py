"""What the values of a table amount to, counted before they are expanded: equal to what each is alone."""

from __future__ import annotations

from collections import deque

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covmis_build.errors import InputError
from covmis_build.files import frames
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


def test_rows_that_share_a_text_come_a_few_at_a_time(tmp_path):
    """Read rightly, and never more than some hundred megabytes at once."""
    words = ["a" * (8 << 20), "b"]
    at = pa.array([0, 1, 1, 0] * 8, pa.int32())
    pq.write_table(
        pa.table({"text": pa.DictionaryArray.from_arrays(at, pa.array(words))}),
        tmp_path / "a.parquet",
        store_schema=False,
    )
    with (tmp_path / "a.parquet").open("rb") as file:
        shared, rows = frames._shared(file, pq.ParquetFile(file), 1 << 40)
        pieces = list(frames.batches(file))
    assert (shared, rows) == ([], 31)
    assert max(len(piece) for piece in pieces) < 32
    assert [value for piece in pieces for value in piece.column(0).to_pylist()] == [
        words[place] for place in at.to_pylist()
    ]
