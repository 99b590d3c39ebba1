"""Shares with the help of predictions: no bias, no loss, and nothing trained on what it assists."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from covmis_build.errors import InputError
from covmis_build.estimation import estimate
from covmis_build.estimation.assisted import assisted_estimate
from covmis_build.estimation.predictions import cross_fitted, predictions_for
from covmis_build.stats.intervals import interval
from covmis_build.stats.over_posts import made_design

LABELS = ["favor", "against"]


def a_sample(seed=1, n=90):
    rng = np.random.default_rng(seed)
    pi = rng.uniform(0.1, 0.9, n)
    y = (rng.random(n) < 0.4).astype(float)
    return y, pi, np.clip(0.4 * y + rng.normal(0.3, 0.15, n), 0, 1)


def test_predictions_that_are_right_give_the_pools_truth():
    y, pi, _ = a_sample()
    found = estimate(y, pi, assisted_by=(y, 0.37))
    assert found.strength == pytest.approx(1)
    assert found.value == pytest.approx(0.37)
    design = made_design(pi)
    worth = design.worth(design.weights / design.weights.sum())
    assert (found.low, found.high) == pytest.approx(
        interval(0.37, found.variance, worth / 0.05, found.degrees)
    )
    assert found.r_squared == 0.95


def test_a_domain_takes_the_predictions_of_its_own_units():
    """Half of the population has other values and predictions; the whole population's mean would move the domain's."""
    rng = np.random.default_rng(4)
    inside = np.repeat([True, False], 400)
    truth = np.where(inside, rng.random(800) < 0.8, rng.random(800) < 0.1).astype(float)
    f = np.clip(truth * 0.6 + rng.normal(0.2, 0.1, 800), 0, 1)
    taken = rng.random(800) < 0.2
    given = truth[taken], np.full(taken.sum(), 0.2)
    found = estimate(*given, assisted_by=(f[taken], f), domain=(inside[taken], inside))
    alone = estimate(
        truth[taken & inside],
        np.full((taken & inside).sum(), 0.2),
        assisted_by=(f[taken & inside], f[inside]),
    )
    assert (found.value, found.variance) == pytest.approx((alone.value, alone.variance), rel=0.02)
    assert found.low < truth[inside].mean() < found.high
    with pytest.raises(InputError, match="a domain with assisted_by is a pair"):
        estimate(*given, assisted_by=(f[taken], f), domain=inside[taken])
    with pytest.raises(InputError, match="800 marks of the domain have 1 predictions"):
        estimate(*given, assisted_by=(f[taken], 0.5), domain=(inside[taken], inside))


def test_bounds_are_said_by_the_caller():
    """A scale from 1 to 5 is the share of its range; counts are no shares, also if none is above 1 in the sample."""
    rng = np.random.default_rng(2)
    pi = rng.uniform(0.2, 0.8, 60)
    marks = rng.integers(1, 6, 60).astype(float)
    found, share = estimate(marks, pi, bounds=(1, 5)), estimate((marks - 1) / 4, pi)
    assert (found.value, found.low, found.high) == pytest.approx(
        [1 + 4 * x for x in (share.value, share.low, share.high)]
    )
    few = estimate([0.0, 1.0] * 30, pi, bounds=None)
    assert few.bounds == (-math.inf, math.inf)
    with pytest.raises(InputError, match=r"the value 3 is not between 0 and 1. `bounds=None`"):
        estimate([3.0, 0.0], [0.5, 0.5])
    many = estimate(np.exp(rng.normal(0, 2, 60)), pi, bounds=None)
    assert math.isnan(many.low)
    assert many.why == "a few large values decide the mean of so few units: no interval is known"
    assert not estimate(rng.normal(10, 2, 60), pi, bounds=None).why


def test_predictions_without_information_move_nothing():
    y, pi, _ = a_sample()
    plain = estimate(y, pi)
    constant = estimate(y, pi, assisted_by=(np.full(len(y), 0.4), 0.4))
    assert (constant.strength, constant.value) == (0, plain.value)
    noise = np.full(len(y), 0.1) + 1e-17 * np.arange(len(y))
    assert estimate(y, pi, assisted_by=(noise, 0.1)).strength == 0, "rounding noise is no prediction"
    assert constant.high - constant.low == pytest.approx(plain.high - plain.low, rel=0.03)


def test_shifting_and_stretching_predictions_changes_nothing():
    y, pi, f = a_sample()
    found, turned = (estimate(y, pi, assisted_by=one) for one in ((f, 0.45), (3 + 2 * f, 3 + 2 * 0.45)))
    assert turned.value == pytest.approx(found.value)
    assert turned.strength == pytest.approx(found.strength / 2)
    assert (turned.low, turned.high) == pytest.approx((found.low, found.high))


def test_variance_of_an_audit_stays_whatever_predictions_take_away():
    y, pi, f = a_sample()
    design = made_design(pi)
    scale = np.full(len(y), 1 / design.weights.sum())
    centres = [np.full(len(y), np.sum(design.weights * scale * values)) for values in (y, f)]
    given = (y, f, (centres[0], centres[1]), scale, design)
    without, audited = (
        assisted_estimate(*given, n=len(y), pool_mean=0.45, moved=0.5, extra=extra) for extra in (0.0, 0.01)
    )
    assert audited.value == without.value
    assert audited.variance == pytest.approx(without.variance + 0.01)


def test_the_difference_estimator_is_unbiased_for_any_strength():
    """Every sample of a Poisson design over six units: Horvitz-Thompson form, λ fixed beforehand."""
    y, f = np.array([1.0, 0, 1, 1, 0, 0]), np.array([0.9, 0.2, 0.4, 0.8, 0.1, 0.7])
    pi = np.array([0.2, 0.5, 0.9, 0.3, 0.6, 0.4])
    for strength in (0.0, 0.5, 1.0, 1.7):
        mean = 0.0
        for bits in itertools.product([False, True], repeat=6):
            s = np.array(bits)
            chance = np.prod(np.where(s, pi, 1 - pi))
            mean += chance * (strength * f.sum() + ((y - strength * f) / pi)[s].sum())
        assert math.isclose(mean, y.sum(), rel_tol=1e-12)


def test_predictions_narrow_intervals_and_do_not_bias():
    """300 draws from a pool with known truth; a system that is right seven times in ten and leans to one side."""
    rng = np.random.default_rng(5)
    truth = (rng.random(6000) < 0.35).astype(float)
    f = np.clip(0.25 + 0.5 * truth + rng.normal(0, 0.2, 6000), 0, 1)
    pi = np.clip(rng.lognormal(-3.2, 0.6, 6000), 0.005, 1)
    rows = []
    for _ in range(300):
        s = rng.random(6000) < pi
        plain, helped = estimate(truth[s], pi[s]), estimate(truth[s], pi[s], assisted_by=(f[s], f))
        assert plain.interval == helped.interval == "over posts"
        rows.append((plain.value, helped.value, plain.high - plain.low, helped.high - helped.low,
                     helped.low <= truth.mean() <= helped.high))  # fmt: skip
    plain, helped, wide, narrow, covered = np.array(rows, float).T
    assert abs(helped.mean() - truth.mean()) < 4 * helped.std() / 300**0.5
    assert abs(f.mean() - truth.mean()) > 0.05, "the system alone is wrong"
    assert helped.std() < 0.8 * plain.std()
    assert narrow.mean() < 0.85 * wide.mean()
    assert covered.mean() > 0.92


def test_over_claims_the_whole_estimator_is_jackknifed():
    """Each claim left out of the sample and of the pool, λ chosen anew."""
    y, pi, f = a_sample(n=120)
    rng = np.random.default_rng(3)
    claims, claims_of_pool = rng.integers(0, 8, 120), rng.integers(0, 8, 900)
    pool = np.clip(rng.normal(0.45, 0.2, 900), 0, 1)
    found = estimate(y, pi, assisted_by=(f, pool), clusters=(claims, claims_of_pool))
    by_posts = estimate(y, pi, assisted_by=(f, pool))
    assert (found.value, found.strength, found.r_squared) == (
        by_posts.value,
        by_posts.strength,
        by_posts.r_squared,
    )
    assert (str(found.interval), str(by_posts.interval)) == ("over claims", "over posts")
    left_out = [
        estimate(
            y[claims != one], pi[claims != one], assisted_by=(f[claims != one], pool[claims_of_pool != one])
        ).value
        for one in range(8)
    ]
    left_out = np.array(left_out)
    assert found.variance == pytest.approx(7 / 8 * np.sum((left_out - left_out.mean()) ** 2))
    assert found.low < found.value < found.high
    with pytest.raises(InputError, match="clusters with assisted_by are a pair"):
        estimate(y, pi, assisted_by=(f, pool), clusters=claims)


@pytest.mark.parametrize("joint", [False, True])
def test_a_part_of_a_fixed_size_design_is_that_of_its_units(joint):
    rng = np.random.default_rng(4)
    pi, strata = rng.uniform(0.3, 0.8, 24), np.repeat(["a", "b", "c"], 8)
    pairs = {name: np.full((8, 8), 0.2) for name in "abc"} if joint else None
    design, kept = made_design(pi, design="two_phase", strata=strata, joint=pairs), strata != "b"
    z = rng.normal(size=24)
    here = made_design(
        pi[kept],
        design="two_phase",
        strata=strata[kept],
        joint=pairs and {name: pairs[name] for name in "ac"},
    )
    assert design.part(kept).variance(z[kept]) == pytest.approx(here.variance(z[kept]))


POOL = pd.DataFrame(
    {
        "item_id": ["1|a", "1|b", "2|c", "2|d", "3|e"],
        "post_id": list("abcde"),
        "claim_id": ["1", "1", "2", "2", "3"],
    }
)
GIVEN = POOL[["item_id"]].assign(p_favor=[0.1, 0.2, 0.3, 0.4, 0.5], p_against=0.5)


def test_predictions_in_any_order_by_item_or_post():
    found = predictions_for(POOL, GIVEN[::-1], LABELS, elsewhere=True)
    assert found.shares["favor"].to_dict() == dict(zip(POOL["item_id"], GIVEN["p_favor"], strict=True))
    by_post = GIVEN.assign(post_id=POOL["post_id"]).drop(columns="item_id")
    pd.testing.assert_frame_equal(
        predictions_for(POOL, by_post, LABELS, elsewhere=True).shares, found.shares, check_names=False
    )
    said = POOL[["item_id"]].assign(prediction=["favor", "against", "favor", "favor", "against"])
    hard = predictions_for(POOL, said, LABELS, elsewhere=True).shares
    assert hard["favor"].tolist() == [1, 0, 1, 1, 0]
    assert (hard.sum(axis=1) == 1).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: one.drop(columns="item_id"), "no column item_id"),
        (lambda one: pd.concat([one, one[:1]]), "1|a twice"),
        (lambda one: one.assign(p_favor="0,4"), "row 2: has a probability that is no number"),
        (lambda one: one.assign(p_favor=1.2), "no number from 0 to 1"),
        (lambda one: one[["item_id"]], "no predictions of favor, against"),
        (lambda one: one[["item_id"]].assign(label="favour"), "unknown label 'favour'. Did you mean 'favor'"),
        (lambda one: one[1:], "no prediction for 1 of 5 items, the first is 1|a"),
    ],
)
def test_wrong_predictions_are_named(change, message):
    with pytest.raises(InputError) as error:
        predictions_for(POOL, change(GIVEN), LABELS, elsewhere=True, file="p.csv")
    assert message in str(error.value)
    assert str(error.value).startswith("p.csv")


def test_what_a_model_was_trained_on_must_be_known():
    with pytest.raises(InputError, match="does not say what its model was trained on"):
        predictions_for(POOL, GIVEN, LABELS)
    predictions_for(POOL, GIVEN.assign(fold=[1, 1, 2, 2, 2]), LABELS)
    with pytest.raises(InputError, match="divides claim 2 among folds"):
        predictions_for(POOL, GIVEN.assign(fold=[1, 1, 2, 1, 2]), LABELS)
    with pytest.raises(InputError, match="has one fold"):
        predictions_for(POOL, GIVEN.assign(fold=1), LABELS)


def test_no_model_of_a_cross_fit_sees_the_claims_it_predicts():
    claims = [str(at) for at in range(30)]
    pool = pd.DataFrame({"item_id": [f"{c}|x" for c in claims], "post_id": claims, "claim_id": claims})
    seen = []

    def train(rows):
        known = set(rows["claim_id"])

        def predict(of):
            seen.append((known, set(of["claim_id"])))
            return pd.DataFrame({"favor": 0.5, "against": 0.5}, index=of.index)

        return predict

    labelled = pool[:20].assign(label="favor")
    made = cross_fitted(labelled, pool, train, folds=4, seed=1)
    assert len(seen) == 4
    assert all(not known & asked for known, asked in seen)
    assert len(predictions_for(pool, made, LABELS).shares) == 30
    more = cross_fitted(
        labelled, pd.concat([pool, pool[:1].assign(item_id="9|y", claim_id="99")]), train, folds=4, seed=1
    )
    both = made.merge(more, on="item_id")
    assert (both["fold_x"] == both["fold_y"]).all(), "a claim that joins leaves the others where they are"
