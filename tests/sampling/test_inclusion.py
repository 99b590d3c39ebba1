"""The paper's probabilities, to the last digit."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from covmis_build.errors import InputError
from covmis_build.sampling.draw import expectation
from covmis_build.sampling.inclusion import (
    allocate,
    inclusion_probabilities,
    joint_probabilities,
)

counts = st.dictionaries(
    st.sampled_from(["title", "news_url", "fact_check_url", "keywords"]), st.integers(0, 400), min_size=1
)


def test_the_ten_count_vectors(vectors):
    for one in vectors("sampling"):
        drawn = allocate(one["counts"])
        assert (drawn.more, drawn.remaining) == (one["m"], one["N_r"]), one["name"]
        assert drawn.fill == Fraction(one["f"])
        found = inclusion_probabilities(one["counts"])
        assert found == {kind: float(Fraction(p)) for kind, p in one["p"].items() if p is not None}
        assert drawn.size == Fraction(one["expected_n"])
        variance = sum(row["variance"] for row in expectation(drawn, "poisson").values())
        assert math.isclose(variance, one["var_n_float"], rel_tol=1e-12, abs_tol=1e-12)
        joint = joint_probabilities(one["counts"])
        for pair, value in one["pi_ij_two_phase"].items():
            kinds = tuple(pair.split("|"))
            if kinds in joint:
                assert joint[kinds] == float(Fraction(value)), (one["name"], pair)
            else:
                assert one["counts"][kinds[0]] == 1


def test_the_twelve_units(vectors):
    one = vectors("designs")
    kinds = one["types"]
    found = inclusion_probabilities(one["counts"], per_kind=one["quota"], per_claim=one["target"])
    assert [found[kind] for kind in kinds] == [float(Fraction(p)) for p in one["pi"]]
    joint = joint_probabilities(one["counts"], one["quota"], one["target"])
    for pair, value in one["pi_ij_two_phase"].items():
        i, j = map(int, pair.split(","))
        assert joint[kinds[i], kinds[j]] == float(Fraction(value))


@given(counts, st.integers(0, 12), st.integers(1, 60))
def test_the_expected_size_is_the_target_or_all_there_is(numbers, per_kind, per_claim):
    drawn = allocate(numbers, per_kind, per_claim)
    size = sum(number * drawn.chance(kind) for kind, number in drawn.counts.items())
    quotas = sum(min(per_kind, number) for number in numbers.values())
    assert size == drawn.size == min(sum(numbers.values()), max(per_claim, quotas))
    assert all(
        0 < p <= 1 for kind, p in inclusion_probabilities(numbers, per_kind, per_claim).items() if per_kind
    )


@given(counts)
def test_a_claim_of_24_posts_or_more_yields_24(numbers):
    if sum(numbers.values()) >= 24:
        assert allocate(numbers).size == 24


@given(counts, st.integers(0, 12), st.integers(1, 60))
def test_pairs_of_the_two_phase_draw_add_up(numbers, per_kind, per_claim):
    """The sum of π_ij over all j other than i is (n-1)·π_i, for each i."""
    drawn = allocate(numbers, per_kind, per_claim)
    for one, number in drawn.counts.items():
        total = sum(drawn.together(one, other) * many for other, many in drawn.counts.items() if other != one)
        if number > 1:
            total += drawn.together(one, one) * (number - 1)
        assert total == (drawn.size - 1) * drawn.chance(one)


@given(counts)
def test_pairs_are_never_likelier_than_both_alone(numbers):
    drawn = allocate(numbers)
    for (one, other), both in joint_probabilities(numbers).items():
        assert both <= min(float(drawn.chance(one)), float(drawn.chance(other)))
        assert both <= float(drawn.chance(one) * drawn.chance(other)) + 1e-15


def test_a_quota_for_each_kind():
    found = inclusion_probabilities({"title": 10, "keywords": 100}, {"title": 10, "keywords": 0}, 20)
    assert found == {"title": 1.0, "keywords": 0.1}


def test_a_claim_below_its_target_is_taken_whole():
    assert inclusion_probabilities({"title": 3, "keywords": 15, "news_url": 0}) == {
        "title": 1.0,
        "keywords": 1.0,
    }
    assert inclusion_probabilities({}) == {}


@pytest.mark.parametrize("wrong", [-1, 2.5, float("nan"), float("inf"), None, "six"])
def test_counts_are_whole_numbers(wrong):
    with pytest.raises(InputError, match="is not a number of posts"):
        inclusion_probabilities({"title": wrong})


def test_whole_floats_count():
    assert inclusion_probabilities({"title": 48.0}) == {"title": 0.5}


def test_a_missing_quota_is_named():
    with pytest.raises(InputError, match="no quota for the kind 'keywords'"):
        inclusion_probabilities({"keywords": 3}, {"title": 6})


def test_the_size_of_a_kind_in_a_two_phase_draw_is_hypergeometric():
    """Beyond the quota, what is drawn of a kind is what `more` of all the rest has of it."""
    drawn = allocate({"title": 9, "news_url": 4, "keywords": 20}, 3, 12)
    for kind, row in expectation(drawn, "two_phase").items():
        rest = drawn.counts[kind] - 3
        wanted = hypergeom(drawn.remaining, rest, drawn.more).var()
        assert row["variance"] == pytest.approx(wanted, rel=1e-12), kind
