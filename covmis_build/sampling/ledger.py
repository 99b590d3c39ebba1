"""The ledger of draws: all probabilities of opened draws, and each item's resulting probability.

Random numbers are permanent, so an item's probability over several draws is the largest of them. It must not depend on what a
draw happened to add, so the ledger also has draws that added nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from covmis_build import storage, tables
from covmis_build.options import RANKED
from covmis_build.places import DRAWS
from covmis_build.records import Chance
from covmis_build.sampling.strata import strata_by, stratum_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from covmis_build.sampling.inclusion import Allocation


CERTAIN = "certain"
"""Rule of an item that its draw includes with certainty, in addition to its stratum's probability."""


def read_ledger(rounds: Path) -> pd.DataFrame:
    """Read the probabilities of all opened draws; empty for studies without rounds, or from earlier versions."""
    return storage.read_table(rounds / DRAWS, "draws")


def of_strata(claim: str, number: str, allocation: Allocation) -> list[Chance]:
    """Return a claim's draw by quotas: the probability of each stratum."""
    return [
        Chance(
            number,
            claim,
            name,
            "",
            "fill" if allocation.more and allocation.first[name] < posts else "quota",
            posts,
            float(allocation.chance(name)),
        )
        for name, posts in allocation.counts.items()
    ]


def of_ranked(claim: str, number: str, chances: Mapping[str, float]) -> list[Chance]:
    """Return the ranked stratum: its probability is the harmonic mean, so that weights sum correctly."""
    near = [p for p in chances.values() if p]
    return (
        [Chance(number, claim, RANKED, "", RANKED, len(near), len(near) / sum(1 / p for p in near))]
        if near
        else []
    )


def of_items(
    claim: str, number: str, rule: str, chances: Mapping[str, float], stratum: Mapping[str, str]
) -> list[Chance]:
    """Return items with their own probabilities."""
    return [Chance(number, claim, stratum[item], item, rule, 1, p) for item, p in chances.items()]


def last_draws(ledger: pd.DataFrame) -> dict[str, int]:
    """Return the number of each claim's last opened draw."""
    numbers = ledger["draw"].astype(int)
    return {str(claim): int(number) for claim, number in numbers.groupby(ledger["claim_id"]).max().items()}


def grown(ledger: pd.DataFrame, items: pd.DataFrame) -> set[str]:
    """Return the claims with more matched posts than at their last opened draw."""
    strata = ledger[(ledger["item_id"] == "") & (ledger["stratum"] != RANKED)]
    last = strata[strata["draw"].astype(int) == strata["claim_id"].map(last_draws(ledger))]
    then = last.groupby("claim_id")["posts"].sum()
    now = items.loc[items["kind"] != RANKED, "claim_id"].value_counts()
    return {str(claim) for claim, posts in then.items() if now.get(claim, 0) > posts}


def opened(ledger: pd.DataFrame, today: pd.DataFrame, claims: Collection[str], number: str) -> pd.DataFrame:
    """Return the ledger with today's draws of these claims, opened for round `number`; existing entries are not repeated."""
    new = today[today["claim_id"].isin(set(claims))].assign(round=number)
    last = last_draws(ledger)
    before = {
        claim: _content_of_draw(rows[rows["draw"].astype(int) == last[str(claim)]])
        for claim, rows in ledger.groupby("claim_id")
    }
    fresh = [rows for claim, rows in new.groupby("claim_id") if _content_of_draw(rows) != before.get(claim)]
    return pd.concat([ledger, *fresh], ignore_index=True) if fresh else ledger


def taken_back(ledger: pd.DataFrame, number: str) -> pd.DataFrame:
    """Return the ledger as it was before round `number` was opened."""
    return ledger[ledger["round"] != number].reset_index(drop=True)


def _content_of_draw(rows: pd.DataFrame) -> set[tuple[str, str, float]]:
    """Return a draw's content on strata and ranked posts, which is equal if the same draw is opened again."""
    own = rows[rows["rule"] != "kept"]
    return set(zip(own["stratum"], own["item_id"], own["probability"].round(12), strict=True))


def passed_claims(
    order: Sequence[str], waiting: Collection[str], begun: Collection[str], chosen: Sequence[str]
) -> list[str]:
    """Return the claims whose draws are opened with the chosen ones: all that were considered before them.

    A claim before the last chosen one with nothing to add was skipped because its draw added nothing. Whether a claim is
    considered depends on other claims only, never on what its own draw added.
    """
    looked = sorted(order, key=lambda claim: claim in begun)
    if not set(waiting) <= set(chosen):
        looked = looked[: 1 + max(looked.index(claim) for claim in chosen)]
    return [claim for claim in looked if claim in set(chosen) or claim not in waiting]


def over_draws(
    frozen: pd.DataFrame,
    ledger: pd.DataFrame,
    divided: Mapping[str, Sequence[str]] | None = None,
    raised: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Return each frozen item's probability over all opened draws of its claim.

    Rounds from before the ledger are read as written: `divided` has the `strata_by` of each, `raised` the probabilities that
    their draws gave to ranked items of earlier rounds.
    """
    chances: dict[str, float] = dict(raised or {})
    rounds = _rounds_of(frozen)
    before_ledger = frozen[rounds < ledger["round"].min()] if len(ledger) else frozen
    for item, p in (
        *zip(frozen["item_id"], frozen["p_sample"], strict=True),
        *zip(ledger["item_id"], ledger["probability"], strict=True),
        *_without_ledger(before_ledger, frozen, divided or {}),
    ):
        chances[item] = max(float(p), chances.get(item, 0.0))
    return {item: chances[item] for item in frozen["item_id"]}


def _without_ledger(
    rounds: pd.DataFrame, frozen: pd.DataFrame, divided: Mapping[str, Sequence[str]]
) -> Iterable[tuple[str, float]]:
    """Return the probabilities that draws without ledger gave to items of the same stratum sampled then or before."""
    for by, rows in rounds.groupby(_rounds_of(rounds).map(lambda number: tuple(divided.get(number, ())))):
        strata = strata_by(frozen, frozen, by) if by else None
        place = {
            str(item): (claim, stratum_of(str(item), str(kind), strata))
            for item, claim, kind in frozen[["item_id", "claim_id", "kind"]].itertuples(index=False)
            if kind != RANKED
        }
        own = rows[rows["item_id"].isin(set(place))]
        draws: dict[tuple[str, str], dict[int, float]] = {}
        for item, draw, p in own[["item_id", "draw", "p_sample"]].itertuples(index=False):
            of_stratum, number = draws.setdefault(place[item], {}), draw_number(draw)
            of_stratum[number] = max(float(p), of_stratum.get(number, 0.0))
        for item, draw in frozen[["item_id", "draw"]].itertuples(index=False):
            for number, p in draws.get(place.get(item, ("", "")), {}).items():
                if number >= draw_number(draw):
                    yield item, p


def _rounds_of(frozen: pd.DataFrame) -> pd.Series:
    return (
        frozen["round"].astype(str)
        if "round" in frozen.columns
        else pd.Series("", frozen.index, dtype=object)
    )


def draw_number(draw: object) -> int:
    """Return the number of the draw that added an item; unnumbered draws come before the first."""
    return int(str(draw)) if str(draw).isdigit() else 0


def frame_of(rows: Iterable[Chance]) -> pd.DataFrame:
    """Return probabilities as the table `draws`."""
    return tables.frame(tables.of_records(list(rows), "draws"))
