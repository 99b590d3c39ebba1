"""Tests are called the same in every collection: what conftest.py refuses."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT, chance_in_id


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("packed", gzip.compress(b"a"), "its id is made of raw bytes"), ("plain", b"id,label", ""), ("text", "two words", ""),
        ("an object", "<object object at 0x7f3a2b1c4d50>", "its id holds an address of memory"),
    ],
    ids=["packed", "plain", "text", "object"],
)  # fmt: skip
def test_what_another_collection_would_not_share(name, value, reason) -> None:
    shown = value if isinstance(value, str) else repr(value)
    assert chance_in_id(shown, [value]) == reason, name


def test_ids_that_another_collection_would_not_share_are_refused(tmp_path) -> None:
    test = tmp_path / "test_small.py"
    test.write_text("""import pytest

@pytest.mark.parametrize("value", [object()], ids=str)
def test_small(value):
    pass
""")
    assert collected(test) == "its id holds an address of memory"


def collected(test) -> str:
    """What collecting this file says: that it was refused, or how many tests there are."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "--collect-only", "-q", "-c", os.devnull, str(test)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = done.stdout + done.stderr
    refused = [line for line in said.splitlines() if "its id" in line]
    return refused[0].rpartition(": ")[2] if refused else said.strip().splitlines()[-1].split(" in ")[0]


def test_what_a_packed_file_holds_is_not_the_same_twice() -> None:
    """Why raw bytes are refused: the header of a packed file holds the time."""
    assert gzip.compress(b"a", mtime=1) != gzip.compress(b"a", mtime=2)
