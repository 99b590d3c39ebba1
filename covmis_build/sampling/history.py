"""A claim's earlier draws: frozen items are kept, and further draws happen only if probabilities remain known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from covmis_build import records, tables
from covmis_build.errors import InputError
from covmis_build.keyed import uniform
from covmis_build.options import RANKED
from covmis_build.records import Draw
from covmis_build.sampling import ledger
from covmis_build.sampling.designs import design_of, poisson

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from covmis_build.records import Chance
    from covmis_build.sampling.inclusion import Allocation


Past = dict[str, dict[str, Any]]
"""Frozen items by id, each a row of the table `sample`."""


def frozen_items(frozen: pd.DataFrame) -> Past:
    """Return the frozen items after a check; an item in two rounds has its larger probability."""
    if frozen.empty:
        return {}
    if missing := [name for name in records.needed("sample") if name not in frozen.columns]:
        raise InputError(f"the frozen items lack the columns {', '.join(missing)}")
    past: Past = {}
    for row in frozen.reindex(columns=tables.SCHEMAS["sample"].names).to_dict("records"):
        item, p = str(row["item_id"]), float(row["p_sample"])
        if not 0 < p <= 1:
            raise InputError(
                f"the frozen item {item} has the probability {p}", remedy="It is above 0 and at most 1"
            )
        if item not in past or p > past[item]["p_sample"]:
            past[item] = {str(name): value for name, value in row.items()} | {"p_sample": p}
    return past


def draw(
    claim: str,
    kind_of: Mapping[str, str],
    allocation: Allocation,
    past: Past,
    *,
    design: str,
    seed: int,
    number: str,
    sure: Mapping[str, str],
) -> tuple[list[Draw], list[Chance]]:
    """Return this claim's whole sample, frozen and newly drawn items, with probabilities.

    `sure` are the items (with strata) that a Poisson draw includes with certainty.

    A claim keeps the design of its first draw. For combined probabilities see `covmis_build.sampling.draw`.
    """
    designs = sorted({row["design"] for row in past.values()}) or [design]
    if len(designs) > 1:
        raise InputError(
            f"claim {claim} has frozen items of the designs {' and '.join(designs)}: their probabilities together are not known",
            remedy="Take back the query that finds what was drawn by its rank; with the design poisson from the start, all can be",
        )
    rule = design_of(designs[0])
    sure = {} if rule.FIXED_SIZE else sure
    drawn = rule.draw(kind_of, allocation, seed=seed) | sure.keys()
    if not rule.joins(claim, kind_of, allocation, past, drawn, seed=seed):
        return closed(past), []
    now = {kind: float(allocation.chance(kind)) for kind in allocation.counts}
    chance = {item: 1.0 if item in sure else now[kind] for item, kind in kind_of.items()}
    again = {item: chance.get(item, 0.0) for item in past}
    strata = {item: kind_of.get(item, row["kind"]) for item, row in past.items()}
    chances = [
        *ledger.of_strata(claim, number, allocation),
        *ledger.of_items(claim, number, ledger.CERTAIN, dict.fromkeys(sorted(sure), 1.0), sure),
        *ledger.of_items(
            claim, number, "kept", {item: p for item, p in again.items() if item not in sure}, strata
        ),
    ]
    new = [Draw(item, chance[item], number, designs[0]) for item in sorted(drawn - past.keys())]
    return [_kept(item, row, again[item]) for item, row in past.items()] + new, chances


def draw_by_chance(
    claim: str, chances: Mapping[str, float], past: Past, *, seed: int, number: str
) -> tuple[list[Draw], list[Chance]]:
    """Draw the ranked stratum: each post by its own probability; over several draws the largest one, as numbers are permanent."""
    poisson.same_seed(claim, past, seed)
    kept = [_kept(item, row, chances.get(item, 0.0)) for item, row in past.items()]
    drawn = {item for item, chance in chances.items() if uniform(seed, "sampling", item) < chance}
    new = [Draw(item, chances[item], number, poisson.NAME) for item in sorted(drawn - past.keys())]
    own = {item: chances.get(item, 0.0) for item in [*past, *sorted(drawn - past.keys())]}
    rows = ledger.of_items(claim, number, RANKED, own, dict.fromkeys(own, RANKED))
    return kept + new, [*ledger.of_ranked(claim, number, chances), *rows]


def closed(past: Past) -> list[Draw]:
    """Return the frozen items of a claim that no longer has posts."""
    return [_kept(item, row) for item, row in past.items()]


def _kept(item: str, row: dict[str, Any], now: float = 0.0) -> Draw:
    return Draw(item, max(row["p_sample"], now), str(row["draw"]), row["design"])


def next_draw(past: Past, opened: int) -> str:
    """Return the number of this claim's next draw; `opened` is that of the last one in the ledger."""
    return str(1 + max([opened, *(ledger.draw_number(row["draw"]) for row in past.values())]))
