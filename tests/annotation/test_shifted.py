"""A label column that was shifted by a row is not imported, whatever became of its checks; honest labels always are."""

from __future__ import annotations

import random

import pandas as pd
import pytest

from covmis_build import keyed
from covmis_build.annotation.shifted import shifted
from tests.annotation.small import LABELS, covmis, rows_of, study, write_rows


def label_of(item):
    return LABELS[keyed.digest(0, "label", item)[0] % 3]


def down(labels):
    return ["neither", *labels[:-1]]


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


@pytest.mark.parametrize("check", ["kept", "empty", "gone"])
def test_a_column_shifted_by_a_row_is_not_imported_until_it_is_named(tmp_path, sheets, check):
    path = sheets / "a1.csv"
    rows = rows_of(path)
    for row, label in zip(rows, down([row["label"] for row in rows]), strict=True):
        row["label"] = label
        if check == "empty":
            row["check"] = ""
        elif check == "gone":
            del row["check"]
    write_rows(path, rows)
    pulled = covmis(tmp_path, "round", "pull", fails=1)
    assert (pulled["added"], len(pulled["problems"])) == (len(rows), 1), "only a2's"
    assert "for the post one row above" in pulled["problems"][0]
    assert "none is imported" in pulled["problems"][0]
    assert "`covmis round pull annotation/rounds/001/sheets/a1.csv`" in pulled["problems"][0]
    named = covmis(tmp_path, "round", "pull", str(path))
    assert named["added"] == len(rows)
    assert [*named["notes"]] == (
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


@pytest.mark.parametrize("agreement", [0.0, 0.3, 0.7, 1.0])
def test_labels_in_their_places_are_never_questioned(agreement):
    """Posts of a claim stand together, and most of them have the claim's label."""
    for seed in range(100):
        at = random.Random(seed)
        usual = [at.choice(LABELS) for _ in range(12)]
        items = [f"{claim}|{post}" for claim in range(12) for post in range(at.randrange(2, 20))]
        truth = {
            item: usual[int(item.split("|")[0])] if at.random() < 0.7 else at.choice(LABELS) for item in items
        }
        of_people = [
            {item: truth[item] if at.random() < agreement else at.choice(LABELS) for item in items}
            for _ in "12"
        ]
        assert shifted(of_people[0], {"a2": of_people[1]}) == ""


def test_how_many_labels_show_a_shift():
    """Two people who agree in 90 of 100 posts: half of the sheets with 24 posts, nearly all with 48."""
    seen = dict.fromkeys((12, 24, 48, 96), 0)
    for size in seen:
        for seed in range(100):
            at = random.Random(f"{size} {seed}")
            truth = {str(item): at.choice(LABELS) for item in range(size)}
            own = {item: label if at.random() < 0.85 else at.choice(LABELS) for item, label in truth.items()}
            moved = dict(zip(own, down([*own.values()]), strict=True))
            seen[size] += bool(shifted(moved, {"a2": truth}))
    assert seen[24] >= 40
    assert seen[48] >= 98
    assert seen[96] == 100
