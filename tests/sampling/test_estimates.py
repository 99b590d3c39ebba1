"""What a corpus says about the posts that it was drawn from."""

import numpy as np
import pandas as pd
import pytest

from covmis_build import tables
from covmis_build.errors import InputError
from covmis_build.estimation import estimate
from covmis_build.estimation.shares import design_of, estimates
from covmis_build.keyed import uniform
from covmis_build.options import Labels, Sampling
from covmis_build.sampling.draw import sample
from covmis_build.sampling.strata import counts_of
from covmis_build.stats.over_posts import total

VALUES = ["favor", "against", "neither"]
COUNTS = {
    str(claim): {"title": 10 + claim, "news_url": 20, "fact_check_url": 12, "keywords": 30 * claim}
    for claim in range(1, 9)
}


def truth(item_id: str, kind: str) -> str:
    """A made-up stance that depends on the kind, so that unweighted shares are wrong."""
    lean = {"title": 0.9, "news_url": 0.7, "fact_check_url": 0.1, "keywords": 0.3}[kind]
    number = uniform(99, "truth", item_id)
    return "favor" if number < lean else "against" if number < lean + (1 - lean) * 0.6 else "neither"


def corpus_of(items: pd.DataFrame, *, seed=5, audit=0.0, automatic=None, design="poisson") -> pd.DataFrame:
    """A labelled sample as the table corpus, with the columns `design` and `automatic_label`."""
    rule = Labels(automatic=automatic or {})
    drawn = sample(
        items, tables.empty("sample"), Sampling(design=design), rule, seed=seed, audit=audit
    ).sample
    made = drawn.merge(items[["item_id", "group_size", "p_claim"]], on="item_id")
    real = [truth(item, kind) for item, kind in zip(made["item_id"], made["kind"], strict=True)]
    given = (made["automatic_label"] != "") & ~made["audited"]
    made["label"] = np.where(given, made["automatic_label"], real)
    made["how"] = np.where(given, "automatic", np.where(made["audited"], "audited", "agreed"))
    return made


def pool(found, **where):
    rows = found.shares
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows


@pytest.mark.parametrize("design", ["poisson", "two_phase"])
def test_parts_add_up_to_the_whole(make_items, design):
    """Totals of claims and of query types are those of all: each labelled post stands for a known number of posts."""
    items = make_items(COUNTS)
    found = estimates(corpus_of(items, design=design), VALUES, Sampling(design=design), pool=items)
    for estimand in ("unique_posts", "posts"):
        for label in VALUES:
            whole = pool(found, scope="pool", label=label, estimand=estimand).iloc[0]
            for scope in ("claim", "kind"):
                parts = pool(found, scope=scope, label=label, estimand=estimand)
                assert parts["total"].sum() == pytest.approx(whole["total"])
                assert parts["population"].sum() == pytest.approx(whole["population"])
    sizes = items.assign(n=1 / items["p_claim"], posts=items["group_size"] / items["p_claim"])
    known = sizes.groupby("claim_id")[["n", "posts"]].sum()
    weights = found.weights.assign(claim=found.weights["item_id"].str.partition("|")[0]).groupby("claim")
    assert weights["weight"].sum().to_dict() == pytest.approx(known["n"].to_dict())
    assert weights["weight_of_posts"].sum().to_dict() == pytest.approx(known["posts"].to_dict())


def test_known_sizes_make_intervals_narrower_where_claims_differ(make_items):
    """A claim's posts all have its label: only what the weights of claims do can vary, and their sizes are known."""
    items = make_items(COUNTS).assign(p_claim=1.0)
    corpus = corpus_of(items)
    corpus["label"] = np.where(corpus["claim_id"] < "5", "favor", "against")
    found = pool(estimates(corpus, VALUES, Sampling(), pool=items), scope="pool", label="favor").iloc[0]
    assert found["share"] == pytest.approx((items["claim_id"] < "5").mean())
    plain = pool(estimates(corpus, VALUES, Sampling()), scope="pool", label="favor").iloc[0]
    assert found["standard_error"] < 1e-9 < plain["standard_error"]
    assert 0 < found["high"] - found["low"] < 0.6 * (plain["high"] - plain["low"])


def test_claims_with_too_few_labels_are_weighted_with_the_nearest_in_size(make_items):
    items = make_items(COUNTS).assign(p_claim=1.0)
    corpus = corpus_of(items)
    few = corpus[corpus["claim_id"] != "7"]  # as large as 6 and 8; no post of it is labelled
    found = estimates(few, VALUES, Sampling(), pool=items)
    whole = pool(found, scope="pool", label="favor", estimand="unique_posts").iloc[0]
    assert whole["population"] == len(items)
    assert (
        whole["why"]
        == "18% of the posts are of claims with fewer than two labelled posts: no interval is known"
    )
    assert any("1 claim (7) with 17.8% of the posts" in sentence for sentence in found.methods)
    weights = found.weights.set_index("item_id")["weight"]
    assert weights.sum() == pytest.approx(len(items))


def test_values_that_are_no_shares_have_no_wilson_interval_when_calibrated():
    found = estimate([3.0, 5.0, 4.0] * 10, [0.5] * 30, totals={"a": 60}, kinds=["a"] * 30, bounds=None)
    assert found.value == pytest.approx(4)
    assert 3 < found.low < 4 < found.high < 5


@pytest.mark.parametrize("design", ["poisson", "two_phase"])
def test_shares_add_up_to_one_everywhere(make_items, design):
    corpus = corpus_of(make_items(COUNTS), design=design)
    found = estimates(corpus, VALUES, Sampling(design=design), pool=make_items(COUNTS))
    sums = found.shares.groupby(["estimand", "scope", "name"])["share"].sum()
    assert sums.to_numpy() == pytest.approx(1)
    assert set(found.shares["scope"]) == {"pool", "average claim", "claim", "kind"}
    for scope in ("claim", "kind"):
        parts = pool(found, scope=scope, label="favor").groupby("estimand")["population"].sum()
        whole = pool(found, scope="pool", label="favor").set_index("estimand")["population"]
        assert parts.to_dict() == pytest.approx(whole.to_dict())
    everyone = found.shares.groupby(["estimand", "scope", "name"])[["total", "population"]]
    for key, rows in everyone:
        if key[1] != "average claim":
            assert rows["total"].sum() == pytest.approx(rows["population"].iloc[0]), key


def test_two_phase_uses_the_counts_where_they_explain_the_probabilities(make_items):
    items = make_items(COUNTS)
    corpus = corpus_of(items, design="two_phase")
    counts = counts_of(items)
    exact = design_of(corpus, Sampling(design="two_phase"), counts)
    assert len(exact.blocks) == len(COUNTS)
    assert all(joint is not None for _, joint in exact.blocks)
    counts["1"]["keywords"] += 1
    other = design_of(corpus, Sampling(design="two_phase"), counts)
    assert [joint is None for _, joint in other.blocks].count(True) == 1


def test_a_design_for_each_item(make_items):
    items = make_items(COUNTS)
    fixed = corpus_of(items[items["claim_id"] < "4"], design="two_phase")
    free = corpus_of(items[items["claim_id"] >= "4"])
    both = estimates(pd.concat([fixed, free], ignore_index=True), VALUES, Sampling())
    apart = [estimates(one, VALUES, Sampling()) for one in (fixed, free)]
    row = pool(both, scope="pool", label="favor", estimand="unique_posts").iloc[0]
    parts = [pool(one, scope="pool", label="favor", estimand="unique_posts").iloc[0] for one in apart]
    # Without the items, N is only estimated: there is no interval that would be honest.
    assert row["total"] == pytest.approx(sum(one["total"] for one in parts))
    assert np.isnan([row["total_low"], row["total_high"], row["population"]]).all()
    whole = pd.concat([fixed, free], ignore_index=True)
    count, error = (
        [
            total((one["label"] == "favor").to_numpy(float), design_of(one, Sampling(), {}))[1]
            for one in several
        ]
        for several in ((whole,), (fixed, free))
    )
    assert count[0] == pytest.approx(sum(error))
    assert "Poisson sampling and two-phase" in both.methods[0]


def test_the_audit_corrects_automatic_labels(make_items):
    """The rule says against; of fact-check posts that is true of about half: only the audit can tell."""
    counts = {str(at): {"fact_check_url": 400, "keywords": 100} for at in range(40)}
    items = make_items(counts)
    real = items.apply(lambda row: truth(row["item_id"], row["kind"]), axis=1) == "against"
    true = np.average(real, weights=1 / items["p_claim"])
    rule = {"fact_check_url": "against"}
    blind = estimates(corpus_of(items, automatic=rule), VALUES, Sampling(), automatic=rule)
    seen = estimates(corpus_of(items, automatic=rule, audit=0.3, seed=6), VALUES, Sampling(), automatic=rule)
    wrong = pool(blind, scope="pool", label="against", estimand="unique_posts").iloc[0]
    right = pool(seen, scope="pool", label="against", estimand="unique_posts").iloc[0]
    assert wrong["low"] > true
    assert right["low"] < true < right["high"]
    assert right["standard_error"] > wrong["standard_error"]
    audit = seen.audit.iloc[0]
    assert audit["audited"] > 50
    assert 0.3 < audit["rate"] < 0.6
    assert audit["low"] < audit["rate"] < audit["high"]
    assert any("which the estimates correct for" in sentence for sentence in seen.sentences)
    assert "none was checked" in blind.sentences[-1]


def test_an_audit_without_errors_still_leaves_doubt(make_items):
    corpus = corpus_of(make_items(COUNTS), automatic={"fact_check_url": "against"}, audit=0.5)
    corpus.loc[corpus["how"] == "audited", "label"] = "against"
    found = estimates(corpus, VALUES, Sampling(), automatic={"fact_check_url": "against"})
    audit = found.audit.iloc[0]
    assert (audit["errors"], audit["rate"], audit["low"]) == (0, 0, 0)
    assert audit["high"] > 0.02
    kind = pool(found, scope="kind", name="fact_check_url", label="against", estimand="unique_posts").iloc[0]
    assert kind["share"] == 1
    assert kind["low"] < 1


def test_the_audited_label_is_found_without_its_column(make_items):
    rule = {"fact_check_url": "against"}
    corpus = corpus_of(make_items(COUNTS), automatic=rule, audit=0.3)
    one = estimates(corpus, VALUES, Sampling(), automatic=rule)
    other = estimates(corpus.drop(columns="automatic_label"), VALUES, Sampling(), automatic=rule)
    pd.testing.assert_frame_equal(one.shares, other.shares)
    pd.testing.assert_frame_equal(one.audit, other.audit)


def test_other_label_schemes(make_items):
    corpus = corpus_of(make_items(COUNTS))
    corpus["label"] = np.where(corpus["label"] == "favor", "yes", "no")
    items = make_items(COUNTS)
    found = estimates(corpus, ["yes", "no", "perhaps", "later"], Sampling(), by=(), pool=items)
    assert pool(found, label="later", scope="pool")["share"].tolist() == [0, 0]
    none = pool(found, label="later", scope="pool")
    assert (none["high"] > 0).all()
    assert (none[["total", "total_low"]] == 0).all(axis=None)
    assert none["total_high"].to_numpy() == pytest.approx((none["high"] * none["population"]).to_numpy())
    assert set(found.shares["scope"]) == {"pool", "average claim"}


def test_wrong_corpora_are_named(make_items):
    corpus = corpus_of(make_items(COUNTS))
    with pytest.raises(InputError, match="lacks the columns p_claim"):
        estimates(corpus.drop(columns="p_claim"), VALUES, Sampling())
    with pytest.raises(InputError, match="no rows"):
        estimates(corpus.iloc[:0], VALUES, Sampling())
    with pytest.raises(InputError, match=r"'favor' is not in the scheme\. Did you mean 'favour'"):
        estimates(corpus, ["favour", "against", "neither"], Sampling())
    for name, value, words in (
        ("p_sample", 0.0, "has p_sample = 0. A probability is above 0"),
        ("p_claim", float("nan"), "has p_claim = nan"),
        ("kind", "", "of the corpus has no kind"),
        ("label", None, "of the corpus has no label"),
    ):
        broken = corpus.copy()
        broken.loc[3, name] = value
        with pytest.raises(InputError, match=words) as error:
            estimates(broken, VALUES, Sampling())
        assert corpus["item_id"][3] in str(error.value)
    with pytest.raises(InputError, match="is in the corpus twice"):
        estimates(pd.concat([corpus, corpus.iloc[:1]]), VALUES, Sampling())
    with pytest.raises(InputError, match="group_size"):
        estimates(corpus.assign(group_size=0), VALUES, Sampling())


def draws(make_items, design: str, repeats: int) -> pd.DataFrame:
    items = make_items(COUNTS)
    real = np.array([truth(row.item_id, row.kind) == "favor" for row in items.itertuples()])
    true = np.average(real, weights=1 / items["p_claim"])
    rows = []
    for seed in range(repeats):
        corpus = corpus_of(items, seed=seed, design=design)
        row = estimates(corpus, VALUES, Sampling(design=design), pool=items, by=()).shares.iloc[0]
        rows.append({**row, "covered": row["low"] <= true <= row["high"], "true": true})
    return pd.DataFrame(rows)


@pytest.mark.parametrize("design", ["poisson", "two_phase"])
def test_small_simulation(make_items, design):
    """Thirty-six draws: right on average, intervals that mostly cover, the unweighted share wrong."""
    found = draws(make_items, design, 36)
    error = found["share"].std() / 6
    assert abs(found["share"].mean() - found["true"].iloc[0]) < 4 * error
    assert abs(found["unweighted"].mean() - found["true"].iloc[0]) > 10 * error
    assert found["covered"].mean() > 0.88
    assert found["standard_error"].mean() == pytest.approx(found["share"].std(), rel=0.25)
