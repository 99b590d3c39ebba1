"""Shares of all posts where copies are heavy-tailed: with the largest clusters left to chance, and taken with certainty.

    .venv/bin/python benchmarks/certain.py [DRAWS]

Pools of 12 and 30 claims with 30 to 2,000 unique posts each; sizes of clusters follow Zipf's law, or one message has 4,000 posts.
Draws, the choice of clusters and intervals are the package's. Shares are of the pool and of each claim.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from covmis_build.options import Sampling
from covmis_build.sampling.certain import Cluster, Clusters, Stratum, certain
from covmis_build.sampling.inclusion import allocate
from covmis_build.stats.over_posts import expected_looseness, made_design, mean


@dataclass
class Held:
    """How often intervals held the truth, how wide they were, how many were flagged, how often words stood there."""

    draws: int = 0
    words: int = 0
    held: int = 0
    flagged: int = 0
    width: float = 0.0

    def add(self, found, truth: float) -> None:
        """Count one interval."""
        self.draws += 1
        if found.low is None or np.isnan(found.low):
            self.words += 1
            return
        self.held += found.low <= truth <= found.high
        self.flagged += found.flagged
        self.width += found.high - found.low

    def __str__(self) -> str:
        given = max(self.draws - self.words, 1)
        return (
            f"{self.held / given:.3f}, width {self.width / given:.2f}, flagged {self.flagged / given:.2f}, "
            f"words {self.words / max(self.draws, 1):.2f}"
        )


def pool(tail: str, claims: int, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Of each claim: the query type, the size and the label of each unique post."""
    made = []
    for at in range(claims):
        number = int(np.clip(rng.lognormal(4.7, 0.8), 30, 2000))
        sizes = np.ones(number, int) if tail == "joke" else np.minimum(rng.zipf(float(tail), number), 20_000)
        labels = rng.random(number) < rng.beta(2, 3)
        if tail == "joke" and at == 0:
            sizes[0], labels[0] = 4000, True
        made.append((np.where(rng.random(number) < 0.1, "title", "keywords"), sizes, labels))
    return made


def chances(claims, options: Sampling) -> tuple[list[np.ndarray], float, int]:
    """Each post's probability by claim; posts more that certain clusters cost; how many clusters there are of them."""
    strata, largest, base = {}, {}, []
    for at, (kinds, sizes, _) in enumerate(claims):
        names = np.unique(kinds)
        own = {name: sizes[kinds == name] for name in names}
        strata[str(at)] = {
            name: Stratum(len(of), int(of.sum()), int((of**2).sum())) for name, of in own.items()
        }
        for name in names:
            rows = sorted(np.flatnonzero((kinds == name) & (sizes > 1)), key=lambda row: (-sizes[row], row))
            largest[str(at), name] = [Cluster(name, int(sizes[row]), str(row)) for row in rows]
        allocation = allocate({name: len(of) for name, of in own.items()})
        base.append(np.array([float(allocation.chance(name)) for name in kinds]))
    cost = number = 0
    for claim, items in certain(Clusters(strata, largest), options).items():
        rows = [int(item) for item in items]
        cost += float((1 - base[int(claim)][rows]).sum())
        number += len(rows)
        base[int(claim)][rows] = 1.0
    return base, cost, number


def measured(tail: str, claims: int, draws: int, seed: int) -> None:
    made = pool(tail, claims, np.random.default_rng(seed))
    sizes, y = (np.concatenate([row[at] for row in made]).astype(float) for at in (1, 2))
    claim = np.concatenate([np.full(len(row[1]), at) for at, row in enumerate(made)])
    for on in (False, True):
        by_claim, cost, number = chances(made, Sampling(certain=on))
        p, rng = np.concatenate(by_claim), np.random.default_rng(seed + 1000)
        whole, parts = Held(), [Held() for _ in made]
        masks = [np.ones(len(p), bool), *(claim == at for at in range(claims))]
        known = [
            (
                (sizes * y)[here].sum() / sizes[here].sum(),
                expected_looseness(p[here], sizes[here] / sizes[here].sum()),
            )
            for here in masks
        ]
        for _ in range(draws):
            got = rng.random(len(p)) < p
            for held, here, (truth, expected) in zip([whole, *parts], masks, known, strict=True):
                mine = got & here
                if mine.any():
                    held.add(mean(y[mine], made_design(p[mine]), sizes=sizes[mine], expected=expected), truth)
        rates = [one.held / (one.draws - one.words) for one in parts if one.draws - one.words > draws / 10]
        words = sum(one.words for one in parts) / sum(one.draws for one in parts)
        of_claims = f"{np.mean(rates):.3f}, worst {min(rates):.3f}" if rates else "–"
        print(
            f"{tail:5} {claims} claims, {'certain' if on else 'chance ':7} {p.sum():.0f} posts (+{cost:.1f}, {number} clusters): "
            f"pool {whole}; claims {of_claims}, words {words:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    for tail in ("joke", "2.5", "2.0", "1.7"):
        for claims, seed in ((12, 1), (30, 2)):
            measured(tail, claims, int(sys.argv[1]) if len(sys.argv) > 1 else 500, seed)
