"""The sample: permanent numbers, two designs, opened rounds kept."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build import tables
from covmis_build.errors import InputError
from covmis_build.keyed import uniform
from covmis_build.options import Labels, Sampling
from covmis_build.sampling.designs.two_phase import draw as two_phase
from covmis_build.sampling.draw import sample
from covmis_build.sampling.history import frozen_items
from covmis_build.sampling.inclusion import allocate
from covmis_build.sampling.ledger import opened, over_draws, passed_claims
from covmis_build.sampling.strata import strata_by

NOTHING, EMPTY = tables.empty("sample"), tables.empty("draws")
COUNTS = {
    "1": {"title": 30, "news_url": 4, "fact_check_url": 12, "keywords": 80},
    "2": {"keywords": 50},
    "3": {"title": 9, "fact_check_url": 9, "keywords": 9},
}
DESIGNS = ["poisson", "two_phase"]
claim = st.fixed_dictionaries(
    {kind: st.integers(0, 40) for kind in ("title", "news_url", "fact_check_url", "keywords")}
)


def draw(
    items,
    frozen=NOTHING,
    *,
    seed=5,
    audit=0.0,
    audit_per_part=0,
    audit_by=("claim",),
    times=None,
    labels=None,
    strata=None,
    opened=None,
    **options,
):
    return sample(
        items, frozen, Sampling(**options), labels or Labels(), seed=seed, audit=audit, audit_per_part=audit_per_part,
        audit_by=audit_by, times=times, strata=strata, opened=opened
    )  # fmt: skip


@pytest.mark.parametrize("design", DESIGNS)
@given(
    counts=st.lists(claim, min_size=1, max_size=4), per_kind=st.integers(0, 8), per_claim=st.integers(1, 40)
)
@settings(max_examples=25)
def test_nothing_vanishes_and_sizes_hold(make_items, design, counts, per_kind, per_claim):
    items = make_items({str(at): one for at, one in enumerate(counts)})
    found = draw(items, design=design, per_kind=per_kind, per_claim=per_claim)
    assert len(found.sample) + len(found.dropped) == len(items)
    assert not set(found.sample["post_id"] + found.sample["claim_id"]) & set(
        found.dropped["post_id"] + found.dropped["claim_id"]
    )
    assert found.expected["drawn"].sum() == len(found.sample)
    if design == "two_phase":
        sizes = found.expected.groupby("claim_id")[["expected", "drawn"]].sum()
        assert (sizes["expected"].round(9) == sizes["drawn"]).all()


@pytest.mark.parametrize("design", DESIGNS)
@given(counts=st.lists(claim, min_size=2, max_size=4))
@settings(max_examples=25)
def test_another_claim_changes_no_claims_sample(make_items, design, counts):
    everyone = make_items({str(at): one for at, one in enumerate(counts)})
    fewer = everyone[everyone["claim_id"] != "1"]
    with_it = draw(everyone, design=design).sample
    without = draw(fewer, design=design).sample
    pd.testing.assert_frame_equal(
        with_it[with_it["claim_id"] != "1"].reset_index(drop=True), without.reset_index(drop=True)
    )


@pytest.mark.parametrize("design", DESIGNS)
def test_the_order_of_rows_does_not_matter(make_items, design):
    items = make_items(COUNTS)
    shuffled = items.sample(frac=1, random_state=3)
    one, other = draw(items, design=design, audit=0.5), draw(shuffled, design=design, audit=0.5)
    pd.testing.assert_frame_equal(one.sample, other.sample)
    pd.testing.assert_frame_equal(one.dropped, other.dropped)
    pd.testing.assert_frame_equal(one.expected, other.expected)


def test_more_posts_change_a_poisson_sample_only_as_far_as_probabilities_do(make_items):
    few, many = make_items({"1": {"keywords": 60}}), make_items({"1": {"keywords": 90}})
    before, after = (set(draw(items).sample["item_id"]) for items in (few, many))
    old = set(few["item_id"])
    assert after & old <= before
    assert before - after == {item for item in before if uniform(5, "sampling", item) >= 24 / 90}


@pytest.mark.parametrize("design", DESIGNS)
def test_probabilities_are_frequencies(make_items, design):
    """Over many seeds, each kind is drawn as often as its probability says (five standard errors)."""
    items = make_items({"1": {"title": 9, "news_url": 4, "keywords": 20}})
    seeds = 200
    drawn = pd.concat(
        [draw(items, seed=seed, design=design, per_kind=3, per_claim=12).sample for seed in range(seeds)]
    )
    for kind, group in drawn.groupby("kind"):
        p, n = group["p_sample"].iloc[0], (items["kind"] == kind).sum()
        assert abs(len(group) / seeds / n - p) < 5 * (p * (1 - p) / seeds / n) ** 0.5 + 1e-12


def test_two_phase_pairs_are_frequencies():
    counts = {"title": 4, "news_url": 3, "keywords": 5}
    kind_of = {f"{kind}{at}": kind for kind, number in counts.items() for at in range(number)}
    drawn, seeds = allocate(counts, 2, 7), 4000
    pairs = [
        ("title0", "title1"),
        ("title0", "news_url0"),
        ("keywords0", "keywords1"),
        ("news_url0", "news_url2"),
    ]
    together = dict.fromkeys(pairs, 0)
    for seed in range(seeds):
        chosen = two_phase(kind_of, drawn, seed=seed)
        for pair in pairs:
            together[pair] += chosen.issuperset(pair)
    for (one, other), count in together.items():
        p = float(drawn.together(kind_of[one], kind_of[other]))
        assert abs(count / seeds - p) < 5 * (p * (1 - p) / seeds) ** 0.5, (one, other)


@pytest.mark.parametrize("design", DESIGNS)
def test_frozen_items_are_drawn_once(make_items, design):
    items = make_items(COUNTS)
    first = draw(items, design=design, audit=0.3)
    again = draw(items, first.sample, design=design, audit=0.3)
    pd.testing.assert_frame_equal(first.sample, again.sample)
    assert again.expected["frozen"].sum() == len(first.sample)


def test_checks_are_planned_for_each_claim_and_period(make_items):
    """About five of each, or all; what a round froze keeps its probability."""
    items, labels = make_items(COUNTS), Labels(automatic={"title": "favor"})
    months = ["2020-04" if item.endswith("7") else "2020-05" for item in items["item_id"]]
    times = pd.DataFrame({"post_id": items["post_id"], "created_at": [f"{month}-02" for month in months]})
    first = draw(items, audit=0.1, labels=labels).sample
    planned = {"audit": 0.1, "audit_per_part": 5, "labels": labels, "audit_by": ("claim", "month")}
    drawn = draw(items, times=times, **planned).sample
    rule = drawn[drawn["automatic_label"] != ""]
    sizes = rule.groupby("claim_id")["item_id"].transform("size")
    parts = rule["item_id"].map(dict(zip(items["item_id"], months, strict=True)))
    of_part = parts.map(parts.value_counts())
    wanted = np.maximum(0.1, np.maximum(5 / np.maximum(sizes, 5), 5 / np.maximum(of_part, 5)))
    assert rule["p_audit"].tolist() == pytest.approx(wanted.tolist())
    assert (rule["p_audit"] > 0.1).any()
    assert (drawn.loc[drawn["automatic_label"] == "", "p_audit"] == 0).all()
    kept = draw(items, first, **planned).sample
    assert kept["p_audit"].tolist() == first["p_audit"].tolist()


@pytest.mark.parametrize("design", DESIGNS)
def test_a_greater_target_keeps_the_draw_and_combines_probabilities(make_items, design):
    items = make_items(COUNTS)
    first = draw(items, design=design).sample
    more = draw(items, first, design=design, per_claim=40).sample.set_index("item_id")
    at_once = draw(items, design=design, per_claim=40).sample.set_index("item_id")
    pd.testing.assert_series_equal(more["p_sample"], at_once["p_sample"])
    assert (more.loc[first["item_id"], "draw"] == "1").all()
    assert set(more.drop(first["item_id"])["draw"]) == {"2"}


def test_what_rounds_have_frozen_is_weighted_by_all_draws(make_items):
    items = make_items({"1": {"keywords": 100}})
    first = draw(items).sample
    topped = draw(items, first, per_claim=48).sample
    rounds = pd.concat([first, topped[topped["draw"] == "2"]])
    assert rounds["p_sample"].nunique() == 2
    assert set(over_draws(rounds, EMPTY).values()) == {0.48}
    assert set(over_draws(first, EMPTY).values()) == {0.24}


def test_newcomers_do_not_inherit_an_earlier_draws_probability(make_items):
    first = draw(make_items({"1": {"keywords": 50}})).sample
    topped = draw(make_items({"1": {"keywords": 200}}), first).sample
    found = over_draws(topped, EMPTY)
    assert {found[item] for item in first["item_id"]} == {0.48}
    assert {found[item] for item in topped.loc[topped["draw"] == "2", "item_id"]} == {0.12}


TOP_UPS = {
    "three draws": ([9, 9, 9], [3, 4, 5]),
    "new posts, and some are gone": ([5, 14, 9], [2, 4, 4]),
}


@pytest.mark.parametrize("case", TOP_UPS)
def test_weights_add_up_over_top_ups_also_where_a_draw_added_nothing(make_items, case):
    """Each total is right on average over 100 seeds. Without the draws that added nothing, that of 9 was 9.8."""
    sizes, targets = TOP_UPS[case]
    totals = []
    for seed in range(100):
        frozen, ledger = NOTHING, EMPTY
        for number, (size, target) in enumerate(zip(sizes, targets, strict=True), 1):
            drawn = draw(
                make_items({"1": {"keywords": size}}), frozen, per_kind=0, per_claim=target, seed=seed
            )
            ledger = opened(ledger, drawn.draws, ["1"], f"{number:03d}")
            before = set(frozen["item_id"])
            new = drawn.sample[~drawn.sample["item_id"].isin(before)].assign(round=f"{number:03d}")
            frozen = pd.concat([frozen, new], ignore_index=True) if len(frozen) else new
        chances = over_draws(frozen, ledger) if len(frozen) else {}
        totals.append(sum(1 / p for p in chances.values()))
    assert abs(np.mean(totals) - max(sizes)) < 3 * np.std(totals) / 100**0.5


def test_an_opened_draw_is_in_the_ledger_once(make_items):
    items = make_items({"1": {"keywords": 50}, "2": {"title": 3, "keywords": 30}})
    first = draw(items)
    ledger = opened(EMPTY, first.draws, ["1"], "001")
    assert set(ledger["claim_id"]) == {"1"}
    assert ledger[["stratum", "rule", "posts", "probability"]].to_numpy().tolist() == [
        ["keywords", "fill", 50, 0.48]
    ]
    same = draw(items, first.sample[first.sample["claim_id"] == "1"], opened={"1": 1})
    again = opened(ledger, same.draws, ["1", "2"], "002")
    assert again[["claim_id", "draw", "stratum", "rule"]].to_numpy().tolist() == [
        ["1", "1", "keywords", "fill"], ["2", "1", "keywords", "fill"], ["2", "1", "title", "quota"]
    ]  # fmt: skip


def test_claims_are_passed_by_what_others_added():
    order = ["1", "2", "3", "4"]
    assert passed_claims(order, {"2", "4"}, {"1", "2", "3", "4"}, ["2"]) == ["1", "2"]
    assert passed_claims(order, {"2"}, {"1", "2"}, ["2"]) == ["3", "4", "1", "2"]
    assert passed_claims(order, {"3", "2"}, {"1", "2"}, ["3"]) == ["3"]
    assert passed_claims(order, set(), {"1"}, []) == ["2", "3", "4", "1"]


@pytest.mark.parametrize("design", DESIGNS)
def test_frozen_items_that_the_build_lost_stay(make_items, design):
    items = make_items(COUNTS)
    first = draw(items, design=design).sample
    left = items[~items["item_id"].isin(first["item_id"][:10])]
    left = left[left["claim_id"] != "3"]
    kept = draw(left, first, design=design).sample
    assert set(first["item_id"]) <= set(kept["item_id"])
    was = first.set_index("item_id")
    assert (kept.set_index("item_id").loc[was.index, "p_sample"] >= was["p_sample"]).all()


def test_a_complete_two_phase_claim_is_closed(make_items):
    first = draw(make_items({"1": {"keywords": 50}}), design="two_phase").sample
    after = draw(make_items({"1": {"keywords": 80}}), first, design="two_phase").sample
    pd.testing.assert_frame_equal(first, after)


def test_a_two_phase_claim_is_topped_up_again_and_again(make_items):
    """Each round froze its own probabilities: those of three targets are as good as those of one."""
    items, frozen = make_items({"1": {"keywords": 80, "title": 10}}), NOTHING
    for per_claim in (12, 20, 28):
        drawn = draw(items, frozen, design="two_phase", per_claim=per_claim).sample
        frozen = pd.concat([frozen, drawn[~drawn["item_id"].isin(frozen["item_id"])]]).astype(drawn.dtypes)
        assert len(frozen) == per_claim
    assert frozen[frozen["kind"] == "keywords"].groupby("draw")["p_sample"].nunique().tolist() == [1, 1, 1]


def test_two_phase_draws_of_different_posts_are_refused(make_items):
    first = draw(make_items({"1": {"keywords": 50}}), design="two_phase").sample
    with pytest.raises(
        InputError, match="the probabilities of two such two-phase draws together are not known"
    ):
        draw(make_items({"1": {"keywords": 80}}), first, design="two_phase", per_claim=30)


def test_mixed_designs_in_one_claim_are_refused(make_items):
    items = make_items({"1": {"keywords": 50}})
    first = draw(items).sample
    first.loc[:3, "design"] = "two_phase"
    with pytest.raises(InputError, match="poisson and two_phase"):
        draw(items, first)


def test_a_claim_keeps_the_design_of_its_first_draw(make_items):
    items = make_items({"1": {"keywords": 50}, "2": {"keywords": 50}})
    first = draw(items[items["claim_id"] == "1"], design="two_phase").sample
    found = draw(items, first).sample.groupby("claim_id")["design"].unique()
    assert found["1"].tolist() == ["two_phase"]
    assert found["2"].tolist() == ["poisson"]


def test_another_seed_is_refused(make_items):
    items = make_items({"1": {"keywords": 500}})
    with pytest.raises(InputError, match="was not drawn with the seed 6"):
        draw(items, draw(items).sample, seed=6)


@pytest.mark.parametrize("p", [0.0, -1.0, 1.5, float("nan")])
def test_frozen_probabilities_are_checked(make_items, p):
    first = draw(make_items({"1": {"keywords": 50}})).sample
    first.loc[0, "p_sample"] = p
    with pytest.raises(InputError, match="has the probability"):
        draw(make_items({"1": {"keywords": 50}}), first)


def test_extra_strata_split_the_kinds(make_items):
    items = make_items({"1": {"keywords": 90, "title": 3}})
    month = {item: "2020-04" if item.endswith("0") else "2020-05" for item in items["item_id"]}
    found = draw(items, strata=month, per_kind=4)
    names = set(found.expected["stratum"])
    assert names == {
        "keywords / 2020-04", "keywords / 2020-05", "title / 2020-04", "title / 2020-05",
    }  # fmt: skip
    assert found.expected["expected"].sum() == pytest.approx(24, abs=1e-12)
    assert set(found.sample["kind"]) <= {"keywords", "title"}
    with pytest.raises(InputError, match="has no stratum"):
        draw(items, strata={})


def test_strata_by_time_and_platform(make_items):
    items = make_items({"1": {"keywords": 60}})
    posts = pd.DataFrame(
        {"post_id": items["post_id"], "created_at": [f"2020-0{1 + at % 2}-01T00:00:00Z" for at in range(60)]}
    )
    posts.loc[7, "created_at"] = ""
    made = strata_by(items, posts, ["month", "platform"])
    assert sorted(set(made.values())) == ["2020-01 x", "2020-02 x", "unknown x"]
    found = draw(items, strata=made)
    quota = found.expected.set_index("stratum")["expected"]
    assert quota["keywords / unknown x"] == 1
    assert quota.sum() == pytest.approx(24)
    with pytest.raises(InputError, match="Did you mean 'month'"):
        strata_by(items, posts, ["months"])


def test_no_items_no_sample():
    found = draw(tables.empty("items"))
    assert found.sample.empty
    assert found.dropped.empty
    assert found.expected.empty


@pytest.mark.parametrize("rounds", [(0.25, 0.5), (0.5, 0.25)])
def test_an_item_in_two_rounds_counts_with_its_larger_probability(make_items, rounds):
    once = draw(make_items({"1": {"keywords": 20}}), per_claim=4).sample.head(1)
    frozen = pd.concat([once.assign(p_sample=p) for p in rounds])
    assert [row["p_sample"] for row in frozen_items(frozen).values()] == [0.5]
