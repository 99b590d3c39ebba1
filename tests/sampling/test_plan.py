"""What a sample costs and gives, before it is drawn."""

import numpy as np
import pandas as pd
import pytest

from covmis_build import tables
from covmis_build.options import Annotation, Labels, Sampling
from covmis_build.sampling.draw import sample
from covmis_build.sampling.plan import Pool, costs, seconds_per_label
from covmis_build.sampling.strata import counts_of

COUNTS = {str(at): {"title": 20, "fact_check_url": 15, "keywords": 40 * at} for at in range(1, 7)}


def planned(make_items, **options):
    return costs(Pool.of(make_items(COUNTS), Labels()), Sampling(), Annotation(), **options).set_index(
        "per_claim"
    )


def test_sizes_are_what_samples_have_on_average(make_items):
    items = make_items(COUNTS)
    row = planned(make_items).loc[24]
    sizes, automatic = [], []
    for seed in range(60):
        drawn = sample(items, tables.empty("sample"), Sampling(), Labels(), seed=seed).sample
        sizes.append(len(drawn))
        automatic.append((drawn["automatic_label"] != "").sum())
    assert row["items"] == pytest.approx(24 * 6)
    assert np.mean(sizes) == pytest.approx(row["items"], abs=4 * row["items_sd"] / 60**0.5)
    assert np.std(sizes) == pytest.approx(row["items_sd"], rel=0.4)
    assert np.mean(automatic) == pytest.approx(row["automatic"], rel=0.1)


def test_more_posts_cost_hours_and_narrow_intervals(make_items):
    found = planned(make_items, seconds=30.0)
    for column in ("half_width_pool", "half_width_claim", "audit_bound"):
        assert found[column].is_monotonic_decreasing
    assert found["hours"].is_monotonic_increasing
    row = found.loc[24]
    people = row["items"] - row["automatic"] + 0.05 * row["automatic"]
    assert row["by_people"] == pytest.approx(people)
    assert row["hours"] == pytest.approx(people * 2 * 30 / 3600)
    assert found.loc[12, "per_kind"] == 3


def test_checks_of_automatic_labels_are_planned_and_priced_by_claim_and_month(make_items):
    items = make_items(COUNTS)
    days = ["2020-04-02" if at % 29 == 0 else "2020-05-02" for at in range(len(items))]
    times = pd.DataFrame({"post_id": items["post_id"], "created_at": days})
    pool, by = Pool.of(items, Labels(), None, times, ("claim", "month")), ("claim", "month")
    row, more = (
        costs(pool, Sampling(), Annotation(audit_per_part=number, audit_by=by), seconds=30.0)
        .set_index("per_claim")
        .loc[24]
        for number in (0, 4)
    )
    assert (row["few_claims"], more["few_claims"]) == (6, 0)
    assert (row["few_months"], more["few_months"]) == (1, 0)
    counts = [
        sample(
            items, tables.empty("sample"), Sampling(), Labels(), seed=seed, audit=0.05, audit_per_part=4,
            audit_by=by, times=times,
        ).sample["audited"].sum()
        for seed in range(60)
    ]  # fmt: skip
    assert np.mean(counts) == pytest.approx(more["audited"], rel=0.1)
    assert more["by_people"] - row["by_people"] == pytest.approx(more["audited"] - row["audited"])
    assert row["five_checks"] == more["five_checks"] > more["audited"]
    paid = (row["five_checks"] - row["audited"]) * 2 * 30 / 3600
    assert row["five_hours"] - row["hours"] == pytest.approx(paid)


def test_the_design_effect_is_that_of_weights_alone(make_items):
    """That all posts are drawn makes labels more precise here, and not fewer of them enough for a larger pool."""
    found, items = planned(make_items, targets=(24, 10_000)), make_items(COUNTS)
    for per_claim in (24, 10_000):
        drawn = sample(items, tables.empty("sample"), Sampling(per_claim=per_claim), Labels(), seed=1).sample
        drawn = drawn.merge(items[["item_id", "p_claim"]], on="item_id")
        weights = 1 / (drawn["p_claim"] * drawn["p_sample"])
        kish = len(drawn) * (weights**2).sum() / weights.sum() ** 2
        assert found.loc[per_claim, "design_effect"] == pytest.approx(kish, rel=0.1)


def test_no_labels_yet_no_hours(make_items):
    assert planned(make_items)["hours"].isna().all()


def test_the_studys_own_target_is_among_them(make_items):
    found = costs(Pool.of(make_items(COUNTS), Labels()), Sampling(per_claim=30), Annotation(), targets=[24])
    assert found["per_claim"].tolist() == [24, 30]
    assert (found["claims"] == 6).all()


def test_a_fixed_size_does_not_vary(make_items):
    found = costs(
        Pool.of(make_items(COUNTS), Labels(automatic={})), Sampling(design="two_phase"), Annotation()
    )
    assert (found["items_sd"] == 0).all()
    assert (found["automatic"] == 0).all()
    assert found["audit_bound"].isna().all()


def test_half_widths_are_those_that_estimates_come_out_with(make_items):
    from covmis_build.estimation.shares import estimates

    items = make_items(COUNTS)
    widths = []
    for seed in range(30):
        drawn = sample(items, tables.empty("sample"), Sampling(), Labels(automatic={}), seed=seed).sample
        made = drawn.merge(items[["item_id", "group_size", "p_claim"]], on="item_id")
        coin = np.random.default_rng(seed).random(len(made)) < 0.5
        made["label"], made["how"] = np.where(coin, "a", "b"), "single"
        row = estimates(made, ["a", "b"], Sampling(), by=()).shares.iloc[0]
        widths.append((row["high"] - row["low"]) / 2)
    assert np.mean(widths) == pytest.approx(planned(make_items).loc[24, "half_width_pool"], rel=0.1)


def test_time_is_that_of_independent_labels():
    labels = pd.DataFrame(
        [
            {"phase": "independent", "status": "given", "seconds": 20.0},
            {"phase": "independent", "status": "given", "seconds": 40.0},
            {"phase": "independent", "status": "given", "seconds": 86_400.0},
            {"phase": "independent", "status": "skipped", "seconds": 1.0},
            {"phase": "adjudication", "status": "given", "seconds": 1.0},
            {"phase": "independent", "status": "given", "seconds": None},
        ]
    )
    found = seconds_per_label(labels)
    assert found.seconds == pytest.approx((20 + 40 + 600) / 3)
    assert found.labels == 3
    assert seconds_per_label(labels.iloc[3:]).seconds is None


def test_counts_are_by_claim_and_kind(make_items):
    assert counts_of(make_items(COUNTS)) == {
        claim: dict(sorted(kinds.items())) for claim, kinds in COUNTS.items()
    }
