"""Samples handed to R's survey package, and what it makes of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from covmis_build.estimation.replicates import replicate_error, replicate_weights
from covmis_build.sampling.inclusion import allocate, joint_probabilities
from covmis_build.stats.over_posts import PostStrata, made_design, mean, total
from tests.services import r

if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT = Path(__file__).with_name("survey.R")
Figures = dict[tuple[str, str], tuple[float, float]]


def write_sample(folder: Path, name: str, rows: pd.DataFrame, joint: np.ndarray | None = None) -> None:
    """One design: p, y, x, d, kind, K (posts of the kind); and its joint probabilities."""
    rows.to_csv(folder / f"{name}.sample.csv", index=False, float_format="%.17g")
    if joint is not None:
        lines = (",".join(repr(float(cell)) for cell in row) for row in joint)
        (folder / f"{name}.joint.csv").write_text("\n".join(lines) + "\n")


def estimates_of_r(folder: Path) -> Figures:
    """For each design and figure, the value and its standard error."""
    lines = (line.split(",") for line in r.run(SCRIPT, str(folder)).splitlines())
    return {(name, figure): (float(value), float(error)) for name, figure, value, error in lines}


KINDS = ("fact_check_url", "keywords", "news_url", "title")


def a_pool(chance: np.random.Generator) -> dict[str, dict[str, int]]:
    """Claims with random numbers of posts of each kind, some of them few, some with more than the sample takes."""
    claims = {}
    for claim in range(int(chance.integers(2, 6))):
        counts = {kind: int(chance.integers(0, 40)) for kind in KINDS}
        claims[f"c{claim}"] = counts | {"keywords": counts["keywords"] + 7}
    return claims


def a_sample(chance: np.random.Generator, design: str) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Items drawn from a pool by the paper's rules, with made-up values; and the joint probabilities of two-phase."""
    claims, parts = a_pool(chance), []
    for claim, counts in claims.items():
        drawn = allocate(counts)
        names, left = list(drawn.counts), [drawn.counts[kind] - drawn.first[kind] for kind in drawn.counts]
        more = dict(zip(names, chance.multivariate_hypergeometric(left, drawn.more), strict=True))
        for kind, number in drawn.counts.items():
            p = float(drawn.chance(kind))
            taken = (
                drawn.first[kind] + int(more[kind])
                if design == "two_phase"
                else int(chance.binomial(number, p))
            )
            parts.append(pd.DataFrame({"claim": claim, "kind": kind, "p": p}, index=range(max(taken, 1))))
    rows = pd.concat(parts, ignore_index=True)
    n = len(rows)
    rows = rows.assign(
        y=chance.integers(0, 2, n), x=1.0 + chance.geometric(0.4, n), d=(chance.random(n) < 0.6).astype(int),
    )  # fmt: skip
    rows["K"] = rows.groupby("kind")["p"].transform(
        lambda p: round(float((1 / p).sum()) * (1 + len(p) % 4 / 10), 2)
    )
    if design == "poisson":
        return rows, None
    joint = np.outer(rows["p"], rows["p"])
    for claim, counts in claims.items():
        pairs, at = joint_probabilities(counts), np.flatnonzero(rows["claim"] == claim)
        kinds = rows["kind"].to_numpy()[at]
        joint[np.ix_(at, at)] = [[pairs.get((a, b), 1.0) for b in kinds] for a in kinds]
    np.fill_diagonal(joint, rows["p"])
    return rows, joint


def ours(rows: pd.DataFrame, design: str, joint: np.ndarray | None) -> Iterator[tuple[str, float, float]]:
    """The figures that survey.R gives: name, value, standard error."""
    y, x, p, d = (rows[name].to_numpy(float) for name in ("y", "x", "p", "d"))
    drawn = made_design(p, design=design, joint=joint)
    value, variance = total(y, drawn)
    yield "total", value, variance**0.5
    kinds = {f"kind {kind}": rows["kind"].to_numpy() == kind for kind in sorted(set(rows["kind"]))}
    for name, here in {"mean": None, "domain": d > 0, **kinds}.items():
        found = mean(y, drawn, domain=here)
        yield name, found.value, found.standard_error
    copies = mean(y, drawn, sizes=x)
    yield "copies", copies.value, copies.standard_error
    names, cells = np.unique(rows["kind"], return_inverse=True)
    factors = rows["K"].to_numpy() / np.bincount(cells, drawn.weights)[cells]
    strata = PostStrata(cells, factors, np.ones(len(y)), np.zeros(len(names)))
    value, variance = total(y, replace(drawn, strata=strata))
    yield "sizes", value, variance**0.5


def replicates(rows: pd.DataFrame, bootstrap: int) -> Iterator[tuple[str, float, float]]:
    """The same for means with replicate weights over claims: of all items, and of each kind."""
    weights, scale = replicate_columns(rows, bootstrap)
    y, kinds, columns = rows["y"].to_numpy(float), rows["kind"].to_numpy(), weights.to_numpy()
    for figure in ("mean", *(f"part {kind}" for kind in sorted(set(kinds)))):
        here = (np.ones(len(y)) if figure == "mean" else kinds == figure.removeprefix("part "))[:, None]
        with np.errstate(invalid="ignore"):
            values = (columns * y[:, None] * here).sum(0) / (columns * here).sum(0)
        yield figure, float(values[0]), replicate_error(values[1:], scale)


def write_replicates(folder: Path, name: str, rows: pd.DataFrame, bootstrap: int) -> None:
    """What a corpus would carry for R: replicate weights, their type and their scale."""
    weights, scale = replicate_columns(rows, bootstrap)
    told = {"y": rows["y"], "part": rows["kind"], "type": "other" if bootstrap else "JK1", "scale": scale}
    weights.assign(**told).to_csv(folder / f"{name}.replicates.csv", index=False, float_format="%.17g")


def replicate_columns(rows: pd.DataFrame, bootstrap: int) -> tuple[pd.DataFrame, Any]:
    """The weights, each replicate's, and the scale of their variance."""
    corpus = pd.DataFrame(
        {"item_id": rows.index.astype(str), "claim_id": rows["claim"], "weight": 1 / rows["p"]}
    )
    weights, scale = replicate_weights(corpus, bootstrap=bootstrap, seed=5)
    return weights.drop(columns="item_id"), scale
