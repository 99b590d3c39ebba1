"""Against R's survey package, 42 designs: totals, means, domains, ratios, differences, post-stratification, replicate weights.

Not compared, for covmis has neither: R's jackknife within strata (JKn), and the variance of whole clusters drawn.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from covmis_build.estimation import estimate
from covmis_build.estimation.replicates import bootstrap_factors, jackknife_factors, replicate_error
from covmis_build.sampling.inclusion import joint_probabilities
from covmis_build.stats.over_posts import PostStrata, made_design, mean, total

RECORDS = json.loads((Path(__file__).parents[1] / "vectors" / "survey_r.json").read_text())["designs"]
DRAWN = [record for record in RECORDS if record["design"] in {"poisson", "two_phase"}]
STRATIFIED = [record for record in RECORDS if record["design"] == "stratified"]
CLUSTERS = [record for record in RECORDS if record["design"] == "clusters"]


def arrays(record):
    return tuple(np.array(record[name], float) for name in "yxfd")


def joint_of(record):
    if record["design"] == "poisson":
        return None
    if record["design"] == "stratified":  # simple random samples of fixed size
        drawn = {name: (record["stratum"].count(name), size) for name, size in record["sizes"].items()}
        return {name: np.full((n, n), n * (n - 1) / (size * (size - 1))) for name, (n, size) in drawn.items()}
    kind, claim = np.array(record["kind"]), np.array(record["claim"])
    blocks = {}
    for name in np.unique(claim):
        pairs, rows = joint_probabilities(record["counts"][name]), kind[claim == name]
        blocks[name] = np.array([[pairs.get((a, b), 1.0) for b in rows] for a in rows])
    return blocks


def design_of(record):
    design = "poisson" if record["design"] == "poisson" else "two_phase"
    strata = record["stratum" if record["design"] == "stratified" else "claim"]
    return made_design(record["p"], design=design, strata=strata, joint=joint_of(record))


def agree(found, wanted, digits=1e-9):
    value, error = found
    assert value == pytest.approx(wanted["value"], rel=digits, abs=digits)
    assert error == pytest.approx(wanted["se"], rel=digits, abs=1e-7)


@pytest.mark.parametrize("record", [*DRAWN, *STRATIFIED], ids=lambda record: record["id"])
def test_plain_estimates(record):
    """Stratified samples, too: our fixed-size variance with their joint probabilities."""
    y, x, _, d = arrays(record)
    design, wanted = design_of(record), record["R"]["plain"]
    for name, values in (("total", y), ("domain_total", y * d)):
        value, variance = total(values, design)
        agree((value, variance**0.5), wanted[name])
    for name, values, here in (("mean", y, None), ("mean_x", x, None), ("domain_mean", y, d > 0)):
        found = mean(values, design, domain=here)
        agree((found.value, found.standard_error), wanted[name])
    ratio = mean(y, design, sizes=x)
    agree((ratio.value, ratio.standard_error), wanted["ratio"])


@pytest.mark.parametrize("record", DRAWN, ids=lambda record: record["id"])
def test_differences_from_predictions_of_all(record):
    y, _, f, _ = arrays(record)
    value, variance = total(y - f, design_of(record))
    agree((value + record["population"]["f"], variance**0.5), record["R"]["difference"])


@pytest.mark.parametrize(
    "record", [*DRAWN[:12], *STRATIFIED], ids=lambda record: record["id"]
)  # R has none of the two-phase designs
def test_weights_that_sum_to_the_sizes_of_groups(record):
    y, _, _, d = arrays(record)
    names, cells = np.unique(record["kind"], return_inverse=True)
    design, known = design_of(record), record["population"]["kind"]
    factors = np.array([known[name] for name in names]) / np.bincount(cells, design.weights)
    strata = PostStrata(cells, factors[cells], np.ones(len(cells)), np.zeros(len(names)))
    weighted = replace(design, strata=strata)
    for wanted in (
        record["R"]["calibrated_kind"],
        record["R"].get("poststratified", {}),
    ):  # the same by two of R's functions
        value, variance = total(y, weighted)
        if "total" in wanted:
            agree((value, variance**0.5), wanted["total"])
        for name, here in (("mean", None), ("domain_mean", d > 0)):
            if name in wanted and (here is None or here.any()):
                found = mean(y, weighted, domain=here)
                agree((found.value, found.standard_error), wanted[name])


@pytest.mark.parametrize("record", [*DRAWN, *STRATIFIED], ids=lambda record: record["id"])
def test_old_intervals_follow_from_value_and_error(record):
    """R's svyciprop on the logit scale needs no more than our value and standard error; ours are other intervals."""
    if record["R"].get("ciprop", {}).get("logit") is None:
        pytest.skip("nothing varies")
    found = record["R"]["plain"]["mean"]
    p, reach = found["value"], 1.959963984540054 * found["se"]
    middle, reach = np.log(p / (1 - p)), reach / (p * (1 - p))
    wanted = record["R"]["ciprop"]["logit"]
    ends = [1 / (1 + np.exp(-x)) for x in (middle - reach, middle + reach)]
    assert ends == pytest.approx([wanted["low"], wanted["high"]], rel=1e-8)


def test_a_group_with_a_single_unit_joins_the_one_nearest_in_size():
    rng = np.random.default_rng(1)
    pi, y = rng.uniform(0.2, 0.9, 90), rng.integers(0, 2, 90)
    kinds = np.repeat(["a", "b", "c", "d"], [50, 30, 9, 1])
    totals = {"a": 90.0, "b": 60.0, "c": 11.0, "d": 9.0, "e": 3.0}
    found = estimate(y, pi, totals=totals, kinds=kinds)
    together = np.where(np.isin(kinds, ["c", "d"]), "rest", kinds)
    assert found == estimate(y, pi, totals={"a": 90.0, "b": 60.0, "rest": 23.0}, kinds=together)
    sums = [
        np.sum(y[together == name] / pi[together == name]) / np.sum(1 / pi[together == name])
        for name in ("a", "b", "rest")
    ]
    assert found.value == pytest.approx(np.dot(sums, [90, 60, 23]) / 173)
    narrow = estimate(y, pi, totals=totals, kinds=kinds, level=0.5)
    assert found.low < narrow.low < narrow.high < found.high


@pytest.mark.parametrize("record", CLUSTERS, ids=lambda record: record["id"])
def test_replicate_weights(record):
    y, x, _, d = arrays(record)
    w, wanted = 1 / np.array(record["p"]), record["R"]
    names = list(dict.fromkeys(record["claim"]))
    at = np.array([names.index(name) for name in record["claim"]])
    figures = {
        "total": lambda v: (v * y).sum(),
        "mean": lambda v: (v * y).sum() / v.sum(),
        "domain_mean": lambda v: (v * y * d).sum() / (v * d).sum() if (v * d).sum() else np.nan,
        "ratio": lambda v: (v * y * x).sum() / (v * x).sum() if v.sum() else np.nan,
    }
    factors, scale = jackknife_factors(len(names))
    ways = {"jk1": (factors, scale)}
    for way in ("bootstrap", "subbootstrap"):
        rows = [wanted[way]["claims"].index(name) for name in names]
        ways[way] = np.array(wanted[way]["replicate_multipliers"])[rows], wanted[way]["scale"]
    for name, figure in figures.items():
        for way, (each, by) in ways.items():
            values = np.array([figure(w * column[at]) for column in each.T])
            error = replicate_error(values, by)
            assert error == pytest.approx(wanted[way][name]["se"], rel=1e-8, abs=1e-9), (way, name)


def test_bootstrap_factors_are_keyed_and_keep_the_mean():
    factors, scale = bootstrap_factors(["a", "b", "c", "d", "e"], 4000, seed=3)
    assert factors.shape == (5, 4000)
    assert scale == pytest.approx(1 / 3999)
    assert factors.mean(axis=1) == pytest.approx(np.ones(5), abs=0.05)
    assert (factors.sum(axis=0) == pytest.approx(5)) is True
    again, _ = bootstrap_factors(["e", "a", "b", "c", "d"], 4000, seed=3)
    assert (again[1:] == factors[:4]).all()
    assert (bootstrap_factors(["a", "b", "c", "d", "e"], 10, seed=3)[0] == factors[:, :10]).all()
