"""Corpora of pairs: a post has a row for each target. They are divided, checked, trained on and scored as they are."""

from __future__ import annotations

import csv
import json

import pandas as pd

from covmis_build.datasets.conversion import write
from covmis_build.datasets.mixtures import combine
from covmis_build.datasets.shape import COLUMNS
from tests.program import covmis

LABELS = ("favor", "against")


def corpus(name: str, targets: int) -> pd.DataFrame:
    """Sixty posts; every third one is about two targets, with another stance on each."""
    rows = []
    for post in range(60):
        for target in {post % targets, (post + post % 3 // 2) % targets}:
            label = LABELS[(post + target) % 2]
            text = f"{name} post {post} is {label} of what number {target} says, and it has words of its own"
            rows.append(
                (name, str(post), f"t{target}", f"Target {target}.", text, label, "", "", f"t{target}")
            )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def run(*words: str, code: int = 0) -> str:
    ended, out, err = covmis(*words)
    assert ended == code, err
    return out or err


def test_a_mixture_of_pairs_goes_all_the_way(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    mixture = combine({"one": corpus("one", 6), "two": corpus("two", 4)}, LABELS)
    assert mixture["id"].duplicated().any()
    assert mixture["item_id"].is_unique
    assert mixture["item_id"].iloc[0] == "one:t0|0"
    write(mixture, tmp_path / "all.csv")
    run("evaluate", "split", "all.csv", "--out", "parts.csv", "--scheme", "grouped", "--group", "target_id")
    assert "test" in run("evaluate", "leakage", "all.csv", "--parts", "parts.csv")
    with (tmp_path / "parts.csv").open(encoding="utf-8-sig", newline="") as file:
        part = {row["item_id"]: row["part"] for row in csv.DictReader(file)}
    for name in ("train", "test"):
        write(mixture[mixture["item_id"].map(part) == name], tmp_path / f"{name}.csv")
    run("model", "train", "train.csv", "--model", "bow", "--out", "model")
    run("model", "predict", "model", "test.csv", "--out", "said.csv")
    scores = json.loads(run("evaluate", "score", "test.csv", "said.csv", "--measures", "accuracy", "--json"))
    accuracy = scores["scores"][0]["value"]
    # predictions with the two ids, as others write them
    said = pd.read_csv(tmp_path / "said.csv", dtype=str).set_index("item_id")["prediction"]
    own = mixture.set_index("item_id").loc[said.index].assign(prediction=said)
    own[["part", "target_id", "id", "prediction"]].iloc[::-1].to_csv(tmp_path / "own.csv", index=False)
    words = ["evaluate", "score", "test.csv", "own.csv", "--measures", "accuracy", "--json"]
    by_pair = json.loads(run(*words, "--id", "part,target_id,id"))
    assert by_pair["scores"][0]["value"] == accuracy
    told = run(*words, "--id", "targets,id", code=2)
    assert "lacks the column 'targets'. Did you mean 'target'" in told
