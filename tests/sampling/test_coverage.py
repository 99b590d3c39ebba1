"""The simulation of benchmarks/coverage.py in small; `make test-long` at full size."""

import importlib.util
import sys
from pathlib import Path

import pandas as pd
import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "coverage.py"


@pytest.fixture(scope="module")
def simulation():
    spec = importlib.util.spec_from_file_location("coverage_of_intervals", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("design", ["poisson", "two_phase"])
def test_draws_in_bulk_follow_the_designs_probabilities(simulation, design):
    """The script's vectorised draws: every kind as often as its probability, two-phase sizes exactly the target."""
    pool = simulation.make_pool()
    chance = simulation.np.random.default_rng(1)
    counts = simulation.np.zeros(len(pool.pi))
    for _ in range(100):
        rows = getattr(simulation, design)(pool, chance)
        counts[rows] += 1
        if design == "two_phase":
            sizes = simulation.np.bincount(pool.claim[rows])
            assert sizes.tolist() == [one.size for one in pool.allocations]
    sums = pd.DataFrame({"kind": pool.kind, "drawn": counts / 100, "p": pool.pi}).groupby("kind").sum()
    assert sums["drawn"].to_numpy() == pytest.approx(sums["p"].to_numpy(), rel=0.03)


@pytest.mark.parametrize("design", ["poisson", "two_phase"])
def test_a_few_draws_are_right_and_flag_what_is_thin(simulation, design):
    """Six draws from the harshest pool: its shares hang on a few items, and it is said."""
    found = simulation.simulate(6, design, simulation.make_pool(1.5)).set_index("what")
    shares = found[found.index.str.startswith("share")]
    assert shares["bias in MC errors"].abs().max() < 9  # six draws say little of their own spread
    assert shares["coverage"].mean() > 0.85
    assert shares["coverage"].mean() >= shares["logit coverage"].mean()
    assert found.loc["share favor", "flagged"] > 0.5
    even = simulation.simulate(2, design, simulation.make_pool()).set_index("what")
    assert not even["flagged"].any()


def test_a_band_over_time_holds_as_a_whole(simulation):
    """Twelve intervals of 95% are seldom all right; the band mostly is."""
    found = simulation.bands(40, simulation.make_pool())
    assert found["the band"] > 0.85
    assert found["all intervals at once"] < found["the band"]


def test_a_few_studies_over_claims(simulation):
    found = simulation.studies_of_claims(40, 12)
    assert all(found[f"{name} coverage"] > 0.8 for name in ("accuracy", "macro_f1", "difference", "kappa"))


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("spread", [0.5, 1.2, 1.5])
@pytest.mark.parametrize("design", ["poisson", "two_phase"])
def test_intervals_cover(simulation, design, spread):
    """Worst estimand at least .90, mean of each pool at least .95, or it is flagged."""
    found = simulation.simulate(800, design, simulation.make_pool(spread)).set_index("what")
    shares = found[found.index.str.startswith("share") & ~found.index.str.startswith("share of posts")]
    assert len(shares) == 15
    for figures in (shares, found):
        assert figures.loc[figures["flagged"] <= 0.5, "coverage"].min() >= 0.90
        assert figures["coverage"].mean() >= 0.95
    assert shares["width"].mean() <= 1.15 * shares["logit width"].mean()
