"""A study of two rounds from open to seal: people leave and join, labels are taken back, a round is reopened.

Training, hidden checks, a discussion, a third person. What everybody answers is a rule of this file, and every number of
the reports is worked out here again, by statsmodels or by hand.
"""

from __future__ import annotations

import json
from collections import Counter
from math import ceil
from statistics import mean

import numpy as np
import pytest

from covmis_build.annotation import round_folder as record
from covmis_build.study.study import open_study
from tests.annotation.small import LABELS, covmis, rows_of, study, write_rows

STEPS = {"a2": {"3": 1}, "a3": {"4": 1}, "a4": {"5": 1}, "a5": {"3": 2, "1": 1}}
"""How far each person is off, by the last digit of the post; who is not named is right."""


def truth(item, step=0):
    return LABELS[(sum(map(ord, item)) + step) % 3]


def answer(who, item):
    return truth(item, STEPS.get(who, {}).get(item[-1], 0))


def sheet(folder, number, who):
    kind = "training" if number.startswith("t") else "rounds"
    return folder / "annotation" / kind / number / "sheets" / f"{who}.csv"


def fill_in(folder, number, who, count=None):
    """Fill in this person's sheet, or its first rows; the items that stand in it."""
    rows = rows_of(sheet(folder, number, who))
    for row in rows[:count]:
        row["label"] = answer(who, row["item_id"])
    write_rows(sheet(folder, number, who), rows)
    return [row["item_id"] for row in rows]


def decide(folder, number, name, says):
    path = folder / "annotation" / "rounds" / number / "sheets" / name
    rows = [row | says(row["item_id"]) for row in rows_of(path)]
    write_rows(path, rows)
    return [row["item_id"] for row in rows]


def settle(folder, **settings):
    path = folder / "study.toml"
    lines = [line for line in path.read_text().splitlines() if line.partition(" =")[0] not in settings]
    path.write_text("\n".join([*lines, *(f"{key} = {json.dumps(value)}" for key, value in settings.items())]))


def manual(said):
    """The items without a label by rule: the first post of a claim has one."""
    return {item: labels for item, labels in said.items() if not item.endswith("000")}


def table(said):
    return np.array([[list(labels.values()).count(label) for label in LABELS] for labels in said.values()])


def raw(said):
    counts = table(said)
    people = counts.sum(1)
    return float(((counts * (counts - 1)).sum(1) / (people * (people - 1))).mean())


def generalised(said):
    """Fleiss' kappa where items have different numbers of labels (Gwet 2014, eq. 3.6)."""
    counts = table(said)
    by_chance = float(((counts / counts.sum(1, keepdims=True)).mean(0) ** 2).sum())
    return (raw(said) - by_chance) / (1 - by_chance)


def wilson(right, of):
    from statsmodels.stats.proportion import proportion_confint

    if of < 2:
        return [None, None]
    return [pytest.approx(edge) for edge in proportion_confint(right, of, method="wilson")]


def check_accuracies(rows, said):
    """Everybody's share of the true labels; `said` by person and item."""
    told = {(row["annotator"], row["label"]): row for row in rows}
    for who, items in said.items():
        right = sum(label == truth(item) for item, label in items.items())
        row = told[who, ""]
        assert (row["right"], row["posts"]) == (right, len(items))
        assert [row["low"], row["high"]] == wilson(right, len(items))
        for label in {truth(item) for item in items}:
            mine = [item for item in items if truth(item) == label]
            assert told[who, label]["posts"] == len(mine)
            assert told[who, label]["right"] == sum(items[item] == label for item in mine)
    assert {who for who, _ in told} == set(said)


def test_two_rounds_from_open_to_seal(tmp_path):  # noqa: C901, PLR0912, PLR0915 - one story, in its order
    from statsmodels.stats.inter_rater import fleiss_kappa

    folder = study(tmp_path, 'per_item = 2\norder_of_items = "mixed"\n')
    settle(folder, annotators=["a1", "a2", "a3"])

    # Round 1: three people, two for each post; the third leaves half-way, somebody else takes over.
    assert covmis(folder, "round", "open")["for_people"] == 11
    given = covmis(folder, "round", "push")["items"]
    assert sum(given.values()) == 22
    said = {who: dict.fromkeys(fill_in(folder, "001", who)) for who in ("a1", "a2")}
    half = given["a3"] // 2
    said["a3"] = dict.fromkeys(fill_in(folder, "001", "a3", half)[:half])
    assert covmis(folder, "round", "pull")["added"] == given["a1"] + given["a2"] + half

    emptied = rows_of(sheet(folder, "001", "a2"))
    first, emptied[0]["label"] = emptied[0]["item_id"], ""
    write_rows(sheet(folder, "001", "a2"), emptied)
    assert covmis(folder, "round", "pull")["withdrawn"] == 1
    left = {row["annotator"]: row["left"] for row in covmis(folder, "round", "status")["annotators"]}
    assert left == {"a1": 0, "a2": 1, "a3": given["a3"] - half}

    settle(folder, annotators=["a1", "a2", "a4"])
    now = covmis(folder, "round", "push")["items"]
    for who in ("a1", "a2", "a4"):
        said[who] = dict.fromkeys(fill_in(folder, "001", who))
    assert {who: len(said[who]) for who in now} == now
    assert sum(map(len, said.values())) == 22, "every post still has two people"
    assert covmis(folder, "round", "pull")["added"] == 22 - given["a1"] - given["a2"] - half + 1
    labels = open_study(folder).round().labels
    assert labels.loc[labels["item_id"] == first, "status"].tolist().count("withdrawn") == 1

    in_first = {}
    for who, items in said.items():
        for item in items:
            in_first.setdefault(item, {})[who] = answer(who, item)
    assert {len(labels) for labels in in_first.values()} == {2}
    report = covmis(folder, "round", "report")["round"]
    assert report["kappa"]["value"] == pytest.approx(fleiss_kappa(table(manual(in_first))))
    assert report["raw_agreement"]["value"] == pytest.approx(raw(manual(in_first)))
    assert (report["items_with_two_labels"], report["scope"]["audited_items"]) == (10, 1)
    audited = in_first["c0|x:1255000000000000000"]
    wrong = mean(label != "against" for label in audited.values())
    assert report["audit"]["contradict"] == 2 * wrong
    assert [report["audit"]["low"], report["audit"]["high"]] == [None, None]

    differ = {item for item, labels in in_first.items() if len(set(labels.values())) > 1}
    talked = {item for item in differ if item.startswith("c0")}
    assert talked
    assert differ - talked, "the rule of this file makes both"
    assert covmis(folder, "round", "adjudicate", "--adjudicator", "judge")["to_discuss"] == len(differ)
    says = {True: {"reason": "a question is neither"}, False: {"label": "undecided"}}
    assert differ == set(
        decide(folder, "001", "discussion.csv", lambda item: {"label": truth(item)} | says[item in talked])
    )
    found = covmis(folder, "round", "adjudicate", "--adjudicator", "judge")
    assert (found["discussed"], found["to_adjudicate"]) == (len(talked), len(differ - talked))
    third = decide(folder, "001", "adjudication.csv", lambda item: {"label": truth(item)})
    assert set(third) == differ - talked
    covmis(folder, "round", "adjudicate", "--adjudicator", "judge")
    first_seal = covmis(folder, "round", "seal")["seal"]

    # Training for those who go on, and for one who joins.
    settle(folder, annotators=["a1", "a2", "a4", "a5"])
    covmis(folder, "round", "open", "--training", "--items", "9", "--pass-mark", "0.7")
    covmis(folder, "round", "push", "--round", "t1")
    four = ("a1", "a2", "a4", "a5")
    practised = {who: {item: answer(who, item) for item in fill_in(folder, "t001", who)} for who in four}
    assert {len(items) for items in practised.values()} == {9}
    assert covmis(folder, "round", "pull", "--round", "t1")["added"] == 36
    told = covmis(folder, "round", "report", "--round", "t1")
    check_accuracies(told["accuracies"], practised)
    shares = {
        who: mean(label == truth(item) for item, label in items.items()) for who, items in practised.items()
    }
    assert told["passed"] == {who: share >= 0.7 for who, share in shares.items()}

    # Round 2: three of four people for each post, and checks among them.
    settle(folder, per_item=3, checks=0.2)
    opened = covmis(folder, "round", "open")
    assert (opened["for_people"], opened["checks"]) == (10, ceil(0.2 * 10 * 3 / 4))
    covmis(folder, "round", "push")
    sheets = {who: fill_in(folder, "002", who) for who in four}
    checks = [item for item in sheets["a1"] if item in in_first]
    assert len(checks) == 2
    assert all(set(checks) < set(items) for items in sheets.values()), "the same for everybody"
    assert any(items[-2:] != checks for items in sheets.values()), "among the others"
    assert covmis(folder, "round", "pull")["added"] == 3 * 10 + 4 * 2
    in_second = {}
    for who, items in sheets.items():
        for item in set(items) - set(checks):
            in_second.setdefault(item, {})[who] = answer(who, item)
    assert {len(labels) for labels in in_second.values()} == {3}
    both = covmis(folder, "round", "report")
    report = both["round"]
    assert report["kappa"]["value"] == pytest.approx(fleiss_kappa(table(in_second)))
    assert report["items"] == 10, "checks are not among them"
    assert both["all_rounds"]["raw_agreement"]["value"] == pytest.approx(raw(manual(in_first) | in_second))
    assert both["all_rounds"]["kappa"]["value"] == pytest.approx(generalised(manual(in_first) | in_second))
    assert both["all_rounds"]["scope"]["labels_of_another_text"] == 0
    check_accuracies(
        report["checks"]["accuracies"], {who: {item: answer(who, item) for item in checks} for who in four}
    )
    again = {who: [item for item in checks if who in in_first[item]] for who in four}
    told = {row["annotator"]: row for row in report["checks"]["repeats"]}
    assert set(told) == {who for who, items in again.items() if items}
    for who, row in told.items():
        assert (row["same"], row["posts"]) == (len(again[who]), len(again[who])), "the rule is the same again"
        assert [row["low"], row["high"]] == wilson(row["same"], row["posts"])

    most = {item: Counter(labels.values()).most_common(1)[0][1] for item, labels in in_second.items()}
    split = {item for item, count in most.items() if count == 1}
    assert split, "three people, three labels"
    assert f"{len(split)} items" in covmis(folder, "round", "seal", fails=1)["error"]
    covmis(folder, "round", "adjudicate", "--adjudicator", "judge", "--no-discussion")
    decide(folder, "002", "adjudication.csv", lambda item: {"label": truth(item)} if item in split else {})
    covmis(folder, "round", "adjudicate", "--adjudicator", "judge", "--no-discussion")
    covmis(folder, "round", "seal")

    # A post of the first round is opened again; both of its people change their minds.
    item = next(item for item in sorted(in_first) if item not in differ and not item.endswith("000"))
    covmis(folder, "round", "reopen", item, "--reason", "both read the wrong claim", "--round", "1")
    for who in in_first[item]:
        if sheet(folder, "001", who).exists():
            rows = rows_of(sheet(folder, "001", who))
            changed = [row | {"label": truth(item, 1)} if row["item_id"] == item else row for row in rows]
            write_rows(sheet(folder, "001", who), changed)
    assert covmis(folder, "round", "pull", "--round", "1")["added"] == 2
    second_seal = covmis(folder, "round", "seal", "--round", "1")["seal"]
    assert second_seal != first_seal
    assert [row["stands"] for row in covmis(folder, "round", "verify")["rounds"]] == [True, True]

    expected = {}
    for place, labels in (in_first | in_second).items():
        if place in differ:
            expected[place] = (truth(place), "discussed" if place in talked else "adjudicated")
        elif place in split:
            expected[place] = (truth(place), "adjudicated")
        else:
            label, count = Counter(labels.values()).most_common(1)[0]
            expected[place] = (label, "agreed" if count == len(labels) else "majority")
    expected[item] = (truth(item, 1), "agreed")
    for number in range(4):
        first = f"c{number}|x:{1255000000000000000 + 1000 * number}"
        expected[first] = (expected[first][0], "audited") if first in expected else ("against", "automatic")
    gold = open_study(folder).gold().set_index("item_id")
    assert {at: (row["label"], row["how"]) for at, row in gold.iterrows()} == expected


def test_a_purge_reaches_a_check_in_everybodys_sheet(tmp_path):
    folder = study(tmp_path)
    settle(folder, checks=0.3)
    for number in ("001", "002"):
        opened = covmis(folder, "round", "open")
        covmis(folder, "round", "push")
        for who in ("a1", "a2"):
            fill_in(folder, number, who)
        covmis(folder, "round", "pull")
        if number == "001":
            assert "checks" not in covmis(folder, "round", "report")["round"]
            assert opened["checks"] == 0, "nothing is known yet"
            covmis(folder, "round", "adjudicate", "--no-discussion")
            decide(folder, number, "adjudication.csv", lambda item: {"label": truth(item)})
            covmis(folder, "round", "adjudicate", "--no-discussion")
            covmis(folder, "round", "seal")
    rounds = folder / "annotation" / "rounds"
    item = record.find(rounds, "c2").items().iloc[0]
    record.forget(rounds, [item["post_id"]])
    assert record.find(rounds, "c2").items().iloc[0]["text"] == ""
    for who in ("a1", "a2"):
        assert item["item_id"] not in {row["item_id"] for row in rows_of(sheet(folder, "002", who))}
    assert "goes with round 002" in covmis(folder, "round", "push", "--round", "c2", fails=2)["error"]
    told = covmis(folder, "round", "seal", "--round", "c2", fails=2)["error"]
    assert "c002 is a checks round: its labels count for nothing" in told
