"""The ledger forgives a torn last line, and nothing else."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build.building import ledger
from covmis_build.building.ledger import Entry, Event
from covmis_build.errors import InputError


@given(cut=st.integers(1, 200))
def test_a_torn_last_line_is_forgiven_and_overwritten(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("ledger") / "ledger.jsonl"
    ledger.append(path, Entry("claims", Event.DONE, "1"))
    whole = path.read_bytes()
    ledger.append(path, Entry("queries", Event.DONE, "2" * 150))
    path.write_bytes(path.read_bytes()[: len(whole) + cut])
    survivors = [entry.stage for entry in ledger.read(path)]
    assert survivors == ["claims"]
    ledger.append(path, Entry("clean", Event.DONE, "3"))
    assert [entry.stage for entry in ledger.read(path)] == ["claims", "clean"]


@pytest.mark.parametrize("line", ["{", "[]", '{"key": 1}', "null", "\x00", '{"stage": "clean"}'])
def test_other_damage_says_how_to_go_on(tmp_path, line):
    path = tmp_path / "ledger.jsonl"
    whole = json.dumps({"stage": "claims", "event": "done", "key": "1"})
    path.write_text(f"{whole}\n{line}\n{whole}\n")
    with pytest.raises(InputError, match=r"ledger\.jsonl, row 2: is damaged\. Delete this ledger and run"):
        ledger.read(path)


def test_keys_follow_values():
    assert (
        ledger.key_of({"a": 1, "b": 2}) == ledger.key_of({"b": 2, "a": 1}) != ledger.key_of({"a": 1, "b": 3})
    )


def test_content_is_remembered_only_when_it_cannot_change_unseen(tmp_path):
    import os

    path, cache = tmp_path / "posts.jsonl", {}
    path.write_text("a")
    first = ledger.content(path, cache)
    assert cache == {}, "the file is younger than the clock's tick"
    os.utime(path, (1, 1))
    assert ledger.content(path, cache) == first
    assert cache[str(path)][-1] == first
    path.write_text("b")
    assert ledger.content(path, cache) != first
