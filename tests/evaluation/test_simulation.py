"""Type-I error and power: small here, full size with `make test-long` (figures in benchmarks/RESULTS.md)."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "significance_simulation.py"


@pytest.fixture(scope="module")
def simulation():
    spec = importlib.util.spec_from_file_location("significance_simulation", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("test", ["inverted", "randomisation"])
def test_equal_systems_are_seldom_called_different(simulation, test) -> None:
    """120 data sets: more than 13 errors have a chance below 1% where the error is 5%."""
    run = getattr(simulation, test)
    error = simulation.rate(run, "macro_f1", (0.6, 0.6), 120, 99, 300)
    assert error <= 13 / 120
    assert simulation.rate(run, "macro_f1", (0.85, 0.6), 20, 99, 300) >= 0.9


def test_whole_claims_must_be_resampled(simulation) -> None:
    """Where claims differ, resampling items calls equal systems different far too often; claims do not."""
    value = simulation.value_of("accuracy")
    wrong = {0: 0, 12: 0}
    for seed in range(60):
        rng = simulation.np.random.default_rng(seed)
        cells = simulation.cells_of(rng, 1200, (0.6, 0.6), claims=12)
        for claims in wrong:
            wrong[claims] += simulation.inverted(cells, value, 99, seed, claims) <= 0.05
    assert wrong[12] <= 10
    assert wrong[0] >= 20


def test_tukey_controls_the_error_over_all_pairs(simulation) -> None:
    assert simulation.rate(simulation.tukey, "macro_f1", (0.6,) * 4, 40, 59, 150) <= 0.15


@pytest.mark.long
@pytest.mark.timeout(3000)
def test_error_and_power_at_full_size(simulation) -> None:
    for name, measure, unit, _, _, error, power in simulation.table(2000, 999):
        assert error <= 0.06, (name, measure, unit)
        assert power >= 0.5, (name, measure, unit)
        if measure == "macro_f1":  # accuracy moves in steps: its ties make the tests cautious
            assert error >= 0.04, (name, measure, unit)


def test_steps_alone_make_the_test_of_accuracy_cautious(simulation) -> None:
    """By formula: never above 5%, above 4% from 420 items on, and with mid-p close to 5%."""
    small, large = simulation.exact_errors(100), simulation.exact_errors(2104)
    assert small[0] < 0.04 < large[0] < 0.05
    assert simulation.exact_errors(420)[0] > 0.04
    assert abs(large[1] - 0.05) < 0.0005
    few = simulation.exact_errors(2, right=0.5)
    assert few[0] == 0, "two items can never differ at 5%"
