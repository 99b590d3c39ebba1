"""Labels and decisions are lines of text: two copies of a study merge, in any order, and nothing is lost."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from typing import TYPE_CHECKING

import msgspec
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build import storage
from covmis_build.annotation import label_lines
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import Answer, Channel, Phase, present
from covmis_build.annotation.conflicts import conflicts_among
from covmis_build.annotation.label_lines import as_labels, union
from covmis_build.annotation.recording import append
from covmis_build.study.study import open_study
from tests.annotation.small import (
    covmis,
    forge,
    label_both,
    opened,
    pulled,
    pushed,
    rows_of,
    sealed,
    write_rows,
)
from tests.conftest import ROOT
from tests.once import once

if TYPE_CHECKING:
    import random
    from pathlib import Path

ROUNDS = "annotation/rounds"


@once
def disputed(folder: Path) -> None:
    """A round with sixteen disagreements."""
    pushed(folder)
    label_both(folder, differ=lambda item: item[-1] in "1234")
    covmis(folder, "round", "pull")
    for name in (".gitattributes", ".gitignore"):
        shutil.copy(ROOT / "covmis_build/template" / name, folder / name)


def round_of(folder):
    return record.find(folder / ROUNDS)


def items_of(folder):
    return [case.item_id for case in open_study(folder).round().cases().rows]


def correct(folder, who, at):
    """The annotator changes the label in a row of the sheet, and it is pulled."""
    sheet = folder / ROUNDS / "001/sheets" / f"{who}.csv"
    rows = rows_of(sheet)
    rows[at] |= {"label": "neither" if rows[at]["label"] != "neither" else "favor", "comment": f"{who} again"}
    write_rows(sheet, rows)
    assert covmis(folder, "round", "pull")["added"] == 1


def work(folder, monkeypatch, lead, decisions, who):
    """A lead decides, and one annotator corrects a label."""
    monkeypatch.setenv("COVMIS_LEAD", lead)
    for item, label in decisions.items():
        covmis(folder, "round", "adjudicate", item, "--label", label, "--reason", f"{lead} says so")
    correct(folder, who, 0 if who == "a1" else 5)


def both_work(first, second, monkeypatch):
    """Apart from each other: own work, the same decision twice, and one decision of either kind."""
    ours, theirs, same, contested = items_of(first)[:4]
    work(first, monkeypatch, "ana", {ours: "favor", same: "against", contested: "favor"}, "a1")
    work(second, monkeypatch, "ben", {theirs: "neither", same: "against", contested: "against"}, "a2")
    return contested


def records_of(folder):
    return {path.name: path.read_bytes() for path in label_lines.files(round_of(folder).folder)}


def tables_of(folder):
    place = round_of(folder).folder
    return {name: (place / name).read_bytes() for name in ("labels.parquet", "decisions.parquet")}


def check_merged(folder, before, contested):
    """Everything of both is there, and the contested item waits for a person."""
    lines = round_of(folder).lines()
    assert {line.id for line in lines} == {line.id for copy in before for line in copy}
    told = covmis(folder, "round", "adjudicate", "--list")["disagreements"]
    states = {row["item_id"]: row["state"] for row in told}
    assert [item for item, state in states.items() if state == "in conflict"] == [contested]
    assert contested not in set(open_study(folder).round().decisions["item_id"])
    status = covmis(folder, "round", "status")
    assert contested in status["next"]
    (conflict,) = status["conflicts"]
    assert all(word in conflict for word in ("favor (ana, ", "against (ben, ", contested))


def settle(folder, contested, label):
    """Decide the contested item, also as before, and everything else; seal."""
    covmis(folder, "round", "adjudicate", contested, "--label", label, "--reason", "both looked again")
    assert covmis(folder, "round", "status")["conflicts"] == []
    for case in open_study(folder).round().cases().waiting:
        covmis(folder, "round", "adjudicate", case.item_id, "--label", "favor")
    covmis(folder, "round", "seal")
    assert covmis(folder, "round", "verify")["rounds"][0]["stands"]
    gold = open_study(folder).gold().set_index("item_id")
    assert gold.loc[contested, "label"] == label


def git(folder, *words):
    own = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *own, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.starts("git")
def test_two_clones_merge_in_git_without_a_conflict_of_text(tmp_path, monkeypatch):
    origin, first, second = (tmp_path / name for name in ("origin", "first", "second"))
    disputed(origin)
    git(origin, "init", "-q", "-b", "main")
    git(origin, "add", ".")
    git(origin, "commit", "-qm", "the round")
    for clone in (first, second):
        git(tmp_path, "clone", "-q", str(origin), str(clone))
        assert not (clone / ROUNDS / "001/labels.parquet").exists(), "it is made from the lines"
    contested = both_work(first, second, monkeypatch)
    before = [round_of(clone).lines() for clone in (first, second)]
    for clone in (first, second):
        git(clone, "add", ".")
        git(clone, "commit", "-qm", "work")
    git(second, "branch", "apart")
    git(second, "pull", "-q", "--no-rebase", "--no-edit", str(first), "main")
    git(first, "pull", "-q", "--no-rebase", "--no-edit", str(second), "apart")
    for clone in (first, second):
        check_merged(clone, before, contested)
        assert covmis(clone, "round", "pull")["added"] == 0
        record.write_tables(round_of(clone), round_of(clone).decisions())
    assert tables_of(first) == tables_of(second)
    settle(first, contested, "favor")


@pytest.mark.starts("git")
def test_two_clones_that_both_send_a_round_out_merge_without_a_conflict_of_text(tmp_path, monkeypatch):
    origin, first, second = (tmp_path / name for name in ("origin", "first", "second"))
    opened(origin)
    for name in (".gitattributes", ".gitignore"):
        shutil.copy(ROOT / "covmis_build/template" / name, origin / name)
    git(origin, "init", "-q", "-b", "main")
    git(origin, "add", ".")
    git(origin, "commit", "-qm", "the round")
    for clone, day in ((first, "2027-03-02"), (second, "2027-03-01")):
        git(tmp_path, "clone", "-q", str(origin), str(clone))
        monkeypatch.setattr(storage, "moment", lambda day=day: f"{day}T10:00:00Z")
        covmis(clone, "round", "push")
        covmis(clone, "round", "push")
        git(clone, "add", "annotation")
        git(clone, "commit", "-qm", "sent out")
    shutil.copytree(first, tmp_path / "copy")
    git(first, "pull", "-q", "--no-rebase", "--no-edit", str(second), "main")
    covmis(tmp_path / "copy", "round", "merge", str(second))
    assert round_of(first).pushed_at == "2027-03-01T10:00:00Z", "no answer is older than the first of the two"
    assert round_of(tmp_path / "copy").sent == round_of(first).sent


def test_a_line_that_does_not_say_when_a_round_was_sent_is_refused(tmp_path):
    pushed(tmp_path)
    path = round_of(tmp_path).folder / "sent.jsonl"
    path.write_text(path.read_text() + '{"since": 1}\n')
    told = covmis(tmp_path, "round", "status", fails=2)
    assert "sent.jsonl, row 2: does not say when" in told["error"]


def test_two_folders_merge_in_either_order_with_the_same_bytes(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    disputed(first)
    disputed(second)
    contested = both_work(first, second, monkeypatch)
    copy = tmp_path / "copy"
    shutil.copytree(first, copy)
    before = [round_of(folder).lines() for folder in (first, second)]
    told = covmis(first, "round", "merge", str(second), fails=1)
    (merged,) = told["rounds"]
    assert (merged["labels"], merged["decisions"]) == (1, 3)
    assert told["conflicts"][0]["item_id"] == contested
    assert f"{contested} was decided as favor (ana, " in told["warnings"]
    covmis(second, "round", "merge", str(copy), fails=1)
    for folder in (first, second):
        check_merged(folder, before, contested)
    assert records_of(first) == records_of(second)
    assert tables_of(first) == tables_of(second)
    again = covmis(second, "round", "merge", str(first), fails=1)["rounds"][0]
    assert (again["labels"], again["decisions"]) == (0, 0)
    settle(first, contested, "against")
    covmis(second, "round", "merge", str(first))
    covmis(second, "round", "seal")
    (second / ROUNDS / "001/decisions.parquet").unlink()
    seals = [
        json.loads((folder / ROUNDS / "001/seal.json").read_text())["seal"] for folder in (first, second)
    ]
    assert seals[0] == seals[1]
    covmis(second, "round", "reopen", contested, "--reason", "a third look")
    covmis(second, "round", "seal")
    assert covmis(second, "round", "verify")["rounds"][0]["changed"] == []


def test_a_sheet_that_was_read_before_does_not_undo_a_colleagues_decision(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    disputed(first)
    monkeypatch.setenv("COVMIS_LEAD", "ana")
    covmis(first, "round", "adjudicate")
    sheet = first / ROUNDS / "001/sheets/discussion.csv"
    write_rows(sheet, [{**row, "label": "favor"} for row in rows_of(sheet)])
    covmis(first, "round", "adjudicate")
    shutil.copytree(first, second)
    monkeypatch.setenv("COVMIS_LEAD", "ben")
    theirs = second / ROUNDS / "001/sheets/discussion.csv"
    first_row, *rows = rows_of(theirs)
    item = first_row["item_id"]
    write_rows(theirs, [{**first_row, "label": "against"}, *rows])
    covmis(second, "round", "adjudicate")
    monkeypatch.setenv("COVMIS_LEAD", "ana")
    covmis(first, "round", "merge", str(second))
    assert covmis(first, "round", "adjudicate")["added"] == 0
    assert open_study(first).round().decisions.set_index("item_id").loc[item, "label"] == "against"
    covmis(first, "round", "adjudicate", item, "--label", "favor")
    assert open_study(first).round().decisions.set_index("item_id").loc[item, "label"] == "favor"


def test_copies_that_do_not_fit_are_refused_and_nothing_is_written(tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    sealed(ours)
    pulled(theirs)
    correct(theirs, "a1", 0)
    before = records_of(ours)
    error = covmis(ours, "round", "merge", str(theirs), fails=2)["error"]
    assert "has 1 label that round 001 here, which is sealed, has not (a1 on " in error
    assert "`covmis round reopen" in error
    shutil.copytree(theirs, tmp_path / "else")
    items = round_of(tmp_path / "else").items()
    record.write_items(tmp_path / "else" / ROUNDS / "001", items.assign(p_sample=0.25))
    assert (
        "has another round 001" in covmis(theirs, "round", "merge", str(tmp_path / "else"), fails=2)["error"]
    )
    assert "is not a study" in covmis(theirs, "round", "merge", str(tmp_path), fails=2)["error"]
    assert records_of(ours) == before


def test_a_label_after_the_seal_is_named(tmp_path):
    """As when git brings a colleague's line into a round that was sealed here."""
    pulled(tmp_path)
    shutil.copytree(tmp_path / "annotation", tmp_path / "copy")
    covmis(tmp_path, "round", "seal")
    late = append(
        round_of(tmp_path).lines(),
        [Answer(round_of(tmp_path).labels()["item_id"].iloc[0], "a1", "", Channel.CSV, status="skipped")],
        number="001", guideline="", now=storage.moment(),
    )  # fmt: skip
    label_lines.add(round_of(tmp_path).folder, late)
    (told,) = covmis(tmp_path, "round", "verify", fails=1)["rounds"]
    assert told["changed"][0] == "labels"
    assert "1 label that the seal did not see (skipped of a1 for " in " ".join(told["changed"])


LABELS = st.sampled_from(["favor", "against"])
SAID = st.lists(
    st.tuples(
        st.sampled_from(["c|x:1", "c|x:2"]), st.sampled_from(["a1", "a2", "together", "judge"]), LABELS,
        st.sampled_from(["csv", "covmis"]), st.integers(0, 3),
    ),
    max_size=8,
)  # fmt: skip
PHASES = {"together": Phase.DISCUSSION, "judge": Phase.ADJUDICATION}


def recorded(lines, said, lead):
    for item, who, label, channel, hour in said:
        answer = Answer(item, who, label, Channel(channel), phase=PHASES.get(who, Phase.INDEPENDENT))
        now = f"2026-01-01T0{hour}:00:00Z"
        lines = append(lines, [answer], number="001", guideline="g", now=now, lead=lead)
    return lines


@given(SAID, SAID, SAID, st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_any_union_of_lines_in_any_order_is_the_same_state(start, one, two, chance: random.Random):
    common = recorded((), start, "ana")
    first, second = recorded(common, one, "ana"), recorded(common, two, "ben")
    both = union([*first, *second])
    mixed = [*second, *first, *common]
    chance.shuffle(mixed)
    assert union(mixed) == both
    assert conflicts_among(union(mixed)) == conflicts_among(both)
    assert {line.id for line in both} == {line.id for line in [*first, *second]}
    labels = pd.DataFrame(as_labels(both), columns=as_labels(common)[0]._fields if common else None)
    if len(labels):
        current = present(labels)
        assert not current.duplicated(["item_id", "phase", "annotator"]).any()
        for row in current.itertuples():
            mine = [
                line
                for line in both
                if (line.item, line.phase, line.by) == (row.item_id, row.phase, row.annotator)
            ]
            assert row.label == max(mine, key=lambda line: (line.seq, line.at, line.id)).label
    assert conflicts_among(common) == (), "a person alone contradicts nobody"


def damaged(raw, how):
    line = json.loads(raw)
    return {
        "another label": json.dumps(
            {**line, "label": "against" if line["label"] != "against" else "favor"}
        ).encode(),
        "another comment": json.dumps({**line, "comment": "nobody said this"}).encode(),
        "half a line": raw[: len(raw) // 2],
        "what git leaves": b"<<<<<<< HEAD",
        "something else": b'{"some": "thing"}',
    }[how]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("another label", "was changed after it was written"),
        ("another comment", "has a comment or reason that was changed"),
        ("half a line", "is no complete line"),
        ("what git leaves", "git could not merge this file"),
        ("something else", "is no complete line"),
    ],
    ids=["label", "comment", "torn", "marks", "foreign"],
)
def test_a_damaged_line_is_refused_with_its_file_and_row(tmp_path, how, why):
    pulled(tmp_path)
    path = tmp_path / ROUNDS / "001/labels.a2.jsonl"
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:-1], damaged(lines[-1], how)]))
    error = covmis(tmp_path, "round", "report", fails=2)["error"]
    assert f"labels.a2.jsonl, row {len(lines)}: " in error
    assert why in error
    assert "Delete the marks" in error or "Or delete it: `covmis round pull` reads the answer again" in error
    path.write_bytes(b"\n".join(lines[:-1]))
    assert covmis(tmp_path, "round", "pull")["added"] == 1, "the remedy works"


def test_lines_of_another_round_are_refused(tmp_path):
    pulled(tmp_path)
    covmis(tmp_path, "round", "open")
    shutil.copy(tmp_path / ROUNDS / "001/labels.a1.jsonl", tmp_path / ROUNDS / "002")
    error = covmis(tmp_path, "round", "status", fails=2)["error"]
    assert "002/labels.a1.jsonl, row 1: is a label of c" in error
    assert "in round 001, which is no item of round 002" in error


def test_tables_may_be_deleted_and_changed_without_any_effect(tmp_path):
    sealed(tmp_path)
    study = open_study(tmp_path)
    gold, place = study.gold(), round_of(tmp_path).folder
    before = tables_of(tmp_path)
    labels = round_of(tmp_path).labels()
    storage.write_table(place / "labels.parquet", labels.assign(label="neither"), "labels")
    (place / "decisions.parquet").unlink()
    assert study.gold().equals(gold)
    assert round_of(tmp_path).labels().equals(labels)
    assert covmis(tmp_path, "round", "verify")["rounds"][0]["stands"]
    covmis(tmp_path, "round", "seal")
    assert tables_of(tmp_path) == before, "and they are made again"


def as_earlier_version(folder):
    """The round as 0.2.0 has it: a table of labels, and no lines."""
    round_ = round_of(folder)
    for path in label_lines.files(round_.folder):
        path.unlink()
    record.write_about(
        record.RoundFolder(round_.folder, msgspec.structs.replace(round_.about, records=msgspec.UNSET))
    )


def test_an_open_round_of_an_earlier_version_goes_on_and_copies_of_it_merge(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    disputed(first)
    before = round_of(first).labels()
    as_earlier_version(first)
    assert round_of(first).labels().equals(before)
    shutil.copytree(first, second)
    contested = both_work(first, second, monkeypatch)
    for folder in (first, second):
        after = round_of(folder).labels().set_index("label_id")
        old = before.set_index("label_id")
        assert after.loc[old.index].equals(old), "its rows are there, with their ids"
    lines = [round_of(folder).lines() for folder in (first, second)]
    covmis(first, "round", "merge", str(second), fails=1)
    check_merged(first, lines, contested)
    settle(first, contested, "favor")


def test_a_sealed_round_of_an_earlier_version_is_reopened_and_its_first_seal_stands(tmp_path):
    with zipfile.ZipFile(ROOT / "tests/carried_over/study-0.1.0.zip") as packed:
        packed.extractall(tmp_path)
    item = round_of(tmp_path).labels()["item_id"].iloc[0]
    covmis(tmp_path, "round", "reopen", item, "--reason", "wrong claim read")
    answer = Answer(
        item,
        "a1",
        "neither",
        Channel.CSV,
        shown=round_of(tmp_path).items().set_index("item_id").loc[item, "shown"],
    )
    before = round_of(tmp_path).labels()
    assert record.add_labels(round_of(tmp_path), [answer], now=storage.moment()) == 1
    assert len(round_of(tmp_path).labels()) == len(before) + 1
    assert label_lines.files(round_of(tmp_path).folder)
    rounds = covmis(tmp_path, "round", "verify")["rounds"]
    assert [row["changed"] for row in rounds] == [[], []]
    forge(round_of(tmp_path), 2, "favor")
    (_, told) = covmis(tmp_path, "round", "verify", fails=1)["rounds"]
    assert "labels (under the seal " in told["changed"][0]


def test_a_purge_empties_remarks_in_lines_and_a_copy_does_not_bring_them_back(tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    sealed(ours)
    pulled(theirs)
    post = round_of(ours).labels()["item_id"].iloc[0].partition("|")[2]
    assert record.forget(ours / ROUNDS, [post]) == 1
    remarks = [line.comment for line in round_of(ours).lines() if line.item.endswith(post)]
    assert set(remarks) == {""}
    assert covmis(ours, "round", "verify")["rounds"][0]["stands"]
    theirs_after = tmp_path / "after"
    shutil.copytree(theirs, theirs_after)
    record.forget(theirs_after / ROUNDS, [post])
    for path in label_lines.files(round_of(theirs_after).folder):
        path.unlink()
    covmis(theirs_after, "round", "merge", str(theirs))
    mine = round_of(theirs_after).labels().query("item_id.str.endswith(@post)")
    assert len(mine) == 2
    assert set(mine["comment"]) == {""}
    copies = [round_of(folder).lines() for folder in (theirs, theirs_after)]
    for first, second in (copies, copies[::-1]):
        assert {line.comment for line in union([*first, *second]) if line.item.endswith(post)} == {""}
