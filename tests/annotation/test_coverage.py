"""The interval over claims contains the truth as often as it says."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from covmis_build.stats.agreement import headline

PATH = Path(__file__).parents[2] / "benchmarks" / "agreement_coverage.py"


@pytest.fixture(scope="module")
def simulation():
    spec = importlib.util.spec_from_file_location("agreement_coverage", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["agreement_coverage"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["agreement_coverage"]


@pytest.mark.parametrize("people", [2, 3])
def test_a_few_studies(simulation, people):
    """Over claims the truth is inside, and over items, which takes posts of a claim for independent, less often."""
    found = simulation.coverage(40, 12, people=people, error=0.17, missing=0.1)
    assert all(over_claims > 0.85 for over_claims, _, _ in found.values())
    assert all(over_claims >= over_items for over_claims, _, over_items in found.values())


def test_full_agreement_of_few_claims_is_not_certain():
    codes = np.array([[0, 0], [1, 1], [2, 2]] * 8)
    kappa = headline(codes, 3, [str(at % 4) for at in range(24)])
    assert (kappa.low_by_claims < 0.7, kappa.high_by_claims) == (True, 1.0)
    assert 0.5 < kappa.low < 1


@pytest.mark.long
@pytest.mark.parametrize("claims", [3, 5, 12, 30, 111])
def test_coverage(simulation, claims):
    """95 of 100 whatever the number of claims, less three errors of a simulation of 500 studies."""
    found = simulation.coverage(500, claims, people=2, error=0.17)
    assert min(held for held, _, _ in found.values()) >= 0.92
