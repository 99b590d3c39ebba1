"""Parts of a study with audited automatic labels: whether intervals of claims, months and differences cover the truth.

    .venv/bin/python benchmarks/parts.py [DRAWS] [POOL]

A rule labels posts that link to a fact-check; people check some of its labels. The rule errs as often in all claims, or in one
claim only, or from a month on. `bias` is the mean error, in points, where there is an interval; `words` the share of figures
without one; `worst` the lowest coverage of a single figure that has an interval in a third of the draws.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import pandas as pd

from covmis_build import tables
from covmis_build.estimation.differences import Part
from covmis_build.estimation.shares import estimates
from covmis_build.options import Labels, Sampling
from covmis_build.sampling.draw import sample

VALUES = ["favor", "against", "neither"]
RULE = {"fact_check_url": "against"}
DAY = "2020-05-01"
POOLS: dict[str, dict[str, Any]] = {
    "one claim errs": {"errors": [0.6] + [0.02] * 5, "audit": 0.2},
    "all claims err": {"errors": [0.3] * 6, "audit": 0.2},
    "few checks": {"errors": [0.3] * 12, "audit": 0.05},
    "few planned checks": {"errors": [0.3] * 12, "audit": 0.05, "per_part": 5},
    "audit raised later": {"errors": [0.6] + [0.3] * 5, "audit": 0.1, "then": 0.6},
    "no errors": {"errors": [0.0] * 12, "audit": 0.2},
    "rare errors": {"errors": [0.05] * 12, "audit": 0.2},
    "errs from May on": {"errors": [0.02] * 12, "later": 0.5, "audit": 0.3},
    "all checked": {"errors": [0.3] * 6, "audit": 1.0},
    "two_phase, one claim errs": {"errors": [0.6] + [0.02] * 5, "audit": 0.2, "design": "two_phase"},
}


def made(rng: np.random.Generator, errors: list[float], later: float | None) -> pd.DataFrame:
    """Posts of claims of several sizes, found by a link to a fact-check or by keywords, over five months."""
    rows = []
    for at, error in enumerate(errors):
        for kind, count in (("fact_check_url", 60 + 20 * (at % 4)), ("keywords", 40 + 60 * (at % 3))):
            for post in range(count):
                month = int(rng.integers(3, 8))
                wrong = error if later is None or month < 5 else later
                if kind == "keywords":
                    label = rng.choice(VALUES, p=[0.4, 0.3, 0.3])
                else:
                    label = "against" if rng.random() >= wrong else rng.choice(VALUES, p=[0.8, 0, 0.2])
                rows.append(
                    (
                        f"c{at:02}|x:{at}{kind[0]}{post}",
                        f"c{at:02}",
                        f"x:{at}{kind[0]}{post}",
                        kind,
                        label,
                        f"2020-{month:02}-11T00:00:00Z",
                        1 + rng.geometric(0.6),
                    )
                )
    columns = ["item_id", "claim_id", "post_id", "kind", "label", "created_at", "group_size"]
    posts = pd.DataFrame(rows, columns=columns)
    return posts.assign(kinds=[[kind] for kind in posts["kind"]], p_claim=1.0)


def study(
    posts: pd.DataFrame,
    about: dict[str, Any],
    seed: int,
    between: tuple[Part, Part],
    scopes: tuple[str, ...],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The shares and differences of a draw in which people label what the rule did not, and what is audited.

    `then` is the share that a second draw of each claim audits, of as many posts again.
    """
    options = Sampling(per_claim=40, per_kind=10, design=about["design"])
    planned: dict[str, Any] = {
        "audit_per_part": about["per_part"], "audit_by": ("claim", "month"), "times": posts[["post_id", "created_at"]],
    }  # fmt: skip
    first = Sampling(per_claim=20, per_kind=5, design=about["design"]) if about["then"] else options
    drawn = sample(
        posts,
        tables.empty("sample"),
        first,
        Labels(automatic=RULE),
        seed=seed,
        audit=about["audit"],
        **planned,
    ).sample
    if about["then"]:
        drawn = sample(
            posts, drawn, options, Labels(automatic=RULE), seed=seed, audit=about["then"], **planned
        ).sample
    known = ["item_id", "label", "created_at", "group_size", "p_claim"]
    corpus = drawn.merge(posts[known], on="item_id")
    by_rule = (corpus["automatic_label"] != "") & ~corpus["audited"]
    how = np.where(by_rule, "automatic", np.where(corpus["automatic_label"] != "", "audited", "agreed"))
    corpus = corpus.assign(how=how, label=corpus["label"].where(~by_rule, corpus["automatic_label"]))
    told = estimates(corpus, VALUES, options, automatic=RULE, pool=posts, by=scopes, between=between)
    return told.shares, told.differences


def _truth(posts: pd.DataFrame, scope: str, name: str, label: str, estimand: str) -> float:
    if scope == "average claim":
        return float(
            np.mean([_truth(posts, "claim", claim, label, estimand) for claim in set(posts["claim_id"])])
        )
    here = posts
    if scope in {"claim", "kind"}:
        here = posts[posts["claim_id" if scope == "claim" else "kind"] == name]
    elif scope == "month":
        here = posts[posts["created_at"].str[:7] == name]
    elif scope in {"before", "from"}:
        here = posts[(posts["created_at"].str[:10] < name) == (scope == "before")]
    weights = here["group_size"] if estimand == "posts" else None
    return float(np.average(here["label"] == label, weights=weights))


def _differences_true(posts: pd.DataFrame, rows: pd.DataFrame) -> list[float]:
    truths = []
    for row in rows.itertuples():
        (one, first), (other, second) = (part.split(" ", 1) for part in (row.first, row.second))
        if one == "label":
            pair = [_truth(posts, "pool", "", label, row.estimand) for label in (first, second)]
        else:
            pair = [_truth(posts, *part, row.label, row.estimand) for part in ((one, first), (other, second))]
        truths.append(pair[0] - pair[1])
    return truths


COMPARED = (
    (Part("claim", "c00"), Part("claim", "c01")),
    (Part("before", DAY), Part("from", DAY)),
    (Part("label", "favor"), Part("label", "against")),
)


def measured(name: str, draws: int) -> list[str]:
    about = {"later": None, "design": "poisson", "per_part": 0, "then": 0.0, **POOLS[name]}
    posts, began = made(np.random.default_rng(20261128), about["errors"], about["later"]), time.process_time()
    parts = []
    for seed in range(draws):
        asked = COMPARED[seed % len(COMPARED)]
        shares, differences = study(posts, about, seed, asked, ("claim", "kind", "month"))
        shares = shares.assign(value=shares["share"])
        shares["truth"] = [
            _truth(posts, row.scope, row.name, row.label, row.estimand)
            for row in shares.itertuples(index=False)
        ]
        differences = differences.assign(
            scope="difference of " + differences["first"].str.partition(" ")[0], name="", flagged=False,
            value=differences["difference"], truth=_differences_true(posts, differences),
        )  # fmt: skip
        columns = ["estimand", "scope", "name", "label", "value", "truth", "low", "high", "flagged"]
        parts += [shares[columns], differences[columns]]
    every = pd.concat(parts, ignore_index=True)
    every["held"] = (every["low"] - 1e-9 <= every["truth"]) & (every["truth"] <= every["high"] + 1e-9)
    every["error"], every["width"] = every["value"] - every["truth"], every["high"] - every["low"]
    lines = []
    for scope, rows in every.groupby("scope", sort=False):
        told = rows[rows["low"].notna()]
        plain = told[~told["flagged"].astype(bool)]
        by = plain.groupby(["estimand", "name", "label"])["held"].agg(["mean", "size"])
        often = by.loc[by["size"] >= max(by["size"].max() / 3, 1), "mean"] if len(by) else pd.Series([np.nan])
        lines.append(
            f"| {name} | {scope} | {plain['held'].mean():.3f} | {often.min():.3f} | {told['held'].mean():.3f} | "
            f"{100 * told.groupby(['estimand', 'name', 'label'])['error'].mean().abs().max():.1f} | {told['width'].median():.3f} | "
            f"{1 - len(told) / len(rows):.2f} | {time.process_time() - began:.0f} |"
        )
    return lines


def main() -> None:
    draws, begins = int(sys.argv[1]) if len(sys.argv) > 1 else 300, sys.argv[2] if len(sys.argv) > 2 else ""
    print("| pool | figure | unflagged | worst | all | bias | width | words | CPU s |\n" + "|---" * 9 + "|")
    for name in POOLS:
        if name.startswith(begins):
            print("\n".join(measured(name, draws)), flush=True)


if __name__ == "__main__":
    main()
