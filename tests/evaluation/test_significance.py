"""The tests against full enumeration, to the last arrangement."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from covmis_build.evaluation import compare
from covmis_build.evaluation.significance import tukey_p_of_values

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "significance_vectors.json").read_text())
LABELS = ["x", "y", "z"]


def words(codes):
    return [LABELS[one] for one in codes]


@pytest.mark.parametrize("measure", VECTORS["paired_randomisation"]["results"])
def test_randomisation_exactly(measure) -> None:
    case = VECTORS["paired_randomisation"]
    systems = {name: words(case[name]) for name in "AB"}
    found = compare(
        words(case["gold"]), systems, measure=measure, labels=LABELS, test="randomisation", exact=True
    )
    wanted = case["results"][measure]
    assert found.loc[0, "difference"] == pytest.approx(float(Fraction(wanted["delta"])), abs=1e-12)
    assert found.loc[0, "p"] == wanted["p"]
    drawn = compare(
        words(case["gold"]), systems, measure=measure, labels=LABELS, test="randomisation", replicates=4000
    )
    assert drawn.loc[0, "p"] == pytest.approx(wanted["p"], abs=0.03)


def test_tukey_of_values_exactly() -> None:
    case = VECTORS["rthsd_per_item"]
    values = np.array([[float(Fraction(one)) for one in case[name]] for name in "abc"]).T
    table = tukey_p_of_values(values, replicates=1, seed=0, exact=True)
    drawn = tukey_p_of_values(values, replicates=4000, seed=0)
    for pair, wanted in case["p"].items():
        a, b = map(int, pair.split(","))
        assert table[a, b] == table[b, a] == float(Fraction(wanted))
        assert drawn[a, b] == pytest.approx(table[a, b], abs=0.03)


@pytest.mark.parametrize("measure", VECTORS["rthsd_corpus"]["results"])
def test_tukey_exactly(measure) -> None:
    case = VECTORS["rthsd_corpus"]
    systems = {str(at): words(one) for at, one in enumerate(case["systems"])}
    found = compare(words(case["gold"]), systems, measure=measure, labels=LABELS, test="tukey", exact=True)
    for row in found.to_dict("records"):
        wanted = case["results"][measure][f"{row['system_a']},{row['system_b']}"]
        assert abs(row["difference"]) == pytest.approx(float(Fraction(wanted["delta"])), abs=1e-12)
        assert row["p"] == row["p_adjusted"] == float(Fraction(wanted["p"]))


def test_bootstrap_exactly() -> None:
    case = VECTORS["bootstrap_exact"]
    systems = {name: words(case[name]) for name in "AB"}
    found = compare(words(case["gold"]), systems, measure="accuracy", labels=LABELS, exact=True)
    assert found.loc[0, "replicates"] == sum(case["dist"].values())
    assert found.loc[0, "difference"] * 4 == case["delta_sum"]
    assert found.loc[0, "p"] == case["p_shifted_two_sided"]


def test_bootstrap_draws_approach_the_enumeration() -> None:
    case = VECTORS["bootstrap_exact"]
    systems = {name: words(case[name]) for name in "AB"}
    found = compare(words(case["gold"]), systems, measure="accuracy", labels=LABELS, replicates=8000)
    assert found.loc[0, "p"] == pytest.approx(0.125, abs=0.02)
