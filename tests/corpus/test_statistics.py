"""The statistics: the paper's own corpus gives the paper's own tables; small corpora give sums done by hand."""

from __future__ import annotations

import csv
import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build.corpus.statistics import statistics
from covmis_build.datasets.shape import post_time

LABELS = ("favor", "against", "neither")


@pytest.fixture(scope="module")
def published(data_home):
    """COVMis-Stance as a corpus of ours; its probabilities were not published."""
    with (data_home / "covmis" / "covmis_stance.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            {
                "item_id": f"{row['mid']}|x:{row['tweet_id']}",
                "claim_id": row["mid"],
                "claim": row["mis"],
                "post_id": f"x:{row['tweet_id']}",
                "native_id": row["tweet_id"],
                "text": None,
                "kind": row["source"],
                "label": row["label"],
                "how": "automatic" if row["auto"] == "True" else "agreed",
                "p_claim": 1.0,
                "p_sample": 1.0,
                "weight": 1.0,
                "group_size": 1,
                "created_at": post_time(row["tweet_id"]),
            }
            for row in csv.DictReader(file)
        ]
    return statistics(pd.DataFrame(rows), LABELS)


def test_table_4_of_the_paper_every_cell(published) -> None:
    assert published.by_source.to_numpy().tolist() == [
        ["Title", 195, 38, 3, 236],
        ["URL", 336, 646, 104, 1086],
        ["Keywords", 745, 363, 201, 1309],
        ["Total", 1276, 1047, 308, 2631],
    ]


def test_automatic_labels_of_the_paper(published) -> None:
    rows = published.by_kind.set_index("kind")
    assert (rows.loc["fact_check_url", "automatic"], rows.loc["fact_check_url", "manual"]) == (604, 1)
    assert (rows.loc["Total", "automatic"], rows.loc["Total", "manual"]) == (604, 2027)


def test_posts_per_claim_of_the_paper(published) -> None:
    row = published.claim_sizes.set_index("kind").loc["all"]
    assert (published.claims, round(row["mean"], 2), round(row["sd"], 2)) == (111, 23.70, 4.23)
    assert (row["smallest"], row["largest"]) == (13, 39)


def test_months_of_the_paper(published, data_home) -> None:
    with (data_home / "covmis" / "derived_label_by_month.csv").open(newline="") as file:
        wanted = {
            row["month"]: tuple(int(row[label]) for label in LABELS)
            for row in csv.DictReader(file)
            if row["month"] != "All"
        }
    found = {
        row["month"]: tuple(row[label] for label in LABELS) for row in published.per_month.to_dict("records")
    }
    assert found == wanted


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["c1", "c2", "c3"]),
            st.sampled_from(["title", "news_url", "fact_check_url", "keywords", "other"]),
            st.sampled_from([*LABELS, "new"]),
            st.sampled_from(["agreed", "automatic"]),
            st.sampled_from(["2020-01-02T00:00:00Z", "2020-02-02T00:00:00Z", ""]),
            st.floats(0.05, 1),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_every_table_adds_up_to_the_corpus(rows) -> None:
    made = [
        {"item_id": f"{claim}|x:{at}", "claim_id": claim, "claim": f"Claim {claim}",
         "post_id": f"x:{at}", "native_id": str(at), "text": "a b", "kind": kind, "label": label, "how": how,
         "p_claim": 1.0, "p_sample": p, "weight": 1 / p, "group_size": 1 + at, "created_at": made_at}
        for at, (claim, kind, label, how, made_at, p) in enumerate(rows)
    ]  # fmt: skip
    numbers = statistics(pd.DataFrame(made), LABELS)
    for table in (numbers.by_source, numbers.by_kind):
        assert table.iloc[-1]["total"] == table.iloc[:-1]["total"].sum() == len(rows)
    assert numbers.per_claim["total"].sum() == numbers.per_month["total"].sum() == len(rows)
    assert numbers.by_how["rows"].sum() == len(rows)
    assert (numbers.by_kind["automatic"] + numbers.by_kind["manual"] == numbers.by_kind["total"]).all()
    for _, part in numbers.shares.groupby("estimand"):
        assert math.isclose(part["share"].sum(), 1)
