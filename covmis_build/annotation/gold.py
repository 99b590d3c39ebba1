"""Gold: the final label of each item. All other modules read it here.

A sealed round's gold is its sealed decisions. An open round's gold follows from its current labels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build import tables
from covmis_build.annotation.final_labels import decide
from covmis_build.annotation.round_folder import write_tables
from covmis_build.annotation.seal import verify_chain
from covmis_build.errors import BrokenSeal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder


def gold_of(rounds: Sequence[RoundFolder]) -> pd.DataFrame:
    """Return the table `gold` of all rounds that count, with each round's own labels; `newest` has those in common.

    `rounds` are all rounds of the study in order, because seals form a chain. Pilots are excluded. Raises BrokenSeal.
    """
    import pandas as pd

    check_seals(rounds)
    counted = [round_ for round_ in rounds if not round_.pilot]
    parts = [decisions_of(round_) for round_ in counted]
    return pd.concat(parts, ignore_index=True) if parts else tables.empty("gold")


def check_seals(rounds: Sequence[RoundFolder]) -> None:
    """Refuse rounds that were changed after sealing. The error names the first round and the changes."""
    for round_, check in zip(rounds, verify_chain(rounds, quick=True), strict=True):
        if check.sealed and check.changed:
            raise BrokenSeal(
                f"round {check.round} was changed after sealing: {', '.join(check.changed)}",
                file=round_.folder,
                remedy="Restore it from git or a backup; `covmis round verify` lists the changes",
            )


def decisions_of(round_: RoundFolder) -> pd.DataFrame:
    """Return a sealed round's decisions, or an open round's current gold."""
    return round_.decisions() if round_.sealed else decide_round(round_)


def decide_round(round_: RoundFolder) -> pd.DataFrame:
    """Compute the gold of this round's current labels, also for a pilot (which is excluded later)."""
    if round_.by_lines or round_.only_tables:
        return round_.decisions()
    return decide(round_.items(), round_.labels(), per_item=round_.per_item, twice=round_.twice)


def write_decisions(round_: RoundFolder) -> pd.DataFrame:
    """Write the gold to decisions.parquet. A sealed round of an earlier version keeps its file."""
    if round_.sealed and not round_.by_lines:
        return round_.decisions()
    decisions = decide_round(round_)
    write_tables(round_, decisions)
    return decisions


def undecided_items(frozen: pd.DataFrame, decided: pd.DataFrame) -> list[str]:
    """Return the items without a gold label. Purged posts are omitted, since they can no longer get one."""
    return sorted(set(frozen.loc[frozen["salt"] != "", "item_id"]) - set(decided["item_id"]))
