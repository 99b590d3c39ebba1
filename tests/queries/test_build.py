"""Queries from claims: what each becomes, and ids that stay."""

from __future__ import annotations

import pytest

from covmis_build import tables
from covmis_build.claims.claim import Claim, checked
from covmis_build.claims.lists import read_claims
from covmis_build.errors import InputError
from covmis_build.queries.build import build_queries
from covmis_build.text.expression import parse
from covmis_build.text.urls import canonical_url


def built(*claims):
    return build_queries(checked(claims, "claims.csv"))


def test_one_query_for_each_title_address_and_line_of_keywords():
    made = built(
        Claim(
            "12", "x", language="en", titles=['"He said "no" to masks"'], news_urls=["https://www.example.org/a/?fbclid=1"],
            fact_check_urls=["https://check.org/1"], keywords=["mask (flu OR covid-19)", "[ES] mascarilla -gripe"],
        )
    )  # fmt: skip
    rows = {row["query_id"]: row for row in made.to_dict("records")}
    assert list(rows) == [
        "12:title:1",
        "12:news_url:1",
        "12:fact_check_url:1",
        "12:keywords:1",
        "12:keywords:2",
    ]
    assert rows["12:title:1"]["expression"] == '"he said no to masks"'
    assert rows["12:news_url:1"]["expression"] == 'url:"example.org/a"'
    assert rows["12:keywords:1"]["expression"] == 'mask (flu OR "covid 19")'
    assert (rows["12:keywords:2"]["text"], rows["12:keywords:2"]["language"]) == ("mascarilla -gripe", "es")
    assert rows["12:keywords:1"]["language"] == "en"
    tables.conform(made, "queries")


def test_repetitions_and_what_says_nothing_make_no_query():
    made = built(
        Claim(
            "1",
            "x",
            keywords=["mask", "MASK", "?!"],
            news_urls=["https://a.org/x", "http://m.a.org/x/"],
            titles=["—"],
        )
    )
    assert made["query_id"].tolist() == ["1:news_url:1", "1:keywords:1"]


def test_claims_that_are_not_selected_have_none():
    assert built(Claim("1", "x", keywords=["a"], selected=False), Claim("2", "y", keywords=["b"]))[
        "claim_id"
    ].tolist() == ["2"]
    nothing = built(Claim("1", "x"))
    assert list(nothing.columns) == tables.SCHEMAS["queries"].names
    assert len(nothing) == 0


@pytest.mark.parametrize(
    ("values", "message"),
    [({"keywords": ["ok", "(a"]}, "claim 7, keywords 2: a parenthesis is not closed"), ({"news_urls": ["see there"]}, "claim 7, news_url 1: not an address")],
)  # fmt: skip
def test_what_cannot_be_read_names_its_claim(values, message):
    with pytest.raises(InputError) as error:
        built(Claim("7", "x", **values))
    assert message in str(error.value)


def test_all_433_queries_of_the_covmis_list(data_home):
    made = build_queries(read_claims(data_home / "covmis/misinformation.csv"))
    assert made["kind"].value_counts().to_dict() == {
        "fact_check_url": 124,
        "news_url": 121,
        "keywords": 111,
        "title": 77,
    }
    assert made["query_id"].is_unique
    for row in made.to_dict("records"):
        whole = parse(row["expression"])
        assert str(whole) == row["expression"]
        assert whole.matches(
            row["text"]
            if row["kind"] == "title"
            else f"see {row['text']} there"
            if "url" in row["kind"]
            else row["text"].replace("OR", " ").replace("(", " ")
        )
        for platform in ("x", "bluesky", "mastodon"):
            searches = whole.render(platform)
            assert searches
            assert all(len(one) <= 512 for one in searches)
    addresses = made[made["kind"].str.endswith("url")]
    shared = addresses.assign(key=addresses["text"].map(canonical_url)).groupby("key")["claim_id"].nunique()
    assert (shared > 1).sum() == 4
