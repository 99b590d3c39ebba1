"""Regressions against R's svyglm, what wrong predictions do, and the formula's refusals."""

import json
import math
from operator import itemgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from covmis_build.errors import InputError
from covmis_build.estimation.regression import Formula, Sampled, regression
from covmis_build.stats.over_posts import expected_of, made_design

CASES = json.loads((Path(__file__).parents[1] / "vectors" / "inference.json").read_text())["dsl"]
DATA = {case["set"]: case for case in CASES if "y" in case}
FORMULA = Formula("favor", ("x1", "x2"))


def given_to_r(case):
    given = DATA[case["set"]]
    rows = pd.DataFrame({"x1": given["x1"], "x2": given["x2"], "claim_id": given["claim"]})
    return rows, np.array(given["y"], float), np.array(given["p"])


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_it_is_svyglm_where_all_are_labelled_with_the_errors_of_club_sandwich(case):
    rows, y, p = given_to_r(case)
    over = {"rows": "posts", "claims": "claims"}[case["over"]]
    options = {"labelled": np.ones(len(rows), bool), "chances": p, "family": case["family"], "over": over}
    found = regression(FORMULA, y, rows, **options)
    assert found.table["coefficient"].tolist() == pytest.approx(case["R"]["beta"], rel=1e-6, abs=1e-9)
    if over == "claims":
        # the linear ones to the last digits; the logistic ones as far as both iterations go
        close = 1e-8 if case["family"] == "linear" else 1e-6
        assert found.table["standard_error"].tolist() == pytest.approx(case["R"]["se"], rel=close)
        assert found.table["degrees"].tolist() == pytest.approx(case["R"]["df"], rel=close)
    outside = (found.table["low"] > 0) | (found.table["high"] < 0)
    assert (outside == (found.table["p"] < 0.05)).all()


@pytest.mark.parametrize(
    "case", [case for case in CASES if case["over"] == "rows"][::2], ids=itemgetter("set")
)
def test_errors_over_posts_by_whole_matrices(case):
    """Of a linear regression: Poisson's variance of the residuals, enlarged by what the fit took of them; its degrees."""
    rows, y, p = given_to_r(case)
    options = {"labelled": np.ones(len(y), bool), "chances": p, "family": "linear", "over": "posts"}
    found = regression(FORMULA, y, rows, **options).table
    x, w = np.column_stack([np.ones(len(y)), rows["x1"], rows["x2"]]), np.diag(1 / p)
    solved = np.linalg.inv(x.T @ w @ x) @ x.T @ w
    left = np.eye(len(y)) - x @ solved
    enlarged = (left @ y) / np.sqrt(np.diag(left @ left.T))
    pulls = solved * np.sqrt(1 - p) / np.sqrt(np.diag(left @ left.T))
    for at, row in enumerate(found.to_dict("records")):
        variance = np.sum((1 - p) * (solved[at] * enlarged) ** 2)
        assert row["standard_error"] == pytest.approx(variance**0.5, rel=1e-8)
        form = (left.T * pulls[at]).T @ (left.T * pulls[at])
        assert row["degrees"] == pytest.approx(np.trace(form) ** 2 / np.sum(form * form), rel=1e-6)


def test_posts_that_were_certain_to_be_labelled_have_no_error_and_the_others_must_be_seen():
    rows, truth, _, _, _ = pool(4, 400)
    everything = {"labelled": np.ones(400, bool), "chances": np.ones(400), "over": "posts"}
    for family in ("linear", "logistic"):
        for predicted in (None, np.full(400, 0.4)):
            found = regression(
                Formula("favor", ("platform",)), truth, rows, family=family, predicted=predicted, **everything
            )
            assert found.table["standard_error"].tolist() == [0.0, 0.0]
            assert (
                found.table["low"].tolist()
                == found.table["high"].tolist()
                == found.table["coefficient"].tolist()
            )
    half = np.arange(200)
    certain = Sampled(
        half, made_design(np.ones(200)), expected_of(np.repeat([1, 0.1], 200), np.full(400, 1 / 400))
    )
    some = {"labelled": np.arange(400) < 200, "chances": np.ones(400), "over": "posts", "sampled": certain}
    found = regression(Formula("favor", ("platform",)), truth, rows, **some)
    assert found.why == "only posts that were certain to be sampled are labelled"
    large = np.where(np.arange(400) == 399, 300.0, 1.0)
    missed = certain._replace(
        design=made_design(np.full(200, 0.5)), expected=expected_of(np.full(400, 0.5), large / 699)
    )
    found = regression(
        Formula("favor", ("platform",)),
        truth,
        rows,
        **some | {"chances": np.full(400, 0.5), "sampled": missed},
    )
    assert "may have missed 43% of the posts, in large groups of near-duplicates" in found.sentence


def test_a_value_that_a_single_claim_has_shows_no_error():
    rows, truth, labelled, chances, _ = pool(5)
    options = {"labelled": labelled, "chances": chances, "family": "linear"}
    lone = rows.assign(lone=(rows["claim_id"] == "7").astype(float))
    found = regression(Formula("favor", ("platform", "lone")), truth, lone, **options)
    by_term = found.table.set_index("term")
    assert by_term.loc["lone", "why"] == "a single claim has what distinguishes it, and shows no error"
    assert math.isnan(by_term.loc["lone", "low"])
    assert by_term.loc["platform: x" if "platform: x" in by_term.index else "platform: bsky", "why"] == ""
    assert "No standard error and interval of lone: a single claim" in found.sentence
    within = regression(Formula("favor", ("platform", "claim_id")), truth, rows, **options).table
    assert (within["why"] == "").tolist() == [False, True, *[False] * 39], (
        "claims cannot be compared over claims"
    )


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
