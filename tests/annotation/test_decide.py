"""Deciding disagreements straight into the record: the same rules as sheets, and neither way undoes the other."""

from __future__ import annotations

import pytest

from covmis_build import storage
from covmis_build.errors import InputError
from covmis_build.study.study import open_study
from tests.annotation.small import covmis, fill, label_both, pushed, rows_of


@pytest.fixture
def folder(tmp_path):
    """A round with four disagreements."""
    pushed(tmp_path)
    label_both(tmp_path, differ=lambda item: item.endswith(("3", "4")))
    covmis(tmp_path, "round", "pull")
    return tmp_path


def labels_of(folder):
    return storage.read_table(folder / "annotation/rounds/001/labels.parquet", "labels")


def how_of(folder, item):
    decisions = open_study(folder).round().decisions.set_index("item_id")
    return tuple(decisions.loc[item, ["label", "how"]])


def test_cases_say_what_was_said_and_by_nobody(folder):
    cases = open_study(folder).round().cases()
    assert [case.state for case in cases.rows] == ["to discuss"] * 4
    case = cases.rows[0]
    assert [version.letter for version in case.versions] == ["A", "B"]
    assert case.pair == " / ".join(
        sorted({v.label for v in case.versions}, key="favor against neither".index)
    )
    assert [heading for heading, _ in case.parts][:2] == ["Claim", "Post"]
    assert not {"a1", "a2"} & set(map(str, case.to_dict().values()))
    told = covmis(folder, "round", "adjudicate", "--list")
    assert [row["item_id"] for row in told["disagreements"]] == [row.item_id for row in cases.rows]


def test_a_discussion_then_the_adjudicator_and_a_second_thought(folder):
    items = [case.item_id for case in open_study(folder).round().cases().rows]
    told = covmis(folder, "round", "adjudicate", items[0], "--label", "FAVOR", "--reason", "irony")
    assert (told["state"], told["label"], told["how"], told["reason"]) == (
        "decided",
        "favor",
        "discussed",
        "irony",
    )
    before = labels_of(folder)
    covmis(folder, "round", "adjudicate", items[0], "--label", "favor", "--reason", "irony")
    assert labels_of(folder).equals(before), "the same decision adds nothing"
    covmis(folder, "round", "adjudicate", items[0], "--label", "2")
    assert how_of(folder, items[0]) == ("against", "discussed")
    assert (
        covmis(folder, "round", "adjudicate", items[1], "--label", "undecided")["state"]
        == "for the adjudicator"
    )
    assert open_study(folder).round().cases().rows[0].item_id == items[1]
    covmis(folder, "round", "adjudicate", items[1], "--label", "neither", "--adjudicator", "judge")
    assert how_of(folder, items[1]) == ("neither", "adjudicated")
    covmis(folder, "round", "adjudicate", items[2], "--label", "favor", "--no-discussion")
    assert how_of(folder, items[2]) == ("favor", "adjudicated")
    (last,) = labels_of(folder).query("item_id == @items[2] and channel == 'covmis'").itertuples()
    assert (last.annotator, last.phase) == ("adjudicator", "adjudication")
    assert covmis(folder, "round", "status")["undecided"] == 1
    covmis(folder, "round", "adjudicate", items[3], "--label", "favor")
    covmis(folder, "round", "seal")
    assert "sealed" in covmis(folder, "round", "adjudicate", items[3], "--label", "against", fails=2)["error"]
    assert covmis(folder, "round", "verify")["rounds"][0]["stands"]
    assert all(case.state == "decided" for case in open_study(folder).round().cases().rows)


def test_sheets_and_decisions_do_not_undo_each_other(folder):
    sheet = folder / "annotation/rounds/001/sheets/discussion.csv"
    covmis(folder, "round", "adjudicate")
    items = [row["item_id"] for row in rows_of(sheet)]
    covmis(folder, "round", "adjudicate", items[0], "--label", "favor")
    found = covmis(folder, "round", "adjudicate")
    assert (found["discussed"], found["to_discuss"], found["problems"]) == (1, 3, [])
    assert [row["item_id"] for row in rows_of(sheet)] == items[1:], "nobody is asked about it again"
    fill(sheet, lambda row: "against" if row["item_id"] == items[1] else "")
    covmis(folder, "round", "adjudicate")
    covmis(folder, "round", "adjudicate", items[1], "--label", "neither")
    assert covmis(folder, "round", "adjudicate")["problems"] == []
    assert how_of(folder, items[1]) == ("neither", "discussed"), "the later decision counts"


def test_what_cannot_be_decided_is_refused(folder):
    round_ = open_study(folder).round()
    item = round_.cases().rows[0].item_id
    agreed = next(
        i for i in round_.items["item_id"] if i not in {case.item_id for case in round_.cases().rows}
    )
    before = labels_of(folder)
    for arguments, why in (
        ((agreed, "favor"), "not a disagreement"), (("nobody|x:1", "favor"), "not a disagreement"),
        ((item, "pro"), "unknown label"), ((item, ""), "empty answer"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=why):
            round_.decide(*arguments)
    with pytest.raises(InputError, match="error class"):
        round_.decide(item, "favor", error_class="nonsense")
    with pytest.raises(InputError, match="cannot be the adjudicator"):
        round_.decide(item, "favor", adjudicator="a1")
    assert labels_of(folder).equals(before)


def test_the_story_of_a_post_names_an_adjudicator_who_has_a_code(folder):
    study = open_study(folder)
    first, second, *_ = (case.item_id for case in study.round().cases().rows)
    study.round().decide(first, "against", discuss=False)
    study.round().decide(second, "favor", discuss=False, adjudicator="kim")
    assert study.explain(first).sentences[-1] == "The adjudicator decided against."
    assert study.explain(second).sentences[-1] == "The adjudicator kim decided favor."


def test_what_was_passed_on_goes_to_the_adjudicator_alone_also_without_a_discussion(folder):
    round_ = open_study(folder).round()
    first, *others = (case.item_id for case in round_.cases().rows)
    round_.decide(first, "undecided", reason="irony")
    sheets = round_.folder.sheets
    round_.adjudicate(discuss=False, channel="csv")
    assert {row["item_id"] for row in rows_of(sheets / "adjudication.csv")} == {first, *others}
    (sheets / "adjudication.csv").unlink()
    round_.adjudicate(channel="csv")
    assert {row["item_id"] for row in rows_of(sheets / "discussion.csv")} == set(others)
    assert [row["item_id"] for row in rows_of(sheets / "adjudication.csv")] == [first]
