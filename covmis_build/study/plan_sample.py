"""Plan a sample: the current draw per claim and query type, the cost of alternatives, and their interval widths."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from covmis_build import storage, tables
from covmis_build.annotation.frozen_items import frozen_items
from covmis_build.annotation.round_folder import all_rounds
from covmis_build.building.stages import ranked_chances, strata_of, times_of
from covmis_build.errors import InputError, counted
from covmis_build.options import RANKED, TARGETS
from covmis_build.report.result import Result
from covmis_build.sampling.designs import design_of
from covmis_build.sampling.draw import sample
from covmis_build.sampling.plan import FIVE, Cost, Pool, costs, seconds_per_label
from covmis_build.sampling.precision import Precision, precision
from covmis_build.study.open_round import nothing_kept

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from covmis_build.report.summary import Summary
    from covmis_build.settings import Settings
    from covmis_build.study.of_study import OfStudy

PLAN_COLUMNS = {
    "per_claim": "per claim", "items": "items", "by_people": "to annotate", "hours": "hours",
    "half_width_pool": "± pool (points)", "half_width_claim": "± claim (points)", "audited": "audit items",
    "audit_bound": "max. error rate of automatic labels",
}  # fmt: skip


@dataclass(frozen=True, slots=True, repr=False)
class SamplePlan(Result):
    """The draw for the current items and settings, and the cost and precision of other sample sizes."""

    strata: pd.DataFrame
    """One row per claim and stratum: posts, probability, expected and sampled number."""
    items: int
    drawn: int
    deviation: float
    """Standard deviation of the total sample size."""
    per_claim: int
    per_item: int
    plans: pd.DataFrame
    """One row per target: items, hours, half-widths."""
    cost: Cost
    precision: Precision
    share: float = field(default=0.5)
    weights_up_to: float = math.inf
    """Largest weight that `[retrieval] ranked` allows."""
    with_costs: bool = True
    """True if the plans are shown as well as the draw."""
    audit_by: Sequence[str] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return the plans."""
        return self.plans

    def to_dict(self) -> dict[str, Any]:
        """What `covmis sample --json` prints."""
        draw = {"strata": self.strata, "items": self.items, "drawn": self.drawn}
        if not self.with_costs:
            return draw
        return draw | {
            "plans": self.plans,
            "seconds_per_label": self.cost.seconds,
            "labels_timed": self.cost.labels,
            "precision": self.precision.to_dict(),
        }

    @property
    def summary(self) -> Summary:
        """Return the draw and the cost of other targets as tables with sentences."""
        names = {"claim_id": "claim", "stratum": "kind", "posts": "N"}
        columns = [*names, "probability", "expected", "certain", "drawn", "frozen"]
        parts: list[str | pd.DataFrame] = [
            self.strata[columns].rename(columns=names),
            "",
            *self.draw_sentences,
        ]
        if self.with_costs:
            points = {name: 100 * self.plans[name] for name in ("half_width_pool", "half_width_claim")}
            plans = self.plans.assign(**points)[list(PLAN_COLUMNS)].rename(columns=PLAN_COLUMNS)
            parts += ["", plans, "", *self.plan_sentences]
        return parts

    @property
    def draw_sentences(self) -> list[str]:
        """Explain the draw."""
        expected = float(self.strata["expected"].sum())
        said = [
            (
                f"{counted(self.strata['claim_id'].nunique(), 'claims')}, {counted(int(self.strata['posts'].sum()), 'posts')}; "
                f"{expected:,.0f} expected (standard deviation {self.deviation:.1f}), {int(self.strata['drawn'].sum()):,} drawn."
            )
        ]
        ranked = self.strata["kind"] == RANKED
        if self.strata.loc[ranked, "probability"].notna().any():
            largest = 1 / float(self.strata.loc[ranked, "probability"].min())
            said.append(
                f"{self.strata.loc[ranked, 'expected'].sum():,.0f} of them are expected among {self.strata.loc[ranked, 'posts'].sum():,} "
                f"near posts that no query finds, on top of per_claim; one of these may stand for up to {largest:,.0f} posts."
            )
            if largest > self.weights_up_to + 0.5:
                said.append(
                    f"That is more than weights_up_to = {self.weights_up_to:g}: even an even draw of so few has such weights. "
                    "Raise `expected`, or lower `depth`."
                )
        more = self.strata["certain"] * (1 - self.strata["probability"])
        if certain := int(self.strata["certain"].sum()):
            said.append(
                f"{counted(certain, 'near-duplicate clusters')} have so many posts that they decide shares of all posts: they are in the "
                f"sample with certainty, which costs {more.sum():,.0f} posts more ([sampling] certain = false leaves them to chance)."
            )
        wanted = (self.strata["expected"] - more)[~ranked].groupby(self.strata["claim_id"]).sum()
        if over := int((wanted > self.per_claim + 1e-9).sum()):
            said.append(
                f"In {over} claims the quotas alone ask for more than per_claim = {self.per_claim}, up to "
                f"{wanted.max():.0f}: they win. Lower [sampling] per_kind for fewer."
            )
        return said

    @property
    def plan_sentences(self) -> list[str]:
        """Explain how the plans were computed, and what else a sample of this size can show."""
        if self.cost.seconds is None:
            hours = (
                "Hours are unknown, since no label so far has a time: give the seconds per label (`--seconds`, in Python "
                "`seconds`)."
            )
        else:
            of = f"the mean of {self.cost.labels:,} labels" if self.cost.labels else "as given"
            hours = (
                f"Hours: {self.per_item} people per post, {self.cost.seconds:.0f} seconds per label ({of})."
            )
        return [
            hours,
            (
                f"± is the half-width of a 95% interval for a label that has a share of {self.share:.0%}: in the whole "
                "pool, and in the median claim. The last column is the error rate of automatic labels that an audit of "
                "this size leaves possible if it finds no error."
            ),
            *self.checks_sentences,
            *self.precision.sentences,
        ]

    @property
    def checks_sentences(self) -> list[str]:
        """Say what the audit of automatic labels allows to say of claims."""
        own = self.plans[self.plans["per_claim"] == self.per_claim].iloc[0]
        few = {"claim": int(own["few_claims"]), "month": int(own["few_months"])}
        lacking = {name: number for name, number in few.items() if number}
        if not lacking:
            return []
        parts = " and ".join(counted(number, f"{name}s") for name, number in lacking.items())
        by = ", ".join(f'"{name}"' for name in dict.fromkeys([*self.audit_by, *lacking]))
        hours = "" if own["hours"] is None else f" ({own['five_hours'] - own['hours']:,.1f} hours)"
        return [
            (
                f"In {parts} people are expected to check fewer than two automatic labels: if these are more than a tenth of such a part, its "
                f"shares have words instead of intervals. [annotation] audit_per_part = {FIVE} with audit_by = [{by}] checks about five of each, "
                f"or all, for {own['five_checks'] - own['audited']:,.0f} posts more{hours}."
            )
        ]


@dataclass(frozen=True)
class ToPlan:
    """Input of plans: the study's current items, prepared, and the time per label."""

    settings: Settings
    items: pd.DataFrame
    times: pd.DataFrame
    """The posts' times."""
    strata: Mapping[str, str] | None
    pool: Pool
    cost: Cost

    def plans(
        self, targets: Sequence[int] = TARGETS, *, seconds: float = 0.0, share: float = 0.5, per_item: int = 0
    ) -> pd.DataFrame:
        """Return one row per target: items, hours, half-widths. `seconds` and `per_item` override known values."""
        annotation = replace(self.settings.annotation, per_item=per_item or self.settings.annotation.per_item)
        return costs(
            self.pool,
            self.settings.sampling,
            annotation,
            seconds=seconds or self.cost.seconds,
            targets=targets,
            share=share,
        )


def to_plan(study: OfStudy) -> ToPlan:
    """Read the current items for plans."""
    path = study.places.table("items")
    if not path.is_file():
        raise InputError("there are no cleaned posts yet", remedy="Run `covmis run` first")
    items, settings = storage.read_table(path, "items"), study.settings
    if items.empty:
        raise nothing_kept()
    strata = strata_of(study.places, settings, items)
    labels = [round_.labels() for round_ in all_rounds(study.places.rounds)]
    cost = seconds_per_label(pd.concat(labels) if labels else tables.empty("labels"))
    times = times_of(study.places, items)
    pool = Pool.of(items, settings.labels, strata, times, settings.annotation.audit_by)
    return ToPlan(settings, items, times, strata, pool, cost)


def plan_sample(
    study: OfStudy,
    *,
    targets: Sequence[int] = TARGETS,
    seconds: float = 0.0,
    share: float = 0.5,
    r_squared: float = 0.3,
    per_item: int = 0,
    with_costs: bool = True,
) -> SamplePlan:
    """Draw from the current items, and compute the cost of other targets per claim; without `with_costs` only the draw is shown."""
    known = to_plan(study)
    items, settings = known.items, known.settings
    drawn = sample(
        items,
        frozen_items(study.places.rounds),
        settings.sampling,
        settings.labels,
        seed=settings.seed,
        audit=settings.annotation.audit,
        audit_per_part=settings.annotation.audit_per_part,
        audit_by=settings.annotation.audit_by,
        times=known.times,
        strata=known.strata,
        chances=ranked_chances(study.places, settings, items),
    )
    plans = known.plans(targets, seconds=seconds, share=share, per_item=per_item)
    # The size of a claim with fixed size does not vary, even if that of its strata does.
    fixed = drawn.sample.loc[[design_of(name).FIXED_SIZE for name in drawn.sample["design"]], "claim_id"]
    free = ~drawn.expected["claim_id"].isin(fixed)
    target = min(settings.annotation.claims_per_round, max(items["claim_id"].nunique(), 1))
    own = plans[plans["per_claim"] == settings.sampling.per_claim].iloc[0]
    return SamplePlan(
        drawn.expected.rename(columns={"N": "posts"}),
        len(items),
        len(drawn.sample),
        float(drawn.expected.loc[free, "variance"].sum() ** 0.5),
        settings.sampling.per_claim,
        per_item or settings.annotation.per_item,
        plans,
        Cost(seconds, 0) if seconds else known.cost,
        precision(
            claims=target,
            posts=settings.sampling.per_claim,
            share=share,
            design_effect=float(own["design_effect"]),
            r_squared=r_squared,
        ),
        share,
        settings.retrieval.ranked.weights_up_to if settings.retrieval.ranked else math.inf,
        with_costs,
        settings.annotation.audit_by,
    )
