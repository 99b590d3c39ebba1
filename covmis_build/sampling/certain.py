"""Choose near-duplicate clusters that a Poisson draw includes with certainty (`[sampling] certain`).

A post with thousands of copies dominates the shares of all posts. If it is not sampled by chance, these shares are wrong,
and the sample cannot show it. So the most influential clusters of a claim are certain, until its posts have an effective sample
size of 10, or half of that of its unique posts, and while a cluster contributes more variance than one additional ordinary
post would remove. The choice depends only on the sizes of the claim's clusters, never on labels, other claims or draws. All
other probabilities are unchanged.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.options import RANKED
from covmis_build.sampling.designs import poisson
from covmis_build.sampling.inclusion import allocate
from covmis_build.sampling.strata import strata_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from covmis_build.options import Sampling

ENOUGH = 10
"""Target effective sample size of a claim's posts."""
TIMES = 2
"""Maximum ratio of the variance to that without near-duplicates."""


class Stratum(NamedTuple):
    """A claim's stratum: its unique posts, its posts, and the sum of squared cluster sizes."""

    unique: int
    posts: int
    squares: int


class Cluster(NamedTuple):
    """A near-duplicate cluster of at least two posts, by its representative item."""

    stratum: str
    size: int
    item: str


class Clusters(NamedTuple):
    """Each claim's strata by name, and each stratum's largest clusters in descending order."""

    strata: dict[str, dict[str, Stratum]]
    largest: dict[tuple[str, str], list[Cluster]]

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of unique posts per claim and stratum."""
        return {claim: {name: one.unique for name, one in of.items()} for claim, of in self.strata.items()}


def clusters_of(items: pd.DataFrame, strata: Mapping[str, str] | None = None) -> Clusters:
    """Return the clusters of these items without ranked ones.

    >>> import pandas as pd
    >>> rows = {"item_id": ["a", "b"], "claim_id": "1", "kind": "title", "group_size": [1, 3]}
    >>> clusters_of(pd.DataFrame(rows)).largest
    {('1', 'title'): [Cluster(stratum='title', size=3, item='b')]}
    """
    items = items[items["kind"] != RANKED]
    sums: dict[str, dict[str, Stratum]] = {}
    clusters: dict[tuple[str, str], list[Cluster]] = {}
    rows = zip(
        items["claim_id"],
        strata_of(items, strata),
        items["group_size"].astype(int),
        items["item_id"],
        strict=True,
    )
    for claim, name, size, item in sorted(rows, key=lambda row: (row[0], row[1], -row[2], row[3])):
        unique, posts, squares = sums.setdefault(str(claim), {}).get(name, (0, 0, 0))
        sums[str(claim)][name] = Stratum(unique + 1, posts + size, squares + size * size)
        if size > 1:
            clusters.setdefault((str(claim), name), []).append(Cluster(name, size, str(item)))
    return Clusters(sums, clusters)


def certain(clusters: Clusters, options: Sampling) -> dict[str, dict[str, str]]:
    """Return the representative items of certain clusters: claim → item → stratum.

    At most `per_claim` of each stratum. Empty if the setting or the design does not ask for any.

    >>> from covmis_build.options import Sampling
    >>> one = Clusters({"1": {"title": Stratum(100, 1099, 1_000_099)}}, {("1", "title"): [Cluster("title", 1000, "x:1")]})
    >>> certain(one, Sampling())
    {'1': {'x:1': 'title'}}
    """
    if not options.certain or options.design != poisson.NAME:
        return {}
    taken: dict[str, dict[str, str]] = {}
    for claim, counts in clusters.counts.items():
        strata, allocation = clusters.strata[claim], allocate(counts, options.per_kind, options.per_claim)
        p = {name: float(allocation.chance(name)) for name in allocation.counts}
        odds = {name: (1 - p[name]) / p[name] if p.get(name) else 0.0 for name in strata}
        parts = [
            (odds[one.stratum] * one.size**2, one)
            for name in strata
            for one in clusters.largest.get((claim, name), [])[: options.per_claim]
        ]
        alike = math.fsum(odds[name] * one.unique for name, one in strata.items())
        left = math.fsum(odds[name] * one.squares for name, one in strata.items())
        unique, posts = (sum(getattr(one, name) for one in strata.values()) for name in ("unique", "posts"))
        enough = max(1 / ENOUGH, TIMES * alike / unique**2) * posts**2 * (1 + 1e-9) if unique else math.inf
        for part, cluster in sorted(parts, key=lambda row: (-row[0], row[1].item)):
            if left <= enough or part < left / options.per_claim:
                break
            left -= part
            taken.setdefault(claim, {})[cluster.item] = cluster.stratum
    return taken
