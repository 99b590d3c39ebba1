"""Training rounds: accuracy on posts whose gold is known, by hand; feedback; and no trace in what counts."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from covmis_build import storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.gold import gold_of
from covmis_build.cli import app
from covmis_build.study.study import open_study
from tests.annotation.small import (
    HOSTILE,
    LABELS,
    covmis,
    fill,
    label_both,
    opened,
    pushed,
    rows_of,
    study,
    write_rows,
)


@pytest.fixture
def folder(tmp_path):
    """A study with a sealed round, of which one disagreement was settled with a reason."""
    pushed(tmp_path)
    label_both(tmp_path, differ=lambda item: item.endswith("c1|x:1255000000000001003"))
    covmis(tmp_path, "round", "pull")
    covmis(tmp_path, "round", "adjudicate")
    path = tmp_path / "annotation" / "rounds" / "001" / "sheets" / "discussion.csv"
    rows = rows_of(path)
    assert len(rows) == 1
    rows[0] |= {"label": "neither", "error_class": "guideline", "reason": "a question is neither"}
    write_rows(path, rows)
    covmis(tmp_path, "round", "adjudicate")
    covmis(tmp_path, "round", "seal")
    return tmp_path


def test_a_training_round_tells_everybody_how_often_they_are_right(folder):
    from statsmodels.stats.proportion import proportion_confint

    before = gold_of(record.all_rounds(folder / "annotation" / "rounds"))
    opened = covmis(folder, "round", "open", "--training", "--items", "9", "--pass-mark", "0.7")
    assert (opened["round"], opened["items"], opened["for_people"], opened["automatic"]) == ("t001", 9, 9, 0)
    key = (
        record.find(folder / "annotation" / "rounds", "t1")
        .decisions()
        .set_index("item_id")["label"]
        .to_dict()
    )
    assert {key[item] for item in key} == set(LABELS), "of each label"
    assert "automatic" not in set(record.find(folder / "annotation" / "rounds", "t1").decisions()["how"])
    sent = CliRunner().invoke(app, ["round", "push", "--round", "t1", "--study", str(folder)]).stdout
    assert "only their own file from annotation/training/t001/sheets/." in sent
    assert "then run `covmis round pull --round t001`." in sent
    told = CliRunner().invoke(app, ["round", "status", "--round", "t1", "--study", str(folder)]).stdout
    assert told.startswith("Round t001 (training), 9 posts")
    assert "disagreements" not in told
    sheets = folder / "annotation" / "training" / "t001" / "sheets"
    settled = "c1|x:1255000000000001003"
    fill(sheets / "a1.csv", lambda row: key[row["item_id"]] if row["item_id"] != settled else "favor")
    fill(sheets / "a2.csv", lambda row: "favor")
    assert covmis(folder, "round", "pull", "--round", "t1")["added"] == 18
    told = covmis(folder, "round", "report", "--round", "t1")
    words = CliRunner().invoke(app, ["round", "report", "--round", "t1", "--study", str(folder)]).stdout
    assert words.splitlines()[-1].startswith("Written: annotation/training/t001/")
    rows = {(row["annotator"], row["label"]): row for row in told["accuracies"]}
    wrong = 1 if settled in key else 0
    assert (rows["a1", ""]["right"], rows["a1", ""]["posts"]) == (9 - wrong, 9)
    for label in LABELS:
        count = sum(known == label for known in key.values())
        assert (rows["a2", label]["right"], rows["a2", label]["posts"]) == (
            count if label == "favor" else 0,
            count,
        )
    low, high = proportion_confint(rows["a2", ""]["right"], 9, method="wilson")
    assert (rows["a2", ""]["low"], rows["a2", ""]["high"]) == (pytest.approx(low), pytest.approx(high))
    assert told["passed"] == {"a1": True, "a2": False}
    page = (folder / "annotation" / "training" / "t001" / "feedback" / "a1.html").read_text("utf-8")
    assert ("a question is neither" in page) == bool(wrong)
    assert HOSTILE not in (folder / "annotation" / "training" / "t001" / "feedback" / "a2.html").read_text(
        "utf-8"
    )
    rounds = record.all_rounds(folder / "annotation" / "rounds")
    assert gold_of(rounds).equals(before), "counts for nothing"
    assert covmis(folder, "round", "open")["round"] == "002"
    assert "training round" in covmis(folder, "round", "seal", "--round", "t1", fails=2)["error"]
    assert open_study(folder).round("t1").decisions["item_id"].tolist()


def test_a_purge_reaches_training_rounds(folder):
    covmis(folder, "round", "open", "--training", "--items", "50")
    covmis(folder, "round", "push", "--round", "t1")
    rounds = folder / "annotation" / "rounds"
    item = record.find(rounds, "t1").items().iloc[0]
    record.forget(rounds, [item["post_id"]])
    emptied = record.find(rounds, "t1").items().set_index("item_id").loc[item["item_id"]]
    assert (emptied["text"], emptied["salt"]) == ("", "")
    assert item["item_id"] not in {
        row["item_id"] for row in rows_of(rounds.parent / "training/t001/sheets/a1.csv")
    }


def test_without_a_sealed_round_there_is_nothing_to_train_on(tmp_path):
    study(tmp_path)
    assert "Seal a round first" in covmis(tmp_path, "round", "open", "--training", fails=2)["error"]


def test_training_from_a_sheet_of_posts_whose_label_is_known(tmp_path):
    opened(tmp_path)
    items = storage.read_table(tmp_path / "data/build/items.parquet", "items")["item_id"].tolist()
    wanted = [
        items[1],
        items[2],
        items[-1],
        items[-2],
    ]  # of the opened round, and of claims that none has opened
    sheet = tmp_path / "key.csv"
    rows = [
        {"item_id": item, "label": label, "reason": f"because {label}"}
        for item, label in zip(wanted, "1231", strict=True)
    ]
    write_rows(sheet, rows)
    training = covmis(tmp_path, "round", "open", "--training", "--gold", str(sheet))
    assert (training["round"], training["for_people"]) == ("t001", 4)
    covmis(tmp_path, "round", "push", "--round", "t1")
    for who in ("a1", "a2"):
        fill(tmp_path / "annotation/training/t001/sheets" / f"{who}.csv", lambda row: "favor")
    covmis(tmp_path, "round", "pull", "--round", "t1")
    told = covmis(tmp_path, "round", "report", "--round", "t1")["accuracies"]
    assert [(row["right"], row["posts"]) for row in told if not row["label"]] == [(2, 4), (2, 4)]
    page = (tmp_path / "annotation/training/t001/feedback/a1.html").read_text("utf-8")
    assert "because 2" in page
    assert "because 3" in page
    for column, cell, says in (
        ("label", "maybe", "'maybe' is no label"),
        ("item_id", "c0|x:1", "is in no round"),
        ("item_id", wanted[1], "a second label for"),
    ):
        write_rows(sheet, [rows[0] | {column: cell}, *rows[1:]])
        assert says in covmis(tmp_path, "round", "open", "--training", "--gold", str(sheet), fails=2)["error"]
    assert covmis(tmp_path, "round", "open")["round"] == "002"
