"""The sampling stage: choose the items to label (by people or automatically), each with its probability.

Random numbers belong to the item: `keyed.uniform(seed, "sampling", item_id)`. A new claim therefore does not change other
claims' samples, and new posts change a sample only as far as they change probabilities.

Items in opened rounds are always kept. Missing items of a claim come from a further draw, in the design of the claim's
first draw:

- poisson: an item is in if its number is below any of its probabilities. Over several draws its probability is therefore
  their maximum, for every item that they could have drawn.
  Items chosen by `[sampling] certain` (`certain.py`) have probability 1.
- two_phase: a larger target over the same posts includes the smaller draw, so the probability is that of the larger one.
  Over different posts, combined draws have no known probability: a complete claim is not changed, and an addition to it
  is refused.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pandas as pd

from covmis_build import tables
from covmis_build.keyed import uniform
from covmis_build.options import RANKED
from covmis_build.records import Dropped
from covmis_build.sampling import history, ledger
from covmis_build.sampling.audit import planned_chances
from covmis_build.sampling.automatic import automatic_label
from covmis_build.sampling.certain import certain, clusters_of
from covmis_build.sampling.designs import design_of
from covmis_build.sampling.inclusion import Allocation, allocate
from covmis_build.sampling.strata import CLAIM, divided, kind_of, stratum_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from covmis_build.options import Labels, Sampling
    from covmis_build.records import Chance, Draw
    from covmis_build.sampling.certain import Clusters

EXPECTED = [
    "claim_id",
    "stratum",
    "kind",
    "N",
    "probability",
    "expected",
    "variance",
    "certain",
    "drawn",
    "frozen",
]


WHY = "not drawn"
"""Reason for items of the target population that are not in the sample."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """The result of the stage: tables `sample`, `dropped` and `draws`, and expected and actual numbers."""

    sample: pd.DataFrame
    dropped: pd.DataFrame
    draws: pd.DataFrame
    expected: pd.DataFrame
    """One row per claim and stratum: EXPECTED; `drawn` counts the whole sample, `frozen` items of earlier draws."""


def sample(  # noqa: PLR0913 - what a draw depends on, by name
    items: pd.DataFrame,
    frozen: pd.DataFrame,
    options: Sampling,
    labels: Labels,
    *,
    seed: int,
    audit: float = 0.0,
    audit_per_part: int = 0,
    audit_by: Sequence[str] = (CLAIM,),
    times: pd.DataFrame | None = None,
    strata: Mapping[str, str] | None = None,
    chances: Mapping[str, float] | None = None,
    clusters: Clusters | None = None,
    opened: Mapping[str, int] | None = None,
) -> Sampled:
    """Draw from `items` (table `items`), keeping `frozen`, the items of opened rounds, unchanged.

    `frozen` has the columns of table `sample` and all sampled items of claims in opened rounds. `audit` is the share of automatic
    labels that people check unknowingly, `audit_per_part` how many of each part of `audit_by` (`planned_chances`); `times` (post_id,
    created_at) are needed if these are times. `strata` (item_id to a name, such as a month or platform) divides each kind; quotas are then per kind and name. `chances` has each ranked item's own probability: ranked items are added to the claim's
    target. If `items` are only those that a draw can reach (`reach.py`), `clusters` has the number of posts per claim and
    stratum, and `dropped` has the reachable ones. `opened` is the number of each claim's last draw with an opened round.
    """
    pool = _rows(items)
    past = history.frozen_items(frozen)
    claims = _by_claim(pool)
    earlier = _by_claim(past)
    clusters = clusters_of(items, strata) if clusters is None else clusters
    every_count, sure = clusters.counts, certain(clusters, options)
    chosen: list[Draw] = []
    expected: list[dict[str, Any]] = []
    draws: list[Chance] = []
    for claim in sorted(claims.keys() | every_count.keys()):
        every = claims.get(claim, {})
        before, before_ranked = _split_ranked(earlier.get(claim, {}), every)
        rows, ranked = _split_ranked(every, every)
        number = history.next_draw(earlier.get(claim, {}), (opened or {}).get(claim, 0))
        if ranked or before_ranked:
            own = {item: (chances or {})[item] for item in ranked}
            drawn, chances_now = history.draw_by_chance(claim, own, before_ranked, seed=seed, number=number)
            chosen += drawn
            draws += chances_now
            expected.append(_expected_ranked(claim, own, len(drawn), len(before_ranked)))
        posts = every_count.get(claim, {})
        if not posts and not before:
            continue
        stratum = {item: stratum_of(item, row["kind"], strata) for item, row in rows.items()}
        allocation = allocate(posts, options.per_kind, options.per_claim)
        drawn, chances_now = history.draw(
            claim,
            stratum,
            allocation,
            before,
            design=options.design,
            seed=seed,
            number=number,
            sure=sure.get(claim, {}),
        )
        chosen += drawn
        draws += chances_now
        counted = Counter(stratum.get(item.item_id, "") for item in drawn)
        frozen_ones = Counter(stratum.get(item, "") for item in before)
        certain_ones = Counter(row.stratum for row in chances_now if row.rule == ledger.CERTAIN)
        for name, row in expectation(
            allocation, drawn[0].design if drawn else options.design, certain_ones
        ).items():
            here = {"drawn": counted[name], "frozen": frozen_ones[name]}
            expected.append({"claim_id": claim, "stratum": name, "kind": kind_of(name), **row, **here})
    for claim in earlier.keys() - claims.keys() - every_count.keys():
        chosen += history.closed(earlier[claim])
    sampled_rows = _rows_of_sample(chosen, pool, past, labels)
    chances = _chances_of_checks(sampled_rows, times, audit_by, audit, audit_per_part)
    sampled = _table(sampled_rows, chances, past, seed=seed)
    taken = set(sampled["item_id"])
    return Sampled(
        sampled,
        _dropped(row for item, row in pool.items() if item not in taken),
        ledger.frame_of(draws),
        pd.DataFrame(expected, columns=EXPECTED).sort_values(["claim_id", "stratum"], ignore_index=True),
    )


def _split_ranked(rows: history.Past, now: history.Past) -> tuple[history.Past, history.Past]:
    """Separate items matched by queries from ranked ones, by today's items: a query may have matched them since."""
    ranked = {item: row for item, row in rows.items() if now.get(item, row)["kind"] == RANKED}
    return {item: row for item, row in rows.items() if item not in ranked}, ranked


def _expected_ranked(claim: str, chances: Mapping[str, float], drawn: int, frozen: int) -> dict[str, Any]:
    """Return the ranked stratum's expectation; its probability is the smallest one, that of the largest weight.

    Frozen ones that are no longer near have no probability now, and the one that they were drawn with.
    """
    return {
        "claim_id": claim,
        "stratum": RANKED,
        "kind": RANKED,
        "N": len(chances),
        "probability": min((p for p in chances.values() if p), default=float("nan")),
        "expected": sum(chances.values()),
        "variance": sum(p * (1 - p) for p in chances.values()),
        "certain": 0,
        "drawn": drawn,
        "frozen": frozen,
    }


def expectation(
    allocation: Allocation, design: str, sure: Mapping[str, int] | None = None
) -> dict[str, dict[str, float]]:
    """Return a draw's expectation by stratum: N, probability, expected size and its variance; `sure` are certain items."""
    rows = {}
    for name, number in allocation.counts.items():
        p, certain_ones = allocation.chance(name), (sure or {}).get(name, 0)
        left = Fraction(number - certain_ones, number)
        rows[name] = {
            "N": number,
            "probability": float(p),
            "expected": float(left * number * p + certain_ones),
            "variance": float(left * design_of(design).variance(allocation, name)),
            "certain": certain_ones,
        }
    return rows


def _rows(items: pd.DataFrame) -> history.Past:
    names = [str(name) for name in items.columns]
    rows = (dict(zip(names, row, strict=True)) for row in items.itertuples(index=False, name=None))
    return {row["item_id"]: row for row in sorted(rows, key=lambda row: str(row["item_id"]))}


def _by_claim(rows: history.Past) -> dict[str, history.Past]:
    claims: dict[str, history.Past] = {}
    for item, row in rows.items():
        claims.setdefault(str(row["claim_id"]), {})[item] = row
    return claims


def _rows_of_sample(
    chosen: list[Draw], pool: history.Past, past: history.Past, labels: Labels
) -> list[dict[str, Any]]:
    """Return the sampled items with their automatic labels; frozen items keep theirs."""
    rows = []
    for choice in sorted(chosen, key=lambda choice: choice.item_id):
        row = past.get(choice.item_id) or {
            **pool[choice.item_id],
            "automatic_label": automatic_label(pool[choice.item_id]["kinds"], labels),
        }
        rows.append({**row, **choice._asdict()})
    return rows


def _table(
    rows: list[dict[str, Any]], chances: Mapping[str, float], past: history.Past, *, seed: int
) -> pd.DataFrame:
    """Return the table `sample`; frozen items keep their audit."""
    for row in rows:
        item = row["item_id"]
        if item not in past:
            row["p_audit"] = chances.get(item, 0.0)
            row["audited"] = uniform(seed, "audit", item) < row["p_audit"]
        row["audited"] = bool(row["audited"])
    return pd.DataFrame(rows, columns=tables.SCHEMAS["sample"].names)


def _chances_of_checks(
    rows: list[dict[str, Any]],
    times: pd.DataFrame | None,
    by: Sequence[str],
    audit: float,
    per_part: int,
) -> dict[str, float]:
    """Return the probability that people check each item's automatic label, for those that have one."""
    automatic = pd.DataFrame([row for row in rows if row["automatic_label"]])
    if automatic.empty:
        return {}
    known = pd.DataFrame({"post_id": [], "created_at": []}) if times is None else times
    parts = [divided(automatic, known, name) for name in by] if per_part else []
    chances = planned_chances(len(automatic), parts, audit, per_part)
    return dict(zip(automatic["item_id"], chances.tolist(), strict=True))


def _dropped(rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    dropped = [Dropped("pair", row["claim_id"], row["post_id"], "sample", reason=WHY) for row in rows]
    return pd.DataFrame(dropped, columns=Dropped._fields)
