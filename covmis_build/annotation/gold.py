"""Gold: the final label of each item. All other modules read it here.

A sealed round's gold is its sealed decisions. An open round's gold follows from its current labels.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING

from covmis_build import storage, tables
from covmis_build.annotation.answers import Phase, Status, answered, deciding, usable
from covmis_build.annotation.frozen_items import rows_of
from covmis_build.annotation.seal import verify_chain
from covmis_build.errors import BrokenSeal
from covmis_build.options import is_machine

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.records import Label


class LabelSource(StrEnum):
    """The source of a gold label."""

    AUTOMATIC = "automatic"
    AUDITED = "audited"
    ADJUDICATED = "adjudicated"
    DISCUSSED = "discussed"
    AGREED = "agreed"
    MAJORITY = "majority"
    SINGLE = "single"


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
    for round_, check in zip(rounds, verify_chain(rounds), strict=True):
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
    return decide(round_.items(), round_.labels(), per_item=round_.per_item, twice=round_.twice)


def write_decisions(round_: RoundFolder) -> pd.DataFrame:
    """Write the gold to decisions.parquet. A sealed round keeps its file."""
    if round_.sealed:
        return round_.decisions()
    decisions = decide_round(round_)
    storage.write_table(round_.folder / "decisions.parquet", decisions, "gold")
    return decisions


def undecided_items(frozen: pd.DataFrame, decided: pd.DataFrame) -> list[str]:
    """Return the items without a gold label. Purged posts are omitted, since they can no longer get one."""
    return sorted(set(frozen.loc[frozen["salt"] != "", "item_id"]) - set(decided["item_id"]))


def decide(frozen: pd.DataFrame, labels: pd.DataFrame, *, per_item: int, twice: str = "") -> pd.DataFrame:
    """Derive the gold label of each item and its source (the table `gold`).

    automatic     by the rule, outside the audit
    audited       an automatic item that people labelled: their label counts, whatever it is
    adjudicated   decided by the adjudicator
    discussed     agreed in the discussion
    agreed        all independent labels are equal
    majority      more than half of at least three labels are equal
    single        the label of the only person, even if a model agrees

    An item without enough answers or without a decision has no gold yet. With the label `twice` it needs one more answer.
    """
    import pandas as pd

    settled = _decided_labels(frozen, labels)
    answers = answered(frozen, labels)
    rows = []
    for row in rows_of(frozen):
        item = row["item_id"]
        if item not in answers:
            rows.append((item, row["automatic_label"], LabelSource.AUTOMATIC, row["round"]))
            continue
        decision = settled.get(item) or _independent(answers[item], per_item, twice)
        if decision:
            label, how = decision
            rows.append((item, label, LabelSource.AUDITED if row["automatic_label"] else how, row["round"]))
    return pd.DataFrame(rows, columns=["item_id", "label", "how", "round"], dtype=object)


def _decided_labels(frozen: pd.DataFrame, labels: pd.DataFrame) -> dict[str, tuple[str, LabelSource]]:
    """Return the items decided in discussion or adjudication; the adjudicator takes precedence."""
    current = usable(labels, frozen)
    current = current[current["status"] == Status.GIVEN]
    settled: dict[str, tuple[str, LabelSource]] = {}
    for phase, how in (
        (Phase.DISCUSSION, LabelSource.DISCUSSED),
        (Phase.ADJUDICATION, LabelSource.ADJUDICATED),
    ):
        rows = current[current["phase"] == phase]
        settled |= {item: (label, how) for item, label in zip(rows["item_id"], rows["label"], strict=True)}
    return settled


def _independent(rows: list[Label], per_item: int, twice: str) -> tuple[str, LabelSource] | None:
    counted = [row for row in deciding(rows) if row.status == Status.GIVEN]
    people = [row for row in counted if not is_machine(row.annotator)]
    given = [row.label for row in counted]
    if len(rows) < per_item + (bool(twice) and twice in given) or not people:
        return None  # labels of models alone give no gold
    label, count = Counter(given).most_common(1)[0]
    if count == len(given):
        return label, LabelSource.SINGLE if len(people) == 1 else LabelSource.AGREED
    # Of two people who differ, neither is more than half: a majority has at least three. A model breaks no tie (`deciding`).
    return (label, LabelSource.MAJORITY) if len(people) > 1 and 2 * count > len(given) else None
