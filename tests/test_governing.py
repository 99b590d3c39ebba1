"""A release tells of the settings that governed its data, and says what is set otherwise today."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from covmis_build.annotation import record
from covmis_build.cli import app
from covmis_build.errors import InputError
from covmis_build.governing import as_governed, made_with
from covmis_build.run import run
from covmis_build.study import open_study
from tests.small_study import small_study


def covmis(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def set_to(study, before: str, after: str):
    path = study.folder / "study.toml"
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), "utf-8")
    return open_study(study.folder)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A study with one open round, one label given."""
    study = small_study(tmp_path_factory.mktemp("governed"), 1500)
    run(study, workers=1)
    covmis("round", "open", "--claims", "2", "--study", study.folder)
    return study


@pytest.fixture
def study(opened, tmp_path):
    return open_study(shutil.copytree(opened.folder, tmp_path / "study"))


def test_a_round_keeps_the_settings_of_the_run_that_made_its_tables(study) -> None:
    (one,) = record.all_rounds(study.rounds)
    assert one.settings["cleaning"]["minimum_posts"] == 12
    assert one.settings["seed"] == study.seed
    assert "archive" not in one.settings["retrieval"], "a place on somebody's machine"
    changed = set_to(study, "minimum_words = 10 ", "minimum_words = 3 ")
    assert made_with(changed)["cleaning"]["minimum_words"] == 10, "not run yet, so not what made the tables"


def test_unchanged_settings_do_not_differ(study) -> None:
    then, differences = as_governed(study, record.all_rounds(study.rounds))
    assert differences == []
    assert then.cleaning == study.cleaning
    assert then.sampling == study.sampling


def test_the_card_has_the_settings_that_governed_and_names_what_is_set_otherwise_today(study) -> None:
    before = {"retrieval": study.retrieval, "cleaning": study.cleaning}
    changed = set_to(study, "minimum_words = 10 ", "minimum_words = 3 ")
    changed = set_to(changed, "per_claim = 24 ", "per_claim = 48 ")
    changed = set_to(
        changed, 'values = ["favor", "against", "neither"]', 'values = ["neither", "against", "favor"]'
    )
    then, differences = as_governed(changed, record.all_rounds(changed.rounds))
    assert {"retrieval": then.retrieval, "cleaning": then.cleaning} == before
    assert then.sampling.per_claim == 24
    assert then.labels.values == ("favor", "against", "neither")
    assert [str(one) for one in differences] == [
        "[cleaning] minimum_words was 10 for round 001 and is 3 now",
        '[labels] values was ["favor", "against", "neither"] for round 001 and is ["neither", "against", "favor"] now',
        "[sampling] per_claim was 24 for round 001 and is 48 now",
    ]
    done = CliRunner().invoke(app, ["release", "--study", str(changed.folder)], catch_exceptions=False)
    assert "warning: [cleaning] minimum_words was 10 for round 001 and is 3 now" in done.stderr
    card = (changed.release_folder / "card.md").read_text("utf-8")
    methods = (changed.release_folder / "methods.md").read_text("utf-8")
    assert "at least 10 words" in card
    assert "at least 10 words" in methods
    assert "For each claim 24 posts were expected" in card
    assert "rounds of up to 2 claims" in methods or "1 round of up to 2 claims" in methods
    for told in ("minimum\\_words was 10", "is 3 now", "per\\_claim was 24", "is 48 now"):
        assert told in card


def test_a_round_without_kept_settings_is_told_with_todays(study) -> None:
    path = study.rounds / "001" / "round.json"
    about = json.loads(path.read_text("utf-8"))
    del about["settings"]
    path.write_text(json.dumps(about), "utf-8")
    changed = set_to(study, "minimum_words = 10 ", "minimum_words = 3 ")
    then, differences = as_governed(changed, record.all_rounds(changed.rounds))
    assert (then.cleaning.minimum_words, differences) == (3, [])


@pytest.mark.parametrize(
    "settings", [3, {"cleaning": {"minimum_words": "ten"}}, {"sampling": 3, "labels": {"values": 1}}]
)
def test_damaged_settings_are_one_line_with_the_file(study, settings) -> None:
    path = study.rounds / "001" / "round.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | {"settings": settings}), "utf-8")
    with pytest.raises(InputError, match=r"round\.json"):
        as_governed(study, record.all_rounds(study.rounds))
    assert Path(path).exists()
