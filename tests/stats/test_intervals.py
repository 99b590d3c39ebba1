"""Every branch of the tree, against other implementations' figures."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from covmis_build.estimation import estimate
from covmis_build.evaluation import measures
from covmis_build.stats.horvitz_thompson import made_design, mean
from covmis_build.stats.intervals import (
    claims_interval,
    effective_claims,
    jackknife_error,
    kappa_interval,
    measure_interval,
    wilson,
)
from covmis_build.stats.linearised import gradient, weighted_measures

CASES = json.loads((Path(__file__).parents[1] / "vectors" / "intervals.json").read_text())["cases"]


def of(kind):
    cases = [case for case in CASES if case["kind"] == kind]
    assert cases
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def close(found, wanted):
    assert np.allclose(found, wanted, rtol=1e-9, atol=1e-9), (found, wanted)


@of("wilson")
def test_wilson(case):
    given = case["input"]
    z = given.get("z", 1.959963984540054)
    level = math.erf(z / math.sqrt(2))
    close(wilson(given["p"], given["n"], level=level), case["expected"]["interval"])


@of("audit")
def test_audit(case):
    given = case["input"]
    close(wilson(given["errors"] / given["checked"], given["checked"]), case["expected"]["interval"])


@of("poisson_share")
def test_shares_of_messages_posts_and_the_average_claim(case):
    given = {name: np.array(values) for name, values in case["input"].items()}
    want, design = case["expected"], made_design(given["pi"])
    y, sizes = given["y"].astype(float), given.get("size", np.ones(len(given["y"])))
    if "claim" in given:
        from covmis_build.stats.horvitz_thompson import linear_estimate

        names, inverse = np.unique(given["claim"], return_inverse=True)
        mass = np.bincount(inverse, design.weights * sizes)
        centre = (np.bincount(inverse, design.weights * sizes * y) / mass)[inverse]
        scale = sizes / mass[inverse] / len(names)
        found = linear_estimate(y, centre, scale, design, n=len(y))
        worth = design.worth(design.weights * scale)
    else:
        found = mean(y, design, sizes=sizes)
        worth = design.worth(design.weights * sizes / (design.weights * sizes).sum())
    close([found.value, found.variance], [want["share"], want["variance"]])
    assert math.isinf(worth) if want["worth"] is None else worth == pytest.approx(want["worth"], rel=1e-9)
    close([found.low, found.high], want["interval"])


def kappa_parts(table):
    n = table.sum()
    return np.trace(table) / n, float((table.sum(0) * table.sum(1)).sum() / n**2), n


def kappa(table):
    observed, expected, _ = kappa_parts(table)
    return (observed - expected) / (1 - expected) if expected < 1 - 1e-12 else math.nan


@of("kappa_items")
def test_kappa_over_items(case):
    table = np.array(case["input"]["table"], float)
    assert kappa(table) == pytest.approx(case["expected"]["kappa"], rel=1e-9)
    close(kappa_interval(*kappa_parts(table))[:2], case["expected"]["interval"])


@of("kappa_claims")
def test_kappa_over_claims(case):
    tables = np.array(case["input"]["tables"], float)
    left_out = [kappa(tables.sum(0) - table) for table in tables]
    assert jackknife_error(left_out) == pytest.approx(case["expected"]["se"], rel=1e-9, abs=1e-12)
    ends = kappa_interval(*kappa_parts(tables.sum(0)), left_out=left_out, sizes=tables.sum((1, 2)))
    close(ends[:2], case["expected"]["interval"])


@of("score_claims")
def test_scores_and_differences_over_claims(case):
    given = case["input"]
    tables = np.array(given["tables"], float)
    f = measures[given["measure"]]

    def value(table):
        if given.get("difference"):
            return float(f(table[0]) - f(table[1]))
        return float(f(table))

    left_out = [value(tables.sum(0) - table) for table in tables]
    sizes = tables.sum(tuple(range(1, tables.ndim)))
    bounds = None if given.get("difference") else (0.0, 1.0)
    whole = value(tables.sum(0))
    assert whole == pytest.approx(case["expected"]["value"], rel=1e-9)
    close(claims_interval(whole, left_out, sizes, bounds=bounds)[:2], case["expected"]["interval"])


@of("assisted")
def test_assisted_shares(case):
    given, want = case["input"], case["expected"]
    found = estimate(given["y"], given["pi"], assisted_by=(given["f"], given["population_mean"]))
    close([found.value, found.variance, found.strength], [want["share"], want["variance"], want["lambda"]])
    close([found.low, found.high], want["interval"])


@of("weighted_measure")
def test_measures_of_the_weighted_matrix_have_a_floor(case):
    given, want = case["input"], case["expected"]
    weights, spread = (np.array(given[name], float) for name in ("weights", "spread"))
    f = measures[given["measure"]]
    value, slopes = gradient(lambda table: float(f(table)), weights, weights.sum())
    linear = float((slopes**2 * spread).sum())
    floor = float((slopes**2 * weights).sum() * spread.sum() / weights.sum())
    assert (value, linear, floor) == pytest.approx((want["value"], want["variance"], want["floor"]), rel=1e-8)
    bounds = (-1.0, 1.0) if given["measure"] == "kappa" else (0.0, 1.0)
    assert measure_interval(value, max(linear, floor), bounds)[:2] == pytest.approx(
        tuple(want["interval"]), rel=1e-8
    )


def test_the_floor_of_accuracy_is_the_shares():
    """Accuracy over the pool is a share: the same interval by either way, also where weights are uneven."""
    rng = np.random.default_rng(2)
    pi, cells = np.where(np.arange(80) < 4, 0.02, 0.6), rng.integers(0, 4, 80)
    design = made_design(pi)
    right = np.isin(cells, [0, 3]).astype(float)
    found = weighted_measures(
        lambda stack: {"accuracy": measures["accuracy"](stack)},
        {"accuracy": (0.0, 1.0)},
        [cells],
        (2, 2),
        design,
    )["accuracy"]
    share = mean(right, design)
    worth = design.worth(design.weights / design.weights.sum())
    floor = share.value * (1 - share.value) / worth
    assert found.value == pytest.approx(share.value)
    assert max(found.variance, floor) == pytest.approx(share.value * (1 - share.value) / share.effective_n)
    assert (found.low, found.high) == pytest.approx((share.low, share.high), abs=1e-9)


def test_full_agreement_has_a_width():
    for expected in (0.2, 0.5, 0.9):
        low, high, n = kappa_interval(1.0, expected, 24)
        z = 1.959963984540054
        assert (low, high) == pytest.approx((1 - z**2 / (24 + z**2) / (1 - expected), 1.0))
        assert n == 24
    assert math.isnan(kappa_interval(1.0, 1.0, 24).low), "one label only: no value, no interval"


def test_few_claims_have_no_interval_over_claims():
    assert math.isnan(claims_interval(0.5, [0.4, 0.6], [10, 10]).low)
    assert math.isnan(claims_interval(0.5, [0.4, 0.6, 0.5], [1000, 1, 1]).low)
    assert math.isnan(kappa_interval(0.9, 0.5, 20, left_out=[0.8, 0.8], sizes=[10, 10]).low)
    assert effective_claims([7, 7, 7]) == 3


def test_a_jackknife_of_a_mean_over_equal_claims_is_the_textbooks():
    means = np.array([0.2, 0.5, 0.6, 0.9])
    left_out = (means.sum() - means) / 3
    assert jackknife_error(left_out) == pytest.approx(means.std(ddof=1) / 2)
