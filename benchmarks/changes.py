"""A study changes after its round: the truth of shares of today's posts, and what the known sizes of claims gain.

    .venv/bin/python benchmarks/changes.py [DRAWS] [CHANGE]        300 draws of each change and design

Posts of twelve claims have known labels; claims differ in them. A study draws a round, changes, and perhaps draws again: the
queries of two claims lose most posts of one label, or get new ones; claims are taken out and come back; one becomes two. A
fifth of the posts of four claims is also found for a further one of them, and stays with one by chance. Every draw has posts
of its own: in a single population coverage is up to three points from the mean. `bias` is the largest mean error of a share
of the pool, in points; `pool`, `all` and `worst` are the coverage of 95% intervals of the pool's shares, of claims and of query
types; `width` is that of the pool's shares, beside it that of estimates that do not know the sizes.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pandas as pd

from covmis_build import tables
from covmis_build.estimation.shares import estimates
from covmis_build.options import Labels, Sampling
from covmis_build.sampling.draw import sample
from covmis_build.sampling.ledger import last_draws, opened, over_draws

VALUES = ["favor", "against", "neither"]
SIZES = (60, 70, 80, 90, 100, 120, 150, 200, 250, 300, 400, 800)
CHANGES = (
    "nothing",
    "narrow",
    "narrow, a further round",
    "widen",
    "widen, a further round",
    "take out",
    "take out, put back",
    "split, a further round",
)


def made(rng: np.random.Generator) -> pd.DataFrame:
    """Every post that a query finds at some time; `late` ones only after a change, `lost` ones only before."""
    rows = []
    for at, size in enumerate(SIZES):
        shares = rng.dirichlet((1.5, 1.5, 1.0))
        for post in range(size):
            kind = "title" if rng.random() < 0.15 else "keywords"
            leaning = shares * ((2, 1, 1) if kind == "title" else (1, 1, 1))
            label = VALUES[rng.choice(3, p=leaning / leaning.sum())]
            changed = at in {1, 9}
            rows.append((
                f"c{at:02}|x:{post}", f"c{at:02}", f"x:{post}", kind, label, 1 + rng.geometric(0.6),
                changed and rng.random() < (0.8 if label == "favor" else 0.2), at in {2, 8} and rng.random() < 0.4,
            ))  # fmt: skip
    columns = ["item_id", "claim_id", "post_id", "kind", "label", "group_size", "lost", "late"]
    posts = pd.DataFrame(rows, columns=columns)
    posts = posts.assign(
        kinds=[[kind] for kind in posts["kind"]], p_claim=1.0, other_claims="", group=posts["item_id"]
    )
    for one, further in (("c04", "c05"), ("c06", "c07")):
        both = (posts["claim_id"] == one) & (rng.random(len(posts)) < 0.2)
        copy = posts[both].assign(
            claim_id=further, item_id=further + posts["item_id"].str[3:] + "-of-both", p_claim=0.5,
            label=rng.choice(VALUES, both.sum()),
        )  # fmt: skip
        posts.loc[both, "p_claim"] = 0.5
        posts = pd.concat([posts, copy], ignore_index=True)
    return posts


def one_claim_each(posts: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Keep a post that is found for two claims with one of them, by chance."""
    order = np.random.default_rng([seed, 1]).permutation(len(posts))
    return posts.iloc[order].drop_duplicates("group").sort_index().reset_index(drop=True)


def split(posts: pd.DataFrame) -> pd.DataFrame:
    """The largest claim becomes two, by what its posts say of it."""
    half = posts["claim_id"].where(
        posts["claim_id"] != "c11", np.where(posts["label"] == "favor", "c11a", "c11b")
    )
    return posts.assign(claim_id=half, item_id=half + "|" + posts["item_id"].str.split("|").str[1])


def states(posts: pd.DataFrame, change: str) -> list[tuple[pd.DataFrame, bool]]:
    """What the queries find, one state after the other, and whether a round draws from it."""
    early = posts[~posts["late"]]
    without = early[~early["claim_id"].isin(["c03", "c11"])]
    return {
        "nothing": [(early, True)],
        "narrow": [(early, True), (early[~early["lost"]], False)],
        "narrow, a further round": [(early, True), (early[~early["lost"]], True)],
        "widen": [(early, True), (posts, False)],
        "widen, a further round": [(early, True), (posts, True)],
        "take out": [(early, True), (without, False)],
        "split, a further round": [(early, True), (split(early), True)],
        "take out, put back": [(early, True), (without, True), (early, False)],
    }[change]


def study(
    posts: pd.DataFrame, change: str, design: str, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The figures at the end, those that know no sizes, and the posts that they are of."""
    frozen, ledger, reached = tables.empty("sample").assign(round=""), tables.empty("draws"), set()
    every = states(posts, change)[-1][0]
    for number, (found, draws) in enumerate(states(one_claim_each(posts, seed), change), 1):
        if draws:
            options = Sampling(per_claim=16 + 8 * number, design=design)
            drawn = sample(
                found,
                frozen,
                options,
                Labels(automatic={}),
                seed=seed,
                opened=last_draws(ledger) if len(ledger) else {},
            )
            ledger = opened(ledger, drawn.draws, sorted(found["claim_id"].unique()), f"{number:03}")
            new = drawn.sample[~drawn.sample["item_id"].isin(frozen["item_id"])].assign(round=f"{number:03}")
            frozen = (
                pd.concat([frozen, new], ignore_index=True) if len(frozen) else new.reset_index(drop=True)
            )
            reached |= set(found["item_id"])
    today = found[found["item_id"].isin(reached)].reset_index(drop=True)
    chances = over_draws(frozen, ledger)
    corpus = frozen[frozen["item_id"].isin(set(today["item_id"]))]
    corpus = corpus.assign(p_sample=corpus["item_id"].map(chances), how="agreed").merge(
        today[["item_id", "group_size", "p_claim", "label"]], on="item_id"
    )
    options = Sampling(per_claim=24, design=design)
    known = estimates(corpus, VALUES, options, pool=today, draws=ledger).shares
    return known, estimates(corpus, VALUES, options).shares, every[every["late"].isin(set(today["late"]))]


def truth_of(today: pd.DataFrame, rows: pd.DataFrame) -> list[float]:
    truths = []
    for row in rows.itertuples():
        here = today
        if row.scope in {"claim", "kind"}:
            here = today[today["claim_id" if row.scope == "claim" else "kind"] == row.name]
        weights = here["group_size"] if row.estimand == "posts" else None
        truths.append(float(np.average(here["label"] == row.label, weights=weights)))
    return truths


def measured(change: str, design: str, draws: int) -> str:
    began = time.process_time()
    parts = []
    for seed in range(draws):
        posts = made(np.random.default_rng([7, seed]))
        known, plain, today = study(posts, change, design, seed)
        rows = known[known["scope"] != "average claim"].reset_index(drop=True)
        rows = rows.merge(
            plain[["estimand", "scope", "name", "label", "low", "high"]], on=["estimand", "scope", "name", "label"],
            suffixes=("", "_plain"),
        )  # fmt: skip
        parts.append(rows.assign(truth=truth_of(today, rows)))
    every = pd.concat(parts, ignore_index=True)
    every["held"] = (every["low"] - 1e-9 <= every["truth"]) & (every["truth"] <= every["high"] + 1e-9)
    every["error"] = every["share"] - every["truth"]
    whole, printed = every[every["scope"] == "pool"], every[every["low"].notna()]
    plain = printed[~printed["flagged"].astype(bool)]
    by = plain.groupby(["estimand", "scope", "name", "label"])["held"].agg(["mean", "size"])
    bias = whole.groupby(["estimand", "label"])["error"].mean().abs().max()
    width, before = (whole["high"] - whole["low"]).mean(), (whole["high_plain"] - whole["low_plain"]).mean()
    return (
        f"| {change}, {design} | {100 * bias:.2f} | {whole['held'].mean():.3f} | {plain['held'].mean():.3f} | "
        f"{by.loc[by['size'] >= draws / 3, 'mean'].min():.3f} | {width:.3f} | {before:.3f} | {time.process_time() - began:.0f} |"
    )


def main() -> None:
    draws, begins = int(sys.argv[1]) if len(sys.argv) > 1 else 300, sys.argv[2] if len(sys.argv) > 2 else ""
    print(
        "| change, design | bias | pool | all | worst | width | without sizes | CPU s |\n" + "|---" * 8 + "|"
    )
    for change in CHANGES:
        for design in ("poisson", "two_phase"):
            if change.startswith(begins) and not (design == "two_phase" and "further" in change):
                print(measured(change, design, draws), flush=True)


if __name__ == "__main__":
    main()
