"""The published corpus' counts against what the design leads one to expect; aggregates only."""

import pandas as pd
import pytest

from covmis_build.sampling.draw import expectation
from covmis_build.sampling.inclusion import allocate


@pytest.fixture(scope="module")
def counts(data_home):
    return pd.read_csv(data_home / "covmis" / "derived_counts_per_item.csv")


def test_the_published_sizes_are_those_of_a_poisson_draw_of_24(counts):
    """Pool sizes were not released; whatever they were, a claim's size varies by at most 24."""
    sizes = counts["total"]
    assert (len(sizes), sizes.sum(), sizes.min(), sizes.max()) == (111, 2631, 13, 39)
    huge = dict.fromkeys(["title", "news_url", "fact_check_url", "keywords"], 10**9)
    drawn = allocate(huge)
    most = sum(row["variance"] for row in expectation(drawn, "poisson").values())
    assert most == pytest.approx(24, rel=1e-6)
    expected = drawn.size * len(sizes)
    assert expected == 2664
    assert abs(sizes.sum() - expected) < 2 * (most * len(sizes)) ** 0.5
    assert sizes.std() == pytest.approx(4.23, abs=0.005)
    assert sizes.var() < most


def test_the_guide_says_these_numbers(counts):
    from pathlib import Path

    guide = (Path(__file__).parents[2] / "docs" / "guides" / "sampling.md").read_text()
    totals = counts[["title", "news_url", "fact_check_url", "keywords"]].sum()
    for kind, total in totals.items():
        assert f"{total:,}" in guide, kind
    deviation = (2631 - 2664) / 2664**0.5
    assert f"{-deviation:.2f}" in guide
