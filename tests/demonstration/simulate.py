"""Simulated people: they open the sheets of a round, read, write into the columns meant for them, and save.

They know a post's true stance and get it wrong at rates of their own: more often on a hard post, less often in a
later round, and rather by calling a stance neither than by turning it round. All chance is keyed, so a sheet that is
filled in twice is the same twice.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from covmis_build.keyed import uniform
from tests.demonstration.stories import SEED
from tests.demonstration.truth import true_stance, truth

if TYPE_CHECKING:
    from pathlib import Path

LABELS = ("favor", "against", "neither")
CARELESS = {"a1": 0.05, "a2": 0.07}
"""How often each gets an easy post of the first round wrong."""
HARD, HARD_ERROR = 0.15, 0.36
"""The share of hard posts, and how often one is got wrong."""
LEARNING = 0.85
"""What is left of all errors after every round."""
SLIPS = {
    "favor": (("neither", 0.72), ("against", 0.28)),
    "against": (("neither", 0.75), ("favor", 0.25)),
    "neither": (("favor", 0.55), ("against", 0.45)),
}
HESITATIONS = (
    "irony?", "=same author as above?", "only a link, labelled by its card", "a question, but a loaded one",
    "two claims in one post", "- see guideline 4", "cannot tell who is speaking",
)  # fmt: skip
REASONS = {
    "slip": "one of us clicked too fast", "guideline": "a repeated headline counts as spreading it",
    "context": "the answer is clear only with the post it replies to", "ambiguous": "can be read both ways",
}  # fmt: skip


def drawn(*key: str) -> float:
    """This person's chance for this item."""
    return uniform(SEED, "simulated", *key)


def opinion(item_id: str, person: str, number: int, careless: float) -> str:
    """What this person thinks the post means."""
    claim_id, _, post_id = item_id.partition("|")
    stance = true_stance(post_id, claim_id)
    hard = drawn("hard", item_id) < HARD
    wrong = (HARD_ERROR if hard else careless) * LEARNING ** (number - 1)
    if drawn("errs", person, item_id) >= wrong:
        return stance
    (first, share), (second, _) = SLIPS[stance]
    return first if drawn("slips", person, item_id) < share else second


def annotate(sheet: Path, person: str, number: int) -> int:
    """Fill in what is empty on a person's sheet of a round; how many rows that were."""

    def answer(row: dict[str, str]) -> dict[str, str]:
        item = row["item_id"]
        if drawn("skips", person, item) < 0.004:
            return {"label": "skip", "comment": "the text is cut off"}
        label = opinion(item, person, number, CARELESS[person])
        hesitates = drawn("hesitates", person, item)
        comment = HESITATIONS[int(hesitates * 1e6) % len(HESITATIONS)] if hesitates < 0.06 else ""
        if person == "a2" and drawn("hasty", person, item) < 0.2:
            return {"label": str(LABELS.index(label) + 1), "comment": comment}  # types the key, as it may
        return {"label": label, "comment": comment}

    return filled(sheet, answer)


def judge(sheet: Path) -> int:
    """Say of each pair of a recall round whether the post takes up the claim, and what stance it takes."""

    def answer(row: dict[str, str]) -> dict[str, str]:
        claim_id, _, post_id = row["item_id"].partition("|")
        stance = truth()[post_id].get(claim_id)
        return {"label": "yes", "sub_label": stance} if stance else {"label": "no"}

    return filled(sheet, answer)


def discuss(sheet: Path) -> int:
    """Decide most disagreements together; leave the others undecided."""

    def answer(row: dict[str, str]) -> dict[str, str]:
        item = row["item_id"]
        kind = [*REASONS][int(drawn("class", item) * len(REASONS))]
        written = {"error_class": kind, "reason": REASONS[kind]}
        if drawn("agrees", item) < 0.15:
            return {"label": "undecided", "error_class": "ambiguous", "reason": REASONS["ambiguous"]}
        return {"label": opinion(item, "together", 1, 0.03), **written}

    return filled(sheet, answer)


def decide(sheet: Path) -> int:
    """The third person decides what is left."""

    def answer(row: dict[str, str]) -> dict[str, str]:
        item = row["item_id"]
        return {
            "label": opinion(item, "third", 1, 0.04),
            "error_class": "ambiguous",
            "reason": "read it three times",
        }

    return filled(sheet, answer)


def filled(sheet: Path, answer) -> int:
    """Write answers into the rows without a label and save the sheet as a spreadsheet would."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        columns, rows = list(reader.fieldnames or ()), list(reader)
    empty = [row for row in rows if not row["label"].strip()]
    for row in empty:
        row.update({name: text for name, text in answer(row).items() if name in columns})
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)
    return len(empty)
