"""What lint finds in public lists is what a careful editor would say: 300 findings judged by hand.

`judged_findings.csv` has list, row number, a hash of the claim's text and what is proposed, the rule, and the
judgements. The half `blind` was drawn from the findings of the rules before these and judged twice, without seeing the
rule, in two orders; a finding counts as right if it was right both times. The half `open` was drawn from later rules
and judged once. The texts are read from the lists.
"""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import pytest

from covmis_build.claims.lint import lint
from covmis_build.claims.lists import read_list

LISTS = {
    "covmis": "covmis/misinformation.csv", "coaid": "coaid", "covidlies": "covidlies/misconceptions.jsonl",
    "checkthat2020": "checkthat2020/claims.csv", "politifact": "claimlists/politifact_scrapy.json",
    "fakenewsnet": "claimlists/fakenewsnet_politifact_fake.csv", "snopes": "claimlists/known_lie_snopes.tsv",
    "liar": "claimlists/liar_train.tsv",
}  # fmt: skip


def judged():
    with Path(__file__).with_name("judged_findings.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def found(data_home):
    """The findings of today, as the judged ones are named; and the summaries of each list."""
    keys, summaries = set(), {}
    for name, path in LISTS.items():
        claims = read_list(data_home / path).claims
        rows = {claim_id: at for at, claim_id in enumerate(claims["claim_id"], start=1)}
        texts = dict(zip(claims["claim_id"], claims["text"], strict=True))
        findings = lint(claims)
        summaries[name] = (findings.summaries, len(findings))
        for row in findings.to_frame().to_dict("records"):
            proposed = row["says"] if row["rule"] in {"shared", "addresses"} else row["proposal"]
            digest = hashlib.sha256(f"{texts[row['claim_id']]}\n{proposed}".encode()).hexdigest()[:16]
            keys.add((name, str(rows[row["claim_id"]]), digest, row["rule"]))
    return keys, summaries


def test_three_hundred_were_judged_half_of_them_twice():
    rows = judged()
    assert len(rows) == 300
    twice = [row for row in rows if row["half"] == "blind"]
    assert len(twice) == 150
    agreed = sum(row["first"] == row["second"] for row in twice)
    assert agreed == 143  # 95%; kappa 0.91


@pytest.mark.parametrize(("half", "least"), [("blind", 50), ("open", 95)])
def test_of_the_findings_that_are_still_made_85_percent_are_right(found, half, least):
    keys, _ = found
    rows = [row for row in judged() if row["half"] == half]
    made = [row for row in rows if (row["list"], row["row"], row["hash"], row["rule"]) in keys]
    right = sum(row["first"] == "right" and row["second"] in {"right", ""} for row in made)
    assert len(made) >= least
    assert right / len(made) >= 0.85


def test_the_rules_before_were_right_half_of_the_time():
    rows = [row for row in judged() if row["half"] == "blind"]
    assert sum(row["first"] == row["second"] == "right" for row in rows) == 72


def test_what_is_true_of_most_is_one_line(found):
    _, summaries = found
    said, findings = summaries["checkthat2020"]
    (only,) = said
    assert only.startswith(
        ("no query: 10,375 of 10,375 claims", "addresses: 10,375 of 10,375 claims: each has neither")
    )
    assert findings < 1000
