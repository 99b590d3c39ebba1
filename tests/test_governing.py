"""A release tells of the settings that governed its data, and says what is set otherwise today."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from covmis_build import storage
from covmis_build.annotation import round_folder as record
from covmis_build.building.run import run
from covmis_build.cli import app
from covmis_build.errors import InputError
from covmis_build.settings import settings_toml
from covmis_build.study.round_settings import settings_of_rounds, settings_of_tables
from covmis_build.study.study import open_study
from tests.small_study import small_study


def covmis(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def set_to(study, before: str, after: str):
    path = study.places.folder / "study.toml"
    text = path.read_text("utf-8")
    assert before in text
    path.write_text(text.replace(before, after), "utf-8")
    return open_study(study.places.folder)


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """A study with one open round, one label given."""
    study = small_study(tmp_path_factory.mktemp("governed"), 1500)
    run(study.places, study.settings, workers=1)
    covmis("round", "open", "--claims", "2", "--study", study.places.folder)
    return study


@pytest.fixture
def study(opened, tmp_path):
    return open_study(shutil.copytree(opened.places.folder, tmp_path / "study"))


def test_a_round_keeps_the_settings_of_the_run_that_made_its_tables(study) -> None:
    (one,) = record.all_rounds(study.places.rounds)
    assert one.about.settings["cleaning"]["minimum_posts"] == 12
    assert one.about.settings["seed"] == study.settings.seed
    assert "archive" not in one.about.settings["retrieval"], "a place on somebody's machine"
    changed = set_to(study, "minimum_words = 10 ", "minimum_words = 3 ")
    assert settings_of_tables(changed.places, changed.settings)["cleaning"]["minimum_words"] == 10, (
        "not run yet, so not what made the tables"
    )


def test_unchanged_settings_do_not_differ(study) -> None:
    then, differences = settings_of_rounds(study.settings, record.all_rounds(study.places.rounds))
    assert differences == []
    assert then.cleaning == study.settings.cleaning
    assert then.sampling == study.settings.sampling


def unhashed(path: Path) -> dict:
    """A round.json as before 0.3.0, which may be changed."""
    return {name: value for name, value in json.loads(path.read_text("utf-8")).items() if name != "sha256"}


def test_what_was_said_of_an_archives_columns_is_released_as_it_verifies(study) -> None:
    """As it is kept in round.json its keys are sorted: a release made of that did not verify."""
    said = '[[retrieval.columns]]\nfiles = "forum.csv"\nid = "nr"\ntext = ["title", "body"]\n\n[cleaning]'
    changed = set_to(study, "[cleaning]", said)
    path = study.places.rounds / "001" / "round.json"
    about = unhashed(path)
    about["settings"]["retrieval"]["columns"] = [asdict(changed.settings.retrieval.columns[0])]
    path.write_text(json.dumps(about, sort_keys=True), "utf-8")
    then, differences = settings_of_rounds(changed.settings, record.all_rounds(changed.places.rounds))
    assert then.retrieval.columns == changed.settings.retrieval.columns
    assert settings_toml(then) == settings_toml(changed.settings)
    assert differences == []


def test_the_card_has_the_settings_that_governed_and_names_what_is_set_otherwise_today(study) -> None:
    before = {"retrieval": study.settings.retrieval, "cleaning": study.settings.cleaning}
    changed = set_to(study, "minimum_words = 10 ", "minimum_words = 3 ")
    changed = set_to(changed, "per_claim = 24 ", "per_claim = 48 ")
    changed = set_to(
        changed, 'values = ["favor", "against", "neither"]', 'values = ["neither", "against", "favor"]'
    )
    then, differences = settings_of_rounds(changed.settings, record.all_rounds(changed.places.rounds))
    assert {"retrieval": then.retrieval, "cleaning": then.cleaning} == before
    assert then.sampling.per_claim == 24
    assert then.labels.values == ("favor", "against", "neither")  # noqa: PD011 - a setting of ours
    assert [str(one) for one in differences] == [
        "[cleaning] minimum_words was 10 for round 001 and is 3 now",
        '[labels] values was ["favor", "against", "neither"] for round 001 and is ["neither", "against", "favor"] now',
        "[sampling] per_claim was 24 for round 001 and is 48 now",
    ]
    words = ["release", "--run", "--study", str(changed.places.folder)]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert "warning: [cleaning] minimum_words was 10 for round 001 and is 3 now" in done.stderr
    card = (changed.places.release / "card.md").read_text("utf-8")
    methods = (changed.places.release / "methods.md").read_text("utf-8")
    assert "at least 10 words" in card
    assert "at least 10 words" in methods
    assert "For each claim 24 posts were expected" in card
    assert "rounds of up to 2 claims" in methods or "1 round of up to 2 claims" in methods
    for told in ("minimum\\_words was 10", "is 3 now", "per\\_claim was 24", "is 48 now"):
        assert told in card


def test_a_round_without_kept_settings_is_told_with_todays(study) -> None:
    path = study.places.rounds / "001" / "round.json"
    about = unhashed(path)
    del about["settings"]
    path.write_text(json.dumps(about), "utf-8")
    changed = set_to(study, "minimum_words = 10 ", "minimum_words = 3 ")
    then, differences = settings_of_rounds(changed.settings, record.all_rounds(changed.places.rounds))
    assert then.cleaning.minimum_words == 3
    assert [one.setting for one in differences] == ["[sampling] certain"], (
        "no draw of before this setting took any"
    )


@pytest.mark.parametrize(
    "settings", [3, {"cleaning": {"minimum_words": "ten"}}, {"sampling": 3, "labels": {"values": 1}}]
)
def test_damaged_settings_are_one_line_with_the_file(study, settings) -> None:
    path = study.places.rounds / "001" / "round.json"
    path.write_text(json.dumps(unhashed(path) | {"settings": settings}), "utf-8")
    with pytest.raises(InputError, match=r"round\.json"):
        settings_of_rounds(study.settings, record.all_rounds(study.places.rounds))
    assert Path(path).exists()


def test_what_another_version_has_written_is_not_dropped_in_silence(study) -> None:
    path = study.places.rounds / "001" / "round.json"
    path.write_text(json.dumps(unhashed(path) | {"later": 1}), "utf-8")
    with pytest.raises(InputError, match=r"round\.json: is not in covmis.s format.*`later`"):
        record.all_rounds(study.places.rounds)


def test_a_pilot_round_does_not_govern(study) -> None:
    changed = set_to(study, "minimum_words = 10 ", "minimum_words = 3 ")
    covmis("run", "--study", changed.places.folder)
    covmis("round", "open", "--pilot", "--claims", "1", "--study", changed.places.folder)
    back = set_to(changed, "minimum_words = 3 ", "minimum_words = 10 ")
    rounds = record.all_rounds(back.places.rounds)
    assert [(one.pilot, one.about.settings["cleaning"]["minimum_words"]) for one in rounds] == [
        (False, 10),
        (True, 3),
    ]
    then, differences = settings_of_rounds(back.settings, rounds)
    assert (then.cleaning.minimum_words, differences) == (10, [])
    alone, _ = settings_of_rounds(back.settings, rounds[1:])
    assert alone.cleaning.minimum_words == 3, "where there is nothing else, it is better than nothing"


def test_a_round_of_the_claims_that_one_names(study) -> None:
    waiting = [str(claim) for claim in storage.read_table(study.places.table("sample"), "sample")["claim_id"]]
    begun = set(study.round().items["claim_id"])
    named = sorted(set(waiting) - begun)[-2:]
    with pytest.raises(InputError, match="no claim is called 'nobody's'"):
        study.open_round([*named, "nobody's"])
    with pytest.raises(InputError, match="no claim is named"):
        study.open_round([])
    assert [round_.number for round_ in study.rounds] == ["001"], "nothing is made where something is wrong"
    round_ = study.open_round(named)
    assert set(round_.items["claim_id"]) == set(named)


def test_a_round_notes_the_hash_of_predictions(study) -> None:
    file = study.places.folder / "model.csv"
    file.write_text("item_id,prediction\n")
    round_ = study.open_round(1, predictions=file)
    assert record.find(study.places.rounds).about.predictions == {"model.csv": storage.sha256_of(file)}
    assert round_.sentences[1].startswith("Registered model.csv (")
    with pytest.raises(InputError, match="a training round registers no predictions"):
        study.open_round(training=True, predictions=file)
    with pytest.raises(InputError, match=r"nowhere\.csv: is no file"):
        study.open_round(1, predictions="nowhere.csv")
    assert [one.number for one in study.rounds] == ["001", "002"], "nothing is opened where a file is missing"


def test_predictions_and_comparisons_name_the_labels_that_governed_the_rounds(study) -> None:
    changed = study.change(
        labels={"values": ["pro", "con", "neither"], "poles": ["pro", "con"], "automatic": {}}
    )
    changed.run(workers=1)
    items = changed.items
    shares = pd.DataFrame(
        {"item_id": items["item_id"], "favor": 0.5, "against": 0.3, "neither": 0.2, "fold": "elsewhere"}
    )
    with pytest.raises(InputError) as error:
        changed.estimate(assisted_by=shares.drop(columns="favor"), elsewhere=True)
    assert "favor" in str(error.value)
    assert "pro" not in str(error.value).split()
    with pytest.raises(InputError) as error:
        changed.estimate(between=("label:pro", "label:con"))
    assert "favor" in str(error.value)


def test_a_round_may_be_named_by_its_number(study) -> None:
    assert study.round(1).number == study.round("001").number == "001"
