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
import pandas as pd

from covmis_build.errors import counted
from covmis_build.estimation.differences import Part
from covmis_build.estimation.parts import in_part
from covmis_build.estimation.scopes import Scope
from covmis_build.estimation.shares import represented
from covmis_build.records import Estimand

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from covmis_build.estimation.checks import Checked
    from covmis_build.estimation.shares import Estimates
    from covmis_build.options import Sampling

    Floats = NDArray[np.float64]


def with_bounds(
    figures: Estimates,
    labelled: pd.DataFrame,
    missing: pd.DataFrame,
    options: Sampling,
    pool: pd.DataFrame | None,
    draws: pd.DataFrame | None = None,
) -> Estimates:
    """Add the share of each part that drawn posts without a label represent, and the lowest and highest share of each label.

    Bounds are the estimates if these posts, too, had labels: the label, or others. `options`, `pool` and `draws` are those of `estimates`.
    """
    if missing.empty:
        return figures
    drawn = pd.concat([labelled, missing], ignore_index=True)
    bounds = {
        estimand: _Bounds(labelled, drawn, represented(drawn, pool, options, draws, estimand), sample.phase)
        for estimand, sample in figures.samples.items()
    }
    nothing_known = (math.nan,) * 3
    rows = [
        bounds[row["estimand"]].ends(row["scope"], row["name"], row["label"], row["share"])
        if row["estimand"] in bounds
        else nothing_known
        for row in figures.shares.to_dict("records")
    ]
    shares = figures.shares.assign(
        **{name: [ends[at] for ends in rows] for at, name in enumerate(("unlabelled", "lowest", "highest"))}
    )
    whole = shares[(shares["scope"] == Scope.POOL) & (shares["estimand"] == Estimand.UNIQUE_POSTS)]
    sentence = _sentence(whole, len(missing), len(drawn))
    return replace(figures, shares=shares, methods=(*figures.methods, sentence))


class _Bounds:
    """What the drawn posts of an estimand would represent if all of them had a label."""

    def __init__(self, labelled: pd.DataFrame, drawn: pd.DataFrame, weights: Floats, phase: Checked) -> None:
        self.drawn, self.weights, self.phase = drawn, weights, phase
        self.known = np.arange(len(drawn)) < len(labelled)
        self.labels = labelled["label"]
        self.parts: dict[tuple[str, str], tuple[Floats, float]] = {}

    def ends(self, scope: str, name: str, label: str, share: float) -> tuple[float, float, float]:
        """Return the part that has no label, and the lowest and highest share of this label."""
        if (part := (scope, name)) not in self.parts:
            shares = self._shares(scope, name)
            self.parts[part] = shares[self.known], float(np.sum(shares[~self.known]))
        shares, unlabelled = self.parts[part]
        rule = np.asarray(self.phase.rules == label, dtype=np.float64)
        said = self.phase.values(np.asarray(self.labels == label, dtype=np.float64), rule)
        lowest = float(np.clip(np.sum(shares * said), 0, 1))
        return unlabelled, min(lowest, share), max(min(lowest + unlabelled, 1.0), share)

    def _shares(self, scope: str, name: str) -> Floats:
        """Return each drawn item's part of the figure."""
        if scope == Scope.AVERAGE_CLAIM:
            claims = np.unique(self.drawn["claim_id"].astype(str), return_inverse=True)[1]
            whole = np.bincount(claims, self.weights)
            return np.asarray(self.weights / whole[claims] / len(whole), dtype=np.float64)
        here = self.weights
        if scope != Scope.POOL:
            here = here * in_part(self.drawn, Part(scope, name))
        return np.asarray(here / here.sum(), dtype=np.float64)


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
