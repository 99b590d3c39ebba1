"""The page of a round: people, agreement so far, and disagreements decided in it, without a name and without a loss."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from covmis_build import storage
from covmis_build.study.status import claims_to_open
from covmis_build.study.study import open_study
from tests.annotation.small import covmis, fill, label_both, rows_of, study
from tests.workbench.conftest import HOSTILE, client_of, forms_of, send
from tests.workbench.test_pages import press, wait_for


@pytest.fixture
def round_(tmp_path):
    """A round with four disagreements."""
    study(tmp_path, "target = { at_least = 0.3 }\n")
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    label_both(tmp_path, differ=lambda item: item.endswith(("3", "4")))
    covmis(tmp_path, "round", "pull")
    return open_study(tmp_path).round()


@pytest.fixture
def client(round_):
    return client_of(round_.study)


def outcome(client, item):
    """The outcome of a case that the page shows."""
    cases = forms_of(client.get("/rounds/001").text)
    return next((case["shown"] for _, case, _ in cases if case.get("item") == item), "")


def decide(client, item, label, **more):
    """Decide what the page shows to be as `shown`; by itself, as it is now."""
    form = {"item": item, "label": label, "shown": outcome(client, item), **more}
    return client.post("/rounds/001/decide", data=form, headers={"x-part": "case"}, follow_redirects=False)


def test_a_round_shows_people_agreement_and_disagreements_by_pair(client, round_):
    page = client.get("/rounds").text
    progress = round_.status()
    for worker in progress.workers:
        assert f"<b>{worker.annotator}</b>" in page
    assert f"{round_.agreement().kappa.value:.2f}" in page
    assert round_.agreement().kappa == round_.report().kappa
    assert "the line is the target" in page
    cases = round_.cases().rows
    assert f"{len(cases)} disagreements" in page
    assert page.count('<article class="case"') == 4
    pair = cases[0].pair
    assert client.get("/rounds/1", params={"pair": pair}).text.count('<article class="case"') == sum(
        case.pair == pair for case in cases
    )
    body = page.partition('id="cases"')[2]
    assert "from a1" in body
    assert not re.search(r"\ba[12]\b", body.replace("from a1", "").replace("from a2", "")), "nobody is named"
    assert "<button disabled>Seal" in page
    assert "0 of 4 decided" in page
    assert "<mark>" not in page, "a list of claims that cannot be read marks nothing"
    round_.study.places.claims_csv.write_text("claim_id,text,keywords\nc0,Claim 0,post\nc1,Claim 1,post\n")
    assert client.get("/rounds").text.count("<mark>Post</mark>") == 4
    assert client.get("/rounds/7").status_code == 400


def test_sheets_are_taken_away_in_the_page(tmp_path):
    study(tmp_path)
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    round_ = open_study(tmp_path).round()
    client, name = client_of(round_.study), "annotation/rounds/001/sheets/a1.csv"
    for other in ("a2-001.json", "model.csv"):
        (round_.folder.sheets / other).write_text("{}")
    page = client.get("/rounds").text
    assert f'<a href="/file/{name}">a1.csv</a>' in page
    assert "a2-001.json" not in page
    assert "model.csv" not in page
    assert client.get(f"/file/{name}").content == (round_.folder.sheets / "a1.csv").read_bytes()
    assert client.get("/file/annotation/rounds/001/guideline.md").status_code == 200
    assert name not in client.get("/results").text
    for other in ("a2-001.json", "model.csv"):
        (round_.folder.sheets / other).unlink()
    label_both(tmp_path, differ=lambda item: item.endswith("3"))
    round_.pull()
    round_.adjudicate()
    page = client.get("/rounds").text
    assert "Send each person" not in page, "all have answered"
    assert "discussion.csv</a>" in page
    assert "Read the decision sheets" in page


def test_deciding_in_the_page_is_what_the_terminal_does(client, round_):
    first, second, third, fourth = (case.item_id for case in round_.cases().rows)
    answer = decide(client, first, "favor", reason=f"irony {HOSTILE}", shown="to discuss")
    assert answer.status_code == 200
    assert answer.text.startswith('<article class="case done"')
    assert HOSTILE not in answer.text
    assert "&lt;script&gt;" in answer.text
    late = decide(client, first, "against", shown="to discuss")
    assert (late.status_code, late.text) == (
        400,
        f"{first} has changed since: favor. Look at it, and decide again",
    )
    assert decide(client, second, "undecided", shown="to discuss").text.count("data-key") == 3
    refused = decide(client, second, "undecided")
    assert (refused.status_code, "decides nothing" in refused.text) == (400, True)
    decide(client, second, "neither")
    decide(client, third, "favor", by="adjudicator")
    form = {"item": fourth, "label": "against"}
    assert client.post("/rounds/001/decide", data=form).status_code == 400, "it says not what it showed"
    form["shown"] = outcome(client, fourth)
    plain = client.post("/rounds/001/decide", data=form, follow_redirects=False)
    assert (plain.status_code, plain.headers["location"]) == (303, "/rounds/001")
    how = round_.decisions.set_index("item_id")["how"]
    assert list(how[[first, second, third, fourth]]) == [
        "discussed",
        "adjudicated",
        "adjudicated",
        "discussed",
    ]
    assert decide(client, "nobody|x:1", "favor").status_code == 400
    script = client.get("/session/session.sh").text
    assert f"covmis round adjudicate '{third}' --label favor --no-discussion --round 001" in script
    assert ".decide(" in client.get("/session/session.py").text
    assert ">Seal</button>" in client.get("/rounds").text
    labels = storage.read_table(round_.folder.folder / "labels.parquet", "labels")
    assert (labels["channel"] == "covmis").sum() == 5


def test_a_sealed_round_and_read_only_offer_nothing(client, round_):
    for case in round_.cases().rows:
        round_.decide(case.item_id, "favor")
    round_.seal()
    following = round_.status().next
    assert following == round_.study.status().next
    assert following == "`covmis round open` (2 claims with sampled posts in no round), or `covmis release`"
    page = client.get("/rounds").text
    assert "Open the next round" in page
    assert "data-swap" not in page
    assert "Pull labels" not in page
    assert decide(client, round_.cases().rows[0].item_id, "against").status_code == 400
    sample = storage.read_table(round_.study.places.table("sample"), "sample")
    begun = sample[sample["claim_id"].isin(round_.folder.items()["claim_id"])]
    storage.write_table(round_.study.places.table("sample"), begun, "sample")
    assert "Open the next round" not in client.get("/rounds").text
    reading = client_of(round_.study, read_only=True)
    assert "Open the next round" not in reading.get("/rounds").text
    assert decide(reading, "x", "favor").status_code == 403


def test_without_a_round_a_button_opens_one(tmp_path):
    page = client_of(open_study(study(tmp_path))).get("/rounds").text
    assert 'action="/start/round-open"' in page
    assert "No round is open" in page
    client = client_of(open_study(tmp_path))
    assert send(client, "/rounds", "/start/round-open-pilot", {}).status_code == 200
    assert wait_for(client.bench.jobs).state == "done"
    assert open_study(tmp_path).round().pilot
    assert "pilot" in client.get("/rounds").text
    assert client.get("/session/session.sh").text.endswith("covmis round open --pilot\n")


def test_a_claim_of_a_round_with_further_sampled_posts_is_to_be_opened(tmp_path):
    study(tmp_path)
    covmis(tmp_path, "round", "open", "--claims", "13")
    places = open_study(tmp_path).places
    assert claims_to_open(places) == set()
    sample = storage.read_table(places.table("sample"), "sample")
    more = sample.iloc[[0]].assign(item_id=f"{sample['claim_id'].iloc[0]}|x:1", post_id="x:1")
    storage.write_table(places.table("sample"), pd.concat([sample, more]), "sample")
    assert claims_to_open(places) == {sample["claim_id"].iloc[0]}


def test_a_round_with_labels_is_taken_back_and_kept(client, round_):
    folder = round_.study.places.folder
    assert "Its labels are kept" in client.get("/rounds").text
    assert press(client, "/rounds", "Take the round back").state == "done"
    assert not (folder / "annotation/rounds/001/items.parquet").exists()
    assert list(folder.glob("annotation/discarded/*/rounds/001/labels.*.jsonl"))
    assert "covmis round discard 001 --archive" in client.get("/session").text


def test_a_round_without_labels_is_taken_back(tmp_path):
    study(tmp_path)
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    client = client_of(open_study(tmp_path))
    assert "Nobody has labelled" in client.get("/rounds").text
    assert press(client, "/rounds", "Take the round back").state == "done"
    assert open_study(tmp_path).rounds == []
    assert not (tmp_path / "annotation/discarded").exists()


def test_a_sheet_that_came_back_is_shown_and_then_recorded(tmp_path):
    study(tmp_path)
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    round_ = open_study(tmp_path).round()
    client, sheet = client_of(round_.study), round_.folder.sheets / "a1.csv"
    fill(sheet, lambda row: "favor" if row["item_id"].endswith("3") else "maybe")
    body = sheet.read_bytes()
    fill(sheet, lambda _: "")
    answer = client.put("/rounds/1/answers/a1%20final.csv", content=body)
    assert re.fullmatch(r"/rounds/001\?file=covmis-\w+#returned", answer.text), (
        "another address: the browser loads it"
    )
    page = client.get("/rounds/001").text
    answers, asked = 2, len(round_.folder.asked())
    assert f"{answers} answers can be used, " in page
    assert "as_it_stands" in page
    assert round_.labels.empty, "a look records nothing"
    assert asked > answers
    assert (
        client_of(round_.study, read_only=True).put("/rounds/001/answers/a1.csv", content=body).status_code
        == 403
    )
    send(client, "/rounds/001", "/rounds/001/answers", {"do": "record"})
    assert list(round_.labels["label"]).count("favor") == answers
    assert "covmis round pull 'a1 final.csv' --round 001" in client.get("/session/session.sh").text
    assert "a1 final.csv" not in client.get("/rounds").text
    assert (
        client.post("/rounds/001/answers", data={"file": "a1 final.csv", "do": "record"}).status_code == 400
    )


def test_labels_of_another_tool_ask_who_is_who_and_a_sealed_round_is_reopened(tmp_path):
    study(tmp_path)
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    round_ = open_study(tmp_path).round()
    client = client_of(round_.study)
    items = sorted(row["item_id"] for row in rows_of(round_.folder.sheets / "a1.csv"))
    rows = [f"{item},{who}{HOSTILE},favor" for item in items for who in ("eva", "tom")]
    client.put(
        "/rounds/001/answers/labels.csv", content="\n".join(["item_id,annotator,label", *rows]).encode()
    )
    page = client.get("/rounds/001").text
    assert "Which annotators are" in page
    assert HOSTILE not in page
    assert str(client.bench.dropped["answers 001 labels.csv"].parent) not in page
    people = f"eva{HOSTILE}=a1\r\ntom{HOSTILE}=a2"
    page = client.get("/rounds/001", params={"people": people}).text
    assert f"A1: favor {len(items)}" in page
    assert round_.labels.empty
    send(client, "/rounds/001", "/rounds/001/answers", {"people": people, "do": "record"})
    assert len(round_.labels) == 2 * len(items)
    assert "covmis round import" in client.get("/session/session.sh").text
    round_.seal()
    page = client.get("/rounds/001").text
    assert "Files that came back" not in page
    refused = send(client, "/rounds/001", "/start/round-reopen", {"items": " ", "reason": "x"})
    assert (refused.status_code, client.bench.jobs.last) == (400, None), "it names no post"
    form = {"items": f"{items[1]}\r\n{items[2]}", "reason": "both misread it"}
    send(client, "/rounds/001", "/start/round-reopen", form)
    assert wait_for(client.bench.jobs).state == "done"
    assert sorted(open_study(tmp_path).round("001").folder.reopened) == items[1:3]
    assert "--reason 'both misread it'" in client.get("/session/session.sh").text
