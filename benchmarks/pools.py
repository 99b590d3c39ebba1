"""Awkward pools, drawn again and again: which intervals of `covmis estimate` hold, and are the others flagged.

    .venv/bin/python benchmarks/pools.py [DRAWS] [NAME]        200 draws of each pool, or of those whose name begins so

Every draw goes the study's own way: `sample` round by round with its ledger of probabilities, then `estimates` with the
pool, or recall in two rounds of which the second learns. A figure is one share, or difference of two claims, of one pool.
"Below" counts the unflagged figures that hold less often than .93 by more than two Monte Carlo errors.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from covmis_build import tables
from covmis_build.estimation.differences import Part
from covmis_build.estimation.label_error import answers_table
from covmis_build.estimation.recall import Drawn, recall, stance, stands_for
from covmis_build.estimation.shares import estimates
from covmis_build.options import RANKED, Labels, Sampling
from covmis_build.sampling.draw import sample
from covmis_build.sampling.guided import by_rank, either, guided
from covmis_build.sampling.ledger import last_draws, opened, over_draws

VALUES = ["favor", "against", "neither"]
GOAL, ENOUGH = 0.93, 30
NAMES = ["estimand", "scope", "name", "label"]


@dataclass(frozen=True)
class Pool:
    """Posts of some claims with their labels, and how they are drawn."""

    posts: tuple[int, ...] = (60, 120, 400)
    """Unique posts of each claim."""
    tail: float = 0.0
    """The exponent of Zipf's law for the sizes of near-duplicate groups; 0: no copies."""
    largest: int = 0
    """The size of one more group, of the first claim."""
    labels: tuple[float, ...] = (4.0, 4.0, 2.0)
    """Dirichlet's parameters of each claim's shares of labels."""
    titles: float = 0.1
    """The part of posts found by their title."""
    design: str = "poisson"
    per_claim: tuple[int, ...] = (24,)
    """Of each round: the second and later ones add to the first."""
    late: float = 0.0
    """The part of posts that the archive has only from the second round on."""
    ranked: int = 0
    """Posts a claim that only their rank finds; 6 are expected to be drawn."""
    shared: float = 0.0
    """The part of posts that two claims find; one of them keeps it, by chance."""
    noise: float = 0.0
    """How often each of three annotators errs; by_people is measured, too."""

    def made(self, rng: np.random.Generator) -> pd.DataFrame:
        """All pairs of a claim and a post."""
        rows = []
        for claim, number in enumerate(self.posts):
            sizes = np.minimum(rng.zipf(self.tail, number), 20_000) if self.tail else np.ones(number, int)
            labels = rng.choice(VALUES, number, p=rng.dirichlet(self.labels))
            kinds = np.where(rng.random(number) < self.titles, "title", "keywords")
            if self.largest and not claim:
                sizes[0], kinds[0] = self.largest, "keywords"
            kinds[number - min(self.ranked, number) :] = RANKED
            shared = (rng.random(number) < self.shared) & (kinds != RANKED)
            late = rng.random(number) < self.late
            for at in range(number):
                owners = [claim, (claim + 1) % len(self.posts)] if shared[at] else [claim]
                rows += [
                    (f"{owner}|x:{claim}_{at}", str(owner), f"x:{claim}_{at}", kinds[at], sizes[at], labels[at], late[at],
                     1 / len(owners), at - number + self.ranked + 1)
                    for owner in owners
                ]  # fmt: skip
        columns = ["item_id", "claim_id", "post_id", "kind", "group_size", "label", "late", "p_claim", "rank"]
        made = pd.DataFrame(rows, columns=columns)
        made["kinds"] = [[kind] for kind in made["kind"]]
        return made

    def chances(self, items: pd.DataFrame) -> dict[str, float]:
        """Of posts that only their rank finds."""
        ranked = items[items["kind"] == RANKED]
        parts = [
            zip(rows["item_id"], by_rank(rows["rank"].to_numpy(float), 6, 60), strict=True)
            for _, rows in ranked.groupby("claim_id")
        ]
        return {item: float(p) for part in parts for item, p in part}


def study_draw(pool: Pool, every: pd.DataFrame, truths: pd.Series, seed: int) -> pd.DataFrame:
    """The figures of one study of this pool."""
    rng = np.random.default_rng(seed)
    keeper = every["post_id"].map(
        dict(zip(every["post_id"].unique(), rng.random(every["post_id"].nunique()), strict=True))
    )
    place = every.groupby("post_id").cumcount()
    items = every[(every["p_claim"] == 1) | ((keeper < 0.5) == (place == 0))].reset_index(drop=True)
    frozen, ledger = tables.empty("sample").assign(round=""), tables.empty("draws")
    claims = sorted(items["claim_id"].unique())
    for number, per_claim in enumerate(pool.per_claim, 1):
        known = items if number > 1 else items[~items["late"]]
        drawn = sample(
            known, frozen, Sampling(per_claim=per_claim, design=pool.design), Labels(), seed=seed,
            chances=pool.chances(known), opened=last_draws(ledger) if len(ledger) else {},
        )  # fmt: skip
        ledger = opened(ledger, drawn.draws, claims, f"{number:03}")
        new = drawn.sample[~drawn.sample["item_id"].isin(frozen["item_id"])].assign(round=f"{number:03}")
        frozen = pd.concat([frozen, new], ignore_index=True) if len(frozen) else new.reset_index(drop=True)
    p = over_draws(frozen, ledger)
    columns = ["item_id", "group_size", "p_claim", "label"]
    corpus = frozen.assign(p_sample=frozen["item_id"].map(p), how="agreed").merge(
        items[columns], on="item_id"
    )
    answers = None
    if pool.noise:
        gold = list(zip(corpus["item_id"], corpus["label"], strict=True))
        answers = answers_table(
            (item, f"a{at}", rng.choice([one for one in VALUES if one != label]) if rng.random() < pool.noise else label)
            for at in range(3) for item, label in gold
        )  # fmt: skip
    found = estimates(
        corpus, VALUES, Sampling(per_claim=pool.per_claim[-1], design=pool.design), pool=items, draws=ledger,
        answers=answers, between=(Part("claim", claims[0]), Part("claim", claims[-1])),
    )  # fmt: skip
    rows = found.shares
    if pool.noise:
        rows = rows.assign(low=rows["by_people_low"], high=rows["by_people_high"])
    unsure = rows.set_index(["scope", "name", "label", "estimand"])["flagged"]
    less = found.differences.assign(scope="difference", name="")
    either_flagged = [
        any(unsure.get(("claim", claim, row.label, row.estimand), False) for claim in (claims[0], claims[-1]))
        for row in less.itertuples()
    ]
    rows = pd.concat([rows, less.assign(flagged=either_flagged)])
    return rows[[*NAMES, "low", "high", "flagged"]].merge(truths.rename("truth"), on=NAMES, how="left")


def truths_of(pool: Pool, every: pd.DataFrame) -> pd.Series:
    """Every share of the pool, and every difference of the first and the last claim."""
    rows = []
    # a wrong answer is each of the other labels with the same chance
    kept, other = 1 - pool.noise, pool.noise / (len(VALUES) - 1)
    for estimand, sizes in (
        ("unique_posts", np.ones(len(every))),
        ("posts", every["group_size"].to_numpy(float)),
    ):
        for label in VALUES:
            y = np.where(every["label"] == label, kept, other)

            def share(here: pd.Series, y=y, sizes=sizes) -> float:
                return float(np.average(y[here], weights=sizes[here]))

            of = {claim: share(every["claim_id"] == claim) for claim in sorted(every["claim_id"].unique())}
            whole = np.ones(len(every), bool)
            said = [("pool", "", share(whole)), ("average claim", "", float(np.mean(list(of.values()))))]
            said += [("claim", claim, value) for claim, value in of.items()]
            said += [("kind", kind, share(every["kind"] == kind)) for kind in every["kind"].unique()]
            said.append(("difference", "", of[min(of)] - of[max(of)]))
            rows += [(estimand, scope, name, label, value) for scope, name, value in said]
    return pd.DataFrame(rows, columns=[*NAMES, "truth"]).set_index(NAMES)["truth"]


def recall_draw(relevant: float, guess_is: float, seed: int) -> pd.DataFrame:
    """Recall and a share of labels from two rounds, of which the second follows a guess that the first has taught."""
    fixed, rng = np.random.default_rng(99), np.random.default_rng(seed)
    found, missed = 400, 3000
    about = np.r_[fixed.random(found) < 0.7, fixed.random(missed) < relevant].astype(float)
    favor = about * (fixed.random(len(about)) < 0.4)
    score = np.clip(guess_is * about + (1 - guess_is) * fixed.random(len(about)), 1e-3, 1)[found:]
    p_found = np.full(found, 100 / found)
    first = guided(score, 150)
    one = rng.random(missed) < first
    right = about[found:]
    # what was learned: posts like the relevant ones of the first round, more or less
    near = score * (
        1
        + 3
        * (right[one].sum() > 0)
        * np.exp(-np.abs(score[:, None] - score[one & (right > 0)][None, :]) * 8).sum(1)
    )
    chances = first.copy()
    chances[~one] = either(first[~one], guided(near[~one], 150))
    step = (chances - first) / (1 - first).clip(1e-12)
    two = ~one & (rng.random(missed) < step)
    by = np.where(one, 0, np.where(two, 1, -1))
    weight = stands_for([first, chances], by, [150, 150])
    got, kept = rng.random(found) < p_found, by >= 0
    drawn_found, drawn_missed = Drawn(about[:found][got], p_found[got]), Drawn(right[kept], 1 / weight[kept])
    figures = recall(drawn_found, found, drawn_missed, chances)
    of = np.r_[favor[:found][got], favor[found:][kept]]
    among = np.r_[about[:found][got], right[kept]] - of
    told = stance(
        (drawn_found, p_found), (drawn_missed, chances), of, among, figures.found.value + figures.missed.value
    )
    rows = [
        ("recall", figures.recall, about[:found].sum() / about.sum()),
        ("missed", figures.missed, right.sum()),
        ("favor", told.share, favor.sum() / about.sum()),
    ]
    made = [
        ("frame", "pool", "", what, figure.low, figure.high, False, truth) for what, figure, truth in rows
    ]
    return pd.DataFrame(made, columns=[*NAMES, "low", "high", "flagged", "truth"])


POOLS = {
    "even": Pool(), "two-phase": Pool(design="two_phase"),
    "tiny": Pool((5, 9, 14)), "tiny, two-phase": Pool((5, 9, 26), design="two_phase"),
    "little more than the target": Pool((26, 28, 32)), "a rare label": Pool(labels=(8, 8, 0.3)),
    "a rare label, two-phase": Pool(labels=(8, 8, 0.3), design="two_phase"),
    "one label nearly": Pool(labels=(30, 0.5, 0.5)), "one claim has most posts": Pool((30, 40, 3000)),
    "twelve claims": Pool((40, 50, 60, 70, 80, 90, 100, 120, 150, 200, 300, 500)),
    "Zipf 2.5": Pool(tail=2.5), "Zipf 2.0": Pool(tail=2.0), "Zipf 1.7": Pool(tail=1.7), "Zipf 1.7, again": Pool((40, 90, 150), tail=1.7),
    "Zipf 2.0, two-phase": Pool(tail=2.0, design="two_phase"), "Zipf 1.7, two-phase": Pool(tail=1.7, design="two_phase"),
    "one text of 4,000": Pool(largest=4000), "one text of 4,000, two-phase": Pool(largest=4000, design="two_phase"),
    "a rare label, posts of two claims": Pool(labels=(8, 8, 0.3), shared=0.4, design="two_phase"),
    "posts of two claims": Pool(shared=0.4), "posts of two claims, Zipf 2.0": Pool(shared=0.4, tail=2.0),
    "two top-ups": Pool(per_claim=(12, 24, 36)), "two top-ups, two-phase": Pool(per_claim=(12, 24, 36), design="two_phase"),
    "new posts, Zipf 2.0": Pool(per_claim=(16, 24), late=0.4, tail=2.0),
    "ranked posts": Pool(ranked=30), "ranked posts, a top-up": Pool(ranked=30, per_claim=(16, 30), late=0.3),
    "annotators err": Pool(noise=0.2), "annotators err, a rare label": Pool(labels=(8, 8, 0.3), noise=0.1),
}  # fmt: skip
ADAPTIVE = {
    "adaptive recall": (0.03, 0.3), "adaptive recall, few missed": (0.004, 0.3), "adaptive recall, a useless guess": (0.03, 0.0),
}  # fmt: skip


def measured(name: str, draw: partial, draws: int) -> dict[str, object]:
    """What the figures of so many draws hold."""
    began = time.process_time()
    rows = pd.concat([draw(seed) for seed in range(draws)], ignore_index=True)
    rows["words"] = rows["low"].isna()
    rows["held"] = (rows["low"] - 1e-9 <= rows["truth"]) & (rows["truth"] <= rows["high"] + 1e-9)
    printed = rows[~rows["words"]]
    plain = printed[~printed["flagged"].astype(bool)]
    by = plain.groupby(NAMES)["held"].agg(["mean", "size"])
    by = by[by["size"] >= ENOUGH]
    low = by[by["mean"] < GOAL - 2 * np.sqrt(GOAL * (1 - GOAL) / by["size"])]
    for at, row in low.iterrows():
        print(
            f"    {name}: {' '.join(filter(None, at))} {row['mean']:.3f} of {row['size']:.0f}",
            file=sys.stderr,
        )
    return {
        "pool": name, "figures": rows.groupby(NAMES).ngroups, "words": rows["words"].mean(),
        "flagged": (printed["flagged"].astype(bool)).sum() / len(rows), "printed": printed["held"].mean(),
        "unflagged": plain["held"].mean(), "worst": by["mean"].min(), "below": len(low),
        "width": (plain["high"] - plain["low"]).mean(), "CPU s": time.process_time() - began,
    }  # fmt: skip


def main() -> None:
    draws, begins = int(sys.argv[1]) if len(sys.argv) > 1 else 200, sys.argv[2] if len(sys.argv) > 2 else ""
    cells = {}
    for at, (name, pool) in enumerate(POOLS.items()):
        every = pool.made(np.random.default_rng(20261125 + at))
        cells[name] = partial(study_draw, pool, every, truths_of(pool, every))
    cells |= {name: partial(recall_draw, *how) for name, how in ADAPTIVE.items()}
    print(
        "| pool | figures | words | flagged | printed | unflagged | worst | below | width | CPU s |\n"
        + "|---" * 10
        + "|"
    )
    for name, draw in cells.items():
        if name.startswith(begins):
            row = measured(name, draw, draws)
            print(
                "| "
                + " | ".join(f"{one:.3f}" if isinstance(one, float) else str(one) for one in row.values())
                + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
