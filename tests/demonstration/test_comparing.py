"""Differences and regressions of a whole study, by the commands and from Python."""

from __future__ import annotations

import json

import pytest

from covmis_build import open_study
from tests.program import covmis


def estimated(study, *words):
    code, out, err = covmis("estimate", *words, "--json", "--study", study)
    assert code == 0, err
    return json.loads(out)


@pytest.mark.parametrize("words", [("--between", "kind:keywords", "kind:title"), ("--before", "2020-04-15"), ("--between", "label:favor", "label:against")])  # fmt: skip
def test_a_difference_and_its_p_agree(built, words):
    differences = estimated(built / "study", *words)["differences"]
    assert differences
    for row in differences:
        if row["low"] is not None:
            assert row["low"] <= row["difference"] <= row["high"]
            assert (row["p"] < 0.05) == (row["low"] > 0 or row["high"] < 0)


def test_a_regression_says_what_the_shares_say(built):
    study = open_study(built / "study")
    fitted = study.regress("favor ~ kind", family="linear", over="posts")
    told = estimated(built / "study", "--model", "favor ~ kind", "--family", "linear", "--over", "posts")
    assert [row["term"] for row in told["coefficients"]] == list(fitted.to_frame()["term"])
    shares = study.estimate(by="kind").shares
    own = shares[(shares["scope"] == "kind") & (shares["estimand"] == "unique_posts") & (shares["label"] == "favor")].set_index("name")["share"]  # fmt: skip
    coefficients = fitted.to_frame().set_index("term")["coefficient"]
    assert coefficients["(constant)"] == pytest.approx(own["keywords"], abs=1e-9)
    assert coefficients["(constant)"] + coefficients["kind: title"] == pytest.approx(own["title"], abs=1e-9)
