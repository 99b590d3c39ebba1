"""What must hold of estimates and their intervals whatever the sample: the properties of the reference, section 15."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from covmis_build.estimation import estimate
from covmis_build.estimation.assisted import assisted_estimate
from covmis_build.estimation.shares import estimates
from covmis_build.options import Sampling
from covmis_build.stats.intervals import interval
from covmis_build.stats.intervals import units as worth_of
from covmis_build.stats.over_posts import made_design, mean, total

samples = st.lists(st.tuples(st.booleans(), st.floats(0.02, 1), st.integers(1, 9)), min_size=2, max_size=60)
VALUES = ["favor", "against"]


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.floats(0.02, 0.98))
def test_even_chances_are_worth_at_most_the_sample_over_what_is_missing(y, chance):
    """(a)"""
    found = estimate([float(one) for one in y], [chance] * len(y))
    assert found.effective_n <= len(y) / (1 - chance) * (1 + 1e-9)


@given(samples)
@settings(max_examples=25)
def test_doubling_all_groups_of_copies_changes_nothing(units):
    """(b)"""
    y, pi, sizes = zip(*units, strict=True)
    corpus = pd.DataFrame(
        {
            "item_id": [f"{at % 4}|x:{at}" for at in range(len(y))], "claim_id": [str(at % 4) for at in range(len(y))],
            "kind": "keywords", "label": np.where(y, *VALUES), "how": "agreed", "p_claim": 1.0, "p_sample": pi,
        }
    )  # fmt: skip
    once, twice = (
        estimates(corpus.assign(group_size=by * np.array(sizes)), VALUES, Sampling()).shares for by in (1, 2)
    )
    columns = ["share", "standard_error", "low", "high", "effective_n"]
    pd.testing.assert_frame_equal(once[columns], twice[columns])


@given(samples, st.floats(-2, 2), st.floats(0.1, 3))
@example([(True, 1.0, 1)] * 3, 0.0, 1.0)
def test_predictions_that_are_not_used_give_the_plain_share(units, pool_mean, stretch):
    """(c)"""
    y, pi, sizes = (np.array(column, float) for column in zip(*units, strict=True))
    drawn = made_design(pi)
    scale = np.full(len(y), 1 / drawn.weights.sum())
    f, plain = sizes * stretch, mean(y, drawn)
    centres = (np.full(len(y), plain.value), np.full(len(y), np.sum(drawn.weights * scale * f)))
    found = assisted_estimate(y, f, centres, scale, drawn, n=len(y), pool_mean=pool_mean, moved=0.0)
    assert found.value == pytest.approx(plain.value, abs=2e-6)
    assert math.isnan(found.low) == math.isnan(plain.low)
    assert (
        not found.low > plain.low + 2e-6
    )  # a share at its bound is taken for one just inside where something varies
    assert not found.high < plain.high - 2e-6


@given(st.floats(0, 1), st.floats(0, 1), st.floats(4, 1e6), st.floats(0.5, 0.999))
def test_a_wider_variance_or_less_worth_never_narrows(share, variance, worth, level):
    low, high = interval(share, variance, worth, level=level)
    for other in ((share, variance * 2, worth), (share, variance, max(worth / 2, 2.0))):
        assert worth_of(*other) <= worth_of(share, variance, worth) + 1e-9
        ends = interval(*other, level=level)
        assert ends[1] - ends[0] >= (high - low) - 1e-9


def test_two_rounds_that_learn_are_unbiased_and_so_is_their_variance():
    """(h) Every outcome of two rounds over five posts; the second learns its chances and predictions from the first.

    Weights of rounds fixed beforehand: the mean of the estimates is the truth, that of their variances their variance.
    """
    y, f = np.array([1.0, 0, 1, 1, 0]), np.array([0.8, 0.4, 0.3, 0.6, 0.1])
    chances = np.array([0.4, 0.5, 0.3, 0.6, 0.5])
    outcomes = []
    for first, p_first in drawn_from(np.ones(5, dtype=bool), chances):
        wrong = np.where(first, np.abs(y - f), 0.0)
        learned = np.clip(0.25 + 0.5 * np.convolve(wrong, [0.5, 1, 0.5], "same"), 0.05, 0.9)
        better = np.clip(f + (0.5 * (y - f)[first].mean() if first.any() else 0.0), 0, 1)
        one, v_one = corrected(y, f, first, chances)
        for second, p_second in drawn_from(~first, learned):
            two, v_two = corrected(y, better, second, learned)
            both = 0.4 * (one + f.sum()) + 0.6 * (two + y[first].sum() + better[~first].sum())
            outcomes.append((p_first * p_second, both, 0.4**2 * v_one + 0.6**2 * v_two))
    p, estimated, variance = np.array(outcomes).T
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert p @ estimated == pytest.approx(y.sum(), abs=1e-12)
    assert p @ variance == pytest.approx(p @ estimated**2 - (p @ estimated) ** 2, abs=1e-12)


def drawn_from(posts, chances):
    """Every Poisson sample of these posts, with its probability."""
    rows = np.flatnonzero(posts)
    for taken in itertools.product([False, True], repeat=len(rows)):
        sample = np.zeros(len(posts), dtype=bool)
        sample[rows] = taken
        yield sample, np.prod(np.where(taken, chances[rows], 1 - chances[rows]))


def corrected(y, f, sample, chances):
    """What the sample says the predictions are off by in total, with its variance."""
    return total((y - f)[sample], made_design(chances[sample])) if sample.any() else (0.0, 0.0)
