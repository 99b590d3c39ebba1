"""`status` and `run` list the frozen items that the present settings and archive would not contain, and why."""

from __future__ import annotations

import json
import multiprocessing
import shutil

import pytest
from typer.testing import CliRunner

from covmis_build.cli import app
from covmis_build.study.study import open_study
from tests.matching.test_stage import FIRST, name, tweet, write
from tests.small_study import ROOT

WORDS = [f"w{number}x" for number in range(12)]


def covmis(study, *words, plain=False):
    asked = [*words, "--study", str(study.places.folder), *([] if plain else ["--json"])]
    done = CliRunner().invoke(app, asked, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done if plain else json.loads(done.stdout)


def set_to(study, before, after):
    path = study.places.folder / "study.toml"
    assert before in path.read_text("utf-8")
    path.write_text(path.read_text("utf-8").replace(before, after), "utf-8")


def text(number):
    return " ".join(["garlic coronavirus", *(f"{word}{number}" for word in WORDS[: 9 + number % 2])])


def made(folder):
    """One claim, eight posts of eleven and twelve words, all of them frozen in a round."""
    (folder / "queries").mkdir()
    (folder / "annotation").mkdir()
    (folder / "annotation/guideline.md").write_text("Read.\n")
    shutil.copy(ROOT / "study.toml", folder)
    (folder / "queries/claims.csv").write_text("claim_id,text,keywords\n1,Garlic,garlic coronavirus\n")
    write(folder / "data/archive/a.jsonl", [tweet(number, text(number)) for number in range(8)])
    study = open_study(folder)
    set_to(study, "minimum_posts = 24", "minimum_posts = 1 ")
    covmis(study, "run")
    assert covmis(study, "round", "open")["items"] == 8
    covmis(study, "run")
    return study


@pytest.fixture
def study(tmp_path):
    return made(tmp_path)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return made(tmp_path_factory.mktemp("built"))


def test_nothing_is_missing_while_nothing_has_changed(study):
    made = covmis(study, "status")
    assert (made["notes"], made["missing_items"]) == ([], [])
    assert "frozen items stay" not in covmis(study, "status", plain=True).stdout


def test_changed_settings_and_queries_and_purges_are_told_with_their_reasons(study):
    set_to(study, "minimum_words = 10 ", "minimum_words = 12 ")
    rows = [tweet(number, text(number)) for number in range(8) if number != 1]
    rows[2]["full_text"] = "nothing of it any more"
    write(study.places.folder / "data/archive/a.jsonl", rows)
    study.places.purge_csv.write_text(f"id\n{name(5)}\n")
    ran = covmis(study, "run", plain=True)
    assert "warning: 7 items of rounds are no longer among today's posts: " in ran.stderr
    missing = {one["item_id"]: one["reason"] for one in covmis(study, "status")["missing_items"]}
    assert missing == {
        f"1|{name(0)}": "fewer than 12 words", f"1|{name(2)}": "fewer than 12 words",
        f"1|{name(4)}": "fewer than 12 words", f"1|{name(6)}": "fewer than 12 words",
        f"1|{name(1)}": "no query finds it", f"1|{name(5)}": "purged", f"1|{name(3)}": "no query finds it",
    }  # fmt: skip
    shown = covmis(study, "status", plain=True).stdout
    assert f"fewer than 12 words (4: 1|x:{FIRST}, " in shown
    assert f"purged (1: 1|{name(5)})" in shown


@pytest.mark.parametrize("gone", ["hits", "posts", "retrieve.dropped", "clean.dropped", "claims", "items"])
def test_status_shows_what_is_to_be_made_where_a_purge_took_a_table_away(built, gone):
    built.places.table(gone).rename(built.places.folder / "aside")
    try:
        made = covmis(built, "status")
        assert not all(one["current"] for one in made["stages"])
        assert made["next"].startswith("`covmis run` (to be made: ")
    finally:
        (built.places.folder / "aside").rename(built.places.table(gone))


def test_explain_says_which_table_is_missing(built):
    built.places.table("posts").rename(built.places.folder / "aside")
    done = CliRunner().invoke(app, ["explain", name(1), "--study", str(built.places.folder)])
    (built.places.folder / "aside").rename(built.places.table("posts"))
    assert "posts.parquet: is missing. Make it with `covmis run`" in str(done.exception)
    assert covmis(built, "explain", name(1))["sentences"]


def test_the_page_shows_the_largest_groups_and_how_unlike_their_members_are(tmp_path):
    study = made(tmp_path)
    assert "Largest groups" not in _page(study)  # no two of these are alike
    copy = tweet(20, text(0) + " again")
    write(tmp_path / "data/archive/b.jsonl", [copy])
    covmis(study, "run")
    chains = covmis(study, "status")["chains"]
    assert [one["size"] for one in chains] == [2]
    assert 0.8 < chains[0]["weakest"] < 1
    page = _page(study)
    assert "Largest groups of near-identical posts" in page
    assert all(chains[0][name] in page for name in ("weakest_a", "weakest_b"))
    assert page.count(text(0)) == 2, "people judge texts, not ids"


def test_a_bare_number_is_found_with_its_platform(built):
    told = covmis(built, "explain", name(1).partition(":")[2])["sentences"]
    assert told == covmis(built, "explain", name(1))["sentences"]


def _page(study):
    return (study.places.folder / covmis(study, "export", "flow")["page"]).read_text("utf-8")


def test_a_forked_process_asks_a_database_of_its_own(built):
    """One that asked its parent's would wait for threads that it does not have."""
    open_study(built.places.folder).status()
    child = multiprocessing.get_context("fork").Process(
        target=lambda: open_study(built.places.folder).status()
    )
    child.start()
    child.join(600)
    child.kill()
    assert child.exitcode == 0
