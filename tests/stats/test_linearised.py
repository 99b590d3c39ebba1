"""Linearised variances of measures, against the vectors."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from covmis_build.stats.linearised import gradients, weighted_measures
from covmis_build.stats.over_posts import made_design, mean

HT = json.loads((Path(__file__).parents[1] / "vectors" / "ht_vectors.json").read_text())


def accuracy(m):
    return np.trace(m) / m.sum()


def macro_f1(m):
    sums = m.sum(0) + m.sum(1)
    return np.mean([2 * m[c, c] / sums[c] for c in range(len(m)) if sums[c]])


def macro_recall(m):
    return np.mean([m[c, c] / m[c].sum() for c in range(len(m)) if m[c].sum()])


def distance(m):
    return abs(np.subtract.outer(range(len(m)), range(len(m))))


def kappa_linear(m):
    return 1 - m.sum() * np.sum(distance(m) * m) / np.sum(distance(m) * np.outer(m.sum(1), m.sum(0)))


def mae_micro(m):
    return np.sum(distance(m) * m) / m.sum()


MEASURES = [accuracy, macro_f1, macro_recall, kappa_linear, mae_micro]


def each(measure):
    """The measure of one matrix as one of stacks."""

    def values(stack):
        with np.errstate(all="ignore"):
            return {"": np.array([float(measure(table)) for table in stack])}

    return values


def the_sample():
    one, rows = HT["population"], HT["sample"]["indices"]
    where = np.array([3 * int(one["gold"][at]) + int(one["pred"][at]) for at in rows])
    return where, np.array([float(Fraction(one["pi"][at])) for at in rows])


def estimated(measure, bounds=(0.0, 1.0), design="poisson"):
    where, pi = the_sample()
    return weighted_measures(each(measure), {"": bounds}, [where], (3, 3), made_design(pi, design=design))[""]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda one: one.__name__)
def test_the_variances_of_the_vectors(measure):
    found = estimated(measure, (0.0, 2.0))
    want = HT["sample"]["cell_linearised_skip"][measure.__name__]
    assert math.isclose(found.value, want["est"], rel_tol=1e-12)
    exact = exact_variance(measure)
    assert math.isclose(found.variance, exact, rel_tol=1e-10)
    # The file's variances came from a numerical derivative and are off in the ninth digit: its accuracy has
    # .03377777785 where the same file's exact fraction is 38/1125 = .03377777778. So they are held to less.
    assert math.isclose(want["var"], exact, rel_tol=1e-8)


def exact_variance(measure):
    """Σ G² S in fractions: each derivative over a step of 10⁻³⁰ in exact arithmetic, wrong by about its square."""
    weights, spread = (
        np.array([[Fraction(one) for one in row] for row in HT["sample"][name]])
        for name in ("weighted_cm", "S_cm")
    )
    step, found = Fraction(1, 10**30), Fraction(0)
    for at in np.ndindex(weights.shape):
        if not weights[at]:
            continue
        ends = []
        for by in (step, -step):
            moved = weights.copy()
            moved[at] += by
            ends.append(Fraction(measure(moved)))
        found += ((ends[0] - ends[1]) / (2 * step)) ** 2 * spread[at]
    return float(found)


@pytest.mark.parametrize("design", ["poisson", "two_phase"])
def test_accuracy_is_a_mean_and_has_its_variance(design):
    where, pi = the_sample()
    by_mean = mean((where // 3 == where % 3).astype(float), made_design(pi, design=design))
    by_cells = estimated(accuracy, design=design)
    assert math.isclose(by_cells.variance, by_mean.variance, rel_tol=1e-9)
    assert (by_cells.low, by_cells.high) == pytest.approx((by_mean.low, by_mean.high), abs=1e-6)
    assert by_cells.design_effect == pytest.approx(by_mean.design_effect, rel=1e-6)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda one: one.__name__)
def test_the_gradient_is_orthogonal_to_the_matrix(measure):
    matrix = np.random.default_rng(1).uniform(0.1, 30, (3, 3))
    _, slopes = gradients(each(measure), matrix, 50)[""]
    assert abs(np.sum(slopes * matrix)) < 1e-9


def test_a_measure_that_depends_on_the_number_of_items_sees_the_samples():
    def per_item(m):
        return accuracy(m) + 1 / m.sum()

    assert gradients(each(per_item), np.eye(3) * 1000, 6)[""][0] == pytest.approx(1 + 1 / 6)
