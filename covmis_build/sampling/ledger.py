"""The ledger of draws: every probability that opened draws gave, and what follows from it for each item.

Numbers of items are permanent, so an item's probability over several draws is the greatest of its probabilities. It may not
depend on what a draw happened to add: the ledger has the draws that added nothing, too.
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
"""The rule of an item that its draw takes with certainty, next to the probability of its stratum."""


def read_ledger(rounds: Path) -> pd.DataFrame:
    """The probabilities of all draws that were opened; empty in studies without rounds, and in those of earlier versions."""
    return storage.read_table(rounds / DRAWS, "draws")


def of_strata(claim: str, number: str, allocation: Allocation) -> list[Chance]:
    """A claim's draw by its quotas: the probability of each stratum."""
    return [
        Chance(
            number, claim, name, "",
            "fill" if allocation.more and allocation.first[name] < posts else "quota", posts, float(allocation.chance(name)),
        )
        for name, posts in allocation.counts.items()
    ]  # fmt: skip


def of_ranked(claim: str, number: str, chances: Mapping[str, float]) -> list[Chance]:
    """The stratum of posts that were drawn by their ranks: its probability is the harmonic mean, so that weights add up."""
    near = [p for p in chances.values() if p]
    return (
        [Chance(number, claim, RANKED, "", RANKED, len(near), len(near) / sum(1 / p for p in near))]
        if near
        else []
    )


def of_items(
    claim: str, number: str, rule: str, chances: Mapping[str, float], stratum: Mapping[str, str]
) -> list[Chance]:
    """Items with probabilities of their own."""
    return [Chance(number, claim, stratum[item], item, rule, 1, p) for item, p in chances.items()]


def last_draws(ledger: pd.DataFrame) -> dict[str, int]:
    """The number of each claim's last draw that was opened."""
    numbers = ledger["draw"].astype(int)
    return {str(claim): int(number) for claim, number in numbers.groupby(ledger["claim_id"]).max().items()}


def grown(ledger: pd.DataFrame, items: pd.DataFrame) -> set[str]:
    """The claims that have more posts found by queries than when their last draw was opened."""
    strata = ledger[(ledger["item_id"] == "") & (ledger["stratum"] != RANKED)]
    last = strata[strata["draw"].astype(int) == strata["claim_id"].map(last_draws(ledger))]
    then = last.groupby("claim_id")["posts"].sum()
    now = items.loc[items["kind"] != RANKED, "claim_id"].value_counts()
    return {str(claim) for claim, posts in then.items() if now.get(claim, 0) > posts}


def opened(ledger: pd.DataFrame, today: pd.DataFrame, claims: Collection[str], number: str) -> pd.DataFrame:
    """The ledger with today's draws of these claims, opened for the round `number`; what is there already stays once."""
    new = today[today["claim_id"].isin(set(claims))].assign(round=number)
    last = last_draws(ledger)
    before = {
        claim: _said(rows[rows["draw"].astype(int) == last[str(claim)]])
        for claim, rows in ledger.groupby("claim_id")
    }
    fresh = [rows for claim, rows in new.groupby("claim_id") if _said(rows) != before.get(claim)]
    return pd.concat([ledger, *fresh], ignore_index=True) if fresh else ledger


def _said(rows: pd.DataFrame) -> set[tuple[str, str, float]]:
    """What a draw says of strata and ranked posts: the same draw opened again says the same."""
    own = rows[rows["rule"] != "kept"]
    return set(zip(own["stratum"], own["item_id"], own["probability"].round(12), strict=True))


def passed_claims(
    order: Sequence[str], waiting: Collection[str], begun: Collection[str], chosen: Sequence[str]
) -> list[str]:
    """The claims whose draws are opened with these chosen ones: all that were looked at to find them.

    A claim before the last chosen one that has nothing waiting was passed because its draw added nothing. Whether a
    claim is passed depends on others alone, never on what its own draw added.
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
    """The probability that each frozen item had over all draws of its claim that were opened.

    Rounds of before there was a ledger are read as they were written: `divided` has the `strata_by` of each, `raised`
    the probabilities that their draws gave to ranked items of earlier rounds.
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
    """The probabilities that the draws of rounds without a ledger gave to items of the same stratum drawn then or before."""
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
    """Which draw of its claim an item came with; draws that are not numbered come before the first."""
    return int(str(draw)) if str(draw).isdigit() else 0


def frame_of(rows: Iterable[Chance]) -> pd.DataFrame:
    """Chances as the table `draws`."""
    return tables.frame(tables.of_records(list(rows), "draws"))
