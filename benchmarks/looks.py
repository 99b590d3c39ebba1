"""Draws that were opened after a look at labels: how far shares are off if labels decided which claims got more posts.

    .venv/bin/python benchmarks/looks.py [DRAWS]

Twelve claims of 100 posts, of each about 6 labelled; then about 24 of the claims that a rule names. `bias` in points.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from covmis_build.estimation.shares import estimates
from covmis_build.options import Sampling

if TYPE_CHECKING:
    from collections.abc import Callable

VALUES = ["favor", "against", "neither"]
RULES: dict[str, Callable[[pd.DataFrame], bool]] = {
    "where none was in favor": lambda labelled: not (labelled["label"] == "favor").any(),
    "where one was in favor": lambda labelled: bool((labelled["label"] == "favor").any()),
    "half of the claims, by a plan": lambda labelled: int(labelled.name) % 2 == 0,
    "all claims": lambda _: True,
}


def figures(rule: Callable[[pd.DataFrame], bool], draws: int) -> tuple[float, float, float]:
    """The true share of favor, its mean estimate, and the coverage of its interval."""
    rng = np.random.default_rng(3)
    pool = pd.DataFrame({"claim_id": np.repeat(np.arange(12), 100).astype(str)})
    pool["item_id"] = [f"{claim}|x:{at}" for at, claim in enumerate(pool["claim_id"])]
    pool = pool.assign(
        post_id=pool["item_id"].str.partition("|")[2], kind="keywords", group_size=1, p_claim=1.0, how="agreed",
        label=rng.choice(VALUES, len(pool), p=[0.15, 0.6, 0.25]), created_at="2020-04-10T00:00:00Z",
    )  # fmt: skip
    truth, shares, covered = float((pool["label"] == "favor").mean()), [], []
    for _ in range(draws):
        number = rng.random(len(pool))
        first = pool[number < 0.06]
        more = [claim for claim in pool["claim_id"].unique() if rule(_of(first, claim))]
        p = np.where(pool["claim_id"].isin(more), 0.24, 0.06)
        labelled = pool.assign(p_sample=p)[number < p].reset_index(drop=True)
        found = estimates(labelled, VALUES, Sampling(), pool=pool, by=()).shares
        row = found[
            (found["scope"] == "pool") & (found["estimand"] == "unique_posts") & (found["label"] == "favor")
        ].iloc[0]
        shares.append(row["share"])
        if row["low"] == row["low"]:
            covered.append(row["low"] <= truth <= row["high"])
    return truth, float(np.mean(shares)), float(np.mean(covered))


def _of(labelled: pd.DataFrame, claim: str) -> pd.DataFrame:
    rows = labelled[labelled["claim_id"] == claim]
    rows.name = claim
    return rows


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    for name, rule in RULES.items():
        truth, share, covered = figures(rule, asked)
        print(f"{name}: true {truth:.3f}, mean {share:.3f}, coverage {covered:.3f}", flush=True)
