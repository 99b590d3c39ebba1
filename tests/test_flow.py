"""`status` and `run` list the frozen items that the present settings and archive would not contain, and why."""

from __future__ import annotations

import json
import shutil

import pytest
from typer.testing import CliRunner

from covmis_build.cli import app
from covmis_build.study import open_study
from tests.retrieval.test_stage import FIRST, name, tweet, write
from tests.small_study import ROOT

WORDS = [f"w{number}x" for number in range(12)]


def covmis(study, *words, plain=False):
    asked = [*words, "--study", str(study.folder), *([] if plain else ["--json"])]
    done = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done if plain else json.loads(done.stdout)


def set_to(study, before, after):
    path = study.folder / "study.toml"
    assert before in path.read_text("utf-8")
    path.write_text(path.read_text("utf-8").replace(before, after), "utf-8")


def text(number):
    return " ".join(["garlic coronavirus", *(f"{word}{number}" for word in WORDS[: 9 + number % 2])])


@pytest.fixture
def study(tmp_path):
    """One claim, eight posts of eleven and twelve words, all of them frozen in a round."""
    (tmp_path / "queries").mkdir()
    (tmp_path / "annotation").mkdir()
    (tmp_path / "annotation/guideline.md").write_text("Read.\n")
    shutil.copy(ROOT / "study.toml", tmp_path)
    (tmp_path / "queries/claims.csv").write_text("claim_id,text,keywords\n1,Garlic,garlic coronavirus\n")
    write(tmp_path / "data/archive/a.jsonl", [tweet(number, text(number)) for number in range(8)])
    study = open_study(tmp_path)
    set_to(study, "minimum_posts = 24", "minimum_posts = 1 ")
    covmis(study, "run")
    assert covmis(study, "round", "open")["items"] == 8
    covmis(study, "run")
    return study


def test_nothing_is_missing_while_nothing_has_changed(study):
    made = covmis(study, "status")
    assert (made["notes"], made["missing_items"]) == ([], [])
    assert "frozen items stay" not in covmis(study, "status", plain=True).stdout


def test_changed_settings_and_queries_and_purges_are_told_with_their_reasons(study):
    set_to(study, "minimum_words = 10 ", "minimum_words = 12 ")
    rows = [tweet(number, text(number)) for number in range(8) if number != 1]
    rows[2]["full_text"] = "nothing of it any more"
    write(study.folder / "data/archive/a.jsonl", rows)
    study.purge_csv.write_text(f"id\n{name(5)}\n")
    ran = covmis(study, "run", plain=True)
    assert "warning: 7 frozen items stay in the study although" in ran.stderr
    missing = {one["item_id"]: one["reason"] for one in covmis(study, "status")["missing_items"]}
    assert missing == {
        f"1|{name(0)}": "fewer than 12 words", f"1|{name(2)}": "fewer than 12 words",
        f"1|{name(4)}": "fewer than 12 words", f"1|{name(6)}": "fewer than 12 words",
        f"1|{name(1)}": "no query finds it", f"1|{name(5)}": "purged", f"1|{name(3)}": "no query finds it",
    }  # fmt: skip
    shown = covmis(study, "status", plain=True).stdout
    assert f"fewer than 12 words (4: 1|x:{FIRST}, " in shown
    assert f"purged (1: 1|{name(5)})" in shown
