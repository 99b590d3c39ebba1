"""The rule for the final label of each item: from people's decisions, or from their independent labels."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING

from covmis_build.annotation.answers import Phase, Status, answered, deciding, usable
from covmis_build.annotation.frozen_items import rows_of
from covmis_build.options import is_machine

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd

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


def decide(
    frozen: pd.DataFrame,
    labels: pd.DataFrame,
    *,
    per_item: int,
    twice: str = "",
    in_conflict: Collection[str] = (),
) -> pd.DataFrame:
    """Derive the gold label of each item and its source (the table `gold`).

    automatic     by the rule, outside the audit
    audited       an automatic item that people labelled: their label counts, whatever it is
    adjudicated   decided by the adjudicator
    discussed     agreed in the discussion
    agreed        all independent labels are equal
    majority      more than half of at least three labels are equal
    single        the label of the only person, even if a model agrees

    An item without enough answers or without a decision has no gold yet, nor has one `in_conflict`, which two leads decided
    differently. With the label `twice` an item needs one more answer.
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
        if item in in_conflict:
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
