"""R's survey package itself: our totals, means, domains, ratios and totals with known sizes of random designs, and replicates."""

from __future__ import annotations

import numpy as np
import pytest

from tests.estimation.with_r import a_sample, estimates_of_r, ours, replicates, write_replicates, write_sample

EACH = 20


@pytest.mark.needs("r")
def test_random_designs(tmp_path):
    """Twenty Poisson and twenty two-phase samples, whole: nine figures or so each, to the last digits."""
    samples = {}
    for design in ("poisson", "two_phase"):
        for number in range(EACH):
            chance = np.random.default_rng([number, len(design)])
            rows, joint = a_sample(chance, design)
            samples[f"{design}-{number}"] = (rows, design, joint)
            write_sample(tmp_path, f"{design}-{number}", rows, joint)
    theirs, checked = estimates_of_r(tmp_path), 0
    for name, sample in samples.items():
        for figure, value, error in ours(*sample):
            want = theirs.pop((name, figure))
            assert value == pytest.approx(want[0], rel=1e-9, abs=1e-9), (name, figure)
            # a variance of zero comes out as rounding noise, whose root is seven digits longer
            assert error == pytest.approx(want[1], rel=1e-8, abs=1e-6 * max(1.0, abs(value))), (name, figure)
            checked += 1
    assert not theirs, "R says nothing that we do not"
    assert checked > 300


@pytest.mark.needs("r")
def test_replicate_weights(tmp_path):
    """Whoever reads our replicate weights into R gets the standard errors that we get."""
    rows, _ = a_sample(np.random.default_rng(3), "poisson")
    for name, bootstrap in (("jackknife", 0), ("bootstrap", 60)):
        write_replicates(tmp_path, name, rows, bootstrap)
    theirs = estimates_of_r(tmp_path)
    for name, bootstrap in (("jackknife", 0), ("bootstrap", 60)):
        for figure, value, error in replicates(rows, bootstrap):
            assert (value, error) == pytest.approx(theirs.pop((name, figure)), rel=1e-9), (name, figure)
    assert not theirs
