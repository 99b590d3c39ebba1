"""A file that unpacks to, or is, a gigabyte of nothing is told in one line, for little time and little memory."""

from __future__ import annotations

import pytest

from tests import bombs


def checked(path, size, act):
    bombs.make(path, size)
    spent = bombs.cost(path, act)
    assert spent.seconds < bombs.MOST_SECONDS, spent
    assert spent.megabytes < (1024 if path.suffix in {".parquet", ".arrow"} else bombs.MOST_MEMORY), spent
    assert len(spent.told.splitlines()) == 1
    assert act != "read" or spent.told


@pytest.mark.parametrize("name", bombs.NAMES)
def test_small_ones(tmp_path, name):
    checked(tmp_path / name, 96 << 20, "read")


@pytest.mark.long
@pytest.mark.parametrize("act", ["read", "search"])
@pytest.mark.parametrize("name", bombs.NAMES)
def test_a_gigabyte(tmp_path, name, act):
    checked(tmp_path / name, bombs.GIGABYTE, act)
