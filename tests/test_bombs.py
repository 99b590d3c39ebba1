"""A file that unpacks to, or is, a gigabyte of nothing is told in one line, for little memory; `python -m tests.bombs` says the time, too."""

from __future__ import annotations

import pytest

from tests import bombs

ONE_OF_A_KIND = (
    "zeros.jsonl.xz", "zeros.jsonl.zip", "zeros.tar.gz", "strings.xlsx", "line.csv", "brackets.json", "rows.parquet",
    "lists.parquet", "shared.arrow",
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
