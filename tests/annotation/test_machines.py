"""A machine among a round's annotators: admitted or refused, marked everywhere, never gold by itself."""

import csv
import json

import pandas as pd
import pytest

import covmis_build as covmis
from covmis_build.annotation.answers import Answer, Channel
from covmis_build.annotation.assignment import assignment
from covmis_build.annotation.final_labels import decide
from covmis_build.errors import InputError
from covmis_build.study.study import open_study
from tests.annotation import small

MACHINE = "model:qwen"


def admitted(folder, name="qwen", *, passed=True):
    """As `covmis model admit` leaves it (tests/models/test_in_a_study.py runs the test itself)."""
    line = {"name": name, "epsilon": 0.1, "passed": passed, "by": "items"}
    with (folder / "annotation" / "admissions.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


def study(tmp_path, people='"a1", "model:qwen"', per_item=2):
    return small.study(tmp_path / "s", f"annotators = [{people}]\nper_item = {per_item}\n")


def predictions(folder, labels, name="model-qwen.csv"):
    path = folder / "annotation" / "rounds" / "001" / "sheets" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame({"item_id": list(labels), "prediction": list(labels.values())}).to_csv(path, index=False)
    return path


def test_only_an_admitted_machine_may_be_an_annotator(tmp_path):
    folder = study(tmp_path)
    assert "has never been tested" in small.covmis(folder, "round", "open", fails=2)["error"]
    admitted(folder, passed=False)
    assert "was not admitted" in small.covmis(folder, "round", "open", fails=2)["error"]
    assert not (folder / "annotation" / "rounds" / "001").exists()
    admitted(folder)
    small.covmis(folder, "round", "open")
    admitted(folder, passed=False)  # with more labels the test says otherwise
    assert "was not admitted" in small.covmis(folder, "round", "push", fails=2)["error"]
    predictions(folder, {"c0|x:1255000000000000001": "favor"})
    assert "was not admitted" in small.covmis(folder, "round", "pull", fails=2)["error"]
    assert open_study(folder).round().labels.empty


@pytest.mark.parametrize(
    ("people", "message"),
    [('"model:qwen", "model:b"', "machines alone"), ('"a1", "model:"', "cannot be a code"),
     ('"a1", "model:a b"', "cannot be a code"), ('"a1", "model-qwen", "model:qwen"', "must be different")],
)  # fmt: skip
def test_rosters_that_cannot_be(tmp_path, people, message):
    with pytest.raises(InputError, match=message):
        study(tmp_path, people)


def test_a_person_and_a_machine_from_open_to_release(tmp_path):
    folder = study(tmp_path)
    admitted(folder)
    small.covmis(folder, "round", "open")
    told = small.covmis(folder, "round", "push")
    assert told["machines"] == {MACHINE: "annotation/rounds/001/sheets/model-qwen.csv"}
    sheets = folder / "annotation" / "rounds" / "001" / "sheets"
    assert sorted(path.name for path in sheets.iterdir()) == ["a1.csv"]
    small.fill(sheets / "a1.csv", lambda row: "favor")
    items = [row["item_id"] for row in small.rows_of(sheets / "a1.csv")]
    apart, missing = items[3], items[4]
    said = {item: "against" if item == apart else "favor" for item in items if item != missing}
    predictions(folder, said | {"another|x:1": "favor"})
    assert small.covmis(folder, "round", "pull")["added"] == 2 * len(items) - 1
    assert small.covmis(folder, "round", "pull")["added"] == 0
    round_ = open_study(folder).round()
    of_machine = round_.labels[round_.labels["annotator"] == MACHINE]
    assert set(of_machine["channel"]) == {"model"}
    assert "1 post still without enough answers" in str(round_.status().summary)
    gold = round_.decisions.set_index("item_id")
    manual = [item for item in items if round_.items.set_index("item_id").loc[item, "automatic_label"] == ""]
    assert set(gold.loc[[i for i in manual if i not in {apart, missing}], "how"]) == {"single"}
    assert apart not in gold.index, "a machine contradicts a single person: somebody else decides"
    assert missing not in gold.index

    predictions(folder, dict.fromkeys(items, "favor") | {apart: "against"})
    small.covmis(folder, "round", "pull")
    report = small.covmis(folder, "round", "report")["round"]
    assert report["annotators"] == ["a1"]
    assert report["kappa"]["value"] is None, "kappa is between people"
    assert any("Model among the annotators: model:qwen" in note for note in report["notes"])
    assert [(row["machine"], row["person"], row["posts"], row["same"]) for row in report["machines"]] == [
        (MACHINE, "a1", len(manual), len(manual) - 1)
    ]
    page = (folder / "annotation" / "rounds" / "001" / "report.html").read_text("utf-8")
    assert "Models among the annotators" in page
    small.covmis(folder, "round", "adjudicate")
    small.fill(sheets / "discussion.csv", lambda row: "favor")
    small.covmis(folder, "round", "adjudicate")
    small.covmis(folder, "round", "seal")
    assert small.covmis(folder, "round", "verify")["error"] == ""
    released = folder / "data" / "release"
    small.covmis(folder, "release")
    assert not [check for check in covmis.verify(released) if not check.passed]
    for name in ("card.md", "methods.md"):
        assert "model:qwen labelled posts (admitted" in (released / name).read_text("utf-8")
    assert MACHINE in (released / "croissant.json").read_text("utf-8")
    with (released / "annotations.csv").open(encoding="utf-8-sig") as file:
        assert {row["annotator"] for row in csv.DictReader(file)} == {"p1", MACHINE, "together"}
    with (released / "soft_labels.csv").open(encoding="utf-8-sig") as file:
        assert {row["people"] for row in csv.DictReader(file)} == {"1"}


def test_what_a_machine_predicts_wrongly_is_told(tmp_path):
    folder = study(tmp_path)
    admitted(folder)
    small.covmis(folder, "round", "open")
    small.covmis(folder, "round", "push")
    item = open_study(folder).round().work()[MACHINE][0]
    path = predictions(folder, {item: "pro"})
    told = small.covmis(folder, "round", "pull", fails=1)
    assert "unknown label 'pro'" in told["problems"][0]
    path.write_text(f"item_id,prediction\n{item},favor\n{item},against\n")
    assert "predicts" in small.covmis(folder, "round", "pull", str(path), fails=2)["error"]
    path.write_text(f"item_id,said\n{item},favor\n")
    assert "no column prediction" in small.covmis(folder, "round", "pull", fails=2)["error"]


def frozen(count=60):
    items = [f"c{at % 5}|x:{at}" for at in range(count)]
    return pd.DataFrame(
        {"item_id": items, "claim_id": [item[:2] for item in items], "automatic_label": "", "audited": False,
         "salt": "s", "shown": "h", "round": "001"}
    )  # fmt: skip


NO_LABELS = pd.DataFrame(
    columns=["label_id", "item_id", "round", "phase", "annotator", "label", "sub_label", "status", "reason",
             "error_class", "comment", "seconds", "guideline", "shown", "given_at", "channel", "supersedes"]
)  # fmt: skip


@pytest.mark.parametrize("per_item", [1, 2])
def test_no_item_is_given_to_machines_alone(per_item):
    items = frozen()
    work = assignment(items, NO_LABELS, ["a1", "model:m", "model:n"], per_item, seed=1)
    assert set(work["a1"]) == set(items["item_id"])
    assert all(
        sum(item in mine for mine in work.values()) == per_item for item in items["item_id"]
    )  # and as many as are asked for
    work = assignment(items, NO_LABELS, ["a1", "a2", "a3", "model:m", "model:n"], per_item, seed=1)
    assert (
        max(len(work[who]) for who in ("a1", "a2", "a3")) - min(len(work[who]) for who in ("a1", "a2", "a3"))
        <= 1
    )


A, F, S = "against", "favor", "skip"


@pytest.mark.parametrize(
    ("people", "machines", "gold"),
    [
        ([], [F, F], None), ([], [F, F, F], None), ([F], [F], (F, "single")), ([F], [A], None),
        ([F], [A, A], None), ([F], [F, F], (F, "single")), ([S], [F], None), ([S], [F, F], None),
        ([F, F], [A], (F, "agreed")), ([F, A], [F], None), ([F, A], [F, F], None), ([F, F, A], [A], (F, "majority")),
        ([F, A, F, A], [F], None), ([F, S], [A], (F, "single")),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, list | tuple) else str(value),
)  # fmt: skip
def test_gold_is_what_people_say(people, machines, gold):
    one = frozen(1)
    said = [(f"a{at}", label) for at, label in enumerate(people)]
    said += [(f"model:{at}", label) for at, label in enumerate(machines)]
    answers = [
        Answer(
            one["item_id"][0], who, "" if label == S else label, Channel.CSV, shown="h",
            status="skipped" if label == S else "given",
        )
        for who, label in said
    ]  # fmt: skip
    labels = small.recorded(answers, number="001", guideline="g", now="2020-01-01T00:00:00Z")
    decided = decide(one, labels, per_item=2)
    assert [(row.label, row.how) for row in decided.itertuples()] == ([gold] if gold else [])
