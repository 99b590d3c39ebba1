"""Replicate weights: compute the standard error over claims of any figure, in any program.

Each replicate has a factor per claim. Compute the figure with the weights, and once per replicate with the weights times its
factors. The variance is `scale` times the sum of squared deviations of these values from their mean.
R: svrepdesign(weights=, repweights=, type="JK1" or "other", scale=, rscales=1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from covmis_build import keyed
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST_CLAIMS = 3


def jackknife_factors(claims: int) -> tuple[Floats, float]:
    """Return JK1 factors: each replicate leaves one claim out and increases the others; (claims, claims), and the scale.

    >>> jackknife_factors(3)[0].tolist()
    [[0.0, 1.5, 1.5], [1.5, 0.0, 1.5], [1.5, 1.5, 0.0]]
    """
    factors = np.full((claims, claims), claims / (claims - 1))
    np.fill_diagonal(factors, 0.0)
    return factors, (claims - 1) / claims


def bootstrap_factors(claims: Sequence[str], replicates: int, *, seed: int) -> tuple[Floats, float]:
    """Return factors of Rao and Wu's bootstrap: each replicate draws one claim fewer, with replacement; (claims, replicates), scale.

    Random numbers depend on claim, replicate and draw: the order of claims does not matter.
    """
    order = sorted(claims)
    rows = {claim: at for at, claim in enumerate(order)}
    count = len(order)
    factors = np.zeros((count, replicates))
    for replicate in range(replicates):
        for draw in range(count - 1):
            at = int(keyed.uniform(seed, "replicate weights", str(replicate), str(draw)) * count)
            factors[at, replicate] += count / (count - 1)
    return factors[[rows[claim] for claim in claims]], 1 / (replicates - 1)


def replicate_error(values: Floats, scale: float) -> float:
    """Return the standard error from a figure's replicates, ignoring undefined ones."""
    known = values[~np.isnan(values)]
    return float(np.sqrt(scale * np.sum((known - known.mean()) ** 2)))


def replicate_weights(
    corpus: pd.DataFrame, *, bootstrap: int = 0, seed: int = 0
) -> tuple[pd.DataFrame, float]:
    """Return one row per item of a corpus: item_id, weight, and replicate weights; and the scale of their variance.

    The jackknife over claims, or `bootstrap` replicates.
    """
    names = list(dict.fromkeys(corpus["claim_id"].astype(str)))
    if len(names) < FEWEST_CLAIMS:
        raise InputError(
            f"replicate weights over {len(names)} claims say nothing",
            remedy=f"At least {FEWEST_CLAIMS} are needed",
        )
    factors, scale = (
        bootstrap_factors(names, bootstrap, seed=seed) if bootstrap else jackknife_factors(len(names))
    )
    at = corpus["claim_id"].astype(str).map({name: row for row, name in enumerate(names)}).to_numpy()
    weight = corpus["weight"].to_numpy(float)
    columns = {f"weight_{number}": weight * column[at] for number, column in enumerate(factors.T, 1)}
    return pd.DataFrame({"item_id": corpus["item_id"].to_numpy(), "weight": weight} | columns), scale
