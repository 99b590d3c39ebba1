"""A release knows its age: what the study has since, and its files do not tell, is named wherever the release is spoken of."""

from __future__ import annotations

import json

import pytest

from covmis_build import storage
from covmis_build.study.study import open_study
from tests.annotation.small import as_if_run, covmis, fill, pulled, study
from tests.once import once
from tests.workbench.conftest import client_of

CLAIMS = "claim_id,text\n" + "".join(f"c{number},Claim {number} <i>says</i>\n" for number in range(4))


@once
def released(folder) -> None:
    """A sealed round and an open one with labels, released."""
    pulled(folder)
    storage.write_text(folder / "queries/claims.csv", CLAIMS)
    as_if_run(folder)
    covmis(folder, "round", "seal")
    for command in ("open", "push"):
        covmis(folder, "round", command)
    for who in ("a1", "a2"):
        fill(folder / f"annotation/rounds/002/sheets/{who}.csv", lambda _: "favor")
    covmis(folder, "round", "pull")
    covmis(folder, "release", "--deposit")


@pytest.fixture
def folder(tmp_path):
    return released(tmp_path)


def reword(folder) -> None:
    text = CLAIMS.replace("Claim 1 <i>says</i>", "Claim 1 in other words")
    storage.write_text(folder / "queries/claims.csv", text)
    as_if_run(folder)


def relabel(folder) -> None:
    fill(
        folder / "annotation/rounds/002/sheets/a1.csv",
        lambda row: "favor" if row["item_id"][-1] != "3" else "against",
    )
    fill(
        folder / "annotation/rounds/002/sheets/a2.csv",
        lambda row: "favor" if row["item_id"][-1] != "3" else "against",
    )
    covmis(folder, "round", "pull")


def reopen(folder) -> None:
    round_ = open_study(folder).round("001")
    round_.reopen([round_.items["item_id"].iloc[1]], "both misread it")


def draw_again(folder) -> None:
    path = folder / "data/build/sample.parquet"
    sample = storage.read_table(path, "sample")
    storage.write_table(path, sample.assign(p_sample=0.25), "sample")
    as_if_run(folder)


CHANGES = {
    "settings": (
        lambda folder: open_study(folder).change(
            release={"licence": "CC-BY-4.0", "authors": [{"name": "A. Author"}], "version": "1.0"}
        ),
        "[release] licence, authors and version set since",
    ),
    "title": (lambda folder: open_study(folder).change(title="Another"), "the title was changed since"),
    "cleaning": (
        lambda folder: open_study(folder).change(cleaning={"minimum_words": 3}),
        "`covmis run` has not been run (to be made: clean",
    ),
    "seal": (lambda folder: open_study(folder).round("002").seal(), "round 002 was sealed since"),
    "reopened": (reopen, "round 001 was reopened since"),
    "labels": (relabel, "2 posts have another final label, or got it otherwise"),
    "claim": (reword, "claim c1's text was changed since"),
    "tables": (draw_again, "tables were made again since, with other rows: sample"),
    "deposit": (
        lambda folder: open_study(folder).release(text=True),
        "data/deposit/upload is of another release",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_the_release_does_not_tell_is_named(folder, change):
    act, told = CHANGES[change]
    act(folder)
    assert told in "; ".join(open_study(folder).differing_release())


def test_it_is_named_wherever_the_release_is_spoken_of(folder):
    assert covmis(folder, "release", "--check")["differences"] == []
    assert "is what the study is now" in client_of(open_study(folder)).get("/release").text
    relabel(folder)
    told = "2 posts have another final label"
    assert told in covmis(folder, "release", "--check", fails=1)["differences"][0]
    assert any(told in note for note in covmis(folder, "status")["notes"])
    client = client_of(open_study(folder))
    for page in ("/", "/release"):
        assert told in client.get(page).text
    open_study(folder).release(deposit=True)
    assert covmis(folder, "release", "--check")["differences"] == []


def test_ticks_are_about_the_files(folder):
    study = open_study(folder).change(release={"contact": "a@example.org"})
    checks = {check.what: check for check in study.check_release().checks}
    assert not checks["a contact"].passed
    assert checks["a contact"].remedy.startswith("a contact in the study since, not in the release")
    study.release()
    assert {check.what: check.passed for check in study.check_release().checks}["a contact"]


def test_a_reworded_claim_is_published_as_it_was_judged_and_said_to_be(folder):
    reword(folder)
    told = covmis(folder, "release")
    assert "“Claim 1 <i>says</i>” is now “Claim 1 in other words”" in told["warnings"]
    assert [row["claim"] for row in told["reworded"]] == ["c1"]
    rows = (folder / "data/release/corpus.csv").read_text("utf-8-sig")
    assert "Claim 1 <i>says</i>" in rows
    assert "in other words" not in rows
    assert "now “Claim 1 in other words”" in (folder / "data/release/card.md").read_text("utf-8")
    assert any("is now “Claim 1 in other words”" in note for note in covmis(folder, "status")["notes"])
    covmis(folder, "verify", str(folder / "data/release"))


def test_a_release_that_tells_less_is_compared_by_what_it_tells(folder):
    facts = folder / "data/release/facts.json"
    told = json.loads(facts.read_text("utf-8"))
    assert "reworded" not in told, "what older releases do not have is written only where there is any"
    facts.unlink()
    assert covmis(folder, "release", "--check")["differences"] == []
    relabel(folder)
    assert covmis(folder, "release", "--check", fails=1)["differences"] == [
        "2 posts have another final label, or got it otherwise"
    ]
    facts.write_text("{")
    assert "facts.json: cannot be read" in covmis(folder, "release", "--check", fails=1)["differences"][0]
    (folder / "data/release/checksums.txt").unlink()
    assert "interrupted" in covmis(folder, "release", "--check", fails=1)["differences"][0]


def test_before_a_release_there_is_none_to_compare(tmp_path):
    study(tmp_path)
    told = covmis(tmp_path, "release", "--check", fails=1)
    assert (told["is_there"], told["differences"]) == (False, [])
