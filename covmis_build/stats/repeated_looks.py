"""An interval that holds however often one looks, and shares of groups that lend one another strength."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

TUNED_FOR = 60
"""The number of posts at which an interval for every look is narrowest, compared with one for a single look."""


def wider_at_every_look(posts: int) -> float:
    """Return how many times wider a 95% interval has to be so that it holds at every look (Robbins' normal mixture).

    >>> round(wider_at_every_look(60), 2), round(wider_at_every_look(288), 2)
    (1.87, 1.56)
    """
    ratio = (posts + TUNED_FOR) / max(posts, 1)
    return math.sqrt(ratio * (math.log((posts + TUNED_FOR) / TUNED_FOR) + 2 * math.log(20))) / 1.959964


def shrunken_shares(
    sizes: Sequence[int], counts: Sequence[int], *, draws: int = 4000, seed: int = 0
) -> list[tuple[float, float, float]]:
    """Return each group's share and 95% interval, shrunken towards all groups: a beta for all, averaged over a grid.

    >>> [round(value, 2) for value in shrunken_shares([24, 24, 24], [2, 3, 12])[2]]
    [0.43, 0.24, 0.63]
    """
    import numpy as np
    from scipy.special import betaln

    n, k = np.asarray(sizes, dtype=float), np.asarray(counts, dtype=float)
    mean, size = (grid.ravel() for grid in np.meshgrid(np.linspace(0.01, 0.8, 60), np.geomspace(2, 400, 25)))
    a, b = mean * size, (1 - mean) * size
    log = (betaln(k + a[:, None], n - k + b[:, None]) - betaln(a, b)[:, None]).sum(1)
    weight = np.exp(log - log.max())
    rng = np.random.default_rng(seed)
    at = rng.choice(len(weight), draws, p=weight / weight.sum())
    rates = rng.beta(k + a[at, None], n - k + b[at, None])
    low, high = np.quantile(rates, [0.025, 0.975], axis=0)
    return list(zip(rates.mean(0).tolist(), low.tolist(), high.tolist(), strict=True))
