"""The simulated people work on sheets as people do, and disagree about as often as the paper's annotators did."""

from __future__ import annotations

import csv
import random

import pytest

from covmis_build.storage import csv_bytes
from tests.demonstration import simulate
from tests.demonstration.truth import true_stance, truth

COLUMNS = ("item_id", "claim", "post", "context", "label", "comment")
DECISION = (
    *COLUMNS[:4],
    "A",
    "comment A",
    "B",
    "comment B",
    "label",
    "sub_label",
    "error_class",
    "reason",
    "comment",
)


def items(count: int) -> list[str]:
    every = [f"{claim}|{post}" for post, stances in truth().items() for claim in stances]
    return random.Random(5).sample(every, count)


def sheet(path, wanted, columns=COLUMNS):
    rows = [[item, "a claim", "=1+1 @x\nsecond line", "", *[""] * (len(columns) - 4)] for item in wanted]
    path.write_bytes(csv_bytes(columns, rows))
    return path


def read(path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def labels(path) -> list[str]:
    keys = {"1": "favor", "2": "against", "3": "neither"}
    return [keys.get(row["label"], row["label"]) for row in read(path)]


def cohen(first: list[str], second: list[str]) -> float:
    both = [(a, b) for a, b in zip(first, second, strict=True) if "skip" not in {a, b}]
    agreed = sum(a == b for a, b in both) / len(both)
    chance = sum(
        sum(a == one for a, _ in both) * sum(b == one for _, b in both) / len(both) ** 2
        for one in simulate.LABELS
    )
    return (agreed - chance) / (1 - chance)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_kappa_is_that_of_good_annotators_and_grows(tmp_path, number):
    wanted = items(1200)
    for person in ("a1", "a2"):
        simulate.annotate(sheet(tmp_path / f"{person}.csv", wanted), person, number)
    kappa = cohen(labels(tmp_path / "a1.csv"), labels(tmp_path / "a2.csv"))
    assert 0.64 + 0.03 * number < kappa < 0.74 + 0.03 * number


def test_only_empty_answers_are_written_and_the_rest_stays(tmp_path):
    wanted = items(40)
    path = sheet(tmp_path / "a1.csv", wanted)
    before = read(path)
    assert simulate.annotate(path, "a1", 1) == 40
    after = read(path)
    for name in COLUMNS[:4]:
        assert [row[name] for row in after] == [row[name] for row in before]
    once = path.read_bytes()
    assert simulate.annotate(path, "a1", 1) == 0
    assert path.read_bytes() == once


def test_discussion_leaves_some_to_a_third_person_who_knows_better(tmp_path):
    wanted = items(400)
    talk = sheet(tmp_path / "discussion.csv", wanted, DECISION)
    simulate.discuss(talk)
    undecided = labels(talk).count("undecided")
    assert 30 < undecided < 100
    third = sheet(tmp_path / "adjudication.csv", wanted, DECISION)
    simulate.decide(third)
    right = [
        label == true_stance(*reversed(item.split("|")))
        for item, label in zip(wanted, labels(third), strict=True)
    ]
    assert 0.85 < sum(right) / len(right) < 0.99
    assert {row["error_class"] for row in read(talk)} <= {
        "slip",
        "guideline",
        "context",
        "ambiguous",
        "other",
    }
