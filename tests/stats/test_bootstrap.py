"""Resampling: shared draws, the same numbers in every shape, intervals."""

from __future__ import annotations

import numpy as np
import pytest

from covmis_build.stats.bootstrap import (
    at_least,
    bca_interval,
    cluster_cells,
    draws,
    p_value,
    percentile_interval,
    replicate_cells,
)


def test_every_replicate_draws_as_many_as_there_are() -> None:
    blocks = np.concatenate(list(draws(50, 130, seed=1)))
    assert blocks.shape == (130, 50)
    assert (blocks.sum(axis=1) == 50).all()
    assert blocks.mean() == 1
    assert blocks.var() == pytest.approx(1 - 1 / 50, rel=0.05)


def test_more_replicates_keep_the_first_ones() -> None:
    few, many = (np.concatenate(list(draws(30, number, seed=1))) for number in (70, 200))
    np.testing.assert_array_equal(few, many[:70])
    other = np.concatenate(list(draws(30, 70, seed=2)))
    assert (few != other).any()


def test_systems_share_their_draws() -> None:
    cells = np.random.default_rng(0).integers(0, 9, (100, 1))
    both = replicate_cells(np.hstack([cells, cells]), 9, 40, seed=3)
    np.testing.assert_array_equal(both[:, 0], both[:, 1])
    assert (both.sum(axis=2) == 100).all()


def test_equal_items_are_one_pattern_with_the_same_law() -> None:
    """1,000 items of 4 patterns: the replicates' means and variances are the multinomial's."""
    cells = np.repeat([[0, 1], [0, 0], [2, 3], [3, 3]], [400, 300, 200, 100], axis=0)
    made = replicate_cells(cells, 4, 4000, seed=4)
    np.testing.assert_allclose(made[:, 0].mean(axis=0), [700, 0, 200, 100], atol=1.5)
    np.testing.assert_allclose(made[:, 1].mean(axis=0), [300, 400, 0, 300], atol=1.5)
    assert made[:, 0, 0].var() == pytest.approx(1000 * 0.7 * 0.3, rel=0.08)
    covariance = np.cov(made[:, 0, 3], made[:, 1, 3])[0, 1]
    assert covariance == pytest.approx(1000 * (0.1 - 0.1 * 0.3), rel=0.15)


def test_many_items_in_slices_give_what_one_slice_gives(monkeypatch) -> None:
    cells = np.random.default_rng(1).integers(0, 9, (500, 3))
    whole = replicate_cells(cells, 9, 10, seed=5)
    monkeypatch.setattr("covmis_build.stats.bootstrap.ITEMS", 64)
    np.testing.assert_array_equal(whole, replicate_cells(cells, 9, 10, seed=5))


def test_clusters_are_drawn_whole() -> None:
    cells = np.array([[0], [0], [0], [1], [2], [2]])
    clusters = np.array([0, 0, 0, 1, 2, 2])
    np.testing.assert_array_equal(cluster_cells(cells, 3, clusters), [[3, 0, 0], [0, 1, 0], [0, 0, 2]])
    made = replicate_cells(cells, 3, 200, seed=6, clusters=clusters)[:, 0]
    assert (made[:, 0] % 3 == 0).all()
    assert (made[:, 2] % 2 == 0).all()
    assert (made @ [1 / 3, 1, 1 / 2] == 3).all()


def test_percentile_interval_leaves_out_what_is_undefined() -> None:
    values = np.array([[np.nan, 1.0], [np.nan, 2.0], [np.nan, np.nan], [np.nan, 3.0]])
    low, high = percentile_interval(values, 0.5)
    assert np.isnan(low[0])
    assert (low[1], high[1]) == (1.5, 2.5)


def test_bca_corrects_towards_the_known_interval() -> None:
    """The mean of a skewed sample: BCa's interval leans to the right of the percentile one."""
    rng = np.random.default_rng(2)
    sample = rng.exponential(size=30)
    weights = np.concatenate(list(draws(30, 4000, seed=7)))
    replicates = weights @ sample / 30
    jackknife = (sample.sum() - sample) / 29
    low, high = bca_interval(replicates, float(sample.mean()), jackknife)
    plain_low, plain_high = percentile_interval(replicates)
    assert low > plain_low
    assert high > plain_high
    assert bca_interval(np.full(10, 0.5), 0.5, np.full(5, 0.5)) == (0.5, 0.5)


def test_ties_count_as_extreme() -> None:
    assert at_least(np.array([0.1 + 0.2, 0.29, np.nan]), 0.3).tolist() == [True, False, True]
    assert p_value(0, 99) == 0.01
    assert p_value(3, 12, exact=True) == 0.25
