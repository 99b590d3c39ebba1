"""Shares of single claims with the help of predictions that are good, useless or wrong: whether intervals cover the truth.

    .venv/bin/python benchmarks/assisted_claims.py [DRAWS] [PER_CLAIM]

Ten claims; posts and predictions are drawn anew each time. `all` and `worst` are coverages of figures that are not flagged: the mean, and that of
the worst label of a part. With few draws `worst` is mostly chance: compare it with that of `plain`, the same study without predictions.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

from covmis_build import tables
from covmis_build.estimation.shares import estimates
from covmis_build.options import Labels, Sampling
from covmis_build.sampling.draw import sample

VALUES = ["favor", "against", "neither"]
RIGHT = {"good": 0.93, "useless": 1 / 3, "wrong": 0.2}
"""How often a prediction is right; else it is another label by chance, or always the same other one if it is wrong."""
SORTS = (("good",), ("good", "good", "wrong"), ("good", "useless", "wrong"))


def made(rng: np.random.Generator, sorts: tuple[str, ...]) -> pd.DataFrame:
    """Posts of ten claims with labels and predictions; every claim has predictions of one sort."""
    rows = []
    for at in range(10):
        shares, sort = rng.dirichlet((1.2, 1.2, 0.8)), sorts[at % len(sorts)]
        for post in range(150 + 60 * at):
            label = int(rng.choice(3, p=shares))
            other = 1 if sort == "wrong" else int(rng.integers(1, 3))
            guess = label if rng.random() < RIGHT[sort] else (label + other) % 3
            kind = "title" if rng.random() < 0.15 else "keywords"
            size = 1 + rng.geometric(0.6)
            rows.append(
                (f"c{at}|x:{at}-{post}", f"c{at}", f"x:{at}-{post}", kind, VALUES[label], VALUES[guess], size)
            )
    columns = ["item_id", "claim_id", "post_id", "kind", "label", "guess", "group_size"]
    posts = pd.DataFrame(rows, columns=columns)
    return posts.assign(kinds=[[kind] for kind in posts["kind"]], p_claim=1.0)


def shares_of(posts: pd.DataFrame, per_claim: int, seed: int, predicted: pd.DataFrame | None) -> pd.DataFrame:
    """The shares of a draw, with the truth of each."""
    options, labels = Sampling(per_claim=per_claim, per_kind=6), Labels(automatic={})
    drawn = sample(posts, tables.empty("sample"), options, labels, seed=seed).sample
    known = posts[["item_id", "label", "group_size", "p_claim"]]
    corpus = drawn.merge(known, on="item_id").assign(how="agreed")
    shares = estimates(corpus, VALUES, options, automatic={}, pool=posts, predicted=predicted).shares
    shares = shares[shares["scope"].isin(["pool", "claim", "kind"])].reset_index(drop=True)
    truth = []
    for row in shares.itertuples():
        here = (
            posts
            if row.scope == "pool"
            else posts[posts["claim_id" if row.scope == "claim" else "kind"] == row.name]
        )
        weights = None if row.estimand == "unique_posts" else here["group_size"]
        truth.append(float(np.average(here["label"] == row.label, weights=weights)))
    return shares.assign(truth=truth)


def measured(sorts: tuple[str, ...], draws: int, per_claim: int) -> None:
    parts = []
    for seed in range(draws):
        posts = made(np.random.default_rng([3, seed]), sorts)
        guesses = posts.set_index("item_id")["guess"]
        predicted = pd.DataFrame({label: (guesses == label).astype(float) for label in VALUES})
        for way, given in (("assisted", predicted), ("plain", None)):
            parts.append(shares_of(posts, per_claim, seed, given).assign(way=way))
    every = pd.concat(parts, ignore_index=True)
    every["held"] = (every["low"] - 1e-9 <= every["truth"]) & (every["truth"] <= every["high"] + 1e-9)
    every = every[every["low"].notna() & ~every["flagged"].astype(bool)]
    for (way, scope), rows in every.groupby(["way", "scope"]):
        single = rows.groupby(["name", "label", "estimand"])["held"].agg(["mean", "size"])
        worst = single.loc[single["size"] > draws / 3, "mean"].min()
        width = (rows["high"] - rows["low"]).mean()
        print(
            f"| {', '.join(sorts)} | {way} | {scope} | {rows['held'].mean():.3f} | {worst:.3f} | {width:.3f} |",
            flush=True,
        )


def main() -> None:
    numbers = [int(text) for text in sys.argv[1:]]
    draws, per_claim = (*numbers, *(60, 30)[len(numbers) :])
    print("| predictions | way | part | all | worst | width |\n" + "|---" * 6 + "|")
    for sorts in SORTS:
        measured(sorts, draws, per_claim)


if __name__ == "__main__":
    main()
