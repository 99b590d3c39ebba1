"""Drawn posts without a label: the lowest and highest shares are those of the estimator, whatever these posts are."""

import re

import numpy as np
import pandas as pd
import pytest

from covmis_build.estimation.shares import WEIGHTS, estimates
from covmis_build.estimation.unlabelled import with_bounds
from covmis_build.options import Sampling

VALUES = ["favor", "against", "neither"]


def study(seed, claims=5):
    """A pool, and a sample of it, of which a part has no label: in one claim most, in the last all."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(claims), rng.integers(30, 90, claims))
    many = len(owner)
    pool = pd.DataFrame(
        {
            "item_id": [f"{claim}|x:{at}" for at, claim in enumerate(owner)], "claim_id": owner.astype(str),
            "post_id": [f"x:{at}" for at in range(many)], "kind": rng.choice(["keywords", "title"], many), "how": "agreed", "p_claim": 1.0,
            "p_sample": np.linspace(0.3, 0.8, claims)[owner], "group_size": rng.geometric(0.6, many),
            "created_at": rng.choice(["2020-04-10T00:00:00Z", "2020-05-10T00:00:00Z"], many),
            "label": np.where(rng.random(many) < 0.2 + 0.1 * owner, "favor", rng.choice(VALUES[1:], many)),
        }
    )  # fmt: skip
    drawn = pool[rng.random(many) < pool["p_sample"]]
    without = rng.random(len(drawn)) < np.linspace(0.02, 0.5, claims)[drawn["claim_id"].astype(int)]
    return pool, drawn[~without].reset_index(drop=True), drawn[without].reset_index(drop=True)


def by_label(figures, scope, name=""):
    here = (figures.shares["scope"] == scope) & (figures.shares["name"] == name)
    return figures.shares[here].set_index(["estimand", "label"])


@pytest.mark.parametrize("seed", range(4))
def test_bounds_are_the_estimates_if_all_of_them_had_the_label_or_none(seed):
    pool, labelled, missing = study(seed)
    by = ("claim", "kind", "month", "platform")
    figures = with_bounds(
        estimates(labelled, VALUES, Sampling(), pool=pool, by=by), labelled, missing, Sampling(), pool
    )
    parts = [
        ("pool", ""),
        ("average claim", ""),
        ("claim", "3"),
        ("kind", "title"),
        ("month", "2020-05"),
        ("platform", "x"),
    ]
    for label in VALUES:
        others = [value for value in VALUES if value != label]
        for column, given in (("highest", label), ("lowest", others[seed % 2])):
            whole = pd.concat([labelled, missing.assign(label=given)], ignore_index=True)
            wanted = estimates(whole, VALUES, Sampling(), pool=pool, by=by)
            for part in parts:
                rows, brute = by_label(figures, *part), by_label(wanted, *part)
                for estimand in WEIGHTS:
                    bound = rows.loc[(estimand, label), column]
                    assert bound == pytest.approx(brute.loc[(estimand, label), "share"], abs=1e-9), part


def test_the_sentence_says_from_which_part_on_the_order_changes():
    pool, labelled, missing = study(1)
    figures = with_bounds(
        estimates(labelled, VALUES, Sampling(), pool=pool), labelled, missing, Sampling(), pool
    )
    said = figures.methods[-1]
    assert said.startswith(
        f"{len(missing)} of {len(missing) + len(labelled)} drawn posts have no label; they represent "
    )
    rows = by_label(figures, "pool").loc["unique_posts"]
    first, second = rows["share"].nlargest(2).index
    part = rows["unlabelled"].iloc[0]
    told = re.search(r"if more than (\d+)% of them were (\w+) and the others (\w+)", said)
    assert (told[2], told[3]) == (second, first)
    moved = int(told[1]) / 100
    apart = rows.loc[first, "lowest"] + (1 - moved) * part - (rows.loc[second, "lowest"] + moved * part)
    assert abs(apart) < 0.01 * part + 1e-9
    sure = with_bounds(
        estimates(labelled.assign(label="favor"), VALUES, Sampling(), pool=pool), labelled.assign(label="favor"),
        missing.head(3), Sampling(), pool,
    )  # fmt: skip
    assert "favor is the most frequent label in any case." in sure.methods[-1]
    assert "lowest" in figures.summary[0].columns
    without = estimates(labelled, VALUES, Sampling(), pool=pool)
    assert with_bounds(without, labelled, missing.head(0), Sampling(), pool) is without
    assert "lowest" not in without.summary[0].columns
