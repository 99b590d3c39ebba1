"""What other packages add is there by its name; a faulty one is an error where it is asked for, and nowhere else."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import covmis_build as covmis
from covmis_build import registry
from covmis_build.archive import formats
from covmis_build.errors import InputError, UnknownName
from covmis_build.evaluation.catalogue import chosen, measures

EXAMPLE = Path(__file__).with_name("example")
GOLD, SYSTEM = ["a", "b", "a", "b"], ["a", "a", "a", "b"]


@pytest.fixture
def example(monkeypatch):
    """The example package, as it is found when it is installed."""
    monkeypatch.syspath_prepend(EXAMPLE)
    fresh()
    yield
    monkeypatch.undo()
    fresh()


def fresh():
    for names in (measures, formats.FORMS, formats.READERS, formats.TABLES, formats.WHOLE):
        names._loaded.clear()
    registry.points.cache_clear()
    formats._others.cache_clear()
    for name in [name for name in sys.modules if name.startswith("covmis_example")]:
        del sys.modules[name]


def test_a_measure_is_used_where_it_is_named(example):
    assert measures["share_of_first"]([[2, 0], [1, 1]]) == 0.75
    table = covmis.score(GOLD, {"mine": SYSTEM}, measures=["accuracy", "share_of_first"]).to_frame()
    assert dict(zip(table["measure"], table["value"], strict=True)) == {
        "accuracy": 0.75,
        "share_of_first": 0.75,
    }
    assert str(measures["share_of_first"].cite) == "A paper of theirs"


def test_nothing_is_imported_that_is_not_asked_for(example):
    table = covmis.score(GOLD, {"mine": SYSTEM}).to_frame()
    assert "share_of_first" not in set(table["measure"])
    assert "share_of_first" in measures
    assert "share_of_first" not in list(measures)
    assert not any(name.startswith("covmis_example") for name in sys.modules)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("broken", "RuntimeError: no library of theirs"),
        ("seven", "TypeError: it is no Measure but a int"),
        ("another_name", "ValueError: it calls itself 'share_of_first'"),
    ],
)
def test_a_faulty_measure_is_one_line_that_names_its_package(example, name, why):
    with pytest.raises(InputError) as raised:
        covmis.score(GOLD, {"mine": SYSTEM}, measures=[name])
    assert str(raised.value) == (
        f"the measure '{name}' of the package covmis-example cannot be used: {why}. Update or remove covmis-example"
    )


def test_a_name_of_ours_stays_ours(example):
    assert measures["accuracy"].title == "Accuracy"
    with pytest.raises(UnknownName, match="share_of_first"):
        chosen(["share_of_firts"])


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_a_form_is_read_as_ours_are(example, tmp_path, ending):
    study = covmis.new_study(tmp_path / "study", title="Talk")
    rows = [{"talk_id": at, "words": f"garlic cures {at}", "day": "2020-04-22T12:00:00Z"} for at in range(3)]
    lines = [json.dumps(row) for row in rows]
    if ending == "csv":
        lines = ["talk_id,words,day", *(",".join(map(str, row.values())) for row in rows)]
    archive = tmp_path / "study" / "data" / "archive" / f"talk.{ending}"
    archive.parent.mkdir(parents=True, exist_ok=True)
    archive.write_text("\n".join(lines) + "\n")
    study.run(["read"], workers=1)
    posts = study.archive.to_pandas()
    assert sorted(posts["post_id"]) == ["talk:0", "talk:1", "talk:2"]
    assert set(posts["form"]) == {"talk"}


def test_a_line_that_no_form_knows_says_which_could_not_be_tried(example):
    assert formats.KNOWN.detect(b'{"unknown": 1}') == ""
    with pytest.raises(
        ValueError, match=r"no known form of post.*; the form 'broken' of the package covmis-example"
    ):
        formats.READERS[""](b'{"unknown": 1}')
    with pytest.raises(
        InputError, match="'empty' of the package covmis-example cannot be used: TypeError: it has neither"
    ):
        formats.READERS["empty"]
    assert "talk" in formats.WHOLE, "what covmis does not know, it does not take apart"


def test_files_are_read_again_when_a_package_adds_a_form(tmp_path, monkeypatch):
    fresh()
    study = covmis.new_study(tmp_path / "study", title="Talk")
    archive = tmp_path / "study" / "data" / "archive" / "talk.jsonl"
    archive.parent.mkdir(parents=True, exist_ok=True)
    archive.write_text('{"talk_id": 1, "words": "garlic"}\n')
    study.run(["read"], workers=1)
    assert study.archive.to_pandas().empty
    monkeypatch.syspath_prepend(EXAMPLE)
    fresh()
    study.run(["read"], workers=1)
    assert list(study.archive.to_pandas()["post_id"]) == ["talk:1"]
    monkeypatch.undo()
    fresh()
