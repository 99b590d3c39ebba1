"""Regressions: whether intervals cover a coefficient, and how often one that is 0 is called different from 0.

    .venv/bin/python benchmarks/regressions.py [DRAWS] [posts]

Claims of unequal size (Zipf) differ in their share of the label; about 24 posts of each are labelled. The covariate is one of claims
(half of them have it) or of posts. `before` is the interval of 0.2: the plain sandwich, with Student's t of claims - 1 degrees.
With `posts`: intervals over the posts of a pool, also of all posts, in groups of near-duplicates with heavy tails.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.genmod.families import Binomial, Gaussian
from statsmodels.genmod.generalized_linear_model import GLM

from covmis_build.errors import InputError
from covmis_build.estimation.regression import Formula, Sampled, regression
from covmis_build.stats.over_posts import expected_of, made_design

CLAIMS = (5, 10, 20, 30)


def study(rng: np.random.Generator, claims: int, of: str, effect: float) -> pd.DataFrame:
    """Labelled posts of claims whose sizes fall as 1/rank."""
    sizes = np.maximum(2, (2000 / np.arange(1, claims + 1)).astype(int))
    base = rng.uniform(0.2, 0.6, claims)
    has = rng.permutation(claims) < max(claims // 2, 2)
    rows = []
    for at, size in enumerate(sizes):
        p = min(1.0, 24 / size)
        n = int(rng.binomial(size, p))
        x = np.full(n, float(has[at])) if of == "claims" else (rng.random(n) < 0.4).astype(float)
        y = (rng.random(n) < base[at] + effect * x).astype(float)
        rows.append(pd.DataFrame({"claim_id": f"c{at}", "x": x, "y": y, "p": p}))
    return pd.concat(rows, ignore_index=True)


def before(rows: pd.DataFrame, family: str, level: float = 0.95) -> tuple[float, float]:
    """The interval of the second coefficient by 0.2's rule."""
    model = GLM(
        rows["y"], np.column_stack([np.ones(len(rows)), rows["x"]]),
        Binomial() if family == "logistic" else Gaussian(), var_weights=1 / rows["p"],
    )  # fmt: skip
    groups = np.unique(rows["claim_id"], return_inverse=True)[1]
    warnings.simplefilter("ignore")  # of weights that are not frequencies
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    units = groups.max() + 1
    reach = stats.t.ppf((1 + level) / 2, units - 1) * fit.bse.iloc[1] * np.sqrt(units / (units - 1))
    return fit.params.iloc[1] - reach, fit.params.iloc[1] + reach


def row(claims: int, of: str, family: str, effect: float, draws: int) -> dict[str, Any]:
    """Coverage before and now, the width, the degrees, and how often there are words."""
    rng = np.random.default_rng([claims, len(of), len(family), round(100 * effect)])
    covered: list[bool] = []
    earlier: list[bool] = []
    widths: list[float] = []
    wide: list[float] = []
    degrees: list[float] = []
    words = 0
    for _ in range(draws):
        rows = study(rng, claims, of, effect)
        try:
            fitted = regression(
                Formula("favor", ("x",)), rows["y"].to_numpy(), rows, labelled=np.ones(len(rows), bool),
                chances=rows["p"].to_numpy(), family=family,
            )  # fmt: skip
        except InputError:
            words += 1
            continue
        found = fitted.table.iloc[1]
        low, high = before(rows, family)
        earlier.append(low <= effect <= high)
        wide.append(high - low)
        if np.isnan(found["low"]):
            words += 1
            continue
        covered.append(bool(found["low"] <= effect <= found["high"]))
        widths.append(found["high"] - found["low"])
        degrees.append(found["degrees"])
    return {
        "claims": claims, "covariate of": of, "family": family, "effect": effect, "coverage": np.mean(covered),
        "before": np.mean(earlier), "width": np.median(widths) / np.median(wide), "degrees": np.median(degrees),
        "words": words / draws,
    }  # fmt: skip


def over_posts(  # noqa: PLR0913 - a pool and its draw
    each: int,
    per_claim: int,
    draws: int,
    *,
    claims: int = 12,
    tail: float = 0.0,
    certain: int = 0,
    family: str = "linear",
    predicted: bool = False,
    seed: int = 1,
) -> str:
    """Coverage of the coefficient in a pool of `each` posts a claim; groups have a Zipf size of this `tail`, if it is one."""
    rng, many = np.random.default_rng(seed), claims * each
    pool = pd.DataFrame({"claim_id": np.repeat(np.arange(claims), each).astype(str)})
    pool["x"] = (rng.random(many) < 0.4).astype(float)
    y = (rng.random(many) < 0.3 + 0.2 * pool["x"]).to_numpy(float)
    sizes = np.minimum(rng.zipf(tail, many), 3000).astype(float) if tail else np.ones(many)
    chances = np.full(many, min(1.0, per_claim / each))
    if certain:
        chances[sizes >= np.sort(sizes)[-certain]] = 1.0
    said = (
        np.clip(0.3 + 0.2 * pool["x"].to_numpy() + rng.normal(0, 0.1, many), 0.01, 0.99)
        if predicted
        else None
    )
    options: dict[str, Any] = {"sizes": sizes, "over": "posts", "family": family}
    formula, known = Formula("favor", ("x",)), expected_of(chances, sizes / sizes.sum())
    every = {"labelled": np.ones(many, bool), "chances": np.ones(many)}
    true = regression(formula, y, pool, **every, **options).table["coefficient"][1]
    covered, words = [], 0
    for _ in range(draws):
        drawn = rng.random(many) < chances
        rows = np.flatnonzero(drawn) if predicted else np.arange(int(drawn.sum()))
        sampled = Sampled(rows, made_design(chances[drawn]), known)
        try:
            found = regression(
                formula, y, pool, labelled=drawn, chances=chances, sampled=sampled, predicted=said, **options
            ).table.iloc[1]
        except InputError:
            words += 1
            continue
        words += bool(found["why"])
        covered += [] if found["why"] else [found["low"] <= true <= found["high"]]
    told = f"{np.mean(covered):.3f}" if covered else "-"
    return f"coverage {told}, words {words / draws:.2f}"


def pools(draws: int) -> None:
    """Print the coverage over posts of each pool."""
    for family in ("linear", "logistic"):
        for each, per_claim, claims in ((200, 24, 12), (48, 24, 12), (27, 24, 12), (60, 6, 4)):
            told = over_posts(each, per_claim, draws, claims=claims, family=family)
            print(f"{family}, {claims} claims, {per_claim} of {each}: {told}")
    print("with predictions:", over_posts(200, 24, draws, predicted=True))
    for tail in (2.5, 2.0, 1.7):
        for certain in (0, 10, 40):
            for seed in (1, 2, 3):
                told = over_posts(200, 24, draws, tail=tail, certain=certain, seed=seed)
                print(f"Zipf {tail}, {certain} certain, pool {seed}: {told}")


if __name__ == "__main__":
    if "posts" in sys.argv:
        pools(int(sys.argv[1]))
        sys.exit()
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    cells = [
        (claims, of, family, effect)
        for family, effect in (("linear", 0.0), ("linear", 0.2), ("logistic", 0.0))
        for of in ("claims", "posts")
        for claims in CLAIMS
    ]
    table = pd.DataFrame([row(*cell, asked) for cell in cells])
    print(table.round(3).to_string(index=False))
