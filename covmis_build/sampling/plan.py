"""What a sample will be before it is drawn: its size, the hours it costs, and how wide its intervals come out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from covmis_build.options import RANKED
from covmis_build.records import independent
from covmis_build.sampling.audit import upper_bound
from covmis_build.sampling.automatic import automatic_label
from covmis_build.sampling.certain import Clusters, certain, clusters_of
from covmis_build.sampling.designs import design_of
from covmis_build.sampling.inclusion import allocate
from covmis_build.sampling.strata import strata_of
from covmis_build.stats.intervals import reach_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from covmis_build.options import Annotation, Labels, Sampling

TARGETS = (12, 24, 36, 48, 96)
LONGEST = 600.0
"""A label that took more seconds than this counts as this: the screen was left open, not read."""
COLUMNS = [
    "per_claim", "per_kind", "claims", "items", "items_sd", "certain", "certain_cost", "automatic", "audited", "by_people", "hours",
    "half_width_pool", "half_width_claim", "design_effect", "audit_bound",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cost:
    """What the labels so far say about time, and what a plan assumes."""

    seconds: float | None
    """Mean seconds a label; none if nobody has labelled anything yet."""
    labels: int
    """How many labels that mean is of."""


def seconds_per_label(labels: pd.DataFrame) -> Cost:
    """The mean time of the labels given independently so far (table `labels`)."""
    seconds = pd.to_numeric(independent(labels)["seconds"], errors="coerce")
    seconds = seconds[seconds > 0].clip(upper=LONGEST)
    return Cost(float(seconds.mean()) if len(seconds) else None, len(seconds))


class Pool(NamedTuple):
    """What all targets have in common: of each claim and stratum how many posts; of each post which of them it is in."""

    clusters: Clusters
    place: dict[str, int]
    """The row of each item that represents several posts."""
    strata: dict[tuple[str, str], int]
    stratum: NDArray[np.int64]
    claims: int
    claim: NDArray[np.int64]
    p_claim: NDArray[np.float64]
    automatic: NDArray[np.bool_]

    @classmethod
    def of(cls, items: pd.DataFrame, labels: Labels, strata: Mapping[str, str] | None = None) -> Pool:
        """The pool of these items, but for the ranked ones, which come on top of every target."""
        items = items[items["kind"] != RANKED]
        clusters = clusters_of(items, strata)
        place = {
            item: at
            for at, (item, size) in enumerate(zip(items["item_id"], items["group_size"], strict=True))
            if size > 1
        }
        number = {
            pair: at
            for at, pair in enumerate(
                (claim, name) for claim, names in clusters.strata.items() for name in names
            )
        }
        pairs = zip(items["claim_id"].astype(object), strata_of(items, strata), strict=True)
        of_claim, claims = pd.factorize(items["claim_id"], sort=True)
        return cls(
            clusters, place, number, np.array([number[str(claim), name] for claim, name in pairs], dtype=np.int64), len(claims),
            np.asarray(of_claim, np.int64), items["p_claim"].to_numpy(dtype=float),
            np.array([automatic_label(kinds, labels) != "" for kinds in items["kinds"]], dtype=bool),
        )  # fmt: skip


def costs(
    pool: Pool,
    options: Sampling,
    annotation: Annotation,
    *,
    seconds: float | None = None,
    targets: Sequence[int] = TARGETS,
    share: float = 0.5,
    level: float = 0.95,
) -> pd.DataFrame:
    """For each target per claim, the study's own among them: size, hours, and half-widths of intervals.

    Half-widths are of the Hájek share of unique posts, for a label that has this share everywhere: of the
    whole pool, and of the median claim. `certain` clusters cost `certain_cost` items more. `audit_bound` is the error rate of automatic labels that an audit without
    an error would still leave possible. A target too small for the quotas gets smaller quotas.
    """
    rows = []
    for target in sorted({options.per_claim, *targets}):
        quota = min(options.per_kind, target // 4)
        sampling = replace(options, per_claim=target, per_kind=quota)
        rows.append(_row(pool, sampling, annotation, seconds, share, level))
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(
    pool: Pool, sampling: Sampling, annotation: Annotation, seconds: float | None, share: float, level: float
) -> dict[str, Any]:
    chances = np.empty(len(pool.strata))
    for claim, numbers in pool.clusters.counts.items():
        draw = allocate(numbers, sampling.per_kind, sampling.per_claim)
        for name in draw.counts:
            chances[pool.strata[claim, name]] = float(draw.chance(name))
    p, first, automatic = chances[pool.stratum], pool.p_claim, pool.automatic
    sure = [pool.place[item] for of in certain(pool.clusters, sampling).values() for item in of]
    more = float((1 - p[sure]).sum())
    p[sure] = 1.0
    machine = float(p[automatic].sum())
    people = float(p[~automatic].sum()) + annotation.audit * machine
    hours = None if seconds is None else people * annotation.per_item * seconds / 3600
    # The variance that a sum of e/π has when the e are independent with variance 1 (both designs, to first order).
    loose = ((1 / p - 1) + (1 - first)) / first**2
    reach = reach_of(level) * math.sqrt(share * (1 - share))
    each = np.sqrt(np.bincount(pool.claim, loose)) / np.bincount(pool.claim, 1 / first)
    whole = math.sqrt(loose.sum()) / (1 / first).sum()
    varies = not design_of(sampling.design).FIXED_SIZE
    return {
        "per_claim": sampling.per_claim,
        "per_kind": sampling.per_kind,
        "claims": pool.claims,
        "items": float(p.sum()),
        "items_sd": math.sqrt(float((p * (1 - p)).sum())) if varies else 0.0,
        "certain": len(sure),
        "certain_cost": more,
        "automatic": machine,
        "audited": annotation.audit * machine,
        "by_people": people,
        "hours": hours,
        "half_width_pool": reach * whole,
        "half_width_claim": reach * float(np.median(each)),
        # Kish: what unequal weights alone cost, however many of the posts are drawn
        "design_effect": float(p.sum()) * float((1 / (p * first**2)).sum()) / float((1 / first).sum()) ** 2,
        "audit_bound": upper_bound(annotation.audit * machine, level=level)
        if annotation.audit * machine
        else None,
    }
