"""Clusters that are taken with certainty: which, at what cost, in which designs; what the ledger and estimates know of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from covmis_build import tables
from covmis_build.options import Annotation, Labels, Sampling
from covmis_build.sampling.certain import certain, clusters_of
from covmis_build.sampling.draw import sample
from covmis_build.sampling.inclusion import inclusion_probabilities
from covmis_build.sampling.ledger import opened, over_draws
from covmis_build.sampling.plan import Pool, costs
from covmis_build.stats.over_posts import expected_of, made_design, mean

JOKE = 4000


@pytest.fixture
def items(make_items):
    """A claim in which one message has most posts, and one in which none has."""
    made = make_items({"1": {"keywords": 300, "title": 20}, "2": {"keywords": 200}}).assign(p_claim=1.0)
    made["group_size"] = 1
    made.loc[made["item_id"] == "1|x:keywords7", "group_size"] = JOKE
    return made


def drawn(items, seed, options=Sampling(), frozen=None):  # noqa: B008 - an immutable value
    frozen = tables.empty("sample") if frozen is None else frozen
    return sample(items, frozen, options, Labels(), seed=seed)


def test_only_the_cluster_that_decides_is_taken_and_other_probabilities_stay(items):
    with_it, without = drawn(items, 1), drawn(items, 1, Sampling(certain=False))
    one, other = (found.sample.set_index("item_id")["p_sample"] for found in (with_it, without))
    assert one["1|x:keywords7"] == 1
    rest = one.drop("1|x:keywords7")
    pd.testing.assert_series_equal(rest, other.drop("1|x:keywords7", errors="ignore"))
    assert with_it.draws.query("rule == 'certain'")["item_id"].tolist() == ["1|x:keywords7"]
    more = with_it.expected["expected"].sum() - without.expected["expected"].sum()
    p = without.expected.set_index(["claim_id", "stratum"])["probability"]["1", "keywords"]
    assert more == pytest.approx(1 - p)
    assert not certain(clusters_of(items), Sampling(design="two_phase"))
    assert not certain(clusters_of(items.assign(group_size=5)), Sampling()), "equal copies decide nothing"


def test_clusters_are_taken_until_ten_units_decide():
    """By hand: p is 0.765 of titles and 0.089 of keywords; their odds decide, not the sizes alone."""
    sizes = {"title": [40] + 7 * [1], "keywords": [60, 30] + 198 * [1]}
    rows = [(kind, f"{kind}{at}", size) for kind, own in sizes.items() for at, size in enumerate(own)]
    made = pd.DataFrame(rows, columns=["kind", "item_id", "group_size"]).assign(claim_id="1")
    taken = certain(clusters_of(made), Sampling())["1"]
    assert taken == {"keywords0": "keywords", "keywords1": "keywords"}
    p = made["kind"].map(inclusion_probabilities({kind: len(own) for kind, own in sizes.items()}))
    part = (1 - p) / p * made["group_size"] ** 2
    worth = [
        made["group_size"].sum() ** 2 / part[~made["item_id"].isin(list(taken)[:n])].sum() for n in range(3)
    ]
    assert worth[1] < 10 < worth[2]


def test_the_plan_counts_what_the_draw_takes(items):
    rows = {
        on: costs(Pool.of(items, Labels()), Sampling(certain=on), Annotation()).set_index("per_claim")
        for on in (True, False)
    }
    assert rows[True].loc[24, "certain"] == 1
    assert rows[False].loc[24, "certain"] == 0
    more = rows[True].loc[24, "items"] - rows[False].loc[24, "items"]
    assert rows[True].loc[24, "certain_cost"] == pytest.approx(more)
    for on, plan in rows.items():
        assert plan.loc[24, "items"] == pytest.approx(
            drawn(items, 1, Sampling(certain=on)).expected["expected"].sum()
        )


def test_the_interval_holds_the_share_of_all_posts_that_it_missed(items):
    own = items[items["claim_id"] == "1"].reset_index(drop=True)
    sizes = own["group_size"].to_numpy(float)
    y = (np.arange(len(own)) % 3 == 1).astype(float)
    y[own["item_id"] == "1|x:keywords7"] = 1
    truth, held = float((y * sizes).sum() / sizes.sum()), {True: [], False: []}
    by_kind = drawn(own, 0, Sampling(certain=False)).expected.set_index("stratum")["probability"]
    for on in (True, False):
        for seed in range(60):
            chances = drawn(own, seed, Sampling(certain=on)).sample.set_index("item_id")["p_sample"]
            got = own["item_id"].isin(chances.index).to_numpy()
            p = chances[own["item_id"][got]].to_numpy()
            every = np.where(own["kind"] == "title", by_kind["title"], by_kind["keywords"])
            every[own["item_id"] == "1|x:keywords7"] = 1 if on else every[own["item_id"] == "1|x:keywords7"]
            found = mean(
                y[got], made_design(p), sizes=sizes[got], expected=expected_of(every, sizes / sizes.sum())
            )  # fmt: skip
            held[on].append(
                found.low is not None and not np.isnan(found.low) and found.low <= truth <= found.high
            )
    assert sum(held[True]) >= 54
    assert not any(held[False]), "left to chance, there are words in place of an interval"


def test_a_cluster_that_grew_is_added_with_certainty_and_the_ledger_gives_its_probability(items):
    before = items.assign(group_size=1)
    first = drawn(before, 5)
    ledger = opened(tables.empty("draws"), first.draws, ["1", "2"], "001")
    frozen = first.sample.assign(round="001")
    again = sample(items, first.sample, Sampling(), Labels(), seed=5, opened={"1": 1, "2": 1})
    later = again.sample[again.sample["draw"] == "2"]
    grown = "1|x:keywords7"
    assert set(later["item_id"]) | set(frozen["item_id"]) >= {grown}
    now = opened(ledger, again.draws, ["1", "2"], "002")
    assert set(now.loc[now["round"] == "002", "claim_id"]) == {"1"}, "the draw of claim 2 says what it said"
    every = pd.concat([frozen, later.assign(round="002")], ignore_index=True)
    assert over_draws(every, now)[grown] == 1
    same = opened(
        now,
        sample(items, again.sample, Sampling(), Labels(), seed=5, opened={"1": 2, "2": 1}).draws,
        ["1", "2"],
        "003",
    )
    assert len(same) == len(now), "the same draw opened again is in the ledger once"
