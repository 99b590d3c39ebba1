"""A file that unpacks to, or is, a gigabyte of nothing is told in one line, for little memory; `python -m tests.bombs` says the time, too."""

from __future__ import annotations

import pytest

from covmis_build.annotation.exports import read_export
from covmis_build.errors import InputError
from covmis_build.files import frames, reading
from covmis_build.files.frames import read_parquet
from covmis_build.files.reading import read_table
from covmis_build.study.look import look
from tests import bombs

ONE_OF_A_KIND = (
    "zeros.jsonl.xz", "zeros.jsonl.zip", "zeros.tar.gz", "strings.xlsx", "line.csv", "brackets.json", "rows.parquet",
    "lists.parquet", "beginnings.parquet", "padded.parquet", "shared.arrow",
)  # fmt: skip
"""All others are tried with a gigabyte; their packings, small, in archive/test_streams.py."""


def checked(path, size, act):
    bombs.make(path, size)
    spent = bombs.cost(path, act)
    assert spent.megabytes < (1024 if path.suffix in {".parquet", ".arrow"} else bombs.MOST_MEMORY), spent
    assert len(spent.told.splitlines()) == 1
    assert act != "read" or spent.told


@pytest.mark.parametrize("name", ONE_OF_A_KIND)
def test_small_ones(tmp_path, name):
    checked(tmp_path / name, 96 << 20, "read")


@pytest.mark.long
@pytest.mark.parametrize("act", ["read", "search"])
@pytest.mark.parametrize("name", bombs.NAMES)
def test_a_gigabyte(tmp_path, name, act):
    checked(tmp_path / name, bombs.GIGABYTE, act)


@pytest.mark.parametrize("name", ["texts.parquet", "shared.arrow"])
def test_a_text_that_all_rows_share_counts_for_each_of_them(tmp_path, name):
    """A hundred thousand rows of one text took a preview 300 CPU s, and an export 7 GB."""
    bombs.make(tmp_path / name)
    (told,) = look(tmp_path / name).questions
    assert "amounts to too much for its size" in told
    if name.endswith(".parquet"):
        with pytest.raises(InputError, match="amounts to too much for its size"):
            read_export(tmp_path / name)


def test_texts_that_a_whole_table_repeats_are_bounded(tmp_path, monkeypatch):
    """Sixty rows that share a text of 8 MB, in a file of 2 MB, read as labels, took 2.9 GB."""
    bombs.make(tmp_path / "padded.parquet", 4 << 20)
    assert len(read_table(tmp_path / "padded.parquet").rows) == 120_060
    monkeypatch.setattr(reading, "MOST_CHARACTERS", 8 << 20)
    monkeypatch.setattr(reading, "HONEST_RATIO", 0)
    with pytest.raises(InputError, match="amounts to too much for its size"):
        read_table(tmp_path / "padded.parquet")
    assert len(read_parquet(tmp_path / "padded.parquet")) == 120_060
    monkeypatch.setattr(frames, "FROM_SMALL", 8 << 20)
    monkeypatch.setattr(frames, "HONEST_RATIO", 0)
    with pytest.raises(InputError, match="amounts to too much for its size"):
        read_parquet(tmp_path / "padded.parquet")


@pytest.mark.parametrize(
    "name",
    ["zeros.jsonl.xz", "line.csv", "brackets.json", "strings.xlsx", "shared.arrow", "beginnings.parquet"],
)
def test_a_file_that_is_refused_is_bad_input_and_no_question(tmp_path, name):
    bombs.make(tmp_path / name, 96 << 20)
    seen = look(tmp_path / name)
    assert len(seen.questions) == 1
    assert seen.exit_code == 2


def test_a_workbook_that_ends_its_reader_ends_no_preview(tmp_path):
    """Its last cell is the last one that a sheet can have: the reader's library makes all cells before it, and aborts."""
    with pytest.raises(InputError, match=r"far\.xlsx: it"):
        look(bombs.far_cell(tmp_path / "far.xlsx"))
