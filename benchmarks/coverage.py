"""Do intervals hold? Thousands of draws from pools, and studies of claims, whose truth is known.

    .venv/bin/python benchmarks/coverage.py                      800 draws of each design and pool; hours
    .venv/bin/python benchmarks/coverage.py --draws 100          fewer
    .venv/bin/python benchmarks/coverage.py --only claims        scores and kappa over 3 to 111 claims; or one pool: --only harsh

The pools have 111 claims and more than 40,000 posts; `spread` is the standard deviation of the logarithm of claims' sizes:
0.5 even, 1.2 and 1.5 with a few claims that hold most posts. Stances depend on the kind of query and on the claim, so the
unweighted share of the sample, which gives every kind the same quota, is biased; it stands beside the estimates.
Awkward pools, with near-duplicates, top-ups and other designs: `pools.py`. Draws follow the rules of
`covmis_build.sampling.designs` in vectorised form; estimates and intervals are the package's. Beside them, from the same value and variance: logit (the interval of 0.1) and Korn and Graubard's, as R's
`svyciprop` without its degrees of freedom.
"""

from __future__ import annotations

if (
    __name__ == "coverage"
):  # numba asks for the package of this name, and finds this file beside the other benchmarks
    raise ImportError("this is a benchmark, not the package coverage")

import argparse
import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import beta

from covmis_build.estimation.assisted import assisted_estimate, deviations, strength
from covmis_build.estimation.from_values import post_stratified, times
from covmis_build.evaluation.setting import setting
from covmis_build.options import KINDS
from covmis_build.sampling.inclusion import Allocation, allocate
from covmis_build.stats.intervals import Estimate  # noqa: TC001 - a benchmark
from covmis_build.stats.linearised import weighted_measures
from covmis_build.stats.over_claims import difference, over_claims
from covmis_build.stats.over_posts import Design, linear_estimate, made_design, mean

LABELS = ("favor", "against", "neither")
CLAIMS = 111
SPREADS = {"even": 0.5, "uneven": 1.2, "harsh": 1.5}
MEASURES = {"accuracy": (0.0, 1.0), "macro_f1": (0.0, 1.0), "kappa": (-1.0, 1.0)}


@dataclass
class Pool:
    """Every post: its claim, kind, stance, a system's prediction, copies, probability."""

    claim: np.ndarray
    kind: np.ndarray
    stance: np.ndarray
    predicted: np.ndarray
    size: np.ndarray
    pi: np.ndarray
    predictions: np.ndarray
    """A system's probability of each stance: it is right about seven times in ten."""
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
    scores = chance.gamma(1.0, size=(len(stance), 3)) + 2.0 * (predicted[:, None] == np.arange(3))
    predictions = scores / scores.sum(1, keepdims=True)
    size = chance.geometric(0.5, len(stance)).astype(float)
    return Pool(claim, kind, stance, predicted, size, np.concatenate(pi), predictions, allocations, joint)


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


def measures(stack: np.ndarray) -> dict[str, np.ndarray]:
    """Accuracy, macro-F1 and kappa of a stack of confusion matrices."""
    n, rows, columns = stack.sum((-2, -1)), stack.sum(-1), stack.sum(-2)
    right = np.diagonal(stack, axis1=-2, axis2=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        f1 = np.where(rows + columns > 0, 2 * right / (rows + columns), 0.0)
        accuracy, expected = right.sum(-1) / n, (rows * columns).sum(-1) / n**2
        return {
            "accuracy": accuracy,
            "macro_f1": f1.mean(-1),
            "kappa": (accuracy - expected) / (1 - expected),
        }


def confusion(pool: Pool, here: np.ndarray) -> np.ndarray:
    cells = pool.stance[here] * 3 + pool.predicted[here]
    return np.bincount(cells, minlength=9).reshape(3, 3).astype(float)


def truths(pool: Pool) -> dict[tuple[str, str], float]:
    true = {}
    for at, label in enumerate(LABELS):
        y = (pool.stance == at).astype(float)
        per_claim = np.bincount(pool.claim, y) / np.bincount(pool.claim)
        for what in ("share", "share with known kinds", "assisted share"):
            true[what, label] = y.mean()
        true["share of posts", label] = np.average(y, weights=pool.size)
        true["average claim", label] = per_claim.mean()
        true["total", label] = y.sum()
        for number, kind in enumerate(KINDS):
            true[f"share, {kind}", label] = y[pool.kind == number].mean()
    for name, here in parts_of(pool.kind).items():
        for measure, value in measures(confusion(pool, here)[None]).items():
            true[f"{measure}{name}", ""] = float(value[0])
    return true


def parts_of(kind: np.ndarray) -> dict[str, np.ndarray]:
    """All, and two kinds, for measures."""
    return {"": np.ones(len(kind), dtype=bool)} | {
        f", {name}": kind == KINDS.index(name) for name in ("keywords", "fact_check_url")
    }


def one_draw(pool: Pool, rows: np.ndarray, design: str) -> list[tuple[str, str, Estimate, float]]:
    """(what, label, estimate, unweighted) for each thing estimated."""
    claim, kind = pool.claim[rows], pool.kind[rows]
    joint = None
    if design == "two_phase":
        groups = np.split(np.arange(len(rows)), np.flatnonzero(np.diff(claim)) + 1)
        joint = {str(claim[at[0]]): pool.joint[claim[at[0]]][np.ix_(kind[at], kind[at])] for at in groups}
    drawn = made_design(pool.pi[rows], design=design, strata=claim.astype(str), joint=joint)
    estimates = []
    for at, label in enumerate(LABELS):
        y = (pool.stance[rows] == at).astype(float)
        share, plain = mean(y, drawn), y.mean()
        f = pool.predictions[rows, at]
        estimates += [
            ("share", label, share, plain),
            ("share of posts", label, mean(y, drawn, sizes=pool.size[rows]), plain),
            ("average claim", label, average_claim(y, claim, drawn), plain),
            ("total", label, times(share, len(pool.pi)), plain * len(pool.pi)),
            ("share with known kinds", label, by_kind(y, pool, kind, drawn), plain),
            ("assisted share", label, assisted(y, f, float(pool.predictions[:, at].mean()), drawn), plain),
        ]
        for number, name in enumerate(KINDS):
            here = kind == number
            estimates.append((f"share, {name}", label, mean(y, drawn, domain=here), y[here].mean()))
    cells = pool.stance[rows] * 3 + pool.predicted[rows]
    for name, here in parts_of(kind).items():
        plain_matrix = measures(np.bincount(cells[here], minlength=9).reshape(1, 3, 3).astype(float))
        inside = made_design(pool.pi[rows][here], design="poisson") if name else drawn
        if name and design == "two_phase":
            continue  # a domain of a fixed-size design has no design of its own
        found = weighted_measures(measures, MEASURES, [cells[here]], (3, 3), inside)
        estimates += [
            (f"{measure}{name}", "", found[measure], float(plain_matrix[measure][0])) for measure in MEASURES
        ]
    return estimates


def average_claim(y: np.ndarray, claim: np.ndarray, drawn: Design) -> Estimate:
    mass = np.bincount(claim, drawn.weights)
    centre = (np.bincount(claim, drawn.weights * y) / mass)[claim]
    return linear_estimate(y, centre, 1 / mass[claim] / len(mass), drawn, n=len(y))


def by_kind(y: np.ndarray, pool: Pool, kind: np.ndarray, drawn: Design) -> Estimate:
    """With weights that meet the number of posts of each kind."""
    known = {str(number): float(size) for number, size in enumerate(np.bincount(pool.kind, minlength=4))}
    return mean(y, post_stratified(drawn, known, kind.astype(str)))


def assisted(y: np.ndarray, f: np.ndarray, pool_mean: float, drawn: Design) -> Estimate:
    scale = np.full(len(y), 1 / drawn.weights.sum())
    centres = tuple(np.full(len(y), np.average(values, weights=drawn.weights)) for values in (y, f))
    moved = strength(deviations(y, centres[0], scale), deviations(f, centres[1], scale, f), drawn)
    return assisted_estimate(y, f, centres, scale, drawn, n=len(y), pool_mean=pool_mean, moved=moved)


def logit_interval(found: Estimate, truth: float) -> tuple[float, float]:
    """Logit with the normal quantile from the same variance; totals plain."""
    reach, p = 1.96 * found.standard_error, found.value
    if not (0 < p < 1 and 0 < truth < 1):
        return p - reach, p + reach
    middle, reach = np.log(p / (1 - p)), reach / (p * (1 - p))
    return 1 / (1 + np.exp(reach - middle)), 1 / (1 + np.exp(-reach - middle))


def korn_graubard(found: Estimate) -> tuple[float, float]:
    """Clopper and Pearson's for as many items as the variance allows, at most those in the sample; nan for what is no share."""
    p = found.value
    if not (0 < p < 1 and found.variance > 0):
        return np.nan, np.nan
    n = min(p * (1 - p) / found.variance, found.n)
    return float(beta.ppf(0.025, n * p, n * (1 - p) + 1)), float(beta.ppf(0.975, n * p + 1, n * (1 - p)))


def simulate(draws: int, design: str, pool: Pool) -> pd.DataFrame:
    """A row for everything estimated: bias, spread, coverage and mean width of the intervals, how often flagged."""
    true, chance = truths(pool), np.random.default_rng(7)
    select = poisson if design == "poisson" else two_phase
    rows = []
    for _ in range(draws):
        for what, label, found, unweighted in one_draw(pool, select(pool, chance), design):
            truth = true[what, label]
            low, high = logit_interval(found, truth)
            least, most = korn_graubard(found)
            rows.append(
                (what, label, found.value, found.variance, found.low <= truth <= found.high,
                 found.high - found.low, low <= truth <= high, high - low,
                 least <= truth <= most, most - least, found.flagged, unweighted)
            )  # fmt: skip
    columns = [
        "what", "label", "value", "variance", "coverage", "width", "logit coverage", "logit width", "K-G coverage",
        "K-G width", "flagged", "unweighted",
    ]  # fmt: skip
    frame = pd.DataFrame(rows, columns=columns)
    table = []
    for (what, label), group in frame.groupby(["what", "label"], sort=False):
        truth, spread = true[what, label], group["value"].std()
        table.append(
            {
                "what": f"{what} {label}".strip(), "truth": truth, "mean": group["value"].mean(),
                "bias in MC errors": (group["value"].mean() - truth) / (spread / np.sqrt(draws)),
                "SD": spread, "SE / SD": np.sqrt(group["variance"].mean()) / spread,
                **group[columns[4:]].mean().to_dict(),
            }
        )  # fmt: skip
    return pd.DataFrame(table)


def bands(draws: int, pool: Pool, windows: int = 12) -> dict[str, float]:
    """How often all windows of time hold at once: with intervals of 95% each, and with bands (Poisson samples)."""
    chance = np.random.default_rng(11)
    busy = chance.dirichlet(np.full(windows, 3.0))
    month = chance.choice(windows, len(pool.pi), p=busy)
    y = (pool.stance == 0).astype(float)
    true = np.bincount(month, y) / np.bincount(month)
    held = []
    for _ in range(draws):
        rows = poisson(pool, chance)
        drawn = made_design(pool.pi[rows])
        inside = []
        for at in range(windows):
            ends = [
                mean(y[rows], drawn, domain=month[rows] == at, level=level)
                for level in (0.95, 1 - 0.05 / windows)
            ]
            inside.append([found.low <= true[at] <= found.high for found in ends])
        held.append(np.all(inside, axis=0))
    each, together = np.mean(held, axis=0)
    return {"all intervals at once": float(each), "the band": float(together)}


def studies_of_claims(
    studies: int, claims: int, items: int = 0, right: float = 0.7, rare: float = 0.2
) -> dict[str, float]:
    """How often intervals over claims hold: accuracy, macro-F1, kappa, a difference of two equal systems.

    Of each: coverage, mean width, and the part of studies that are answered in words. `items` of a claim are lognormal
    where it is 0; `right` is the systems' accuracy, `rare` the share of the rarest label.
    """
    chance = np.random.default_rng(claims + 1000 * items)
    chosen = setting(["favor", "against", "neither"], names=["accuracy", "macro_f1", "kappa"])
    less, less_ranges = difference(chosen.values, chosen.ranges)
    many = claim_tables(20_000, chance, items, right, rare).sum(0)
    truth = {name: float(values[0]) for name, values in chosen.values(many.sum(-1)[None]).items()}
    held: dict[str, list[tuple[bool, float, bool]]] = {name: [] for name in (*truth, "difference")}
    for _ in range(studies):
        tables = claim_tables(claims, chance, items, right, rare)
        figures = over_claims(chosen.values, chosen.ranges, tables.sum(-1)[:, None])
        apart = over_claims(less, less_ranges, tables[:, None])["accuracy"]
        for name, figure, true in [
            *((name, figures[name], truth[name]) for name in truth),
            ("difference", apart, 0.0),
        ]:
            held[name].append((figure.low <= true <= figure.high, figure.high - figure.low, bool(figure.why)))
    return {
        f"{name} {what}": float(value)
        for name, rows in held.items()
        for what, value in _of_those_with_an_interval(rows).items()
    }


def _of_those_with_an_interval(rows: list[tuple[bool, float, bool]]) -> dict[str, float]:
    known = [(inside, width) for inside, width, words in rows if not words]
    coverage, width = np.mean(known, axis=0) if known else (np.nan, np.nan)
    return {"coverage": coverage, "width": width, "words": 1 - len(known) / len(rows)}


def claim_tables(
    claims: int, chance: np.random.Generator, items: int, right: float, rare: float
) -> np.ndarray:
    """A table (gold, first, second) for each claim, of two equal systems whose skill differs between claims."""
    sizes = np.full(claims, items) if items else np.maximum(chance.lognormal(2.3, 0.9, claims).astype(int), 1)
    claim = np.repeat(np.arange(claims), sizes)
    spread = chance.dirichlet(np.array([(1 - rare) / 2, (1 - rare) / 2, rare]) * 4, claims)
    gold = (chance.random(len(claim))[:, None] > spread[claim].cumsum(1)[:, :-1]).sum(1)
    said = []
    for _ in range(2):
        skill = chance.beta(right * 8, (1 - right) * 8, claims)[claim]
        well = chance.random(len(claim)) < skill
        said.append(np.where(well, gold, (gold + chance.integers(1, 3, len(claim))) % 3))
    cells = np.bincount(claim * 27 + gold * 9 + said[0] * 3 + said[1], minlength=claims * 27)
    return cells.reshape(claims, 3, 3, 3).astype(float)


CLAIM_CELLS = {
    f"{claims} claims, {name}": (claims, *rest)
    for claims in (3, 5, 12, 30)
    for name, rest in {
        "uneven": (0, 0.7, 0.2), "12 items, nearly all right": (12, 0.97, 0.3), "24 items, a rare label": (24, 0.7, 0.05)
    }.items()
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=800)
    parser.add_argument("--only", choices=("claims", *SPREADS), default=None)
    chosen = parser.parse_args()
    if chosen.only != "claims":
        pools(chosen.draws, [chosen.only] if chosen.only else list(SPREADS))
    if chosen.only in {None, "claims"}:
        print(f"\n## Over claims; {chosen.draws:,} studies each\n")
        print_table(
            pd.DataFrame(
                [
                    {"studies of": name, **studies_of_claims(chosen.draws, *cell)}
                    for name, cell in CLAIM_CELLS.items()
                ]
            )
        )


def pools(draws: int, names: list[str]) -> None:
    summary, over_time = [], []
    for name in names:
        spread = SPREADS[name]
        pool = make_pool(spread)
        over_time.append({"pool": name, **bands(draws, pool)})
        for design in ("poisson", "two_phase"):
            began = time.monotonic()
            found = simulate(draws, design, pool)
            print(
                f"\n## {name} ({spread}), {design}: {len(pool.pi):,} posts, {CLAIMS} claims, expected sample "
                f"{pool.pi.sum():.0f}; {draws:,} draws in {time.monotonic() - began:.0f} s\n"
            )
            print_table(found)
            shares = found[found["what"].str.startswith("share ") | found["what"].str.startswith("share,")]
            shares = shares[~shares["what"].str.startswith("share of posts")]
            summary.append(
                {
                    "pool": name, "design": design, "worst share": shares["coverage"].min(),
                    "mean of shares": shares["coverage"].mean(), "logit worst": shares["logit coverage"].min(),
                    "logit mean": shares["logit coverage"].mean(), "K-G worst": shares["K-G coverage"].min(),
                    "K-G mean": shares["K-G coverage"].mean(), "width": shares["width"].mean(),
                    "logit width": shares["logit width"].mean(), "K-G width": shares["K-G width"].mean(), "worst of all": found["coverage"].min(),
                    "mean of all": found["coverage"].mean(),
                }
            )  # fmt: skip
    print("\n## Twelve months, one stance: how often all hold together\n")
    print_table(pd.DataFrame(over_time))
    print("\n## In short: 15 shares (3 stances, all posts and four kinds), and everything estimated\n")
    print_table(pd.DataFrame(summary))


def print_table(found: pd.DataFrame) -> None:
    """A table in Markdown."""
    print("| " + " | ".join(found.columns) + " |")
    print("|---" * len(found.columns) + "|")
    for row in found.itertuples(index=False):
        cells = (
            one if isinstance(one, str) else f"{one:,.0f}" if abs(one) > 100 else f"{one:.3f}" for one in row
        )
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
