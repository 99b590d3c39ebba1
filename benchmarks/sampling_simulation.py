"""Are estimates from a covmis sample right? Thousands of draws from a pool whose truth is known.

    .venv/bin/python benchmarks/sampling_simulation.py            2,000 draws of each design, about fifteen minutes
    .venv/bin/python benchmarks/sampling_simulation.py 200        fewer

The pool has 111 claims and more than 40,000 posts. Stances depend on the kind of query and on the claim, so the
unweighted share of the sample, which gives every kind the same quota, is biased; it stands beside the estimates.
Draws follow the rules of `covmis_build.sampling.designs` in vectorised form; estimates come from the package.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd

from covmis_build.options import KINDS
from covmis_build.sampling.inclusion import Allocation, allocate
from covmis_build.stats.horvitz_thompson import Estimate, made_design, mean, total
from covmis_build.stats.intervals import logit_interval, reach_of
from covmis_build.stats.linearised import measure_estimate

LABELS = ("favor", "against", "neither")
CLAIMS = 111
PARTS = ("keywords", "title", "fact_check_url")
"""Kinds whose shares are estimated apart; their rarest labels are expected 21 to 56 times in a sample."""


@dataclass
class Pool:
    """Every post: its claim, kind, stance, a system's prediction, copies, probability."""

    claim: np.ndarray
    kind: np.ndarray
    stance: np.ndarray
    predicted: np.ndarray
    size: np.ndarray
    pi: np.ndarray
    allocations: list[Allocation]
    joint: list[np.ndarray]


def make_pool(spread: float = 0.5, seed: int = 20220405) -> Pool:
    """A pool whose claims' sizes spread this much (standard deviation of the logarithm)."""
    chance = np.random.default_rng(seed)
    middle = {"title": 2.0, "news_url": 3.0, "fact_check_url": 3.2, "keywords": 5.75 - (spread**2 - 0.25) / 2}
    lean = {
        "title": (0.80, 0.10),
        "news_url": (0.60, 0.25),
        "fact_check_url": (0.04, 0.92),
        "keywords": (0.25, 0.55),
    }
    parts, allocations, joint, pi = [], [], [], []
    for claim in range(CLAIMS):
        counts = {kind: int(chance.lognormal(middle[kind], spread)) for kind in KINDS}
        counts["keywords"] = max(counts["keywords"], 24)
        drawn = allocate(counts)
        allocations.append(drawn)
        table = np.ones((4, 4))
        for one in drawn.counts:
            for other in drawn.counts:
                if one != other or drawn.counts[one] > 1:
                    table[KINDS.index(one), KINDS.index(other)] = float(drawn.together(one, other))
        joint.append(table)
        tilt = chance.normal(0, 0.6)
        for kind, number in drawn.counts.items():
            odds = np.array([*lean[kind], 1 - sum(lean[kind])]) * np.exp([tilt, -tilt, 0])
            stance = chance.choice(3, number, p=odds / odds.sum())
            parts.append((np.full(number, claim), np.full(number, KINDS.index(kind)), stance))
            pi.append(np.full(number, float(drawn.chance(kind))))
    claim, kind, stance = (np.concatenate(one) for one in zip(*parts, strict=True))
    wrong = chance.random(len(stance)) < 0.3
    predicted = np.where(wrong, (stance + 1 + chance.integers(0, 2, len(stance))) % 3, stance)
    size = chance.geometric(0.5, len(stance)).astype(float)
    return Pool(claim, kind, stance, predicted, size, np.concatenate(pi), allocations, joint)


def poisson(pool: Pool, chance: np.random.Generator) -> np.ndarray:
    return np.flatnonzero(chance.random(len(pool.pi)) < pool.pi)


def rank_within(groups: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """Each member's place in its group by its number, from 0."""
    order = np.lexsort((numbers, groups))
    first = np.flatnonzero(np.r_[True, groups[order][1:] != groups[order][:-1]])
    place = np.empty(len(groups), dtype=int)
    place[order] = np.arange(len(groups)) - np.repeat(first, np.diff(np.r_[first, len(groups)]))
    return place


def two_phase(pool: Pool, chance: np.random.Generator) -> np.ndarray:
    stratum = pool.claim * 4 + pool.kind
    chosen = rank_within(stratum, chance.random(len(stratum))) < 6
    rest = np.flatnonzero(~chosen)
    more = np.array([one.more for one in pool.allocations])
    second = rank_within(pool.claim[rest], chance.random(len(rest))) < more[pool.claim[rest]]
    chosen[rest[second]] = True
    return np.flatnonzero(chosen)


def macro_f1(m: np.ndarray) -> float:
    return float(np.mean(2 * np.diag(m) / (m.sum(0) + m.sum(1))))


def truths(pool: Pool) -> dict[tuple[str, str], float]:
    found = {}
    for at, label in enumerate(LABELS):
        y = pool.stance == at
        found["share of messages", label] = y.mean()
        found["share of posts", label] = np.average(y, weights=pool.size)
        found["total of messages", label] = y.sum()
        for kind in PARTS:
            found[f"share of messages found by {kind}", label] = y[pool.kind == KINDS.index(kind)].mean()
    matrix = np.bincount(pool.stance * 3 + pool.predicted, minlength=9).reshape(3, 3)
    found["a system's accuracy", ""] = float((pool.stance == pool.predicted).mean())
    found["a system's macro-F1", ""] = macro_f1(matrix)
    return found


def one_draw(pool: Pool, rows: np.ndarray, design: str) -> list[tuple[str, str, object, float, float]]:
    """(what, label, estimate, unweighted, expected count) for each thing estimated."""
    claim, kind = pool.claim[rows], pool.kind[rows]
    joint = None
    if design == "two_phase":
        groups = np.split(np.arange(len(rows)), np.flatnonzero(np.diff(claim)) + 1)
        joint = {str(claim[at[0]]): pool.joint[claim[at[0]]][np.ix_(kind[at], kind[at])] for at in groups}
    made = made_design(pool.pi[rows], design=design, strata=claim.astype(str), joint=joint)
    found = []
    for at, label in enumerate(LABELS):
        y = (pool.stance[rows] == at).astype(float)
        plain = y.mean()
        found += [
            ("share of messages", label, mean(y, made), plain),
            ("share of posts", label, mean(y, made, sizes=pool.size[rows]), plain),
            ("total of messages", label, total(y, made), plain * len(pool.pi)),
        ]
        for name in PARTS:
            here = kind == KINDS.index(name)
            what = f"share of messages found by {name}"
            found.append((what, label, mean(y, made, domain=here), y[here].mean()))
    gold, predicted = (np.array(LABELS)[one[rows]].tolist() for one in (pool.stance, pool.predicted))
    right = (pool.stance[rows] == pool.predicted[rows]).mean()
    plain = np.bincount(pool.stance[rows] * 3 + pool.predicted[rows], minlength=9).reshape(3, 3)
    for what, measure, unweighted in (
        ("a system's accuracy", lambda m: np.trace(m) / m.sum(), right),
        ("a system's macro-F1", macro_f1, macro_f1(plain)),
    ):
        found.append((what, "", measure_estimate(measure, gold, predicted, made, LABELS), unweighted))
    return found


def simulate(draws: int, design: str, pool: Pool) -> pd.DataFrame:
    true, chance = truths(pool), np.random.default_rng(7)
    select = poisson if design == "poisson" else two_phase
    rows = []
    for _ in range(draws):
        chosen = select(pool, chance)
        for what, label, found, unweighted in one_draw(pool, chosen, design):
            truth = true[what, label]
            low, high = normal(what, found)
            covered = (found.low <= truth <= found.high, low <= truth <= high)
            rows.append((what, label, found.value, found.variance, *covered, unweighted))
    columns = ["what", "label", "value", "variance", "covered", "covered_normal", "unweighted"]
    frame = pd.DataFrame(rows, columns=columns)
    made = []
    for (what, label), group in frame.groupby(["what", "label"], sort=False):
        truth, spread = true[what, label], group["value"].std()
        error = spread / np.sqrt(draws)
        made.append(
            {
                "what": f"{what} {label}".strip(), "truth": truth, "mean": group["value"].mean(),
                "bias in MC errors": (group["value"].mean() - truth) / error,
                "SD": spread, "SE / SD": np.sqrt(group["variance"].mean()) / spread,
                "coverage": group["covered"].mean(), "normal quantile": group["covered_normal"].mean(),
                "unweighted": group["unweighted"].mean(),
            }
        )  # fmt: skip
    return pd.DataFrame(made)


def normal(what: str, found: Estimate) -> tuple[float, float]:
    """The same interval with the normal quantile in the place of Student's."""
    if what.startswith("total"):
        reach = reach_of(0.95) * found.standard_error
        return found.value - reach, found.value + reach
    return logit_interval(found.value, found.variance)


def expected_counts(pool: Pool) -> dict[str, float]:
    """How many of each label a sample is expected to have, in all and among those found by some kinds."""
    return {
        label + (f", {kind}" if kind else ""): float(
            pool.pi[(pool.stance == at) & (not kind or pool.kind == KINDS.index(kind))].sum()
        )
        for at, label in enumerate(LABELS)
        for kind in ("", *PARTS)
    }


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    for name, spread in (("claims of similar size", 0.5), ("few claims hold most posts", 1.2)):
        pool = make_pool(spread)
        print(
            f"\n## {name}: {len(pool.pi):,} posts, {CLAIMS} claims; expected sample {pool.pi.sum():.0f}; {draws:,} draws"
        )
        print("expected in a sample: " + ", ".join(f"{k} {v:.0f}" for k, v in expected_counts(pool).items()))
        for design in ("poisson", "two_phase"):
            began = time.monotonic()
            found = simulate(draws, design, pool)
            print(f"\n{design} ({time.monotonic() - began:.0f} s)\n")
            print_table(found)


def print_table(found: pd.DataFrame) -> None:
    """A table in Markdown."""
    print("| " + " | ".join(found.columns) + " |")
    print("|---" * len(found.columns) + "|")
    for row in found.itertuples(index=False):
        cells = (
            one if isinstance(one, str) else f"{one:,.0f}" if abs(one) > 100 else f"{one:.4f}" for one in row
        )
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
