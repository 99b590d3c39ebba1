"""Estimates from unequal probabilities, against exact enumeration."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covmis_build.errors import InputError
from covmis_build.estimation import estimate
from covmis_build.sampling.inclusion import joint_probabilities
from covmis_build.stats.intervals import effective, interval
from covmis_build.stats.over_posts import made_design, mean, total

VECTORS = Path(__file__).parents[1] / "vectors"
HT = json.loads((VECTORS / "ht_vectors.json").read_text())
DESIGNS = json.loads((VECTORS / "designs_vectors.json").read_text())


def fraction(text):
    return float(Fraction(text))


def population():
    one = HT["population"]
    pi = np.array([fraction(p) for p in one["pi"]])
    gold, pred = np.array(one["gold"]), np.array(one["pred"])
    return pi, {"accuracy": gold == pred, "prevalence_favor": gold == 0, "prevalence_neither": gold == 2}


@pytest.mark.parametrize("what", ["accuracy", "prevalence_favor"])
def test_the_sample_of_the_vectors(what):
    pi, values = population()
    rows, want = HT["sample"]["indices"], HT["sample"][what]
    y, p = values[what][rows], pi[rows]
    found, (count, variance) = estimate(y, p), total(y.astype(float), made_design(p))
    assert math.isclose(found.value, fraction(want["Hajek"]), rel_tol=1e-12)
    assert math.isclose(found.variance, fraction(want["v_Hajek"]), rel_tol=1e-12)
    assert math.isclose(found.standard_error, want["se"], rel_tol=1e-12)
    share, worth = found.value, (1 / p).sum() ** 2 / ((1 - p) / p**2).sum()
    n = max(min(share * (1 - share) / found.variance, worth), 1)
    assert math.isclose(found.effective_n, min(n, len(p)), rel_tol=1e-12)
    ends = interval(share, found.variance, worth, effective(np.sqrt(1 - p) / p) - 1)
    assert (found.low, found.high) == pytest.approx(ends, rel=1e-12)
    assert math.isclose(count, fraction(want["HT_total"]), rel_tol=1e-12)
    assert math.isclose(variance, fraction(want["v_HT_total"]), rel_tol=1e-12)


def test_a_share_of_nothing_has_an_interval_all_the_same():
    """Nothing varies there, and a width of zero would be a lie."""
    pi, _ = population()
    found = estimate(np.zeros(6), pi[HT["sample"]["indices"]])
    assert (found.value, found.variance, found.low) == (0, 0, 0)
    assert 0 < found.high < 1
    every = estimate(np.ones(6), pi[HT["sample"]["indices"]])
    assert math.isclose(every.low, 1 - found.high)
    assert every.high == 1
    census = estimate([0, 0], [1, 1])
    assert (census.low, census.high) == (0, 0)


@pytest.mark.parametrize("what", ["accuracy", "prevalence_favor"])
def test_all_poisson_samples_enumerated(what):
    """Over every possible sample: the total is unbiased, and so is its variance estimate."""
    pi, values = population()
    y, want = values[what].astype(float), HT[f"exact_{what}"]
    mean_of = {"value": 0.0, "variance": 0.0, "squares": 0.0, "hajek": 0.0, "v_hajek": 0.0}
    for bits in itertools.product([False, True], repeat=len(pi)):
        chosen = np.array(bits)
        chance = np.prod(np.where(chosen, pi, 1 - pi))
        if chance == 0:
            continue
        count, variance = total(y[chosen], made_design(pi[chosen]))
        share = estimate(y[chosen], pi[chosen])
        mean_of["value"] += chance * count
        mean_of["variance"] += chance * variance
        mean_of["squares"] += chance * (count - want["total"]) ** 2
        mean_of["hajek"] += chance * share.value
        mean_of["v_hajek"] += chance * share.variance
    assert math.isclose(mean_of["value"], fraction(want["E_HT"]), rel_tol=1e-12)
    assert math.isclose(mean_of["variance"], fraction(want["E_v"]), rel_tol=1e-12)
    assert math.isclose(mean_of["squares"], fraction(want["Var_HT_enum"]), rel_tol=1e-12)
    assert math.isclose(mean_of["hajek"], fraction(want["E_Hajek"]), rel_tol=1e-12)
    assert math.isclose(mean_of["v_hajek"], fraction(want["E_v_Hajek"]), rel_tol=1e-12)


def test_two_phase_variance_is_unbiased_by_enumeration():
    """Every two-phase sample of 2 + 1 kinds of posts: E[v] is the true variance, to rounding."""
    counts, quota, target = {"a": 3, "b": 2}, 1, 3
    kinds = [kind for kind, number in counts.items() for _ in range(number)]
    y = np.array([3.0, -1.0, 4.0, 1.0, 5.0])
    joint = joint_probabilities(counts, quota, target)
    pi = np.array([1 / 3 + 2 / 3 / 3] * 3 + [1 / 2 + 1 / 2 / 3] * 2)
    samples = []
    for a, b in itertools.product(range(3), range(3, 5)):
        rest = [one for one in range(5) if one not in (a, b)]
        samples += [(tuple(sorted((a, b, last))), 1 / 6 / 3) for last in rest]
    values, variances = [], []
    for rows, _ in samples:
        at = list(rows)
        pairs = np.array([[joint.get((kinds[i], kinds[j]), 1.0) for j in at] for i in at])
        value, variance = total(y[at], made_design(pi[at], design="two_phase", joint=pairs))
        values.append(value)
        variances.append(variance)
    chances = np.array([chance for _, chance in samples])
    middle = float(chances @ np.array(values))
    assert math.isclose(middle, y.sum(), rel_tol=1e-12)
    true = float(chances @ (np.array(values) - middle) ** 2)
    assert math.isclose(float(chances @ np.array(variances)), true, rel_tol=1e-12)


def test_the_variances_of_the_twelve_units():
    """From the whole population, with its joint probabilities: the design's true variances."""
    pi = np.array([fraction(p) for p in DESIGNS["pi"]])
    types = DESIGNS["types"]
    joint = joint_probabilities(DESIGNS["counts"], DESIGNS["quota"], DESIGNS["target"])
    matrix = np.array([[joint[a, b] for b in types] for a in types])
    for want in DESIGNS["ht_variance"][:2]:
        y = np.ones(12) if want["y"] == "y=1" else np.array([kind == types[0] for kind in types], float)
        poisson = np.sum((1 - pi) / pi * y**2)
        apart = (y / pi)[:, None] - (y / pi)[None, :]
        two_phase = np.sum(
            (np.outer(pi, pi) - matrix)[~np.eye(12, dtype=bool)] * apart[~np.eye(12, dtype=bool)] ** 2
        )
        assert math.isclose(poisson, want["poisson"], rel_tol=1e-12)
        assert math.isclose(two_phase / 2, want["two_phase"], rel_tol=1e-9)


def test_strata_of_a_fixed_size_design_add_up():
    rng = np.random.default_rng(0)
    y, pi = rng.integers(0, 2, 30).astype(float), rng.uniform(0.1, 0.9, 30)
    groups = np.repeat(["a", "b", "c"], 10)
    both = total(y, made_design(pi, design="two_phase", strata=groups))[1]
    parts = [total(y[groups == one], made_design(pi[groups == one], design="two_phase"))[1] for one in "abc"]
    assert math.isclose(both, sum(parts), rel_tol=1e-12)
    assert both != total(y, made_design(pi, design="two_phase"))[1]


def test_equal_chances_of_a_fixed_size_have_the_textbook_variance():
    """Without joint probabilities, a simple random sample of n of N: N² (1 - n/N) s²/n, s² over n - 1."""
    y, total_size = np.array([3.0, 1, 4, 1, 5]), 20
    _, variance = total(y, made_design(np.full(5, 5 / total_size), design="two_phase"))
    assert math.isclose(variance, total_size**2 * (1 - 5 / total_size) * y.var(ddof=1) / 5, rel_tol=1e-12)


def test_joint_as_a_matrix_or_by_stratum():
    y, pi = np.array([1.0, 0, 1, 0]), np.array([0.5, 0.5, 0.4, 0.4])
    blocks = {"a": np.array([[1, 0.2], [0.2, 1]]), "b": np.array([[1, 0.1], [0.1, 1]])}
    whole = np.full((4, 4), 0.3)
    whole[:2, :2], whole[2:, 2:] = blocks["a"], blocks["b"]
    one = estimate(y, pi, design="two_phase", strata=list("aabb"), joint=blocks)
    assert one == estimate(y, pi, design="two_phase", strata=list("aabb"), joint=whole)


def test_two_phases_of_chance_multiply_under_poisson():
    y, first, second = np.array([1.0, 0, 1, 1]), np.array([0.5, 1, 0.5, 0.25]), np.array([0.2, 0.4, 0.8, 1])
    apart = mean(y, made_design(second, first=first))
    once = mean(y, made_design(second * first))
    assert math.isclose(apart.variance, once.variance, rel_tol=1e-12)
    assert math.isclose(apart.value, once.value, rel_tol=1e-12)


@given(st.lists(st.tuples(st.booleans(), st.floats(0.01, 1)), min_size=1, max_size=40), st.floats(0.5, 0.99))
def test_a_share_lies_in_its_interval(units, level):
    y, pi = zip(*units, strict=True)
    found = estimate(y, pi, level=level)
    assert math.isnan(found.low) == bool(found.why)
    assert not found.low < -1e-9
    assert not found.low > found.value + 1e-9
    assert not found.high < found.value - 1e-9
    assert not found.high > 1 + 1e-9
    assert found.variance >= 0
    assert found.n == len(units)


@given(
    st.lists(st.tuples(st.floats(-100, 100), st.floats(0.01, 1)), min_size=1, max_size=20), st.floats(0.1, 1)
)
def test_rescaling_all_probabilities_leaves_the_mean(units, scale):
    y, pi = (np.array(one) for one in zip(*units, strict=True))
    one, other = (estimate(y, p, bounds=None).value for p in (pi, pi * scale))
    assert math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-6)


def test_equal_probabilities_are_a_simple_random_sample():
    found = estimate([1, 0, 0, 1, 1], [0.001] * 5)
    assert found.value == pytest.approx(0.6)
    assert found.design_effect == pytest.approx(0.999)


@pytest.mark.parametrize(
    ("values", "probabilities", "options", "message"),
    [
        ([1], [0], {}, "above 0"),
        ([1], [1.1], {}, "at most 1"),
        ([1], [float("nan")], {}, "a probability is missing"),
        ([1, 0], [1], {}, "2 values have 1"),
        ([1, 2], [1, 1], {}, "the value 2 is not between 0 and 1"),
        ([1], [1], {"bounds": (1, 1)}, "is no range"),
        ([float("nan")], [1], {}, "missing"),
        ([1], [1], {"design": "poison"}, "Did you mean 'poisson'"),
        (["a"], [1], {}, "a value is not a number"),
        ([1], [1], {"totals": 0}, "not a number of units"),
        ([1], [1], {"totals": {"a": 3}}, "need each unit's group"),
        ([1], [1], {"totals": {"a": 3}, "kinds": ["b"]}, "the kind 'b' has no total"),
        ([1], [1], {"assisted_by": [0.5]}, "assisted_by is a pair"),
        ([1, 0], [1, 1], {"assisted_by": ([0.5], [0.5])}, "1 predictions have 2 values"),
        ([1, 0], [1, 1], {"domain": [True]}, "1 marks of the domain have 2"),
        ([1], [1], {"level": 95}, "not between 0 and 1"),
        ([1, 0], [1, 1], {"strata": ["a"]}, "1 strata have 2 values"),
        ([1, 0], [1, 1], {"design": "two_phase", "joint": [[1]]}, "not a matrix of 2"),
        (
            [1, 0],
            [0.5, 0.5],
            {"design": "two_phase", "joint": [[1, 0], [0, 1]]},
            "no joint probability above 0",
        ),
    ],
)
def test_wrong_input_is_named(values, probabilities, options, message):
    with pytest.raises(InputError, match=message):
        estimate(values, probabilities, **options)


def test_nothing_in_the_domain_is_undefined():
    found = mean(np.ones(2), made_design([0.5, 0.5]), domain=np.zeros(2, dtype=bool))
    assert math.isnan(found.value)
    assert found.n == 0


def test_no_share_claims_more_than_its_weights_allow():
    """n_eff is at most n where all weigh the same, and far less where four items carry all."""
    even = mean(np.array([1.0] * 12 + [0.0] * 28), made_design(np.full(40, 0.2)))
    assert even.effective_n == 40
    assert even.worth == pytest.approx(40 / 0.8)
    pi = np.array([0.5] * 60 + [0.01] * 4)
    for y in (np.array([1.0, 0.0] * 32), np.array([1.0, 0.0] * 30 + [1.0] * 4)):
        for design in ("poisson", "two_phase"):
            found = mean(y, made_design(pi, design=design))
            assert found.effective_n <= 1 / (((1 - pi) / pi**2).sum() / (1 / pi).sum() ** 2) + 1e-9
            assert found.flagged
            assert found.high - found.low > 0.3


def test_hajeks_approximation_has_nothing_for_certain_or_single_units():
    single = made_design([0.5, 1.0, 1.0], design="two_phase", strata=["a", "b", "b"])
    assert single.variance(np.ones(3)) == 0


def test_an_estimate_says_over_what_and_shows_itself():
    found = estimate([1, 0, 1, 1], [0.5, 0.25, 1, 0.5])
    assert found.interval == "over posts"
    assert found.to_frame()["value"].item() == found.to_dict()["value"] == found.value
    assert "<table" in found._repr_html_()
