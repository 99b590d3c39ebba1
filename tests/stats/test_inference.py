"""The two rules of inference against tests/vectors/inference.json: R's survey, and an independent prototype."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from covmis_build.estimation.label_error import between_people, over_people, own_shares
from covmis_build.evaluation import measures
from covmis_build.sampling.audit import Audit
from covmis_build.stats.agreement import headline
from covmis_build.stats.intervals import SIGNED, UNIT, Estimate, effective, interval, p_value
from covmis_build.stats.over_claims import difference as of_systems
from covmis_build.stats.over_claims import over_claims
from covmis_build.stats.over_posts import Expected, difference, expected_of, made_design, mean

CASES = json.loads((Path(__file__).parents[1] / "vectors" / "inference.json").read_text())


def each(kind):
    return pytest.mark.parametrize("case", CASES[kind], ids=range(len(CASES[kind])))


def close(found, wanted, rtol=1e-9):
    wanted = [math.nan if one is None else one for one in wanted]
    assert np.allclose(found, wanted, rtol=rtol, atol=1e-9, equal_nan=True), (found, wanted)


def degrees_of(case):
    return math.inf if case["degrees"] == "inf" else case["degrees"]


@each("interval")
def test_the_interval(case):
    ends = interval(
        case["value"], case["variance"], case["worth"], degrees_of(case), bounds=tuple(case["bounds"])
    )
    close(ends, [case["low"], case["high"]])


@each("p_value")
def test_the_p_value(case):
    p = p_value(
        case["value"], case["variance"], case["worth"], degrees_of(case), bounds=tuple(case["bounds"]),
        null=case["null"],
    )  # fmt: skip
    close([p], [case["p"]])


def ratio_of(name):
    """A measure of one class: precision, recall or F1 of the class, undefined without it."""
    what, at = name.split(" of ")
    k = int(at)

    def formula(tables):
        right, gold, said = tables[..., k, k], tables[..., k, :].sum(-1), tables[..., :, k].sum(-1)
        below = {"recall": gold, "precision": said, "f1": (gold + said) / 2}[what]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(below > 0, right / np.where(below > 0, below, 1), np.nan)

    return formula


TABLES = {case["case"]: case["tables"] for case in CASES["over_claims"] if "tables" in case}
NAMES = {
    "kappa": "kappa",
    "alpha": "alpha_nominal",
    "mcc": "mcc",
    "accuracy": "accuracy",
    "macro_f1": "macro_f1",
}
RANGES = {"kappa": SIGNED, "alpha": SIGNED, "mcc": SIGNED}


def measured(name):
    formula = measures[NAMES[name]] if name in NAMES else ratio_of(name)
    return lambda tables: {"": np.asarray(formula(tables))}


@each("over_claims")
def test_over_claims(case):
    tables = np.array(TABLES[case["case"]], dtype=float)[:, None]
    found = over_claims(measured(case["measure"]), {"": RANGES.get(case["measure"], UNIT)}, tables)[""]
    assert bool(found.why) == bool(case["why"]), (found.why, case["why"])
    close([found.value, found.low, found.high], [case["value"], case["low"], case["high"]], rtol=1e-6)
    if not case["why"]:
        close(
            [found.variance, found.degrees + 1, found.worth],
            [case["variance"], case["claims"], case["worth"]], rtol=1e-6,
        )  # fmt: skip


@each("difference_of_systems")
def test_two_systems_over_claims(case):
    tables = np.array(case["tables"], dtype=float)[:, None]
    less, ranges = of_systems(measured(case["measure"]), {"": UNIT})
    found = over_claims(less, ranges, tables)[""]
    wanted = [case[name] for name in ("value", "low", "high", "p")]
    close([found.value, found.low, found.high, found.p()], wanted, rtol=1e-6)


def sample_of(number):
    rows = next(one for one in CASES["dsl"] if one["set"] == number)
    return np.array(rows["y"], float), np.array(rows["p"]), np.array(rows["x2"])


@each("over_posts")
def test_over_posts_as_r(case):
    y, p, _ = sample_of(case["set"])
    found = mean(y, made_design(p))
    close([found.value, found.variance], [case["R"]["value"], case["R"]["variance"]])
    close([found.low, found.high, found.worth], [case["low"], case["high"], case["worth"]])
    assert found.flagged == case["flagged"]


@each("domain_difference")
def test_two_domains_as_r(case):
    y, p, x2 = sample_of(case["set"])
    design = made_design(p)
    first, second = (mean(y, design, domain=x2 == at) for at in (1, 0))
    found = difference(first, second)
    close([found.value, found.low, found.high], [case["value"], case["low"], case["high"]])
    close([found.value], [case["R"]["value"]])
    close([math.hypot(first.standard_error, second.standard_error)], [case["R"]["standard_error"]])


@each("weights_worth")
def test_what_the_pool_lets_expect(case):
    p, sizes, drawn = np.array(case["p"]), np.array(case["sizes"], float), case["sample"]
    expected = Expected(expected_of(p, sizes / sizes.sum()).looseness)
    found = mean(np.ones(len(drawn)) * 0.5, made_design(p[drawn]), sizes=sizes[drawn], expected=expected)
    close([found.worth, found.degrees + 1], [case["worth"], case["chance_units"]])


@each("audit")
def test_an_audit_of_several_rounds(case):
    p, wrong = np.array(case["p"]), np.array(case["wrong"])
    labels = np.where(wrong > 0, "favor", "against").astype(object)
    checked = np.array(case["checked"])
    audit = Audit(
        np.full(len(p), "against", dtype=object), checked, labels, 1 / p, p, np.array(case["fraction"])
    )
    row = audit.table().iloc[0]
    wanted = case["by_phases"]
    close([row["rate"], row["low"], row["high"]], [wanted["value"], wanted["low"], wanted["high"]])


@each("by_people")
def test_over_people(case):
    said, weights = np.array(case["answers"], dtype=float), np.array(case["weights"])
    shares = weights / weights.sum()
    own = own_shares(said, np.full(len(said), np.nan))
    value = float(shares @ own)
    between, people = between_people(said, shares, np.zeros(len(said)))
    variance = between + float(np.sum(shares**2 * (own - value) ** 2))
    figure = Estimate(value, variance, len(said), effective(weights), len(said) - 1)
    found = over_people(figure, between, people)
    close(
        [found.value, between, found.low, found.high], [case[n] for n in ("value", "between", "low", "high")]
    )
    assert ("these two" in found.interval) == (case["of"] == "these 2 people")


figures = st.builds(
    dict,
    value=st.floats(0, 1), variance=st.floats(0, 0.3), worth=st.floats(1, 1e6), degrees=st.floats(0.5, 1e4),
    level=st.floats(0.5, 0.999), null=st.floats(0.001, 0.999),
)  # fmt: skip


@given(figures, st.sampled_from([(0.0, 1.0), (-1.0, 1.0), (0.0, 4.0)]))
@example(
    {"value": 0.9999999999999999, "variance": 0.25, "worth": 2.0, "degrees": 156.99999999999818, "level": 0.7037973748125299, "null": 0.5},
    (0.0, 1.0),
)  # fmt: skip
@settings(max_examples=300)
def test_p_and_interval_never_disagree(figure, bounds):
    wide = bounds[1] - bounds[0]
    value, null = (bounds[0] + wide * figure[name] for name in ("value", "null"))
    given_ = (value, figure["variance"] * wide**2, figure["worth"], figure["degrees"])
    low, high = interval(*given_, bounds=bounds, level=figure["level"])
    p = p_value(*given_, bounds=bounds, null=null)
    assert math.isnan(low) == math.isnan(p)
    if not math.isnan(low):
        assert bounds[0] <= low <= value + 1e-12
        assert value - 1e-12 <= high <= bounds[1]
        assume(min(abs(null - low), abs(null - high)) > 1e-9)
        assert (p < 1 - figure["level"]) == (not low <= null <= high)


@given(
    st.lists(
        st.tuples(st.floats(0.01, 0.99), st.floats(1e-4, 0.02), st.floats(3, 500)), min_size=2, max_size=2
    ),
    st.floats(-0.9, 0.9),
)
@settings(max_examples=200)
def test_p_and_interval_of_a_difference_never_disagree(parts, together):
    first, second = (Estimate(v, s, 50, w, 20) for v, s, w in parts)
    covariance = together * first.standard_error * second.standard_error
    found, apart = difference(first, second, covariance), difference(first, second)
    inner, outer = (found, apart) if together >= 0 else (apart, found)
    assert outer.low <= inner.low + 1e-12
    assert inner.high <= outer.high + 1e-12
    assume(min(abs(found.low), abs(found.high)) > 1e-9)
    assert (found.p < 0.05) == (not found.low <= 0 <= found.high)
    assert -1 <= found.low <= found.value <= found.high <= 1


def test_a_cascade_that_was_not_drawn_takes_the_interval_away():
    """One message of 4,000 of 4,100 posts, which the draw missed: the sample alone looks like any other."""
    p, sizes = np.full(101, 0.2), np.r_[4000.0, np.ones(100)]
    drawn = np.arange(1, 41)
    y = np.arange(40) % 2.0
    alone = mean(y, made_design(p[drawn]), sizes=sizes[drawn])
    assert not math.isnan(alone.low)
    found = mean(y, made_design(p[drawn]), sizes=sizes[drawn], expected=expected_of(p, sizes / sizes.sum()))
    assert found.flagged
    assert found.why.startswith("too few posts, or a few with large weights or many near-duplicates, decide")
    assert math.isnan(found.low)


def test_an_interval_reaches_what_the_share_is_if_all_that_was_missed_has_the_label():
    """Certain clusters hold nearly all posts, and chance decides about the next ones: the sample alone looks sure."""
    sizes = np.r_[52_000.0, 1141, 795, 690, np.full(100, 3.0)]
    p = np.r_[1.0, np.full(103, 0.14)]
    y = np.r_[1.0, 0, 0, 1, np.arange(100) % 2]
    truth, rng = float(y @ sizes / sizes.sum()), np.random.default_rng(1)
    expected = expected_of(p, sizes / sizes.sum())
    held = []
    for _ in range(300):
        got = rng.random(len(p)) < p
        found = mean(y[got], made_design(p[got]), sizes=sizes[got], expected=expected)
        held += [] if found.why else [found.low <= truth <= found.high]
    assert len(held) > 150
    assert np.mean(held) >= 0.93


@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.1, 100)), min_size=1, max_size=8))
@settings(max_examples=100)
def test_no_set_that_one_of_twenty_samples_misses_is_larger(units):
    p, sizes = (np.array(column) for column in zip(*units, strict=True))
    shares = sizes / sizes.sum()
    sets = [np.array(one, dtype=bool) for one in itertools.product([False, True], repeat=len(p))]
    largest = max(float(shares[one].sum()) for one in sets if np.prod(1 - p[one]) >= 0.05)
    assert expected_of(p, shares).missed >= largest - 1e-9


def test_certain_posts_say_nothing_of_those_that_chance_decides():
    """Of a claim whose other posts were purged, one certain post is left: no interval, though the pool allows many units."""
    p = np.r_[1.0, np.full(39, 0.4)]
    expected = expected_of(p, np.full(40, 1 / 40))
    found = mean(np.ones(1), made_design(np.ones(1)), expected=expected)
    assert found.why
    assert math.isnan(found.p(0.5))
    assert not mean(np.ones(1), made_design(np.ones(1))).why


def test_six_of_six_is_no_proof():
    tables = np.zeros((3, 1, 3, 3))
    tables[:, 0, 0, 0] = tables[:, 0, 1, 1] = 1
    found = over_claims(measured("accuracy"), {"": UNIT}, tables)[""]
    assert (round(found.low, 2), found.high, found.effective_n) == (0.24, 1.0, pytest.approx(6))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_no_end_of_kappa_is_impossible(seed):
    rng = np.random.default_rng(seed)
    codes = rng.choice(3, size=(30, 2), p=[0.05, 0.05, 0.9])
    figure = headline(codes, 3, [str(at % 5) for at in range(30)])
    for end in (figure.low, figure.high, figure.low_by_claims, figure.high_by_claims):
        assert end is None or -1 <= end <= 1


def test_certain_posts_leave_no_doubt():
    found = mean(np.array([1.0, 0.0, 1.0]), made_design(np.ones(3)))
    assert (found.low, found.high) == (found.value, found.value)
    assert found.effective_n == 3
    assert isinstance(found.to_frame(), pd.DataFrame)
