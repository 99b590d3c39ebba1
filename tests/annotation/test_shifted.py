"""A label column that was shifted from some row on is not imported, whatever became of its checks; honest labels are."""

from __future__ import annotations

import itertools
import random

import pandas as pd
import pytest

from covmis_build import keyed
from covmis_build.annotation import shifted as shifts
from covmis_build.annotation.shifted import shifted
from tests.annotation.small import LABELS, covmis, rows_of, study, write_rows


def label_of(item):
    return LABELS[keyed.digest(0, "label", item)[0] % 3]


def down(labels, start=0):
    """Insert a cell at this place: the rest moves down by a row."""
    return [*labels[:start], "neither", *labels[start:-1]]


@pytest.fixture
def sheets(tmp_path):
    """The sheets of a round of 48 posts, filled in by two people who agree nearly always."""
    study(tmp_path, claims=6, per_claim=8)
    covmis(tmp_path, "round", "open", "--claims", "6")
    covmis(tmp_path, "round", "push")
    folder = tmp_path / "annotation" / "rounds" / "001" / "sheets"
    for who in ("a1", "a2"):
        rows = rows_of(folder / f"{who}.csv")
        for at, row in enumerate(rows):
            row["label"] = label_of(row["item_id"]) if at % 8 else LABELS[at % 3]
        write_rows(folder / f"{who}.csv", rows)
    return folder


@pytest.mark.parametrize("start", [0, 24])
@pytest.mark.parametrize("check", ["kept", "gone"])
def test_a_column_shifted_by_a_row_is_not_imported_until_somebody_says_it_is_right(
    tmp_path, sheets, check, start
):
    path = sheets / "a1.csv"
    rows = rows_of(path)
    for row, label in zip(rows, down([row["label"] for row in rows], start), strict=True):
        row["label"] = label
        if check == "gone":
            del row["check"]
    write_rows(path, rows)
    pulled = covmis(tmp_path, "round", "pull", fails=1)
    (problem,) = pulled["problems"]
    assert pulled["added"] == len(rows), "only a2's"
    assert "agree with a2 on the post 1 row above" in problem
    first = int(problem.split("in rows ")[1].split(" to ")[0])
    assert abs(first - 2 - start) <= 4, "it says from where on"
    assert "none is imported" in problem
    assert "none is imported" in covmis(tmp_path, "round", "pull", str(path), fails=2)["error"], "named, too"
    assert "`covmis round pull annotation/rounds/001/sheets/a1.csv --as-it-stands`" in problem
    taken = covmis(tmp_path, "round", "pull", str(path), "--as-it-stands")
    assert taken["added"] == len(rows)
    assert [*taken["notes"]] == (
        []
        if check == "kept"
        else ["a1.csv: the column check is empty, so labels in wrong rows may stay unnoticed"]
    )


def test_labels_recorded_before_show_it_too(tmp_path, sheets):
    covmis(tmp_path, "round", "pull", str(sheets / "a2.csv"))
    (sheets / "a2.csv").unlink()
    rows = rows_of(sheets / "a1.csv")
    frame = pd.DataFrame(rows).assign(label=down([row["label"] for row in rows])).drop(columns="check")
    (sheets / "a1.csv").unlink()
    frame.to_excel(sheets / "a1.xlsx", index=False)
    assert "as if the labels had been shifted" in covmis(tmp_path, "round", "pull", fails=2)["error"]


def test_what_stands_below_a_broken_check_is_questioned(tmp_path, sheets):
    """A cell was deleted in a workbook, which was then saved as CSV: one check is broken, the others look right."""
    (sheets / "a2.csv").unlink()
    rows = rows_of(sheets / "a1.csv")
    for row, below in itertools.pairwise(rows[29:]):
        row["label"] = below["label"]
    rows[-1]["label"], rows[29]["check"] = "", "#REF!"
    write_rows(sheets / "a1.csv", rows)
    pulled = covmis(tmp_path, "round", "pull", fails=1)
    assert pulled["added"] == 29
    assert [problem.split(":")[0] for problem in pulled["problems"]] == [
        "a1.csv, row 31",
        *(f"a1.csv, row {row}" for row in range(32, len(rows) + 1)),
    ]
    assert "below the broken check of row 31" in pulled["problems"][-1]
    taken = covmis(tmp_path, "round", "pull", str(sheets / "a1.csv"), "--as-it-stands", fails=1)
    assert (taken["added"], len(taken["problems"])) == (len(rows) - 29 - 2, 1), "but that row"


def sheet(at, size, people, agreement, runs=0.0):
    """A sheet's rows, and the labels of the others: posts of a claim have similar labels, or labels come in runs."""
    truth = [at.choice(LABELS)]
    while len(truth) < size:
        truth.append(truth[-1] if at.random() < runs else at.choice(LABELS))
    said = [
        [label if at.random() < agreement else at.choice(LABELS) for label in truth] for _ in range(people)
    ]
    others = {
        f"a{who}": dict(zip(map(str, range(size)), own, strict=True)) for who, own in enumerate(said[1:], 2)
    }
    return said[0], others


def numbered(labels):
    return [(str(item), label) for item, label in enumerate(labels)]


@pytest.mark.parametrize("runs", [0.0, 0.85])
def test_at_most_one_of_four_hundred_honest_sheets_is_questioned(runs):
    refused = 0
    for seed in range(400):
        at = random.Random(f"{runs} {seed}")
        labels, others = sheet(
            at, at.choice([24, 48, 96]), at.choice([2, 3]), at.choice([0.1, 0.5, 0.8, 0.95]), runs
        )
        refused += shifted(numbered(labels), others)[1]
    assert refused <= 1


def test_how_many_shifts_are_found(monkeypatch):
    """Two people who agree in 87 of 100 posts. A quarter of the deals, of which none comes near a shift's evidence."""
    monkeypatch.setattr(shifts, "DEALS", shifts.DEALS // 4)
    cases = {(60, 0.0): 0.95, (120, 0.5): 0.95, (240, 0.75): 0.9}
    for (size, share), least in cases.items():
        refused = 0
        for seed in range(20):
            at = random.Random(f"{size} {seed}")
            labels, others = sheet(at, size, 2, 0.9)
            shift, sure = shifted(numbered(down(labels, int(size * share))), others)
            refused += sure and shift.by == -1
        assert refused >= least * 20, (size, share)


def test_blank_rows_keep_their_place():
    at = random.Random(5)
    labels, others = sheet(at, 120, 2, 0.95)
    blank = [label if at.random() < 0.5 else "" for label in labels]
    assert not shifted(numbered(blank), others)[1]
    shift, sure = shifted(numbered(down(blank)), others)
    assert (sure, shift.start, shift.by) == (True, 0, -1)
