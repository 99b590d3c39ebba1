"""From several people's labels to one: discussion first, then a third person; nothing is ever written over.

Both steps are CSV sheets (or projects of their own in Label Studio). Labels stand there as A, B, … in keyed order,
so that nobody defends a label for being theirs.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from covmis_build import keyed
from covmis_build.annotation.answers import Answer, Problem, checked, usable
from covmis_build.annotation.rounds import for_people, rows_of
from covmis_build.annotation.sheets import FIXED, fixed_cells, misplaced, read_rows
from covmis_build.storage import csv_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.options import Labels

ERROR_CLASSES = ("slip", "guideline", "context", "ambiguous", "other")
"""Why people disagreed: a slip, the guideline does not say, something was not visible, the post allows both."""
UNDECIDED = "undecided"
"""What a discussion writes that ends without agreement: the third person decides."""
TOGETHER = "together"
"""The annotator's code of a discussion."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
WRITTEN = ("label", "sub_label", "error_class", "reason", "comment")


def answered(frozen: pd.DataFrame, labels: pd.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """For each item that people label: its usable independent answers, in the record's order."""
    found: dict[str, list[dict[str, Any]]] = {item: [] for item in for_people(frozen)["item_id"]}
    current = usable(labels, frozen)
    current = current[(current["phase"] == "independent") & current["status"].isin(["given", "skipped"])]
    for row in rows_of(current):
        if row["item_id"] in found:
            found[row["item_id"]].append(row)
    return found


def disagreements(frozen: pd.DataFrame, labels: pd.DataFrame, per_item: int) -> list[str]:
    """The items that enough people have answered, and not all with the same label."""
    return [
        item
        for item, rows in answered(frozen, labels).items()
        if len(rows) >= max(per_item, 2)
        and (len({row["label"] for row in rows}) > 1 or all(row["status"] == "skipped" for row in rows))
    ]


def undecided(frozen: pd.DataFrame, labels: pd.DataFrame, per_item: int) -> list[str]:
    """The disagreements that were discussed without agreement."""
    current = usable(labels, frozen)
    talked = current[(current["phase"] == "discussion") & (current["status"] == "skipped")]
    return [item for item in disagreements(frozen, labels, per_item) if item in set(talked["item_id"])]


def versions(
    frozen: pd.DataFrame, labels: pd.DataFrame, wanted: Iterable[str], *, seed: int
) -> dict[str, list[tuple[str, str, str]]]:
    """The answers to these items as (letter, label, comment), in an order that tells nobody whose they are."""
    every = answered(frozen, labels)
    found = {}
    for item in wanted:
        rows = sorted(
            every[item], key=lambda row: keyed.uniform(seed, "letters", row["item_id"], row["annotator"])
        )
        found[item] = [
            (LETTERS[at], row["label"] or row["status"], _with_sub(row)) for at, row in enumerate(rows)
        ]
    return found


def _with_sub(row: dict[str, Any]) -> str:
    return " | ".join(one for one in (row["sub_label"], row["comment"]) if one)


def decision_sheet(
    frozen: pd.DataFrame,
    labels: pd.DataFrame,
    wanted: Sequence[str],
    *,
    seed: int,
    notes: Mapping[str, str] | None = None,
    before: Sequence[dict[str, str]] = (),
) -> bytes:
    """The sheet on which these items are decided, with everybody's labels and comments beside them.

    Columns: item_id, claim, post, context, A, comment A, B, comment B, …, discussed (where there are `notes`), and
    to fill in: label, sub_label, error_class, reason, comment.
    """
    said = versions(frozen, labels, wanted, seed=seed)
    most = max([2, *(len(one) for one in said.values())])
    letters = [name for at in range(most) for name in (LETTERS[at], f"comment {LETTERS[at]}")]
    columns = [*FIXED, *letters, *(["discussed"] if notes is not None else []), *WRITTEN]
    places = {row["item_id"]: row for row in rows_of(frozen)}
    filled = {row["item_id"]: row for row in before}
    rows = []
    for item in sorted(wanted, key=lambda one: (places[one]["claim_id"], one)):
        cells = fixed_cells(places[item])
        for letter, label, comment in said[item]:
            cells |= {letter: label, f"comment {letter}": comment}
        cells["discussed"] = (notes or {}).get(item, "")
        cells |= {name: filled.get(item, {}).get(name, "") for name in WRITTEN}
        rows.append([cells.get(name, "") for name in columns])
    return csv_bytes(columns, rows)


def read_decisions(
    path: Path, phase: str, decider: str, frozen: pd.DataFrame, scheme: Labels
) -> tuple[list[Answer], list[Problem]]:
    """What has been decided on this sheet so far; `undecided` passes an item on to the third person."""
    items = {row["item_id"]: row for row in rows_of(frozen)}
    answers: dict[str, Answer] = {}
    problems: list[Problem] = []
    for row in read_rows(path, ("item_id", "claim", "post", *(n for n in WRITTEN if n != "sub_label"))):
        where, item = f"{path.name}, row {row['row']}", row["item_id"].strip()
        if not row["label"].strip():
            continue
        wrong = misplaced(row, items.get(item))
        if wrong:
            problems.append(Problem(where, *wrong))
            continue
        answer, problem = decision(row, item, phase, decider, items[item], scheme)
        if problem:
            problems.append(Problem(where, problem))
        answers[item] = answer
    return list(answers.values()), problems


def decision(
    row: Mapping[str, str],
    item: str,
    phase: str,
    decider: str,
    frozen: dict[str, Any],
    scheme: Labels,
    channel: str = "csv",
) -> tuple[Answer, str]:
    """One decision as an answer, and what is wrong with it."""
    error_class = row.get("error_class", "").strip().casefold()
    known = error_class in {"", *ERROR_CLASSES}
    left_open = row["label"].strip().casefold() == UNDECIDED
    answer = checked(
        Answer(
            item_id=item,
            annotator=decider,
            label="" if left_open else row["label"],
            status="skipped" if left_open else "given",
            sub_label=row.get("sub_label", ""),
            comment=row.get("comment", "").strip(),
            reason=row.get("reason", "").strip(),
            error_class=error_class if known else "other",
            channel=channel,
            phase=phase,
            shown=frozen["shown"],
        ),
        scheme,
    )
    if answer.status == "invalid":
        return answer, f"{answer.reason}. Write {', '.join(scheme.values)}, or {UNDECIDED}"
    if not known:
        return answer, f"the error class '{error_class}' counts as other. Known: {', '.join(ERROR_CLASSES)}"
    return answer, ""


def gold(frozen: pd.DataFrame, labels: pd.DataFrame, *, per_item: int = 2) -> pd.DataFrame:
    """The table `gold`: one label for each item of these rounds that has one, and how it came about.

    automatic     by the rule, outside the audit
    audited       an automatic item that people labelled: their label counts, whatever it is
    adjudicated   the third person's word
    discussed     what the annotators agreed on afterwards
    agreed        all said the same before talking
    majority      more than half of at least three said the same
    single        only one person's label is to be had

    An item that too few have answered, or that nobody has decided, has none yet. Pilot rounds do not count.
    """
    import pandas as pd

    counted = frozen[~frozen["pilot"].astype(bool)]
    decided = _decided(counted, labels)
    said = answered(counted, labels)
    rows = []
    for row in rows_of(counted):
        item = row["item_id"]
        if item not in said:
            rows.append((item, row["automatic_label"], "automatic", row["round"]))
            continue
        found = decided.get(item) or _independent(said[item], per_item)
        if found:
            label, how = found
            rows.append((item, label, "audited" if row["automatic_label"] else how, row["round"]))
    return pd.DataFrame(rows, columns=["item_id", "label", "how", "round"], dtype=object)


def _decided(frozen: pd.DataFrame, labels: pd.DataFrame) -> dict[str, tuple[str, str]]:
    """Items with a decision: adjudication goes before discussion."""
    current = usable(labels, frozen)
    current = current[current["status"] == "given"]
    found: dict[str, tuple[str, str]] = {}
    for phase, how in (("discussion", "discussed"), ("adjudication", "adjudicated")):
        rows = current[current["phase"] == phase]
        found |= {item: (label, how) for item, label in zip(rows["item_id"], rows["label"], strict=True)}
    return found


def _independent(rows: list[dict[str, Any]], per_item: int) -> tuple[str, str] | None:
    given = [row["label"] for row in rows if row["status"] == "given"]
    if len(rows) < per_item or not given:
        return None
    label, count = Counter(given).most_common(1)[0]
    if count == len(given):
        return label, "single" if count == 1 else "agreed"
    return (label, "majority") if len(given) >= 3 and 2 * count > len(given) else None
