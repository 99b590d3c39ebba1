"""glide's estimators of a mean with predictions, put together from our parts: totals, λ, the moved mean, the jackknife.

covmis prints none of them: they speak of a superpopulation that the posts came from, ours of the posts. But what they
are made of is the same, so their figures follow to the last digit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.estimation.assisted import assisted_estimate, strength
from covmis_build.stats.over_posts import made_design, total

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Figure = tuple[float, float]


class Coins:
    """Every post of the pool with a label by a coin of its own: what glide takes the variance of."""

    def variance(self, z: Floats) -> float:
        return float(np.var(z, ddof=1))


def figures(case: Mapping[str, Any]) -> dict[str, Figure]:
    """Value and standard error of each estimator that the case has the columns for."""
    f, labelled = np.array(case["f"], float), np.array([one is not None for one in case["y"]])
    y = np.array([0.0 if one is None else one for one in case["y"]])
    found: dict[str, Figure] = {}
    if "pi" in case:
        pi = np.array(case["pi"], float)
        found["ipw"] = active(y, np.zeros(len(y)), labelled, pi, 0.0)
        coin = labelled / pi
        tuned = strength(y * coin, f * (coin - 1), Coins())  # type: ignore[arg-type]
        found["asi_tuned"] = active(y, f, labelled, pi, tuned)
        found["asi_lambda_1"] = active(y, f, labelled, pi, 1.0)
    for way, moved in (("tuned", None), ("lambda_1", 1.0)):
        found[f"ppi_{way}"] = two_samples(y[labelled], f[labelled], f[~labelled], moved)
        if "group" in case:
            parts = [np.array(case["group"]) == group for group in sorted(set(case["group"]))]
            each = [
                two_samples(y[here & labelled], f[here & labelled], f[here & ~labelled], moved)
                for here in parts
            ]
            value = sum(here.mean() * one for here, (one, _) in zip(parts, each, strict=True))
            error = math.hypot(*(here.mean() * error for here, (_, error) in zip(parts, each, strict=True)))
            found[f"stratified_{way}"] = float(value), error
        if "cluster" in case:
            cluster = np.array(case["cluster"])
            means = [
                np.array([values[rows & (cluster == one)].mean() for one in np.unique(cluster[rows])])
                for values, rows in ((y, labelled), (f, labelled), (f, ~labelled))
            ]
            found[f"clustered_{way}"] = two_samples(*means, moved)
    return found


def active(y: Floats, f: Floats, labelled: NDArray[np.bool_], pi: Floats, moved: float) -> Figure:
    """Active statistical inference (Zrnic and Candès 2024): the difference estimator in Horvitz-Thompson form."""
    corrections, _ = total((y - moved * f)[labelled], made_design(pi[labelled]))
    parts = moved * f + labelled / pi * (y - moved * f)
    return (moved * float(f.sum()) + corrections) / len(y), error_of_mean(parts)


def two_samples(y: Floats, f: Floats, rest: Floats, moved: float | None) -> Figure:
    """PPI++ (Angelopoulos and others 2023): two samples, λ by both; the moved mean is ours with even chances."""
    n, m = len(y), len(rest)
    if moved is None:
        moved = float(np.cov(y, f)[0, 1] / ((1 + n / m) * np.var(np.r_[f, rest], ddof=1)))
    centres, scale = (np.full(n, y.mean()), np.full(n, f.mean())), np.full(n, 0.5 / n)
    found = assisted_estimate(
        y, f, centres, scale, made_design(np.full(n, 0.5)), n=n, pool_mean=float(rest.mean()), moved=moved
    )
    return found.value, math.hypot(error_of_mean(y - moved * f), error_of_mean(moved * rest))


def error_of_mean(values: Floats) -> float:
    """The jackknife's, with every unit a claim of its own: the textbook's."""
    return float(values.std(ddof=1) / len(values) ** 0.5)
