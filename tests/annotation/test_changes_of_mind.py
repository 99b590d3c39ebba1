"""The later answer counts, answers are taken back, sealed rounds are reopened: told once, in plain words."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil

import pytest

from covmis_build import storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import present
from covmis_build.annotation.gold import gold_of
from covmis_build.errors import BrokenSeal
from covmis_build.study.study import open_study
from tests.annotation.small import covmis, fill, label_both, pushed, rows_of, study, write_rows


@pytest.fixture
def folder(tmp_path):
    pushed(tmp_path)
    return tmp_path


def place(folder):
    return folder / "annotation" / "rounds" / "001"


def labels(folder):
    current = present(record.find(folder / "annotation" / "rounds").labels())
    return current.set_index(["annotator", "item_id"])[["label", "status"]].apply(tuple, axis=1).to_dict()


def export(path, round_, label, at):
    """An export of the offline page: the annotator's first item."""
    row = round_.items().query("automatic_label == ''").iloc[0]
    answer = {"id": row["item_id"], "label": label, "sub": "", "comment": "", "seconds": 1, "at": at,
              "shown": row["shown"]}  # fmt: skip
    data = {"format": "covmis answers 1", "round": "001", "annotator": "a1", "answers": [answer]}
    path.write_text(json.dumps(data))
    return row["item_id"]


@pytest.mark.parametrize(
    ("older", "newer"), [("a1-001.json", "a1-001 (1).json"), ("a1-001 (1).json", "a1-001.json")]
)
def test_of_two_exports_the_later_answer_counts_and_pulling_again_adds_nothing(folder, older, newer):
    round_ = record.find(folder / "annotation" / "rounds")
    export(round_.sheets / older, round_, "favor", "2026-01-01T10:00:00.000Z")
    item = export(round_.sheets / newer, round_, "against", "2026-01-01T11:00:00.000Z")
    first = covmis(folder, "round", "pull", fails=1)
    assert (first["added"], labels(folder)["a1", item]) == (1, ("against", "given"))
    assert any("differ in 1 answer (" in problem for problem in first["problems"])
    again = covmis(folder, "round", "pull", fails=1)
    assert (again["added"], again["told_before"]) == (0, len(again["problems"])), "told once as new"
    (round_.sheets / newer).unlink()
    assert covmis(folder, "round", "pull")["added"] == 0, "an older answer never comes back"


def shifted(**delta):
    return (dt.datetime.now(dt.UTC) + dt.timedelta(**delta)).isoformat().replace("+00:00", "Z")


@pytest.mark.parametrize("days", [1, 2000])
def test_corrections_count_also_where_a_clock_was_ahead_before(folder, days):
    round_ = record.find(folder / "annotation" / "rounds")
    path = round_.sheets / "a1-001.json"
    item = export(path, round_, "favor", shifted(days=days))
    first = covmis(folder, "round", "pull")
    assert first["added"] == 1
    (note,) = first["notes"]
    assert "later than now; recorded as" in note
    times = round_.labels()["given_at"]
    assert round_.about.opened_at <= times[0] <= storage.moment()
    assert covmis(folder, "round", "pull")["added"] == 0
    export(path, round_, "against", shifted(minutes=-30))
    assert covmis(folder, "round", "pull")["added"] == 1
    assert labels(folder)["a1", item] == ("against", "given")
    assert covmis(folder, "round", "pull")["added"] == 0


def test_answers_of_a_clock_that_stays_ahead_or_behind_are_compared_by_it(folder):
    round_ = record.find(folder / "annotation" / "rounds")
    path = round_.sheets / "a1-001.json"
    for year in ("2001", "2040"):
        item = export(path, round_, "favor", f"{year}-01-01T10:00:00.000Z")
        covmis(folder, "round", "pull")
        export(path, round_, "against", f"{year}-01-01T11:00:00.000Z")
        assert covmis(folder, "round", "pull")["added"] == 1
        export(path, round_, "neither", f"{year}-01-01T10:30:00.000Z")
        assert covmis(folder, "round", "pull")["added"] == 0, "an older export takes nothing back"
        assert labels(folder)["a1", item] == ("against", "given")


def test_what_is_no_time_is_told_and_the_label_counts(folder):
    round_ = record.find(folder / "annotation" / "rounds")
    item = export(round_.sheets / "a1-001.json", round_, "favor", "garbage")
    pulled = covmis(folder, "round", "pull", fails=1)
    assert "'garbage' is not a time" in pulled["problems"][0]
    assert labels(folder)["a1", item] == ("favor", "given")


def test_one_unreadable_file_holds_up_nobody(folder):
    label_both(folder)
    path = place(folder) / "sheets" / "a1.csv"
    path.write_bytes("é".encode("cp1252") + path.read_bytes())
    (place(folder) / "sheets" / "a2.doc").write_bytes(b"?")
    os.mkfifo(place(folder) / "sheets" / "a2-2.csv")  # nobody writes into it
    pulled = covmis(folder, "round", "pull", fails=1)
    assert pulled["answers"] == len(rows_of(place(folder) / "sheets" / "a2.csv"))
    assert [problem.split(":")[0] for problem in pulled["problems"]] == ["a1.csv", "a2-2.csv", "a2.doc"]
    assert "is not UTF-8" in pulled["problems"][0]
    assert "is not UTF-8" in covmis(folder, "round", "pull", str(path), fails=2)["error"]


def test_an_emptied_cell_takes_the_label_back_and_opens_the_post_again(folder):
    label_both(folder)
    covmis(folder, "round", "pull")
    sheet = place(folder) / "sheets" / "a1.csv"
    rows = rows_of(sheet)
    item = rows[0]["item_id"]
    rows[0]["label"] = rows[0]["comment"] = ""
    write_rows(sheet, rows)
    pulled = covmis(folder, "round", "pull")
    assert (pulled["added"], pulled["withdrawn"]) == (1, 1)
    assert labels(folder)["a1", item] == ("", "withdrawn")
    person = covmis(folder, "round", "status")["annotators"][0]
    assert (person["annotator"], person["left"]) == ("a1", 1)
    assert item not in gold_of(record.all_rounds(folder / "annotation" / "rounds"))["item_id"].tolist()
    assert covmis(folder, "round", "pull")["added"] == 0
    rows[0]["label"] = "favor"
    write_rows(sheet, rows)
    assert covmis(folder, "round", "pull")["added"] == 1
    assert labels(folder)["a1", item] == ("favor", "given")


def test_an_empty_or_older_sheet_takes_nothing_back(folder):
    sheets = place(folder) / "sheets"
    shutil.copy(sheets / "a1.csv", folder / "empty.csv")
    label_both(folder)
    covmis(folder, "round", "pull")
    shutil.copy(folder / "empty.csv", sheets / "a1.csv")
    assert covmis(folder, "round", "pull")["added"] == 0
    rows = rows_of(sheets / "a2.csv")
    rows[0]["label"], rows[1]["label"] = "", "favor" if rows[1]["label"] != "favor" else "against"
    write_rows(sheets / "a2.csv", rows)
    os.utime(sheets / "a2.csv", (0, 0))
    pulled = covmis(folder, "round", "pull", fails=1)
    assert pulled["added"] == 0, "saved before what is in the record"
    (problem,) = pulled["problems"]
    assert "a2.csv: 2 answers (" in problem
    assert "differ from the record and are not used, because the file is older" in problem


def test_a_blank_row_takes_nothing_back_that_another_row_or_file_of_the_person_says(folder):
    """Pulled again and again, such labels came and went."""
    label_both(folder)
    sheets = place(folder) / "sheets"
    rows = rows_of(sheets / "a1.csv")
    rows.append({**rows[0], "label": "", "comment": ""})
    write_rows(sheets / "a1.csv", rows)
    blank = {"label": "", "comment": ""}
    halves = rows_of(sheets / "a2.csv")
    for name, mine in (("a2 first.csv", range(5)), ("a2.csv", range(5, len(halves)))):
        write_rows(sheets / name, [row if n in mine else {**row, **blank} for n, row in enumerate(halves)])
    os.utime(sheets / "a2 first.csv", (1_700_000_000, 1_700_000_000))
    covmis(folder, "round", "pull")
    before = labels(folder)
    assert {status for _, status in before.values()} == {"given"}
    for _ in range(2):
        pulled = covmis(folder, "round", "pull", fails=1)
        assert (pulled["added"], pulled["withdrawn"], labels(folder)) == (0, 0, before)
        (problem,) = pulled["problems"]
        assert problem.startswith(
            "a2 first.csv and a2.csv: 5 answers of the first are empty in the second"
        ), "perhaps somebody has emptied them"


def test_answers_to_posts_of_others_are_told(tmp_path):
    """The roster changed, or the lead says that a1's sheet was filled in by a3."""
    study(tmp_path, settings='annotators = ["a1", "a2", "a3"]\nper_item = 2\n')
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    sheets = place(tmp_path) / "sheets"
    fill(sheets / "a1.csv", lambda row: "favor")
    sent = {who: {row["item_id"] for row in rows_of(sheets / f"{who}.csv")} for who in ("a1", "a3")}
    not_theirs = sorted(sent["a1"] - sent["a3"])
    shutil.copy(sheets / "a1.csv", sheets / "a3.csv")
    pulled = covmis(tmp_path, "round", "pull", str(sheets / "a3.csv"), "--as-it-stands", fails=1)
    (problem,) = pulled["problems"]
    assert f"{len(not_theirs)} answer" in problem
    assert "to posts that are not a3's work" in problem


def test_a_sheet_that_is_written_again_keeps_what_stands_in_it(folder):
    """A space behind an id, a column of one's own; what it cannot keep is refused, and the sheet stays."""
    label_both(folder)
    sheet = place(folder) / "sheets" / "a1.csv"
    rows = [{**row, "my notes": f"note {number}"} for number, row in enumerate(rows_of(sheet))]
    rows[1]["item_id"] += " "
    rows[2]["item_id"] += "\N{NO-BREAK SPACE}"
    write_rows(sheet, rows[:-1])  # the last row is gone, so it is written again
    assert covmis(folder, "round", "push")["written"]
    again = {row["item_id"]: row for row in rows_of(sheet)}
    for row in rows[:-1]:
        kept = again[row["item_id"].strip()]
        assert (kept["label"], kept["my notes"]) == (row["label"], row["my notes"])
    assert again[rows[-1]["item_id"]]["label"] == ""
    assert covmis(folder, "round", "pull")["answers"] == 2 * len(rows) - 1
    twice = [*rows[:-1], {**rows[0], "label": "skip"}]
    write_rows(sheet, twice)
    before = sheet.read_bytes()
    assert "stands in row 2 with something else" in covmis(folder, "round", "push", fails=2)["error"]
    write_rows(sheet, [*rows[:-1], {**rows[0], "item_id": "x:1|y"}])
    assert "is not a post of this round" in covmis(folder, "round", "push", fails=2)["error"]
    write_rows(sheet, twice)
    assert sheet.read_bytes() == before


def test_labels_in_a_column_of_ones_own_are_told_and_not_read(folder):
    label_both(folder)
    sheet, own = place(folder) / "sheets" / "a1.csv", {"label (corrected)": "", "sure": "2", "note": "favor?"}
    first, *rows = [{**row, **own} for row in rows_of(sheet)]
    write_rows(sheet, [{**first, "label (corrected)": "Against"}, *rows])
    (problem,) = covmis(folder, "round", "pull", fails=1)["problems"]
    assert problem.startswith("a1.csv: the column 'label (corrected)' holds 1 label, which")


def test_a_row_added_to_the_discussion_decides_nothing_and_a_column_of_ones_own_stays(folder):
    label_both(folder, differ=lambda item: item.endswith(("1", "2", "3")))
    covmis(folder, "round", "pull")
    covmis(folder, "round", "adjudicate")
    sheet = place(folder) / "sheets" / "discussion.csv"
    fill(sheet, lambda row: "favor")
    rows = [{**row, "minutes": "5"} for row in rows_of(sheet)]
    disputed = {row["item_id"] for row in rows}
    agreed = next(
        row for row in rows_of(place(folder) / "sheets" / "a1.csv") if row["item_id"] not in disputed
    )
    added = {**rows[0], **{name: agreed[name] for name in ("item_id", "claim", "post", "context")}}
    write_rows(sheet, [*rows, added])
    (problem,) = covmis(folder, "round", "adjudicate", fails=1)["problems"]
    assert f"{agreed['item_id']} is not a disagreement: this row is ignored" in problem
    gold = gold_of(record.all_rounds(folder / "annotation" / "rounds")).set_index("item_id")
    assert gold.loc[agreed["item_id"], "how"] == "agreed"
    written = {row["item_id"]: row for row in rows_of(sheet)}
    assert set(written) == disputed, "written again without it"
    assert {row["minutes"] for row in written.values()} == {"5"}


def test_two_decisions_for_a_post_are_none_and_an_emptied_one_stands_and_is_told(folder):
    label_both(folder, differ=lambda item: True)
    covmis(folder, "round", "pull")
    covmis(folder, "round", "adjudicate")
    sheet = place(folder) / "sheets" / "discussion.csv"
    fill(sheet, lambda row: "favor")
    rows = rows_of(sheet)
    twice, emptied = rows[0]["item_id"], rows[1]["item_id"]
    write_rows(sheet, [*rows, {**rows[0], "label": "against"}])
    (problem,) = covmis(folder, "round", "adjudicate", fails=1)["problems"]
    assert f"a second answer for {twice}: favor and against" in problem
    assert labels(folder)["together", twice] == ("", "invalid")
    rows[1]["label"] = ""
    write_rows(sheet, rows)
    (problem,) = covmis(folder, "round", "adjudicate", fails=1)["problems"]
    assert f"no label for {emptied}, which was decided as favor; the decision stays" in problem
    assert labels(folder)["together", emptied] == labels(folder)["together", twice] == ("favor", "given")


def sealed(folder):
    label_both(folder)
    covmis(folder, "round", "pull")
    return covmis(folder, "round", "seal")


def test_a_sealed_round_is_reopened_for_named_posts_and_both_seals_verify(folder):
    first = sealed(folder)
    covmis(folder, "round", "open")
    covmis(folder, "round", "push")
    label_both(folder, "002")
    covmis(folder, "round", "pull")
    covmis(folder, "round", "seal")
    sheet = place(folder) / "sheets" / "a1.csv"
    rows = rows_of(sheet)
    item, other = rows[0]["item_id"], rows[1]["item_id"]
    assert (
        "no reason"
        in covmis(folder, "round", "reopen", item, "--reason", " ", "--round", "1", fails=2)["error"]
    )
    assert (
        "not in round"
        in covmis(folder, "round", "reopen", "c|x:1", "--reason", "x", "--round", "1", fails=2)["error"]
    )
    told = covmis(folder, "round", "reopen", item, "--reason", "wrong claim read", "--round", "1")
    assert told["reopened"] == [item]
    assert [check["stands"] for check in covmis(folder, "round", "verify")["rounds"]] == [False, True]
    kept = rows[1]["label"]
    for who in ("a1", "a2"):
        rows = rows_of(place(folder) / "sheets" / f"{who}.csv")
        for row in rows:
            if row["item_id"] in {item, other}:
                row["label"] = "neither" if row["label"] != "neither" else "favor"
        write_rows(place(folder) / "sheets" / f"{who}.csv", rows)
    pulled = covmis(folder, "round", "pull", "--round", "1", fails=1)
    assert pulled["added"] == 2, "only the reopened post takes labels"
    assert "2 answers differ from the sealed ones" in pulled["problems"][0]
    assert labels_of_first(folder)["a1", other][0] == kept
    second = covmis(folder, "round", "seal", "--round", "1")
    content = json.loads((place(folder) / "seal.json").read_text())
    assert content["replaces"] == first["seal"] != second["seal"]
    assert all(check["stands"] for check in covmis(folder, "round", "verify")["rounds"])
    rounds = record.all_rounds(folder / "annotation" / "rounds")
    before = json.loads((place(folder) / "sealed" / "1" / "seal.json").read_text())
    assert before["seal"] == first["seal"]
    assert len(gold_of(rounds)) == 24
    old = place(folder) / "sealed" / "1" / "report.json"
    old.write_text(old.read_text().replace("0", "1", 1))
    with pytest.raises(BrokenSeal, match=r"round 001 was changed after sealing: agreement \(under the seal"):
        gold_of(rounds)
    shutil.rmtree(place(folder) / "sealed")
    with pytest.raises(BrokenSeal, match="round 001"):
        gold_of(rounds)


def labels_of_first(folder):
    current = present(record.find(folder / "annotation" / "rounds", "1").labels())
    return current.set_index(["annotator", "item_id"])[["label", "status"]].apply(tuple, axis=1).to_dict()


def test_a_reopening_killed_in_the_middle_leaves_the_round_sealed(folder, monkeypatch):
    sealed(folder)
    item = rows_of(place(folder) / "sheets" / "a1.csv")[0]["item_id"]

    def dies(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.unlink", dies)
        covmis(folder, "round", "reopen", item, "--reason", "r", fails=130)
    assert covmis(folder, "round", "verify")["rounds"][0]["stands"]
    covmis(folder, "round", "reopen", item, "--reason", "r")
    fill(place(folder) / "sheets" / "a1.csv", lambda row: row["label"])
    covmis(folder, "round", "seal")
    assert covmis(folder, "round", "verify")["rounds"][0]["stands"]


def test_a_sheet_without_any_label_withdraws_none_and_says_so(tmp_path):
    """It may be the empty sheet that was sent; before, nothing was withdrawn without a word."""
    folder = study(tmp_path / "study")
    covmis(folder, "round", "open")
    covmis(folder, "round", "push", "--channel", "csv")
    sheet = folder / "annotation/rounds/001/sheets/a1.csv"
    assert open_study(folder).round().pull().notes == [], "nobody has labelled yet"
    label_both(folder)
    covmis(folder, "round", "pull")
    write_rows(sheet, [row | {"label": ""} for row in rows_of(sheet)])
    round_ = open_study(folder).round()
    (note,) = round_.pull().notes
    assert "has no label, though 11 posts of it are labelled: no label is withdrawn" in str(note)
    assert round_.status().workers[0].left == 0
