"""Whatever is printed with a p-value and an interval: they agree, at every level, for whatever study."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import covmis_build as covmis
from covmis_build.errors import InputError
from covmis_build.estimation.differences import compared_parts
from covmis_build.estimation.regression import Formula, regression
from covmis_build.estimation.shares import estimates
from covmis_build.options import Sampling

VALUES = ["favor", "against", "neither"]
studies = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1), "claims": st.integers(2, 8), "posts": st.integers(4, 90),
        "shares": st.sampled_from([(0.4, 0.4, 0.2), (0.9, 0.08, 0.02), (1.0, 0.0, 0.0)]),
        "least": st.sampled_from([0.05, 0.5, 1.0]), "tail": st.sampled_from([0.0, 2.0, 1.5]), "known": st.booleans(),
        "level": st.sampled_from([0.5, 0.95, 0.99]),
    }
)  # fmt: skip


def drawn(study):
    """A sample, and perhaps the pool that it is of."""
    rng = np.random.default_rng(study["seed"])
    n, claims = study["posts"] + study["claims"], study["claims"]
    sizes = np.minimum(rng.zipf(study["tail"], n), 10**6) if study["tail"] else np.ones(n, int)
    owner = np.arange(n) % claims
    pool = pd.DataFrame(
        {
            "item_id": [f"{claim}|x:{at}" for at, claim in enumerate(owner)], "claim_id": owner.astype(str),
            "post_id": [f"x:{at}" for at in range(n)], "kind": rng.choice(["title", "keywords"], n),
            "label": rng.choice(VALUES, n, p=study["shares"]), "how": "agreed", "p_claim": rng.choice([1.0, 0.5], n),
            "p_sample": rng.uniform(study["least"], 1, n), "group_size": sizes,
            "created_at": [f"2020-0{4 + at % 2}-10T00:00:00Z" for at in range(n)],
        }
    )  # fmt: skip
    here = rng.random(n) < pool["p_sample"]
    here[:claims] = True
    return pool[here].reset_index(drop=True), pool if study["known"] else None


def agree(rows, null=0.0, *, level, value):
    """p is below 1 - level exactly where the interval leaves the null value out; where one is missing, so is the other."""
    for row in rows.to_dict("records"):
        low, high, p = row["low"], row["high"], row["p"]
        assert math.isnan(low) == math.isnan(high) == math.isnan(p), row
        if math.isnan(p):
            continue
        assert low - 1e-9 <= row[value] <= high + 1e-9, row
        if min(abs(low - null), abs(high - null)) > 1e-7:
            assert (p < 1 - level) == (not low <= null <= high), row


@pytest.mark.parametrize(
    ("two", "days"),
    [
        (("claim:0", "claim:1"), ()), (("kind:title", "kind:keywords"), ()), (("label:favor", "label:neither"), ()),
        (None, ("2020-05-01",)), (("month:2020-04", "month:2020-05"), ()),
    ],
)  # fmt: skip
@given(study=studies)
@settings(max_examples=15)
def test_differences(two, days, study):
    corpus, pool = drawn(study)
    between = compared_parts(two, *days, labels=VALUES)
    try:
        found = estimates(
            corpus, VALUES, Sampling(), pool=pool, by=["claim"], between=between, level=study["level"]
        )
    except InputError:  # a part without a labelled item
        return
    agree(found.differences, level=study["level"], value="difference")
    shares = found.shares
    assert ((shares["why"] != "") == shares["low"].isna()).all()
    assert not (shares["low"] > shares["share"] + 1e-9).any()
    assert not (shares["high"] < shares["share"] - 1e-9).any()


@pytest.mark.parametrize("over", ["claims", "posts"])
@pytest.mark.parametrize("family", ["linear", "logistic"])
@given(study=studies)
@settings(max_examples=15)
def test_coefficients(over, family, study):
    corpus, _ = drawn(study)
    try:
        found = regression(
            Formula("favor", ("kind",)), (corpus["label"] == "favor").to_numpy(float), corpus,
            labelled=np.ones(len(corpus), bool), chances=corpus["p_sample"].to_numpy(), family=family, over=over,
            level=study["level"],
        )  # fmt: skip
    except InputError:
        return
    agree(found.table, level=study["level"], value="coefficient")


@pytest.mark.parametrize("clusters", [None, "claim_id"])
@pytest.mark.parametrize("measure", ["accuracy", "macro_f1", "kappa"])
@given(study=studies)
@settings(max_examples=10)
def test_systems(clusters, measure, study):
    corpus, _ = drawn(study)
    rng = np.random.default_rng(study["seed"])
    said = {
        name: np.where(rng.random(len(corpus)) < right, corpus["label"], rng.choice(VALUES, len(corpus))).tolist()
        for name, right in (("one", 0.9), ("other", 0.6), ("constant", 1.0))
    }  # fmt: skip
    said["constant"] = ["favor"] * len(corpus)
    found = covmis.compare(
        corpus,
        said,
        measure=measure,
        labels=VALUES,
        clusters=clusters,
        level=study["level"],
        by_position=True,
    )
    agree(found.table, level=study["level"], value="difference")


@given(studies.filter(lambda study: study["known"]))
@settings(max_examples=40, deadline=None)
def test_a_share_stays_within_what_the_labels_at_hand_leave_possible(study):
    corpus, pool = drawn(study)
    found = estimates(corpus, VALUES, Sampling(), pool=pool, level=study["level"], by=["claim"]).shares
    for row in found[found["scope"].isin(["pool", "claim"]) & found["low"].notna()].to_dict("records"):
        here = corpus if row["scope"] == "pool" else corpus[corpus["claim_id"] == row["name"]]
        sizes, every = (
            items["group_size"] if row["estimand"] == "posts" else 1.0 + 0 * items["group_size"]
            for items in (here, pool)
        )
        elsewhere = (pool["claim_id"] != row["name"]) & (row["scope"] == "claim")
        pairs = (
            every * (1 / pool["p_claim"] - elsewhere)
        ).sum()  # those of a post that another claim got may be here
        least = sizes[here["label"] == row["label"]].sum() / pairs
        most = 1 - sizes[here["label"] != row["label"]].sum() / pairs
        assert row["low"] >= min(least, row["share"]) - 1e-9, row
        assert row["high"] <= max(most, row["share"]) + 1e-9, row


def test_labels_rule_out_little_where_the_number_of_posts_is_estimated():
    """Half of the posts stayed with another claim by chance: all that are left are labelled, and say little of those."""
    pool = pd.DataFrame(
        {
            "item_id": [f"{at % 2}|x:{at}" for at in range(20)], "claim_id": [str(at % 2) for at in range(20)], "kind": "keywords",
            "label": ["against" if at else "favor" for at in range(20)], "how": "agreed", "p_claim": 0.5, "p_sample": 1.0,
            "group_size": 1, "created_at": "2020-04-10T00:00:00Z",
        }
    )  # fmt: skip
    found = estimates(pool, VALUES, Sampling(), pool=pool, by=["claim"]).shares
    rows = found[(found["label"] == "favor") & (found["estimand"] == "unique_posts")].set_index("scope")
    assert rows.loc["pool", "low"] == pytest.approx(1 / 40), (
        "each post is a pair of two claims, of which one is labelled"
    )
    assert sorted(rows.loc["claim", "low"]) == pytest.approx([0, 1 / 30]), (
        "a claim has its 10 posts, and up to 20 pairs of posts that also other claims found"
    )


def test_one_post_with_a_label_does_not_say_how_rare_it_is():
    corpus, pool = drawn(
        {
            "seed": 1,
            "claims": 2,
            "posts": 300,
            "shares": (1.0, 0.0, 0.0),
            "least": 0.5,
            "tail": 0.0,
            "known": True,
        }
    )
    pool["p_claim"] = corpus["p_claim"] = 1.0
    pool["p_sample"], corpus = 0.2, corpus.head(60).assign(p_sample=0.2)
    corpus.loc[0, "label"] = "neither"
    corpus.loc[0, "p_sample"] = 0.02  # its weight alone would say that the label is not so rare
    found = estimates(corpus, VALUES, Sampling(), pool=pool).shares
    row = (
        found[(found["scope"] == "pool") & (found["estimand"] == "unique_posts")]
        .set_index("label")
        .loc["neither"]
    )
    assert row["low"] == pytest.approx(1 / len(pool))
    assert row["high"] > 3 / 60
