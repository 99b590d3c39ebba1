"""A whole round with sheets, through the commands."""

from __future__ import annotations

import hashlib
import json

import pyarrow.parquet as pq
import pytest

from covmis_build import storage
from covmis_build.annotation import frozen_items
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.gold import gold_of, write_decisions
from covmis_build.errors import BrokenSeal, InputError
from covmis_build.study.study import open_study
from tests.annotation.small import (
    as_if_run,
    covmis,
    fill,
    forge,
    label_both,
    opened,
    pulled,
    pushed,
    rows_of,
    sealed,
    study,
    write_rows,
)


@pytest.fixture
def folder(tmp_path):
    return study(tmp_path)


def content(folder):
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "annotation").rglob("*"))
        if path.is_file()
    }


def third(item):
    return item.endswith(("3", "4"))


def test_a_whole_round_and_every_command_twice(folder):
    sheets = folder / "annotation" / "rounds" / "001" / "sheets"
    opened = covmis(folder, "round", "open")
    assert (opened["round"], opened["claims"], opened["items"], opened["for_people"]) == ("001", 2, 12, 11)

    def again(*words, fails=0):
        first = covmis(folder, *words, fails=fails)
        before = content(folder)
        covmis(folder, *words, fails=fails)
        assert content(folder) == before, f"{words} changed something the second time"
        return first

    again("round", "push")
    assert again("round", "pull")["added"] == 0
    label_both(folder, differ=third)
    assert again("round", "pull")["added"] == 22
    report = again("round", "report")
    page = (folder / "annotation" / "rounds" / "001" / "report.html").read_text("utf-8")
    cases = [one.partition("</article>")[0] for one in page.split('<article class="case">')[1:]]
    assert len(cases) == 4
    assert not any("<style" in one for one in cases)
    assert page.count(".case {") == 1
    assert report["round"]["items_with_two_labels"] == 10
    assert report["round"]["scope"]["automatic_items_left_out"] == 2
    assert report["round"]["audit"]["items"] == 1
    found = again("round", "adjudicate")
    assert found["disagreements"] == found["to_discuss"] == 4
    covmis(folder, "round", "seal", fails=1)
    fill(sheets / "discussion.csv", lambda row: row["A"] if row["item_id"].endswith("3") else "undecided")
    found = again("round", "adjudicate")
    assert (found["discussed"], found["to_adjudicate"]) == (2, 2)
    advice = covmis(folder, "round", "status")["next"]
    assert advice == "let the adjudicator decide 2 posts (adjudication.csv), then `covmis round adjudicate`"
    fill(sheets / "adjudication.csv", lambda row: "neither")
    found = again("round", "adjudicate")
    assert (found["adjudicated"], found["to_adjudicate"], found["to_discuss"]) == (2, 0, 0)
    again("round", "status")
    sealed = again("round", "seal")
    assert len(sealed["seal"]) == 64
    assert again("round", "verify")["rounds"][0]["stands"]
    decided = storage.read_table(folder / "annotation" / "rounds" / "001" / "decisions.parquet", "gold")
    assert decided["how"].value_counts().to_dict() == {
        "agreed": 6, "discussed": 2, "adjudicated": 2, "automatic": 1, "audited": 1,
    }  # fmt: skip
    assert "sealed" in covmis(folder, "round", "pull", fails=2)["error"]
    assert again("round", "adjudicate")["adjudicated"] == 2
    fill(sheets / "adjudication.csv", lambda row: "against")
    refused = covmis(folder, "round", "adjudicate", fails=2)["error"]
    assert "and 1 more post as against (sealed: neither), but round 001 is sealed" in refused
    assert "`covmis round reopen" in refused
    fill(sheets / "adjudication.csv", lambda row: "neither")
    assert covmis(folder, "round", "open")["round"] == "002"
    assert covmis(folder, "round", "open", fails=2)["error"].startswith("all sampled claims")


def test_keys_of_a_rounds_tables_are_never_empty(folder):
    opened(folder)
    place = folder / "annotation" / "rounds" / "001"
    schema = pq.read_schema(place / "items.parquet")
    assert [one.name for one in schema if not one.nullable] == ["item_id", "round", "claim_id", "post_id"]
    frozen = frozen_items.read_items(place)
    with pytest.raises(InputError, match="a row without post_id"):
        frozen_items.write_items(place, frozen.assign(post_id=None))
    assert len(frozen_items.read_items(place)) == len(frozen)


def test_what_was_said_before_stays_beside_what_was_agreed(folder):
    pushed(folder)
    label_both(folder, differ=third)
    covmis(folder, "round", "pull")
    covmis(folder, "round", "adjudicate")
    one = record.find(folder / "annotation" / "rounds")
    before = one.labels()
    fill(one.sheets / "discussion.csv", lambda row: "favor")
    covmis(folder, "round", "adjudicate")
    after = one.labels()
    assert after.iloc[: len(before)].equals(before)
    assert set(after.iloc[len(before) :]["phase"]) == {"discussion"}


def test_an_unknown_error_class_is_reported_and_its_decision_counts(folder):
    pushed(folder)
    label_both(folder, differ=third)
    covmis(folder, "round", "pull")
    covmis(folder, "round", "adjudicate")
    sheet = folder / "annotation" / "rounds" / "001" / "sheets" / "discussion.csv"
    fill(sheet, lambda row: "favor")
    sheet.write_text(sheet.read_text("utf-8-sig").replace(",favor,,", ",favor,mistake,", 1), "utf-8-sig")
    done = covmis(folder, "round", "adjudicate")
    assert done["to_discuss"] == 0
    assert (
        [note for note in done["notes"] if "'mistake'" in note and "recorded as other" in note]
        == done["notes"]
        != []
    )


def test_a_guideline_that_was_renewed_is_named_by_the_next_push(folder):
    pushed(folder)
    assert covmis(folder, "round", "push")["written"] == []
    guideline = folder / "annotation" / "guideline.md"
    guideline.write_text(guideline.read_text("utf-8") + "\nneither: all else.\n", "utf-8")
    assert covmis(folder, "round", "push")["written"] == ["annotation/rounds/001/guideline.md"]


def test_the_discussion_sheet_does_not_say_who(folder):
    pushed(folder)
    label_both(folder, differ=lambda item: True)
    covmis(folder, "round", "pull")
    covmis(folder, "round", "adjudicate")
    rows = rows_of(folder / "annotation" / "rounds" / "001" / "sheets" / "discussion.csv")
    assert set(rows[0]) >= {"A", "B", "comment A", "comment B", "error_class", "reason"}
    first = {row["comment A"] for row in rows}
    assert first == {"from a1", "from a2"}, "A is not always the same person"


def test_the_frozen_round_is_complete_without_build(folder):
    opened(folder)
    for path in (folder / "data" / "build").iterdir():
        path.unlink()
    covmis(folder, "round", "push")
    label_both(folder)
    assert covmis(folder, "round", "pull")["added"] == 22
    covmis(folder, "round", "seal")
    assert covmis(folder, "round", "verify")["rounds"][0]["stands"]


def test_sheets_never_lose_what_was_filled_in_and_a_replacement_gets_the_rest(folder):
    pushed(folder)
    sheets = folder / "annotation" / "rounds" / "001" / "sheets"
    fill(sheets / "a1.csv", lambda row: "favor")
    half = rows_of(sheets / "a2.csv")
    for row in half[:5]:
        row["label"] = "against"
    write_rows(sheets / "a2.csv", half)
    covmis(folder, "round", "pull")
    text = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(text + 'annotators = ["a1", "a3"]\n')
    covmis(folder, "round", "push")
    new = rows_of(sheets / "a3.csv")
    assert {row["item_id"] for row in new} == {row["item_id"] for row in half[5:]}
    assert [row["label"] for row in rows_of(sheets / "a1.csv")] == ["favor"] * 11
    fill(sheets / "a3.csv", lambda row: "favor")
    covmis(folder, "round", "pull")
    one = record.find(folder / "annotation" / "rounds")
    counts = one.labels().groupby("item_id")["annotator"].nunique()
    assert set(counts) == {2}


def test_corrections_supersede_and_nothing_is_lost(folder):
    pulled(folder)
    path = folder / "annotation" / "rounds" / "001" / "sheets" / "a1.csv"
    rows = rows_of(path)
    was = rows[0]["label"]
    rows[0]["label"] = "neither" if was != "neither" else "favor"
    write_rows(path, rows)
    assert covmis(folder, "round", "pull")["added"] == 1
    labels = record.find(folder / "annotation" / "rounds").labels()
    changed = labels[labels["supersedes"] != ""].iloc[0]
    assert labels.set_index("label_id").loc[changed["supersedes"], "label"] == was
    assert covmis(folder, "round", "pull")["added"] == 0


def test_a_mended_seal_is_noticed_and_a_purge_is_not_a_change(folder):
    sealed(folder)
    place = folder / "annotation" / "rounds"
    one = record.find(place)
    post = one.items()["post_id"].iloc[3]
    text = one.items()["text"].iloc[3]
    assert record.forget(place, [post]) == 1
    state = covmis(folder, "round", "verify")["rounds"][0]
    assert state["stands"]
    assert state["purged"] == 1
    for path in (folder / "annotation").rglob("*"):
        assert path.suffix == ".parquet" or not path.is_file() or text not in path.read_text("utf-8"), path
    assert text not in one.items()["text"].tolist()
    assert [len(rows_of(one.sheets / name)) for name in ("a1.csv", "a2.csv")] == [10, 10]
    assert covmis(folder, "round", "report")["round"]["answers"] == 20
    forge(one, 1, "favor" if one.labels()["label"].iloc[0] != "favor" else "against")
    assert "labels" in covmis(folder, "round", "verify", fails=1)["rounds"][0]["changed"]


def test_a_round_of_which_a_post_was_purged_before_anybody_labelled_it_can_be_sealed(folder):
    """It waited for a label that nobody can give any more."""
    opened(folder)
    one = record.find(folder / "annotation" / "rounds")
    assert record.forget(folder / "annotation" / "rounds", [one.items()["post_id"].iloc[3]]) == 1
    covmis(folder, "round", "push")
    label_both(folder)
    covmis(folder, "round", "pull")
    assert covmis(folder, "round", "status")["undecided"] == 0
    covmis(folder, "round", "seal")
    assert covmis(folder, "round", "verify")["rounds"][0]["stands"]


def test_a_changed_seal_is_noticed_there_and_in_the_next_round(folder):
    for number in ("001", "002"):
        covmis(folder, "round", "open")
        covmis(folder, "round", "push")
        label_both(folder, number)
        covmis(folder, "round", "pull")
        covmis(folder, "round", "seal")
    path = folder / "annotation" / "rounds" / "001" / "seal.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "seal": "0" * 64}))
    rows = covmis(folder, "round", "verify", fails=1)["rounds"]
    assert rows[0]["changed"] == ["the seal itself"]
    assert rows[1]["changed"] == ["the previous seal"]


def test_a_seal_holds_no_text_and_no_name(folder):
    sealed(folder)
    text = (folder / "annotation" / "rounds" / "001" / "seal.json").read_text()
    for word in ("Post", "Claim", "from a1", '"a1"', "x:125"):
        assert word not in text


def test_a_pilot_round_counts_for_nothing(folder):
    covmis(folder, "round", "open", "--pilot", "--claims", "1")
    covmis(folder, "round", "push")
    label_both(folder)
    covmis(folder, "round", "pull")
    found = covmis(folder, "round", "report")
    assert "all_rounds" not in found
    assert any("pilot" in note for note in found["round"]["notes"])
    rounds = record.all_rounds(folder / "annotation" / "rounds")
    write_decisions(rounds[0])
    assert len(rounds[0].decisions()), "a pilot's decisions have rows"
    assert gold_of(rounds).empty
    assert covmis(folder, "round", "open")["claims"] == 2


def test_two_commands_do_not_write_at_once(folder):
    opened(folder)
    with storage.locked(folder / "data" / "build" / ".rounds.lock", "covmis round pull"):
        assert "in use by `covmis round pull`" in covmis(folder, "round", "push", fails=2)["error"]
    covmis(folder, "round", "push")


def test_a_round_killed_while_opening_is_no_round(folder, monkeypatch):
    def dies(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(record, "write_items", dies)
    covmis(folder, "round", "open", fails=130)
    assert frozen_items.frozen_items(folder / "annotation" / "rounds").empty
    monkeypatch.undo()
    assert covmis(folder, "round", "open")["round"] == "001"


@pytest.mark.parametrize("part", ["labels", "items"])
def test_a_changed_sealed_round_gives_no_gold(folder, part):
    sealed(folder)
    place = folder / "annotation" / "rounds"
    covmis(folder, "round", "open", "--claims", "1")
    before = gold_of(record.all_rounds(place))
    assert set(before["round"]) == {"001", "002"}, "sealed decisions, and the rule's labels of the open round"
    one = record.find(place, "1")
    if part == "items":
        frozen_items.write_items(one.folder, one.items().assign(p_sample=0.125))
    else:
        forge(one, 3, "neither")
    with pytest.raises(BrokenSeal, match=f"round 001 was changed after sealing: {part}"):
        gold_of(record.all_rounds(place))


def test_what_is_next_after_a_push_is_not_another_push(folder):
    opened(folder)
    assert covmis(folder, "round", "status")["next"].startswith("`covmis round push`")
    covmis(folder, "round", "push")
    assert (
        covmis(folder, "round", "status")["next"]
        == "wait for a1 (11 posts), a2 (11 posts), then `covmis round pull`"
    )


def test_what_is_to_correct_is_counted_in_one_word_and_told_in_one_line(folder):
    pushed(folder)
    label_both(folder)
    path = folder / "annotation" / "rounds" / "001" / "sheets" / "a2.csv"
    rows = rows_of(path)
    for at in (0, 1, 2, 5):
        rows[at]["label"] = "perhaps"
    rows[7]["label"] = rows[7]["comment"] = ""
    write_rows(path, rows)
    told = covmis(folder, "round", "pull", fails=1)
    assert (told["answers"], told["to_correct"], told["added"], len(told["problems"])) == (21, 4, 21, 4)
    line = "a2.csv, rows 2 to 4, 7: unknown label 'perhaps'. Write favor, against, neither (or 1, 2, 3), skip, or unclear claim"
    assert told["warnings"].count(line) == 1
    assert told["warnings"].count("perhaps") == 1
    assert told["error"] == "4 problems in what came back; everything else counts"
    progress = open_study(folder).round().status()
    assert progress.next == (
        "ask a2 to correct 4 answers (`covmis export board` shows which); wait for a2 (1 post), then `covmis round pull`"
    )
    assert "of these to correct" in str(progress)
    rows[0]["label"] = "1"
    write_rows(path, rows)
    again = open_study(folder).round().pull()
    assert (
        again.sentences[0]
        == "Round 001: 21 answers came back (18 usable, 3 to correct), 1 new in the record."
    )
    assert (again.told_before, again.warnings) == (3, []), "the others are no news"


def test_the_claims_fact_check_is_shown_where_it_is_wanted(tmp_path):
    """Verdict and titles stand in every channel, are part of what was shown, and change nothing where they are not wanted."""
    study(tmp_path, 'show = ["fact_check"]\n')
    claims = storage.read_table(tmp_path / "data/build/claims.parquet", "claims")
    claims["titles"] = [["No, <b>lemons</b> do not help"], *[[] for _ in claims["titles"][1:]]]
    storage.write_table(tmp_path / "data/build/claims.parquet", claims, "claims")
    rows = "".join(f"c{at},Claim {at},{'False' if at == 0 else ''}\n" for at in range(4))
    (tmp_path / "queries/claims.csv").write_text(f"claim_id,text,verdict\n{rows}")
    as_if_run(tmp_path)
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    sheet = rows_of(tmp_path / "annotation/rounds/001/sheets/a1.csv")
    told = {row["item_id"].partition("|")[0]: row["context"] for row in sheet}
    assert told == {"c0": "Fact-check of the claim: False\nNo, <b>lemons</b> do not help", "c1": ""}
    covmis(tmp_path, "round", "push", "--channel", "html")
    page = (tmp_path / "annotation/rounds/001/sheets/a1.html").read_text("utf-8")
    assert "Fact-check of the claim" in page
    assert "<b>lemons" not in page
    items = storage.read_table(tmp_path / "annotation/rounds/001/items.parquet", "frozen")
    other = study(tmp_path / "other")
    covmis(other, "round", "open")
    assert set(items["fact_check"]) == {"False\nNo, <b>lemons</b> do not help", ""}
    assert set(storage.read_table(other / "annotation/rounds/001/items.parquet", "frozen")["fact_check"]) == {
        ""
    }
