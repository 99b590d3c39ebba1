"""Posts that were drawn and have no label: the shares that are possible, whatever they are.

An estimate takes them to be like the labelled posts of their claim. Nothing in the sample can show whether they are: a share
therefore has a lowest value (none of them has the label) and a highest one (all have it), and its interval, which is that
of the draw alone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from covmis_build.errors import counted
from covmis_build.estimation.differences import Part
from covmis_build.estimation.parts import in_part
from covmis_build.estimation.scopes import Scope
from covmis_build.records import Estimand

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.estimation.shares import Estimates, Sample

    Floats = NDArray[np.float64]

BOUNDED = (Scope.POOL, Scope.AVERAGE_CLAIM, Scope.CLAIM, Scope.KIND)
"""Parts of which it is known how many drawn posts lack a label."""


def with_bounds(
    figures: Estimates, labelled: pd.DataFrame, missing: pd.DataFrame, weights: Mapping[Estimand, str]
) -> Estimates:
    """Add the share of each part that drawn posts without a label represent, and the lowest and highest share of each label."""
    if missing.empty:
        return figures
    bounds = {
        estimand: _Bounds(
            labelled,
            missing,
            figures.weights[weights[estimand]].to_numpy(float),
            figures.samples[estimand],
            estimand,
        )
        for estimand in weights
    }
    rows = []
    for row in figures.shares.to_dict("records"):
        known = bounds.get(row["estimand"]) if row["scope"] in BOUNDED else None
        ends = (
            (math.nan,) * 3
            if known is None
            else known.ends(row["scope"], row["name"], row["label"], row["share"])
        )
        rows.append(dict(zip(("unlabelled", "lowest", "highest"), ends, strict=True)))
    shares = figures.shares.assign(
        **{name: [row[name] for row in rows] for name in ("unlabelled", "lowest", "highest")}
    )
    pool = shares[(shares["scope"] == Scope.POOL) & (shares["estimand"] == Estimand.UNIQUE_POSTS)]
    sentence = _sentence(pool, len(missing), len(missing) + len(labelled))
    return replace(figures, shares=shares, methods=(*figures.methods, sentence))


class _Bounds:
    """The labelled posts of an estimand, and what those without a label represent."""

    def __init__(
        self,
        labelled: pd.DataFrame,
        missing: pd.DataFrame,
        weights: Floats,
        sample: Sample,
        estimand: Estimand,
    ) -> None:
        self.labelled, self.missing, self.weights, self.phase = labelled, missing, weights, sample.phase
        self.posts = estimand == Estimand.POSTS

    def ends(self, scope: str, name: str, label: str, share: float) -> tuple[float, float, float]:
        """Return the part that has no label, and the lowest and highest share of this label."""
        known, unknown = self._here(self.labelled, scope, name), self._here(self.missing, scope, name)
        cell = "kind" if scope == Scope.KIND else "claim_id"
        drawn, lacking = self._by(self.labelled[known], cell), self._by(self.missing[unknown], cell)
        parts = {of: lacking.get(of, 0.0) / (lacking.get(of, 0.0) + there) for of, there in drawn.items()}
        part = self.labelled.loc[known, cell].astype(str).map(parts).to_numpy(float)
        # claims of which no post has a label are in no weight, and wholly unknown
        alone = sum(size for of, size in lacking.items() if of not in drawn)
        alone /= sum(drawn.values()) + sum(lacking.values())
        shares = self._shares(known, scope)
        rule = np.asarray(self.phase.rules == label, dtype=np.float64)
        own = np.asarray(self.labelled["label"] == label, dtype=np.float64)
        said = self.phase.values(own, rule)[known]
        lowest = float(np.clip(np.sum(shares * (1 - part) * said), 0, 1)) * (1 - alone)
        unlabelled = float(np.sum(shares * part)) * (1 - alone) + alone
        return unlabelled, min(lowest, share), max(min(lowest + unlabelled, 1.0), share)

    def _here(self, items: pd.DataFrame, scope: str, name: str) -> NDArray[np.bool_]:
        if scope in {Scope.POOL, Scope.AVERAGE_CLAIM}:
            return np.ones(len(items), dtype=bool)
        return np.asarray(in_part(items, Part(scope, name)), dtype=bool)

    def _by(self, items: pd.DataFrame, cell: str) -> dict[str, float]:
        """Return how many posts the items of each cell represent by the draw alone."""
        sizes = items["group_size"].astype(float) if self.posts else 1.0
        each = sizes / (items["p_claim"].astype(float) * items["p_sample"].astype(float))
        return {str(name): float(size) for name, size in each.groupby(items[cell].astype(str)).sum().items()}

    def _shares(self, known: NDArray[np.bool_], scope: str) -> Floats:
        """Return each labelled item's part of the figure."""
        weights = self.weights[known]
        if scope != Scope.AVERAGE_CLAIM:
            return np.asarray(weights / weights.sum(), dtype=np.float64)
        claims = np.unique(self.labelled.loc[known, "claim_id"].astype(str), return_inverse=True)[1]
        whole = np.bincount(claims, weights)
        return np.asarray(weights / whole[claims] / len(whole), dtype=np.float64)


def _sentence(pool: pd.DataFrame, missing: int, drawn: int) -> str:
    """Return what is not labelled, what it could change, and from which part of it on the order of labels would change."""
    part = float(pool["unlabelled"].iloc[0])
    ends = ", ".join(f"{row.label} {row.lowest:.1%} to {row.highest:.1%}" for row in pool.itertuples())
    said = (
        f"{missing:,} of {counted(drawn, 'drawn posts')} have no label; they represent {part:.1%} of unique posts. The shares take them to "
        f"be like the labelled posts of their claim. Whatever they are, the shares are, with the sampling error in addition: {ends}."
    )
    if len(pool) < 2 or part <= 0:
        return said
    first, second = pool.sort_values("share", ascending=False, kind="stable").head(2).to_dict("records")
    needed = (first["lowest"] - second["lowest"] + part) / (2 * part)
    if needed >= 1:
        return f"{said} {first['label']} is the most frequent label in any case."
    return (
        f"{said} {first['label']} would not be the most frequent label if more than {max(needed, 0):.0%} of them were {second['label']} "
        f"and the others {first['label']}."
    )
