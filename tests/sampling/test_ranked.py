"""The ranked stratum: posts that no query finds, each drawn by a chance that falls with its rank."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build import tables
from covmis_build.keyed import uniform
from covmis_build.options import Labels, Sampling
from covmis_build.sampling.draw import sample
from covmis_build.sampling.guided import by_rank
from covmis_build.sampling.ledger import opened, over_draws

NOTHING, NO_DRAWS = tables.empty("sample"), tables.empty("draws")


def with_ranked(make_items, ranked=30):
    items = make_items({"1": {"keywords": 60}, "2": {"keywords": 5}})
    more = [
        {"item_id": f"{claim}|r:{at}", "claim_id": claim, "post_id": f"r:{at}", "kind": "ranked", "kinds": ["ranked"],
         "other_claims": [], "group": f"r:{at}", "group_size": 1, "p_claim": 1.0}
        for claim in ("1", "3") for at in range(ranked)
    ]  # fmt: skip
    items = pd.concat([items, pd.DataFrame(more)], ignore_index=True)
    ranked_items = items[items["kind"] == "ranked"]
    return items, {item: int(item.rpartition(":")[2]) + 1 for item in ranked_items["item_id"]}


def chances_of(ranks, expected=5.0):
    found = {}
    for claim in ("1", "3"):
        mine = {item: rank for item, rank in ranks.items() if item.startswith(f"{claim}|")}
        found |= dict(zip(mine, by_rank(list(mine.values()), expected, 100).tolist(), strict=True))
    return found


@given(st.integers(1, 200), st.floats(0.5, 30), st.floats(1, 1000))
def test_chances_add_up_fall_and_keep_to_the_largest_weight(posts, expected, most):
    p = by_rank(np.arange(1, posts + 1), expected, most)
    assert p.sum() == pytest.approx(min(expected, posts))
    assert (np.diff(p) <= 1e-12).all()
    assert 1 / p.min() <= max(most, posts / expected) + 1e-6


@pytest.mark.parametrize("design", ["poisson", "two_phase"])
def test_it_comes_on_top_and_changes_nobody_else_s_draw(make_items, design):
    items, ranks = with_ranked(make_items)
    chances = chances_of(ranks)
    plain = sample(items[items["kind"] != "ranked"], NOTHING, Sampling(design=design), Labels(), seed=5)
    drawn = sample(items, NOTHING, Sampling(design=design), Labels(), seed=5, chances=chances)
    mine = drawn.sample["kind"] == "ranked"
    pd.testing.assert_frame_equal(drawn.sample[~mine].reset_index(drop=True), plain.sample)
    wanted = {item for item, p in chances.items() if uniform(5, "sampling", item) < p}
    assert set(drawn.sample.loc[mine, "item_id"]) == wanted
    assert dict(drawn.sample.loc[mine, ["item_id", "p_sample"]].to_numpy()) == {
        item: chances[item] for item in wanted
    }
    assert set(drawn.sample.loc[mine, "design"]) == {"poisson"}
    assert len(drawn.sample) + len(drawn.dropped) == len(items)
    row = drawn.expected[drawn.expected["stratum"] == "ranked"].iloc[0]
    (of_stratum,) = drawn.draws.query(
        "claim_id == '1' and stratum == 'ranked' and item_id == ''"
    ).itertuples()
    assert of_stratum.posts / of_stratum.probability == pytest.approx(
        sum(1 / p for item, p in chances.items() if item[0] == "1")
    )
    assert (row["N"], row["expected"], row["drawn"]) == (
        30,
        pytest.approx(5),
        (drawn.sample[mine]["claim_id"] == "1").sum(),
    )


def test_the_row_has_the_smallest_chance_of_those_that_have_one(make_items):
    items, ranks = with_ranked(make_items)
    chances = chances_of(ranks) | {"1|r:29": 0.0}
    expected = sample(items, NOTHING, Sampling(), Labels(), seed=5, chances=chances).expected
    rows = expected[expected["stratum"] == "ranked"].set_index("claim_id")["probability"].to_dict()
    assert rows == {"1": chances["1|r:28"], "3": chances["3|r:29"]}
    assert chances["1|r:28"] < chances["1|r:0"]


def test_top_ups_keep_the_greatest_chance(make_items):
    items, ranks = with_ranked(make_items)
    one = sample(items, NOTHING, Sampling(), Labels(), seed=5, chances=chances_of(ranks))
    more, first = chances_of(ranks, 12.0), one.sample
    two = sample(items, first, Sampling(), Labels(), seed=5, chances=more)
    second = two.sample
    assert set(first["item_id"]) <= set(second["item_id"])
    ranked = second[second["kind"] == "ranked"]
    assert dict(zip(ranked["item_id"], ranked["p_sample"], strict=True)) == {
        item: more[item] for item in ranked["item_id"]
    }
    assert set(ranked["item_id"]) == {item for item, p in more.items() if uniform(5, "sampling", item) < p}
    # what two rounds froze: the earlier ones' chances are raised, nobody's are taken from a neighbour
    fresh = second[~second["item_id"].isin(first["item_id"])]
    ledger = opened(opened(NO_DRAWS, one.draws, ["1", "3"], "001"), two.draws, ["1", "3"], "002")
    together = over_draws(pd.concat([first.assign(round="001"), fresh.assign(round="002")]), ledger)
    assert {item: p for item, p in together.items() if item in more} == dict(
        zip(ranked["item_id"], ranked["p_sample"], strict=True)
    )


def test_weighted_shares_are_right_where_missed_posts_differ(make_items):
    """2,000 draws: found posts favour at 60%, missed ones at 10%; the weighted share of all is right on average."""
    rng = np.random.default_rng(2)
    found, missed = (rng.random(60) < 0.6).astype(float), (rng.random(50) < 0.1).astype(float)
    p_found, p_missed = np.full(60, 24 / 60), by_rank(np.arange(1, 51), 5, 100)
    y, p = np.concatenate([found, missed]), np.concatenate([p_found, p_missed])
    drawn = rng.random((2000, 110)) < p
    totals = (drawn * y / p).sum(axis=1)
    assert abs(totals.mean() - y.sum()) < 4 * totals.std() / np.sqrt(2000)
    unweighted = (drawn * y).sum(axis=1) / drawn.sum(axis=1)
    assert unweighted.mean() - y.mean() > 0.05
