"""A claim's earlier draws: what opened rounds have frozen stays, and more is drawn only if chances stay known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from covmis_build import records, tables
from covmis_build.errors import InputError
from covmis_build.keyed import uniform
from covmis_build.options import RANKED
from covmis_build.records import Draw
from covmis_build.sampling.designs import design_of, poisson
from covmis_build.sampling.strata import strata_by, stratum_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from covmis_build.sampling.inclusion import Allocation


Past = dict[str, dict[str, Any]]
"""Frozen items by id, each a row of the table `sample`."""


def frozen_items(frozen: pd.DataFrame) -> Past:
    """The frozen items, checked; one that is in two rounds counts with its greater probability."""
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
    claim: str, kind_of: Mapping[str, str], allocation: Allocation, past: Past, *, design: str, seed: int
) -> list[Draw]:
    """Everyone in this claim's sample: the frozen ones, and who else these posts and settings call for.

    A claim keeps the design it was first drawn with. Combined probabilities: see `covmis_build.sampling.draw`.
    """
    designs = sorted({row["design"] for row in past.values()}) or [design]
    if len(designs) > 1:
        raise InputError(
            f"claim {claim} has frozen items of the designs {' and '.join(designs)}: nobody knows the probabilities of both together",
            remedy="Take back the query that finds what was drawn by its rank; with the design poisson from the start, all can be",
        )
    rule = design_of(designs[0])
    drawn = rule.draw(kind_of, allocation, seed=seed)
    if not rule.joins(claim, kind_of, allocation, past, drawn, seed=seed):
        return [_kept(item, row) for item, row in past.items()]
    now = {kind: float(allocation.chance(kind)) for kind in allocation.counts}
    kept = [_kept(item, row, now[kind_of[item]] if item in kind_of else 0.0) for item, row in past.items()]
    number = next_draw(past)
    return kept + [Draw(item, now[kind_of[item]], number, designs[0]) for item in drawn - past.keys()]


def draw_by_chance(
    claim: str, chances: Mapping[str, float], past: Past, *, seed: int, number: str
) -> list[Draw]:
    """The ranked stratum: each post by its own chance. Numbers are permanent: of several draws the greatest chance holds."""
    poisson.same_seed(claim, past, seed)
    kept = [_kept(item, row, chances.get(item, 0.0)) for item, row in past.items()]
    drawn = {item for item, chance in chances.items() if uniform(seed, "sampling", item) < chance}
    return kept + [Draw(item, chances[item], number, poisson.NAME) for item in sorted(drawn - past.keys())]


def combined_probabilities(
    frozen: pd.DataFrame,
    divided: Mapping[str, Sequence[str]] | None = None,
    raised: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """The probability that each frozen item had over all draws of its claim and stratum that rounds have opened.

    An item of an earlier draw could also have come in by a later one, with that draw's probability for its stratum:
    it has the greater of both. A release that contains top-up rounds weights by these. `divided` tells each round's
    `strata_by`, where there was one; for these rounds `frozen` needs `round` and `created_at`. Ranked posts have chances
    of their own: `raised` tells those that a later draw has raised.
    """
    past = frozen_items(frozen)
    ranked = {item for item, row in past.items() if row["kind"] == RANKED}
    combined = {item: float(row["p_sample"]) for item, row in past.items()}
    for by in {tuple((divided or {}).get(name, ())) for name in _rounds_of(frozen)}:
        strata = strata_by(frozen, frozen, by) if by else None
        place = {item: (row["claim_id"], stratum_of(item, row["kind"], strata)) for item, row in past.items()}
        draws: dict[tuple[str, str], dict[int, float]] = {}
        for item, name in zip(frozen["item_id"], _rounds_of(frozen), strict=True):
            if tuple((divided or {}).get(name, ())) == by and item not in ranked:
                p_of_draw, number = draws.setdefault(place[item], {}), _number(past[item])
                p_of_draw[number] = max(p_of_draw.get(number, 0.0), past[item]["p_sample"])
        for item, row in past.items():
            later = (p for at, p in draws.get(place[item], {}).items() if at >= _number(row))
            combined[item] = max(combined[item], *later, (raised or {}).get(item, 0.0), 0.0)
    return combined


def _rounds_of(frozen: pd.DataFrame) -> list[str]:
    return [str(number) for number in frozen["round"]] if "round" in frozen.columns else [""] * len(frozen)


def closed(past: Past) -> list[Draw]:
    """The frozen items of a claim that has no posts any more."""
    return [_kept(item, row) for item, row in past.items()]


def _kept(item: str, row: dict[str, Any], now: float = 0.0) -> Draw:
    return Draw(item, max(row["p_sample"], now), str(row["draw"]), row["design"])


def next_draw(past: Past) -> str:
    """The number that a further draw of this claim gets."""
    return str(1 + max((_number(row) for row in past.values()), default=0))


def _number(row: dict[str, Any]) -> int:
    """Which draw of its claim an item came with; draws that are not numbered come before the first."""
    return int(row["draw"]) if str(row["draw"]).isdigit() else 0
