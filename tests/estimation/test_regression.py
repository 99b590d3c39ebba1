"""Regressions against R's svyglm, what wrong predictions do, and the formula's refusals."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from covmis_build.errors import InputError
from covmis_build.estimation.regression import Formula, regression

CASES = json.loads((Path(__file__).parents[1] / "vectors" / "inference.json").read_text())["dsl"]
DATA = {case["set"]: case for case in CASES if "y" in case}
FORMULA = Formula("favor", ("x1", "x2"))


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_it_is_svyglm_where_all_are_labelled(case):
    given = DATA[case["set"]]
    rows = pd.DataFrame({"x1": given["x1"], "x2": given["x2"], "claim_id": given["claim"]})
    found = regression(
        FORMULA, np.array(given["y"], float), rows, labelled=np.ones(len(rows), bool), chances=np.array(given["p"]),
        family=case["family"], over={"rows": "posts", "claims": "claims"}[case["over"]],
    )  # fmt: skip
    assert found.table["coefficient"].tolist() == pytest.approx(case["R"]["beta"], rel=1e-6, abs=1e-9)
    assert found.table["standard_error"].tolist() == pytest.approx(case["R"]["se"], rel=1e-6)
    outside = (found.table["low"] > 0) | (found.table["high"] < 0)
    assert (outside == (found.table["p"] < 0.05)).all()


def pool(seed, size=3000):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {"claim_id": rng.integers(0, 40, size).astype(str), "platform": rng.choice(["x", "bsky"], size)}
    )
    truth = rng.random(size) < np.where(rows["platform"] == "x", 0.7, 0.4)
    chances = np.where(rows["platform"] == "x", 0.06, 0.2)
    labelled = rng.random(size) < chances
    predicted = np.clip(
        np.where(truth, 0.75, 0.2) + 0.15 * (rows["platform"] == "bsky"), 0, 1
    )  # wrong by platform
    return rows, truth.astype(float), labelled, chances, np.asarray(predicted)


def test_wrong_predictions_bias_nothing_and_narrow_the_interval():
    inside, widths, naive = [], [], 0
    for seed in range(60):
        rows, truth, labelled, chances, predicted = pool(seed)
        true = truth[rows["platform"] == "x"].mean() - truth[rows["platform"] == "bsky"].mean()
        options = {"labelled": labelled, "chances": chances, "family": "linear", "over": "posts"}
        formula = Formula("favor", ("platform",))
        with_help = regression(formula, truth, rows, predicted=predicted, **options).table.iloc[1]
        alone = regression(formula, truth, rows, **options).table.iloc[1]
        sign = -1 if with_help["term"] == "platform: bsky" else 1
        inside.append(with_help["low"] <= sign * true <= with_help["high"])
        widths.append((with_help["high"] - with_help["low"]) / (alone["high"] - alone["low"]))
        means = [predicted[rows["platform"] == name].mean() for name in ("x", "bsky")]
        naive += abs(means[0] - means[1] - true) > 0.1
    assert np.mean(inside) > 0.88
    assert np.mean(widths) < 0.85
    assert naive == 60


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("favor", "is no formula"),
        ("favour ~ platform", "Did you mean .favor."),
        ("favor ~ platfrom", "no covariate is called 'platfrom'"),
        ("favor ~ platform + platform", "twice"),
        ("favor ~ platform +", "is no formula"),
    ],
)
def test_what_is_no_formula_is_refused(text, words):
    with pytest.raises(InputError, match=words):
        Formula.read(text, ["favor"], ["platform", "month"])


def test_what_the_data_do_not_tell_is_refused_or_said():
    rows, truth, labelled, chances, _ = pool(1, 900)
    options = {"labelled": labelled, "chances": chances}
    with pytest.raises(InputError, match="do not determine"):
        regression(
            Formula("favor", ("platform", "same")), truth, rows.assign(same=rows["platform"]), **options
        )
    with pytest.raises(InputError, match=r"does not converge|do not determine"):
        regression(Formula("favor", ("told",)), truth, rows.assign(told=truth), **options)
    for outcome, of in (
        (truth, rows.assign(told=truth)),
        (np.zeros(900), rows.assign(told=rows["platform"])),
    ):
        found = regression(Formula("favor", ("told",)), outcome, of, family="linear", over="posts", **options)
        assert "nothing varies" in found.why, "not an interval without width"
        assert found.table[["low", "high", "p"]].isna().all(axis=None)
    few = rows.assign(claim_id=np.where(np.arange(900) % 2, "1", "2"))
    found = regression(Formula("favor", ("platform",)), truth, few, **options)
    assert found.why == "2 claims are too few"
    assert found.table["low"].isna().all()
    assert "No standard errors and intervals: 2 claims are too few." in found.sentence
    assert found.table["standard_error"].isna().all()  # not 4e-24
    assert "nan" not in found.latex()
    assert "\\toprule" in found.latex()


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_the_unit_of_a_covariate_decides_nothing(family):
    """Seconds since 1970 are as good as days since the first: the same t and p, and what the unit makes of the rest."""
    rows, truth, labelled, chances, _ = pool(2)
    days = np.random.default_rng(3).random(len(rows)) * 30
    options = {"labelled": labelled, "chances": chances, "family": family}
    formula, second = Formula("favor", ("platform", "at")), 24 * 3600
    of_days = regression(formula, truth, rows.assign(at=days), **options).table
    of_seconds = regression(formula, truth, rows.assign(at=1.6e9 + second * days), **options).table
    for column in ("coefficient", "standard_error", "low", "high"):
        told = of_seconds[column].to_numpy()[1:] * [1, second]
        assert told == pytest.approx(of_days[column].to_numpy()[1:], rel=1e-6), column
    assert of_seconds["p"].to_numpy()[1:] == pytest.approx(of_days["p"].to_numpy()[1:], rel=1e-6)
