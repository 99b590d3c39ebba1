"""Plan a sample before drawing: its size, working hours, and interval widths."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from covmis_build.options import KINDS, RANKED, TARGETS
from covmis_build.records import independent
from covmis_build.sampling.audit import planned_chances, upper_bound
from covmis_build.sampling.automatic import automatic_label
from covmis_build.sampling.certain import Clusters, certain, clusters_of
from covmis_build.sampling.designs import design_of
from covmis_build.sampling.inclusion import allocate
from covmis_build.sampling.strata import CLAIM, MONTH, divided, strata_of
from covmis_build.stats.intervals import reach_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from covmis_build.options import Annotation, Labels, Sampling

LONGEST = 600.0
"""Maximum seconds counted for a label: longer ones mean that the annotator was away."""
FIVE = 5
"""So many checks of a part give it an interval with some width to spare."""
FEWEST_CHECKS = 2
"""Below it the shares of a part have words for an interval, as in `estimation.checks`."""
COLUMNS = [
    "per_claim", "per_kind", "claims", "items", "items_sd", "certain", "certain_cost", "automatic", "audited", "by_people", "hours",
    "few_claims", "few_months", "five_checks", "five_hours", "half_width_pool", "half_width_claim", "design_effect", "audit_bound",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cost:
    """The time per label so far, and assumptions of a plan."""

    seconds: float | None
    """Mean seconds per label; None before the first label."""
    labels: int
    """Number of labels in that mean."""


def seconds_per_label(labels: pd.DataFrame) -> Cost:
    """Return the mean time of independent labels (table `labels`)."""
    seconds = pd.to_numeric(independent(labels)["seconds"], errors="coerce")
    seconds = seconds[seconds > 0].clip(upper=LONGEST)
    return Cost(float(seconds.mean()) if len(seconds) else None, len(seconds))


class Pool(NamedTuple):
    """Data for all targets: posts per claim and stratum, and each post's claim and stratum."""

    clusters: Clusters
    place: dict[str, int]
    """Row of each item that represents several posts."""
    strata: dict[tuple[str, str], int]
    stratum: NDArray[np.int64]
    claims: int
    claim: NDArray[np.int64]
    p_claim: NDArray[np.float64]
    automatic: NDArray[np.bool_]
    parts: dict[str, list[str]]
    """The claim, month, … of each post with an automatic label."""

    @classmethod
    def of(
        cls,
        items: pd.DataFrame,
        labels: Labels,
        strata: Mapping[str, str] | None = None,
        times: pd.DataFrame | None = None,
        audit_by: Sequence[str] = (CLAIM,),
    ) -> Pool:
        """Create it from these items, without ranked ones, which are added to every target.

        `times` (post_id, created_at) are needed for months.
        """
        items = items[items["kind"] != RANKED]
        automatic = np.array([automatic_label(kinds, labels) != "" for kinds in items["kinds"]], dtype=bool)
        divisions = [*audit_by, CLAIM, *([] if times is None else [MONTH])]
        known = pd.DataFrame({"post_id": [], "created_at": []}) if times is None else times
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
            clusters,
            place,
            number,
            np.array([number[str(claim), name] for claim, name in pairs], dtype=np.int64),
            len(claims),
            np.asarray(of_claim, np.int64),
            items["p_claim"].to_numpy(dtype=float),
            automatic,
            {name: divided(items[automatic], known, name) for name in dict.fromkeys(divisions)},
        )


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
    """Return size, hours and interval half-widths for each target per claim, including the study's own.

    Half-widths are of the Hájek share of unique posts, for a label with this share everywhere: for the whole population, and for
    the median claim. `certain` clusters add `certain_cost` items. `audit_bound` is the maximum error rate of automatic labels
    compatible with an audit without errors, `few_claims` and `few_months` the numbers of those with automatic labels of which
    people are expected to check fewer than two, `five_checks` and `five_hours` the audited items and the hours if people check about
    five in each of these, too. Another target that is too small for the quotas gets smaller ones.
    """
    rows = []
    for target in sorted({options.per_claim, *targets}):
        quota = (
            options.per_kind if target == options.per_claim else min(options.per_kind, target // len(KINDS))
        )
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
    checks = _checks(pool, p[automatic], annotation.audit_by, annotation)
    few = {name: _few(pool, name, p[automatic], checks) for name in (CLAIM, MONTH) if name in pool.parts}
    by = dict.fromkeys([*annotation.audit_by, *(name for name, count in few.items() if count)])
    five = float(_checks(pool, p[automatic], list(by), replace(annotation, audit_per_part=FIVE)).sum())
    audited = float(checks.sum())
    people = float(p[~automatic].sum()) + audited
    hours, five_hours = (
        None if seconds is None else posts * annotation.per_item * seconds / 3600
        for posts in (people, people - audited + five)
    )
    # The variance of a sum of e/π for independent e with variance 1 (both designs, to first order).
    loose = ((1 / p - 1) + (1 - first)) / first**2
    reach = reach_of(level) * math.sqrt(share * (1 - share))
    spread = np.sqrt(np.bincount(pool.claim, loose)) / np.bincount(pool.claim, 1 / first)
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
        "audited": audited,
        "few_claims": few[CLAIM],
        "few_months": few.get(MONTH, 0),
        "five_checks": five,
        "five_hours": five_hours,
        "by_people": people,
        "hours": hours,
        "half_width_pool": reach * whole,
        "half_width_claim": reach * float(np.median(spread)),
        # Kish: the effect of unequal weights, without the finite population correction
        "design_effect": float(p.sum()) * float((1 / (p * first**2)).sum()) / float((1 / first).sum()) ** 2,
        "audit_bound": upper_bound(audited, level=level) if audited else None,
    }


def _checks(
    pool: Pool, p: NDArray[np.float64], by: Sequence[str], annotation: Annotation
) -> NDArray[np.float64]:
    """Return how many times people are expected to check each automatic label, which is drawn with probability p."""
    parts = [pool.parts[name] for name in by]
    return p * planned_chances(len(p), parts, annotation.audit, annotation.audit_per_part, p)


def _few(pool: Pool, name: str, p: NDArray[np.float64], checks: NDArray[np.float64]) -> int:
    """Return the number of claims (or months) of whose automatic labels people are expected to check too few."""
    _, of = np.unique(np.asarray(pool.parts[name]), return_inverse=True)
    labels, checked = np.bincount(of, p), np.bincount(of, checks)
    return int(np.sum(checked < np.minimum(FEWEST_CHECKS, labels) - 1e-9))
