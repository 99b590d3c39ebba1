"""Splitting, merging, accepting: what changed is told, and no id is used twice."""

from __future__ import annotations

import pandas as pd
import pytest

from covmis_build.claims.claim import Claim, checked
from covmis_build.claims.edits import accept, merge, split, used_ids
from covmis_build.claims.lint import lint
from covmis_build.claims.selection import select
from covmis_build.errors import InputError


def listed(*rows):
    return checked(list(rows), "claims.csv")


CLAIMS = listed(
    Claim("11", "First.", news_urls=["https://a.org/1"], keywords=["one"], first_seen="2020-02-02"),
    Claim("12", "A and B.", titles=["T"], keywords=["a b"], edits=["simplify: was A, B."]),
    Claim("13", "Third.", news_urls=["http://www.a.org/1/", "https://a.org/3"], first_seen="2020-01-01"),
)


def test_split_claims_get_letters():
    made = split(CLAIMS, "12", ["A.", "B."])
    assert made["claim_id"].tolist() == ["11", "12a", "12b", "13"]
    assert made["text"].tolist()[1:3] == ["A.", "B."]
    assert made["titles"].tolist()[1:3] == [["T"], ["T"]]
    assert made["keywords"].tolist()[1:3] == [[], []]
    assert made["edits"][1] == ["simplify: was A, B.", "split from 12: A and B."]
    assert used_ids(made) == {"11", "12", "12a", "12b", "13"}


def test_ids_are_never_used_again():
    made = merge(split(CLAIMS, "12", ["A.", "B."]), ["12a", "12b"])
    assert made["claim_id"].tolist() == ["11", "12a", "13"]
    again = split(CLAIMS.assign(edits=[["merged 12a: gone"], [], []]), "12", ["A.", "B."])
    assert again["claim_id"].tolist() == ["11", "12b", "12c", "13"]
    assert "12b" in used_ids(made)


def test_more_than_26_parts():
    made = split(CLAIMS, "12", [f"Part {n}." for n in range(28)])
    assert made["claim_id"].tolist()[25:29] == ["12y", "12z", "12aa", "12ab"]


def test_merged_claims_keep_the_first_id_and_all_that_was_known():
    made = merge(CLAIMS, ["13", "11"], "Both.")
    assert made["claim_id"].tolist() == ["11", "12"]
    row = made.iloc[0]
    assert row["text"] == "Both."
    assert row["news_urls"] == ["https://a.org/1", "https://a.org/3"]
    assert row["first_seen"] == "2020-01-01"
    assert row["edits"] == ["merge: was First.", "merged 13: Third."]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: split(CLAIMS, "99", ["a", "b"]), "no claim has the id 99"),
        (lambda: split(CLAIMS, "12", ["a"]), "at least two"),
        (lambda: merge(CLAIMS, ["12", "12"]), "at least two"),
        (lambda: accept(CLAIMS, lint(CLAIMS).to_frame(), ["split:99"]), "no finding is called"),
        (lambda: accept(CLAIMS, lint(CLAIMS).to_frame(), ["addresses:12"]), "proposes nothing"),
    ],
)
def test_what_cannot_be_done(change, message):
    with pytest.raises(InputError, match=message):
        change()


def test_accepted_findings_are_recorded():
    claims = listed(
        Claim("1", "No evidence that garlic cures it", language="en", news_urls=["https://a.org/1"]),
        Claim(
            "2",
            "Garlic cures it in May. Onions cure it in June.",
            language="en",
            news_urls=["https://a.org/2"],
        ),
        Claim("3", "Garlic cures it, was said", language="en", news_urls=["https://m.a.org/1"]),
    )
    made = accept(claims, lint(claims).to_frame(), ["correct:1", "split:2", "merge:1"])
    assert made["claim_id"].tolist() == ["1", "2a", "2b"]
    assert made["text"].tolist() == ["Garlic cures it.", "Garlic cures it in May.", "Onions cure it in June."]
    assert made["edits"][0] == [
        "correct: was No evidence that garlic cures it",
        "merged 3: Garlic cures it, was said",
    ]


def test_what_was_split_is_not_proposed_for_merging():
    claims = listed(
        Claim(
            "1", "The first thing is so. Hospitals are full in May.", fact_check_urls=["https://check.org/1"]
        )
    )
    made = accept(claims, lint(claims).to_frame(), ["split:1"])
    assert "merge" not in set(lint(made).to_frame()["rule"])


def hits(counts):
    rows = [
        {"claim_id": name, "post_id": f"x:{at}", "query_id": f"{name}:{kind}:1", "kind": kind}
        for name, kinds in counts.items()
        for kind, number in kinds.items()
        for at in range(number)
    ]
    return pd.DataFrame(rows)


def test_select_counts_titles_and_addresses():
    chosen = select(
        CLAIMS,
        hits({"11": {"keywords": 50}, "12": {"title": 2, "news_url": 3}, "13": {"fact_check_url": 4}}),
        2,
    )
    assert chosen.claims["selected"].tolist() == [False, True, True]
    assert chosen.counts.to_dict("records") == [
        {"claim_id": "13", "posts": 4, "rank": 1, "selected": True, "tied": False},
        {"claim_id": "12", "posts": 3, "rank": 2, "selected": True, "tied": False},
        {"claim_id": "11", "posts": 0, "rank": 3, "selected": False, "tied": False},
    ]


def test_ties_are_marked():
    chosen = select(CLAIMS, hits({"11": {"title": 1}, "12": {"title": 1}, "13": {"title": 2}}), 2)
    assert chosen.claims["selected"].tolist() == [True, False, True]
    assert chosen.counts["tied"].tolist() == [False, True, True]
    assert select(CLAIMS, hits({"11": {"title": 1}}), 99).claims["selected"].all()
    with pytest.raises(InputError):
        select(CLAIMS, hits({"11": {"title": 1}}), 0)


UNLIKE = [
    "Garlic cures the flu.",
    "Masts spread a virus.",
    "Children are immune.",
    "Bat soup began it all.",
    "Hand dryers kill.",
]


def test_addresses_that_say_nothing_are_taken_off():
    shared = {"fact_check_urls": ["https://www.check.org/myths/#7", "https://check.org/own"]}
    claims = listed(
        *(Claim(str(at), text, **shared) for at, text in enumerate(UNLIKE[:4])),
        Claim("9", "Another story.", news_urls=["https://news.org/", "https://news.org/a"], fact_check_urls=["no address"]),
    )  # fmt: skip
    findings = lint(claims).to_frame()
    made = accept(claims, findings, ["shared:0", "addresses:9", "addresses:9:2"])
    assert made["fact_check_urls"][0] == ["https://check.org/own"]
    assert made["edits"][0] == ["shared: took off https://www.check.org/myths/#7"]
    assert made["fact_check_urls"][1] == shared["fact_check_urls"]
    assert (made["news_urls"][4], made["fact_check_urls"][4]) == (["https://news.org/a"], [])
    assert made["edits"][4] == ["addresses: took off no address", "addresses: took off https://news.org/"]
    assert used_ids(made) == used_ids(claims)
