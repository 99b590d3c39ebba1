"""Models as annotators of a round, each admitted by the alternative annotator test.

A model's predictions are in `sheets/model-NAME.csv` (item_id, prediction), as written by `covmis model ask` and
`covmis model prompt --answers`. A model labels only the items that the round assigns to it. Its labels alone never
become gold (see `gold`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from covmis_build import storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.answers import Answer, Channel, Problem, Pulled, Status, checked
from covmis_build.annotation.channels.sheets import ROW, read_rows
from covmis_build.annotation.frozen_items import by_item
from covmis_build.errors import InputError
from covmis_build.options import file_stem, is_machine
from covmis_build.stats.agreement import number
from covmis_build.stats.coefficients import cohen_kappa, table_of_two

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.annotation.round_folder import RoundFolder

SAID = ("prediction", "label")
"""Possible columns with the model's labels; the first that exists is used."""


class BesidePerson(Struct, frozen=True):
    """A model compared with a person: posts labelled by both, equal labels, and Cohen's κ."""

    machine: str
    labels: int
    person: str
    posts: int
    same: int
    kappa: float | None


def predictions_path(round_: RoundFolder, code: str) -> Path:
    """Return where a round expects a model's predictions."""
    return round_.sheets / f"{file_stem(code)}.csv"


def pull_machine(round_: RoundFolder, code: str, work: Collection[str], path: Path, *, now: str) -> Pulled:
    """Record a model's predictions for its items in the round. Other predictions are ignored."""
    record.refuse_sealed(round_)
    rows = read_rows(path, ("item_id",)).whole(path)
    column = next((name for name in SAID if rows and name in rows[0]), "")
    if not column:
        raise InputError("has no column prediction", file=path, remedy="It needs item_id and prediction")
    items = by_item(round_.items())
    saved = min(storage.moment(path.stat().st_mtime), now)
    answers: dict[str, Answer] = {}
    pulled = Pulled(round_.number)
    for row in rows:
        item = row["item_id"].strip()
        if item not in work or not row[column].strip():
            continue
        answer = checked(
            Answer(
                item, code, row[column].strip(), Channel.MODEL, given_at=saved, shown=items[item]["shown"]
            ),
            round_.scheme,
        )
        if answer.status == Status.INVALID:
            pulled.problems.append(
                Problem(path.name, answer.reason, "Predict a label of [labels] values", int(row[ROW]))
            )
        if item in answers:
            raise InputError(f"predicts {item} twice", file=path, row=int(row[ROW]), remedy="Keep one row")
        answers[item] = answer
    pulled.came(answers.values(), items)
    record.count(pulled, round_, list(answers.values()), now=now)
    return pulled


def beside_people(given: pd.DataFrame, values: Sequence[str]) -> list[BesidePerson]:
    """Compare each model with each person. `given` has the columns item, annotator and label."""
    said = {
        str(who): dict(zip(rows["item"], rows["label"], strict=True))
        for who, rows in given.groupby("annotator")
    }
    rows = []
    for machine in filter(is_machine, said):
        for person in (who for who in said if not is_machine(who)):
            table = table_of_two(said[machine], said[person], values)
            both, alike = int(table.sum()), int(table.trace())
            rows.append(
                BesidePerson(machine, len(said[machine]), person, both, alike, number(cohen_kappa(table)))
            )
    return rows
