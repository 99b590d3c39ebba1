"""Intervals of weighted totals against the exact interval of a count, and of ratios against the published formula."""

import math

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy.stats import chi2, gamma

from covmis_build.stats.weighted_counts import gamma_interval, ratio_interval

TAIL = 0.025


@pytest.mark.parametrize("count", [0, 1, 5, 40])
@pytest.mark.parametrize("weight", [1.0, 7.5])
def test_with_equal_weights_it_is_the_exact_interval_of_a_count(count, weight):
    low = weight * chi2.ppf(TAIL, 2 * count) / 2 if count else 0.0
    high = weight * chi2.ppf(1 - TAIL, 2 * count + 2) / 2
    assert gamma_interval([weight] * count, weight) == pytest.approx((low, high), rel=1e-12)


@pytest.mark.parametrize("count", [1, 5, 40])
def test_the_shorter_form_is_where_half_of_the_observation_counts(count):
    for end, below in zip(gamma_interval([2.0] * count, 2.0, mid_p=True), (TAIL, 1 - TAIL), strict=True):
        with_and_without = gamma.cdf(end / 2, count), gamma.cdf(end / 2, count + 1)
        assert sum(with_and_without) / 2 == pytest.approx(below, rel=1e-9)


part = st.floats(0.05, 0.95)


@given(part, part, part, part)
@example(0.3, 0.7, 0.5, 0.5)
def test_the_ratio_of_two_figures_is_the_published_formula(a, b, first, second):
    """Donner and Zou (2012), equation for l1/u2 and u1/l2."""
    (l1, u1), (l2, u2) = (a * first, a + first), (b * second, b + second)
    assume(abs(2 * b - u2) > 1e-3)  # where it divides by zero, see below
    low = (a * b - math.sqrt((a * b) ** 2 - l1 * u2 * (2 * a - l1) * (2 * b - u2))) / (u2 * (2 * b - u2))
    high = (a * b + math.sqrt((a * b) ** 2 - u1 * l2 * (2 * a - u1) * (2 * b - l2))) / (l2 * (2 * b - l2))
    assert ratio_interval((a, l1, u1), (b, l2, u2)) == pytest.approx((low, high), rel=1e-6)


def test_where_the_formula_divides_by_zero_it_is_its_limit():
    """The upper end of the denominator is twice its value: the limit of the lower end is l1 (2a - l1) / 2ab."""
    near, at, beyond = (ratio_interval((3.0, 2.0, 4.0), (5.0, 4.0, end))[0] for end in (9.999, 10.0, 10.001))
    assert at == pytest.approx(2 * (2 * 3 - 2) / (2 * 3 * 5), rel=1e-12)
    assert near > at > beyond
    assert near - beyond < 1e-4


def test_a_ratio_of_nothing_begins_at_zero_and_one_to_perhaps_nothing_never_ends():
    assert ratio_interval((0.0, 0.0, 3.0), (5.0, 4.0, 10.0))[0] == 0
    assert ratio_interval((3.0, 2.0, 4.0), (5.0, 0.0, 10.0))[1] == math.inf
    assert ratio_interval((3.0, 2.0, 4.0), (0.0, 0.0, 0.0)) == (0.0, math.inf)
