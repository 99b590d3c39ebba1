"""Coefficients of agreement against the worked table, statsmodels, scikit-learn and slow definitions."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from covmis_build.stats import coefficients as c
from covmis_build.stats.agreement import headline

WORKED = np.array([[52, 4, 9], [3, 31, 6], [7, 5, 27]])


def codes_of(table):
    cells = np.repeat(np.arange(table.size), table.ravel())
    return np.stack([cells // len(table), cells % len(table)], axis=1)


def test_the_worked_table():
    counts = c.label_counts(codes_of(WORKED), 3)
    sums = c.agreement_sums(counts).sum(0)
    assert c.observed(WORKED) == pytest.approx(0.7639, abs=5e-5)
    assert c.cohen_kappa(WORKED) == pytest.approx(0.63647, abs=5e-6)
    assert c.corrected(c.scott_chance(WORKED)) == pytest.approx(0.63635, abs=5e-6)
    assert c.corrected(c.brennan_prediger_chance(sums)) == pytest.approx(0.64583, abs=5e-6)
    assert c.corrected(c.gwet_chance(sums)) == pytest.approx(0.65039, abs=5e-6)
    assert c.corrected(c.alpha_chance(c.coincidences(counts).sum(0))) == pytest.approx(0.63761, abs=5e-6)
    rows = c.agreement_sums(counts)
    assert c.standard_error(rows, c.gwet_chance(sums), c.gwet_pulls(rows)) == pytest.approx(
        0.053074, abs=5e-7
    )


tables = (
    st.integers(2, 5)
    .flatmap(
        lambda size: st.lists(
            st.lists(st.integers(0, 30), min_size=size, max_size=size), min_size=size, max_size=size
        )
    )
    .map(np.array)
)
judged = st.integers(2, 4).flatmap(
    lambda classes: st.tuples(
        st.just(classes),
        st.lists(st.lists(st.integers(-1, classes - 1), min_size=3, max_size=3), min_size=1, max_size=25).map(
            np.array
        ),
    )
)


@given(tables)
@settings(max_examples=60)
def test_cohen_is_statsmodels_and_scikit_learns(table):
    from sklearn.metrics import cohen_kappa_score
    from statsmodels.stats.inter_rater import cohens_kappa

    expected = table.sum(1) @ table.sum(0)
    value = c.cohen_kappa(table)
    if table.sum() == 0 or expected == table.sum() ** 2:
        assert np.isnan(value)
        return
    codes = codes_of(table)
    assert value == pytest.approx(cohen_kappa_score(*codes.T, labels=range(len(table))), abs=1e-10)
    for weights in ("linear", "quadratic"):
        other = cohen_kappa_score(*codes.T, labels=range(len(table)), weights=weights)
        assert c.cohen_kappa(table, weights) == pytest.approx(other, abs=1e-10)
    with np.errstate(all="ignore"):
        theirs = cohens_kappa(table)
    assert value == pytest.approx(theirs.kappa, abs=1e-10)
    found = c.cohen_details(table)
    assert found.error**2 == pytest.approx(slow_variance(table), abs=1e-12)
    rows, columns = table.sum(1) / table.sum(), table.sum(0) / table.sum()
    chance = rows @ columns
    assert found.maximum == pytest.approx(
        (np.minimum(rows, columns).sum() - chance) / (1 - chance), abs=1e-10
    )


def slow_variance(table):
    """The variance of Cohen's kappa by its influence, cell by cell (Fleiss, Cohen and Everitt 1969)."""
    shares = table / table.sum()
    rows, columns, size = shares.sum(1), shares.sum(0), range(len(table))
    same, chance = np.trace(shares), rows @ columns
    total = 0.0
    for a, b in itertools.product(size, size):
        pull = ((a == b) - same) / (1 - chance)
        pull -= (1 - same) / (1 - chance) ** 2 * (columns[a] + rows[b] - 2 * chance)
        total += shares[a, b] * pull**2
    return total / table.sum()


def test_an_undefined_kappa_has_no_error_and_no_maximum():
    for table in (np.zeros((2, 2)), np.array([[5, 0], [0, 0]])):
        assert all(np.isnan(part) for part in c.cohen_details(table))
    assert c.cohen_details(np.diag([3, 4])) == (0.0, 1.0)


@given(tables)
@settings(max_examples=40)
def test_scott_is_the_fleiss_of_two_people(table):
    from statsmodels.stats.inter_rater import fleiss_kappa

    counts = c.label_counts(codes_of(table), len(table))
    fleiss = c.fleiss_kappa(c.agreement_sums(counts).sum(0))
    assert c.corrected(c.scott_chance(table)) == pytest.approx(fleiss, abs=1e-10, nan_ok=True)
    if not np.isnan(fleiss):
        assert fleiss == pytest.approx(fleiss_kappa(counts), abs=1e-10)


def slow_alpha(codes, distance):
    """Krippendorff's alpha by pairs of values, as he defines it."""
    units = [[v for v in row if v >= 0] for row in codes]
    units = [unit for unit in units if len(unit) > 1]
    values = [v for unit in units for v in unit]
    if not values:
        return float("nan")
    counts = {v: values.count(v) for v in set(values)}

    def apart(a, b):
        if distance == "nominal":
            return float(a != b)
        if distance == "interval":
            return float((a - b) ** 2)
        low, high = min(a, b), max(a, b)
        between = sum(counts.get(g, 0) for g in range(low, high + 1))
        return float((between - (counts[low] + counts[high]) / 2) ** 2)

    seen = sum(apart(a, b) / (len(unit) - 1) for unit in units for a, b in itertools.permutations(unit, 2))
    expected = sum(apart(a, b) for a, b in itertools.permutations(values, 2))
    return 1 - (len(values) - 1) * seen / expected if expected else float("nan")


@given(judged, st.sampled_from(["nominal", "ordinal", "interval"]))
@settings(max_examples=80)
def test_alpha_with_missing_labels_is_its_definition(case, distance):
    classes, codes = case
    value = c.corrected(c.alpha_chance(c.coincidences(c.label_counts(codes, classes)).sum(0), distance))
    assert value == pytest.approx(slow_alpha(codes, distance), abs=1e-9, nan_ok=True)


@given(tables)
@settings(max_examples=40)
def test_class_by_class(table):
    together = c.class_tables(table)
    assert (together.sum((1, 2)) == table.sum()).all()
    for at, two in enumerate(together):
        assert two[0, 0] == table[at, at]
        shares = (table.sum(1)[at] - table.sum(0)[at]) / table.sum() if table.sum() else np.nan
        assert c.bias_index(two) == pytest.approx(shares, abs=1e-12, nan_ok=True)


def test_stacks_are_what_their_tables_are():
    stack = np.stack([WORKED, WORKED.T, 2 * WORKED])

    def scott(table):
        return c.corrected(c.scott_chance(table))

    def alpha(table):
        return c.corrected(c.alpha_chance(table))

    for formula in (c.cohen_kappa, scott, c.observed, alpha):
        assert formula(stack) == pytest.approx([float(formula(table)) for table in stack])


def test_three_orders_of_distance_on_two_classes_are_one():
    table = c.coincidences(c.label_counts(codes_of(WORKED[:2, :2]), 2)).sum(0)
    values = {
        round(float(c.corrected(c.alpha_chance(table, d))), 12) for d in ("nominal", "ordinal", "interval")
    }
    assert len(values) == 1


CASES = json.loads((Path(__file__).parents[1] / "vectors" / "agreement_missing.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=[str(at) for at in range(len(CASES))])
def test_missing_labels_as_gwet_has_them(case):
    """Forty tables with missing labels, every figure of irrCAC but the standard errors of alpha and Conger's kappa."""
    classes = case["classes"]
    codes = np.array([[-1 if one is None else one for one in row] for row in case["labels"]])
    codes = codes[(codes >= 0).any(1)]
    counts, checked = c.label_counts(codes, classes), 0
    for name, wanted in case["irrcac"].items():
        if wanted.get("value") is None:
            continue
        family, _, scale = name.replace("_ac2", "").partition("_")
        weights = scale or "none"
        rows = c.agreement_sums(counts, weights)
        if family == "fleiss":
            chance, pulls = c.fleiss_chance(rows.sum(0), weights), c.fleiss_pulls(rows, weights)
        elif family == "gwet":
            chance, pulls = c.gwet_chance(rows.sum(0), weights), c.gwet_pulls(rows, weights)
        elif family == "bp":
            chance = c.brennan_prediger_chance(rows.sum(0), weights)
            pulls = chance.expected
        elif family == "conger":
            rows = c.conger_sums(codes, classes, weights)
            chance, pulls = c.conger_chance(rows.sum(0), classes, weights), None
        else:
            pairs = c.coincidences(counts).sum(0)
            chance, m = c.alpha_chance(pairs), pairs.sum()
            assert float(c.corrected(chance)) == pytest.approx(wanted["value"], abs=1e-11), name
            # irrCAC divides both doubts by (1 - 1/m): the same alpha
            assert 1 - (1 - float(chance.observed)) * (1 - 1 / m) == pytest.approx(wanted["pa"], abs=1e-11)
            assert 1 - (1 - float(chance.expected)) * (1 - 1 / m) == pytest.approx(wanted["pe"], abs=1e-11)
            checked += 3
            continue
        assert float(c.corrected(chance)) == pytest.approx(wanted["value"], abs=1e-11), name
        if pulls is not None:
            assert c.standard_error(rows, chance, pulls) == pytest.approx(wanted["se"], abs=1e-11), name
        checked += 2 if pulls is not None else 1
        if "pa" in wanted:
            assert tuple(map(float, chance)) == pytest.approx((wanted["pa"], wanted["pe"]), abs=1e-11)
            checked += 2
    assert checked >= 20


@given(arrays(np.int64, (12, 2), elements=st.integers(0, 2)))
def test_conger_of_two_people_is_cohen(codes):
    table = c.pair_tables(codes[:, 0], codes[:, 1], 3).sum(0)
    for weights in ("none", "linear", "quadratic"):
        rows = c.conger_sums(codes, 3, weights)
        assert float(c.corrected(c.conger_chance(rows.sum(0), 3, weights))) == pytest.approx(
            float(c.cohen_kappa(table, weights)), abs=1e-9, nan_ok=True
        )


@pytest.mark.parametrize(("weights", "power"), [("none", 0), ("linear", 1), ("quadratic", 2)])
def test_no_answer_is_an_answer_as_far_from_the_first_s_as_a_class_can_be(weights, power):
    table = np.array([[5, 2, 1, 3], [1, 6, 0, 2], [0, 2, 4, 1]], float)
    apart = np.array([[abs(g - p) ** power if g != p else 0 for p in range(3)] for g in range(3)], float)
    apart = np.column_stack([apart, apart.max(1)])
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    assert c.cohen_kappa(table, weights) == pytest.approx(
        1 - (apart * table).sum() / (apart * expected).sum()
    )


def test_claims_of_which_nobody_compared_a_post_are_no_claims():
    codes, claims = np.array([[0, 0], [1, 1], [1, 0], [0, 0]] * 6), list("aabb" * 6)
    alone = np.array([[1, -1]] * 12)
    with_third = headline(np.concatenate([codes, alone]), 2, [*claims, *"c" * 12])
    assert (with_third.interval.over, with_third.value) == ("items", headline(codes, 2).value)
    assert headline(np.concatenate([codes, codes]), 2, [*claims, *"c" * 24]).interval.over == "claims"
