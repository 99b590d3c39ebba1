"""Signs of other search languages are named; what people write in ours is left alone."""

from __future__ import annotations

import csv

import pytest

from covmis_build.text.expression import foreign


@pytest.mark.parametrize(
    "query",
    ["mask*", "*mask", "mask~2", "from:nasa flu", "flu until:2020-01-01", "flu || cold", "a NOT b", "flu and cold", "flu NEAR cold", "+flu +cold &&"],
)  # fmt: skip
def test_what_means_something_else_is_named(query):
    assert list(foreign(query))


@pytest.mark.parametrize(
    "query",
    ["flu (cold OR cough) AND -cat", '"this or that" "from:here"', "covid-19 don't 10:30 a:b c++", 'https://a.org/x*y url:"b.org/from:c"', "#mask @who"],
)  # fmt: skip
def test_what_is_ours_is_left_alone(query):
    assert list(foreign(query)) == []


def test_of_the_published_queries_two_write_operators_as_words(data_home):
    with (data_home / "covmis/misinformation.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 111
    named = [one for row in rows for one in foreign(row["keywords"])]
    assert [one.partition(" ")[0] for one in named] == ["'or'", "'and'"]
