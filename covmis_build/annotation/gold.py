"""Gold: the one label of an item that counts, and the only door to it.

A sealed round's gold is its decisions, as they were sealed; an open round's is what its labels say so far.
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


class How(StrEnum):
    """How an item came by its gold label."""

    AUTOMATIC = "automatic"
    AUDITED = "audited"
    ADJUDICATED = "adjudicated"
    DISCUSSED = "discussed"
    AGREED = "agreed"
    MAJORITY = "majority"
    SINGLE = "single"


def gold_of(rounds: Sequence[RoundFolder]) -> pd.DataFrame:
    """The table `gold` over all rounds that count; release, estimates, card and bundle come here and nowhere else.

    `rounds` are all rounds of the study, in order: seals are a chain. Pilots count for nothing. Raises BrokenSeal.
    """
    import pandas as pd

    check_seals(rounds)
    counted = [round_ for round_ in rounds if not round_.pilot]
    parts = [decisions_of(round_) for round_ in counted]
    return pd.concat(parts, ignore_index=True) if parts else tables.empty("gold")


def said_by_people(rounds: Sequence[RoundFolder]) -> list[tuple[str, str, str]]:
    """What people said of each item on their own, in rounds that count: item, annotator, label."""
    return [
        (item, row.annotator, row.label)
        for round_ in rounds
        if not round_.pilot
        for item, rows in answered(round_.items(), round_.labels()).items()
        for row in rows
        if row.status == Status.GIVEN and not is_machine(row.annotator)
    ]


def check_seals(rounds: Sequence[RoundFolder]) -> None:
    """Refuse rounds of which a sealed part is not what it was; name the first, and what changed."""
    for round_, check in zip(rounds, verify_chain(rounds), strict=True):
        if check.sealed and check.changed:
            raise BrokenSeal(
                f"round {check.round} was changed after sealing: {', '.join(check.changed)}",
                file=round_.folder,
                remedy="Restore it from git or a backup; `covmis round verify` lists the changes",
            )


def decisions_of(round_: RoundFolder) -> pd.DataFrame:
    """A sealed round's decisions; what the labels of an open one say now."""
    return round_.decisions() if round_.sealed else decide_round(round_)


def decide_round(round_: RoundFolder) -> pd.DataFrame:
    """What this round's labels say now, also in a pilot round (where it counts for nothing)."""
    return decide(round_.items(), round_.labels(), per_item=round_.per_item, twice=round_.twice)


def write_decisions(round_: RoundFolder) -> pd.DataFrame:
    """Write what the round's labels say to decisions.parquet; a sealed round keeps what it has."""
    if round_.sealed:
        return round_.decisions()
    decisions = decide_round(round_)
    storage.write_table(round_.folder / "decisions.parquet", decisions, "gold")
    return decisions


def undecided_items(frozen: pd.DataFrame, decided: pd.DataFrame) -> list[str]:
    """The items that have no gold label yet; a purged post can get none any more."""
    return sorted(set(frozen.loc[frozen["salt"] != "", "item_id"]) - set(decided["item_id"]))


def decide(frozen: pd.DataFrame, labels: pd.DataFrame, *, per_item: int, twice: str = "") -> pd.DataFrame:
    """What these labels say: one for each item that has one, and how it came about (the table `gold`).

    automatic     by the rule, outside the audit
    audited       an automatic item that people labelled: their label counts, whatever it is
    adjudicated   the adjudicator's word
    discussed     what the annotators agreed on afterwards
    agreed        all said the same before talking
    majority      more than half of at least three said the same
    single        only one person's label is to be had, also where a machine gave the same

    An item that too few have answered, or that nobody has decided, has none yet; with the label `twice`, one more has to
    answer.
    """
    import pandas as pd

    settled = _settled(frozen, labels)
    answers = answered(frozen, labels)
    rows = []
    for row in rows_of(frozen):
        item = row["item_id"]
        if item not in answers:
            rows.append((item, row["automatic_label"], How.AUTOMATIC, row["round"]))
            continue
        decision = settled.get(item) or _independent(answers[item], per_item, twice)
        if decision:
            label, how = decision
            rows.append((item, label, How.AUDITED if row["automatic_label"] else how, row["round"]))
    return pd.DataFrame(rows, columns=["item_id", "label", "how", "round"], dtype=object)


def _settled(frozen: pd.DataFrame, labels: pd.DataFrame) -> dict[str, tuple[str, How]]:
    """Items that were talked over or went to the adjudicator, whose word goes before the discussion's."""
    current = usable(labels, frozen)
    current = current[current["status"] == Status.GIVEN]
    settled: dict[str, tuple[str, How]] = {}
    for phase, how in ((Phase.DISCUSSION, How.DISCUSSED), (Phase.ADJUDICATION, How.ADJUDICATED)):
        rows = current[current["phase"] == phase]
        settled |= {item: (label, how) for item, label in zip(rows["item_id"], rows["label"], strict=True)}
    return settled


def _independent(rows: list[Label], per_item: int, twice: str) -> tuple[str, How] | None:
    counted = [row for row in deciding(rows) if row.status == Status.GIVEN]
    people = [row for row in counted if not is_machine(row.annotator)]
    given = [row.label for row in counted]
    if len(rows) < per_item + (bool(twice) and twice in given) or not people:
        return None  # what machines alone have labelled has no gold
    label, count = Counter(given).most_common(1)[0]
    if count == len(given):
        return label, How.SINGLE if len(people) == 1 else How.AGREED
    return (label, How.MAJORITY) if len(people) >= 3 and 2 * count > len(given) else None
