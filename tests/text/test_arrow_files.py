"""Arrow files of strangers: read as they are, and refused before they unpack where a few kilobytes stand for gigabytes."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest

from covmis_build.errors import CovmisError, InputError, doubted
from covmis_build.text import arrow_files, parquet
from tests import bombs

TABLE = pa.table(
    {
        "text": ["garlic", "", None] * 50, "view": pa.array(["x", "yy" * 20, None] * 50, pa.string_view()),
        "shared": pa.array(["p", "q", "p"] * 50).dictionary_encode(), "nothing": pa.nulls(150), "list": [[1, 2], [], None] * 50,
        "pairs": pa.array([[("a", "b")], [], None] * 50, pa.map_(pa.string(), pa.string())), "inside": [{"x": "1"}, {"x": None}, None] * 50,
        "number": pa.array([2**60, None, -1] * 50), "when": pa.array([0, 1, None] * 50, pa.timestamp("s")),
    }
)  # fmt: skip


def written(table: pa.Table, **how) -> io.BytesIO:
    file = io.BytesIO()
    with pa.ipc.new_file(file, table.schema, options=pa.ipc.IpcWriteOptions(**how)) as writer:
        writer.write_table(table)
    return file


def read(file: io.BytesIO) -> list[dict]:
    return [row for piece in arrow_files.pieces(file) for row in piece.to_pylist()]


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("copies", [1, 3])
def test_what_is_read_is_what_is_there(compression, copies):
    table = pa.concat_tables([TABLE] * copies)
    assert read(written(table, compression=compression)) == table.to_pylist()


def test_as_data_frames_and_old_versions_write_it():
    file = io.BytesIO()
    pyarrow.feather.write_feather(TABLE.drop(["nothing"]), file, chunksize=7)
    assert read(file) == TABLE.drop(["nothing"]).to_pylist()
    old = TABLE.drop(["view"])
    file = written(old, use_legacy_format=True, metadata_version=pa.ipc.MetadataVersion.V4)
    assert read(file) == old.to_pylist()


def many_views(count: int, size: int) -> pa.Array:
    view = np.array([size, int.from_bytes(b"xxxx", "little"), 0, 0], dtype="<i4")
    buffers = [None, pa.py_buffer(np.tile(view, count).tobytes()), pa.py_buffer(b"x" * size)]
    return pa.Array.from_buffers(pa.string_view(), count, buffers)


def shared(count: int, text: object) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * count, pa.int32()), pa.array([text]))


BOMBS = {
    "zeros": lambda: ["\0" * (100 << 20)],
    "nothing": lambda: pa.nulls(1 << 30),
    "views": lambda: many_views(10_000, 1 << 20),
    "shared": lambda: shared(10_000, "x" * (1 << 20)),
    "shared lists": lambda: shared(10_000, ["x" * (1 << 20)]),
    "runs": lambda: pa.RunEndEncodedArray.from_arrays(pa.array([10**8], pa.int32()), ["abc"]),
    "views of lists": lambda: pa.ListViewArray.from_arrays([0] * 1000, [1000] * 1000, pa.array(["x"] * 1000)),
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_a_few_kilobytes_that_stand_for_gigabytes_are_refused(name, compression):
    file = written(pa.table({"a": BOMBS[name]()}), compression=compression)
    before = pa.total_allocated_bytes()
    with pytest.raises(
        InputError, match=r"too much for its size|has a column of the type|has a row of more than"
    ):
        assert all(pa.total_allocated_bytes() - before < parquet.PIECE * 4 for _ in arrow_files.pieces(file))


def test_a_batch_has_a_limit_packed_or_not(monkeypatch):
    monkeypatch.setattr(arrow_files, "LARGEST_BATCH", 1 << 20)
    texts = pa.table({"a": [f"{number:0100}" for number in range(20_000)]})
    for compression in (None, "lz4"):
        with pytest.raises(InputError, match="a batch of more than 1 MiB"):
            read(written(texts, compression=compression))


def test_wrong_offsets_end_in_a_sentence():
    table = pa.table({"a": ["aaaa", "bbbb"]})
    data = bytearray(written(table).getvalue())
    offsets = np.array([0, 4, 8], "<i4").tobytes()
    at = data.index(offsets)
    data[at : at + 12] = np.array([0, 4, 1 << 30], "<i4").tobytes()
    with pytest.raises(CovmisError), doubted("a.arrow"):
        read(io.BytesIO(bytes(data)))


def test_a_list_of_batches_that_is_not_theirs():
    """Two files written into one: what is read is what was measured."""
    whole = written(TABLE).getvalue()
    more = written(pa.concat_tables([TABLE, TABLE])).getvalue()
    with pytest.raises(CovmisError), doubted("a.arrow"):
        read(io.BytesIO(whole[:-8] + more))


@pytest.mark.parametrize("name", [name for name in bombs.NAMES if name.endswith(".arrow")])
def test_the_bombs_by_name(tmp_path, name):
    bombs.make(tmp_path / name, 1 << 28)
    with (tmp_path / name).open("rb") as file, pytest.raises(InputError, match="too much for its size"):
        list(arrow_files.pieces(file))
