"""A language model's answers to a study's items, scored and held against each annotator."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from typer.testing import CliRunner

from covmis_build.cli import evaluate, model


def test_a_language_model_beside_the_annotators_of_the_demonstration(built, tmp_path):
    """From the frozen items of the built study to a score, as a person would go, without a network.

    The answers are those of an annotator for every second item, and of a machine that always says the same otherwise.
    """
    from sklearn.metrics import accuracy_score, cohen_kappa_score

    root = built / "study"

    def run(app, *words):
        result = CliRunner().invoke(app, [*map(str, words), "--json"], catch_exceptions=False)
        assert result.exit_code == 0
        return json.loads(result.stdout)

    rounds = sorted(root.glob("annotation/rounds/[0-9]*"))
    given = pd.concat([pd.read_parquet(one / "labels.parquet") for one in rounds])
    own = given[(given["phase"] == "independent") & (given["status"] == "given")].sort_values("given_at")
    own = own.drop_duplicates(["item_id", "annotator"], keep="last")
    own = own.set_index(["item_id", "annotator"])["label"].unstack()  # noqa: PD010 - not a sum
    gold = pd.concat([pd.read_parquet(one / "decisions.parquet") for one in rounds])
    told = run(model.app, "prompt", "--study", root, "--out", tmp_path / "requests.jsonl")
    asked = [json.loads(line) for line in (tmp_path / "requests.jsonl").read_text("utf-8").splitlines()]
    assert told["requests"] == len(asked) == len(gold) > 100
    assert {one["item_id"] for one in asked} == set(gold["item_id"])
    guideline = (root / "annotation" / "guideline.md").read_text("utf-8")
    assert all(guideline.strip() in one["messages"][0]["content"] for one in asked)

    first, second = own.columns[:2]
    said = {}
    for at, one in enumerate(sorted(own.dropna(subset=[first]).index)):
        said[one] = own.loc[one, first] if at % 2 else "neither"
    rows = [{"item_id": one, "answer": f"{label.upper()}."} for one, label in said.items()]
    unread = sorted(set(gold["item_id"]) - set(said))[:3] or sorted(said)[:3]
    for one, answer in zip(unread, ("I cannot say.", "favor or against", ""), strict=True):
        said.pop(one, None)
        rows = [row for row in rows if row["item_id"] != one]
        rows.append({"item_id": one, "answer": answer})
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    read = run(
        model.app, "prompt", "--study", root, "--answers", answers, "--out", tmp_path / "predictions.csv"
    )
    assert read["predictions"] == len(said)
    assert read["unanswered"] == len(gold) - len(said) - 3
    assert [one["reason"] for one in read["failures"]] == [
        "refuses to answer",
        "names several labels",
        "empty",
    ]

    pairs = {(row["first"], row["second"]): row for row in read["pairs"]}
    for person in (first, second):
        both = [one for one in said if one in own.index and isinstance(own.loc[one, person], str)]
        expected = cohen_kappa_score([said[one] for one in both], [own.loc[one, person] for one in both])
        assert pairs["model", person]["items"] == len(both) > 50
        assert pairs["model", person]["kappa"] == pytest.approx(expected)
    people = own[[first, second]].dropna()
    expected = cohen_kappa_score(people[first], people[second])
    assert pairs[first, second]["kappa"] == pytest.approx(expected)
    assert pairs["model", first]["kappa"] < 1

    gold.to_csv(tmp_path / "gold.csv", index=False)
    words = ["--missing", "wrong", "--measures", "accuracy"]
    score = run(evaluate.app, "score", tmp_path / "gold.csv", f"model={tmp_path / 'predictions.csv'}", *words)
    (row,) = [one for one in score["scores"] if one["measure"] == "accuracy"]
    truth = gold.set_index("item_id")["label"]
    assert row["value"] == pytest.approx(
        accuracy_score(truth, [said.get(one, "none") for one in truth.index])
    )
