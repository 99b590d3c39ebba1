"""Rankings compared: Kendall's coefficients, and the three meta-evaluations."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covmis_build.errors import InputError
from covmis_build.evaluation.meta import kendall, meta

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "kendall_vectors.json").read_text())
LABELS = ["favor", "neither", "against"]


@pytest.mark.parametrize("vector", VECTORS)
def test_kendall_exactly(vector) -> None:
    found = kendall(vector["x"], vector["y"])
    assert (found.concordant, found.discordant) == (vector["C"], vector["D"])
    assert (found.ties_x, found.ties_y) == (vector["ties_x"], vector["ties_y"])
    assert found.tau_a == float(Fraction(vector["tau_a"]))
    for name in ("tau_b", "tau_c"):
        wanted = math.nan if vector[name] is None else vector[name]
        assert getattr(found, name) == pytest.approx(wanted, abs=1e-15, nan_ok=True)


@given(st.permutations(range(8)), st.permutations(range(8)), st.permutations(range(8)))
def test_three_rankings_disagree_an_even_number_of_times(a, b, c) -> None:
    pairs = [kendall(x, y) for x, y in combinations((a, b, c), 2)]
    assert sum(one.discordant for one in pairs) % 2 == 0
    ab, ac, bc = (one.tau_b for one in pairs)
    assert ac >= ab + bc - 1 - 1e-12


def example(systems=6, items=240, seed=2):
    rng = np.random.default_rng(seed)
    gold = rng.choice(LABELS, items, p=[0.5, 0.35, 0.15])
    made = {
        f"s{at}": np.where(rng.random(items) < 0.2 + 0.12 * at, gold, rng.choice(LABELS, items))
        for at in range(systems)
    }
    return gold, made


def test_the_three_evaluations() -> None:
    gold, systems = example()
    names = ["accuracy", "macro_f1", "mae_macro", "cem_ord"]
    found = meta(gold, systems, labels=LABELS, measures=names, order=LABELS, trials=60, replicates=200)
    assert len(found.similarity) == 6
    assert (found.similarity["tau_b"] > 0.5).all()  # signs are turned for the error measure
    assert (found.similarity[["ties_a", "ties_b"]] >= 0).all(axis=None)
    assert found.consistency["measure"].tolist() == names
    assert found.consistency["mean_tau_b"].between(0.3, 1).all()
    assert (found.consistency["standard_error"] > 0).all()
    assert len(found.tests) == 6
    assert found.tests["p"].between(0, 1).all()
    assert len(found.distinguishing) == 12
    assert set(found.distinguishing["merged"]) == {"favor + neither", "favor + against", "neither + against"}
    again = meta(gold, systems, labels=LABELS, measures=names, order=LABELS, trials=60, replicates=200)
    assert found.to_dict() == again.to_dict()


def test_a_measure_blind_to_two_classes_does_not_tell_them_apart() -> None:
    """Systems that differ only in confusing neither with against: merged, they all tie."""
    rng = np.random.default_rng(0)
    gold = rng.choice(LABELS, 300)
    systems = {}
    for at in range(5):
        said = gold.copy()
        swapped = (rng.random(300) < 0.1 * (at + 1)) & (gold != "favor")
        said[swapped] = np.where(gold[swapped] == "neither", "against", "neither")
        systems[f"s{at}"] = said
    table = meta(gold, systems, labels=LABELS, measures=["accuracy"], trials=5, replicates=10).distinguishing
    by = table.set_index("merged")
    assert np.isnan(by.loc["neither + against", "tau_b"])
    assert by.loc["neither + against", "ties"] == 10
    assert by.loc["favor + neither", "tau_b"] == pytest.approx(1)


@given(st.integers(0, 100))
@settings(max_examples=5)
def test_halves_are_the_same_for_all_measures(seed) -> None:
    gold, systems = example(seed=seed)
    alone = meta(gold, systems, labels=LABELS, measures=["accuracy"], trials=10, replicates=5, seed=seed)
    beside = meta(
        gold, systems, labels=LABELS, measures=["gmr", "accuracy"], trials=10, replicates=5, seed=seed
    )
    assert alone.consistency.iloc[0].to_dict() == beside.consistency.iloc[1].to_dict()


def test_errors() -> None:
    gold, systems = example(2)
    with pytest.raises(InputError, match="2 systems"):
        meta(gold, systems, labels=LABELS)
    with pytest.raises(InputError, match="several runs"):
        meta(gold, {**systems, "r": list(systems.values())}, labels=LABELS)
    with pytest.raises(InputError, match="same length"):
        kendall([1, 2], [1])
