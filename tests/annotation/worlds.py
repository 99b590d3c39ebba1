"""Simulated rounds with planted people, rules and claims, for `next_decision` and its benchmark."""

from __future__ import annotations

import numpy as np
import pandas as pd

from covmis_build.records import Label

LABELS = np.array(["favor", "against", "neither"])
KINDS = ("honest", "uneven", "swapper", "straight", "random", "careless")


def labelled_round(
    rng: np.random.Generator, people: int, posts: int, kind: str, each: int = 3
) -> pd.DataFrame:
    """Return the independent labels of a round: honest people err at 12%, uneven ones at 5 to 20%. a2 is the planted one."""
    each = min(each, people)
    claims = rng.dirichlet([1.5, 0.9, 0.6], size=posts // 12 + 1)
    truth = np.array([rng.choice(3, p=claims[at // 12]) for at in range(posts)])
    who = rng.permuted(np.tile(np.arange(people), (posts, 1)), axis=1)[:, :each]
    errs = rng.uniform(0.05, 0.20, people) if kind == "uneven" else np.full(people, 0.12)
    errs[1] = 0.30 if kind == "careless" else errs[1]
    hard = rng.choice([0.3, 1.0, 3.0], posts, p=[0.5, 0.35, 0.15])  # on hard posts everybody errs more
    chance = np.minimum(errs[who] * hard[:, None] / 0.95, 0.6)
    said = np.where(
        rng.random(who.shape) < chance,
        (truth[:, None] + rng.integers(1, 3, who.shape)) % 3,
        truth[:, None].repeat(each, 1),
    )
    mine = who == 1
    if kind == "swapper":
        said = np.where(mine, np.array([1, 0, 2])[said], said)
    if kind == "random":
        said = np.where(mine, rng.choice(3, who.shape, p=[0.5, 0.3, 0.2]), said)
    if kind == "straight":  # from a third of the work on, as `orders_of` has it
        late = (np.arange(posts) >= posts / 3)[:, None]
        said = np.where(mine & late, 2, said)
    rows = [
        (f"c{at // 12:02}|x:{at:04}", f"a{person + 1}", LABELS[label], f"c{at // 12:02}")
        for at in range(posts)
        for person, label in zip(who[at], said[at], strict=True)
    ]
    return pd.DataFrame(rows, columns=["item", "annotator", "label", "claim"])


def orders_of(given: pd.DataFrame) -> dict[str, list[str]]:
    """Return each person's posts as they were given out: in the order of their numbers."""
    return {str(who): sorted(part["item"]) for who, part in given.groupby("annotator")}


def decided_round(
    rng: np.random.Generator, people: int, posts: int, kind: str
) -> tuple[pd.DataFrame, list[Label]]:
    """Return labels and decisions of 12 claims.

    Planted: a1 says neither for a third of the against posts ("person"), nobody has a rule for 40% of them ("rule"), or two
    claims are three times as hard ("claim"). Decisions are right but for 3%; 70% have an error class, 15% a wrong one.
    """
    claim = rng.permuted(
        np.concatenate([np.arange(12), rng.choice(12, posts - 12, p=rng.dirichlet(np.full(12, 3.0)))])
    )
    truth = rng.choice(3, posts, p=[0.4, 0.35, 0.25])
    errs = np.where((kind == "claim") & (claim < 2), 0.27, 0.09)
    unruled = (kind == "rule") & (truth == 1) & (rng.random(posts) < 0.4)
    said = np.where(
        rng.random((people, posts)) < errs, (truth + rng.integers(1, 3, (people, posts))) % 3, truth
    )
    said = np.where(unruled & (rng.random((people, posts)) < 0.5), 2, said)
    if kind == "person":
        said[0] = np.where((truth == 1) & (rng.random(posts) < 0.33), 2, said[0])
    gold = np.where(rng.random(posts) < 0.03, rng.integers(0, 3, posts), truth)
    why = np.where(
        unruled, "guideline", rng.choice(["slip", "context", "guideline", "other"], posts, p=[0.75, 0.15, 0.05, 0.05])
    )  # fmt: skip
    why = np.where(
        rng.random(posts) < 0.15, rng.choice(["slip", "guideline", "context", "ambiguous"], posts), why
    )
    why = np.where(rng.random(posts) < 0.7, why, "")
    items = [f"c{number:02}|x:{at:04}" for at, number in enumerate(claim)]
    rows = [
        (items[at], f"a{person + 1}", LABELS[said[person, at]], f"c{claim[at]:02}")
        for at in range(posts)
        for person in range(people)
    ]
    decided = [
        _decision(items[at], str(LABELS[gold[at]]), str(why[at]), "rule 3, not rule 7" * bool(unruled[at]))
        for at in np.flatnonzero((said != said[0]).any(0))
    ]
    return pd.DataFrame(rows, columns=["item", "annotator", "label", "claim"]), decided


def _decision(item: str, label: str, error_class: str, reason: str) -> Label:
    values = dict.fromkeys(Label._fields, "") | {
        "label_id": item, "item_id": item, "phase": "discussion", "annotator": "discussion", "label": label, "status": "given",
        "error_class": error_class, "reason": reason, "seconds": float("nan"),
    }  # fmt: skip
    return Label(**values)
