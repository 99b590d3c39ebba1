"""A sheet knows its round and its owner: no label counts for somebody else, whatever the file is called."""

from __future__ import annotations

import shutil

import pytest

from covmis_build import keyed
from covmis_build.annotation import round_folder
from covmis_build.annotation.channels.check_words import LETTERS, Owner, _old_word, check_word, read_check
from tests.annotation.small import LABELS, covmis, fill, rows_of, study, write_rows


def label_of(item, who):
    return LABELS[keyed.digest(0, "label", item, who)[0] % 3]


@pytest.fixture
def sheets(tmp_path):
    """The sheets of two people for the same 23 posts, all filled in."""
    study(tmp_path, claims=4, per_claim=8)
    covmis(tmp_path, "round", "open", "--claims", "3")
    covmis(tmp_path, "round", "push")
    folder = tmp_path / "annotation" / "rounds" / "001" / "sheets"
    for who in ("a1", "a2"):
        fill(folder / f"{who}.csv", lambda row, who=who: label_of(row["item_id"], who))
    return folder


def as_written_before(path):
    """With the checks of version 0.2.0, which know only row and post."""
    rows = rows_of(path)
    for at, row in enumerate(rows, start=2):
        row["check"] = _old_word(row["item_id"], at)
    write_rows(path, rows)


def recorded(folder):
    labels = round_folder.find(folder / "annotation/rounds").labels()
    return {(row.item_id, row.annotator): row.label for row in labels.itertuples()}


@pytest.mark.parametrize("old", [False, True])
def test_exchanged_and_copied_sheets_are_refused_until_their_names_are_right(tmp_path, sheets, old):
    first, second = sheets / "a1.csv", sheets / "a2.csv"
    truth = {(row["item_id"], path.stem): row["label"] for path in (first, second) for row in rows_of(path)}
    for path in (first, second) if old else ():
        as_written_before(path)
    first.rename(sheets / "third")
    second.rename(first)
    (sheets / "third").rename(second)
    told = covmis(tmp_path, "round", "pull", fails=2)["error"]
    assert "a1.csv: is the sheet of a2, though its name says a1; none is imported" in told
    assert "Exchange the names of a1.csv and a2.csv" in told
    assert recorded(tmp_path) == {}
    shutil.copy(second, first)
    pulled = covmis(tmp_path, "round", "pull", fails=1)
    assert pulled["added"] == len(truth) / 2, "a1's"
    assert "a2.csv: is the sheet of a1, though its name says a2" in pulled["problems"][0]
    assert "Is it a copy of a1.csv? Remove it" in pulled["problems"][0]
    assert recorded(tmp_path) == {key: label for key, label in truth.items() if key[1] == "a1"}
    assert covmis(tmp_path, "round", "pull", str(second), "--as-it-stands")["added"] == len(truth) / 2


def test_a_sheet_written_before_counts_for_its_owner(tmp_path, sheets):
    for path in (sheets / "a1.csv", sheets / "a2.csv"):
        as_written_before(path)
    pulled = covmis(tmp_path, "round", "pull")
    assert (pulled["problems"], pulled["notes"]) == ([], [])
    assert all(label == label_of(*key) for key, label in recorded(tmp_path).items())


@pytest.mark.parametrize("old", [False, True])
def test_a_sheet_of_another_round_is_one_sentence(tmp_path, sheets, old):
    covmis(tmp_path, "round", "pull")
    covmis(tmp_path, "round", "seal", fails=1)
    covmis(tmp_path, "round", "adjudicate", "--no-discussion")
    fill(sheets / "adjudication.csv", lambda row: "favor")
    covmis(tmp_path, "round", "adjudicate", "--no-discussion")
    covmis(tmp_path, "round", "seal")
    covmis(tmp_path, "round", "open")
    covmis(tmp_path, "round", "push")
    if old:
        as_written_before(sheets / "a1.csv")
    told = covmis(tmp_path, "round", "pull", str(sheets / "a1.csv"), fails=2)["error"]
    assert "is a1's sheet of round 001, not of round 002; none of its labels is imported" in told
    assert "pull that round (`--round 001`)" in told


def test_rows_from_somebody_elses_sheet_are_told_one_by_one(tmp_path, sheets):
    rows, theirs = rows_of(sheets / "a1.csv"), {row["item_id"]: row for row in rows_of(sheets / "a2.csv")}
    rows[3:6] = [theirs[row["item_id"]] for row in rows[3:6]]
    write_rows(sheets / "a1.csv", rows)
    pulled = covmis(tmp_path, "round", "pull", fails=1)
    assert [problem.split(":")[0] for problem in pulled["problems"]] == [
        f"a1.csv, row {row}" for row in (5, 6, 7)
    ]
    assert "this row is from a2's sheet of round 001: not imported" in pulled["problems"][0]
    assert pulled["added"] == 2 * len(rows) - 3


def test_a_check_is_no_number_and_fits_one_owner_row_and_post():
    words = {
        check_word(Owner(number, who), f"c|x:{item}", row)
        for number in ("001", "l001")
        for who in ("a1", "a2")
        for item in range(5)
        for row in (2, 3, 7999)
    }
    assert len(words) == 60
    assert all(set(word) <= set(LETTERS) for word in words), "no vowel, no digit: no date, no number"
    owners = [Owner("001", who) for who in ("a1", "a2")]
    word = check_word(owners[1], "c|x:1", 8002)
    check = read_check(f' =IF(E2="","{word.upper()}","{word.upper()}")')
    assert check.owners("c|x:1", owners) == [owners[1]]
    assert check.owners("c|x:2", owners) == []
