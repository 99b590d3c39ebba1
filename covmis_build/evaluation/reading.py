"""Labels from files: gold or predictions, with the columns that hold ids and labels, as DataFrames of text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError, nearest
from covmis_build.evaluation.formats import read_table
from covmis_build.text import sheets

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

IDS = ("item_id", "post_id", "native_id", "tweet_id", "id")
LABELS = ("prediction", "predicted", "label", "gold", "stance", "labels")
"""Columns that are taken for ids and labels, in this order, unless others are named."""
POINT_ZERO = re.compile(r"\d+\.0")
BARE = (".txt", ".npy")
"""Kinds of files whose first row is an item."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """A file of labels: its table, and which columns hold ids (may be empty) and labels."""

    file: Path
    table: pd.DataFrame
    id_column: str
    label_column: str

    def labels(self, id_column: str = "") -> pd.Series[str]:
        """The labels; with the ids of this column as index, if one is named."""
        values = self.table[self.label_column].map(_stripped)
        if not id_column:
            return values.reset_index(drop=True)
        ids = self.ids(id_column)
        seen: dict[str, int] = {}
        for row, one in enumerate(ids, 1):
            if not one:
                raise InputError("has an item without an id", file=self.file, row=row + 1)
            if one in seen:
                raise InputError(
                    f"the id {one} occurs again (first in row {seen[one] + 1})",
                    file=self.file,
                    row=row + 1,
                    remedy="Keep one row per item",
                )
            seen[one] = row
        return values.set_axis(ids)

    def check_labels(self, declared: Sequence[str]) -> None:
        """Refuse labels that nobody declared; an empty cell is no label."""
        for row, one in enumerate(self.labels(), 1):
            word = "" if one is None else str(one)
            if word and word not in declared:
                raise InputError(
                    f"has the unknown label '{word}'",
                    file=self.file,
                    row=row if self.file.suffix in BARE else row + 1,
                    remedy=nearest(word, declared),
                )

    def ids(self, column: str) -> list[str]:
        """The ids of this column. Numbers that a program wrote as 12.0 are 12; long ones would have lost digits."""
        ids = [str(one).strip() for one in self.table[column]]
        if not all(POINT_ZERO.fullmatch(one) for one in ids):
            return ids
        for row, one in enumerate(ids, 1):
            if len(one) > 2 + sheets.KEPT_DIGITS:
                raise InputError(
                    f"the id {one} was read as a number, which keeps {sheets.KEPT_DIGITS} digits",
                    file=self.file,
                    row=row + 1,
                    remedy="Take the ids from the original file, as text",
                )
        return [one[:-2] for one in ids]

    def column(self, name: str) -> list[Any]:
        """Another column, which must be there."""
        if name not in self.table.columns:
            raise InputError(
                f"lacks the column '{name}'",
                file=self.file,
                remedy=nearest(name, map(str, self.table.columns)),
            )
        return list(self.table[name])


def _stripped(cell: Any) -> Any:
    return cell.strip() if isinstance(cell, str) else cell


def read_labels(path: Path, *, id_column: str = "", label_column: str = "") -> Labelled:
    """Read a file of gold labels or predictions."""
    table = read_table(path)
    if table.empty:
        raise InputError("has no rows", file=path, remedy="At least one labelled item is expected")
    table = _plainly_named(table, {id_column, label_column})
    names = [str(name) for name in table.columns]
    for wanted in (id_column, label_column):
        if wanted and wanted not in names:
            raise InputError(f"lacks the column '{wanted}'", file=path, remedy=nearest(wanted, names))
    label = label_column or sheets.column(names, LABELS)
    if not label:
        raise InputError(
            "has no column of labels",
            file=path,
            remedy=f"Name one as FILE:COLUMN; the file has {', '.join(names)}",
        )
    ids = id_column or sheets.column(names, IDS)
    if ids and ids != "item_id":
        sheets.check_ids(path, [str(one) for one in table[ids]])
    return Labelled(path, table, ids, label)


def _plainly_named(table: pd.DataFrame, kept: set[str]) -> pd.DataFrame:
    """The table with columns of ids under their own name, however a file writes it (Tweet_ID, tweet id)."""
    plain = {name: str(name).lower().replace(" ", "_") for name in table.columns if name not in kept}
    return table.rename(
        columns={
            name: one
            for name, one in plain.items()
            if one in IDS and one != name and one not in table.columns
        }
    )


def alike(gold: Labelled, system: Labelled) -> Labelled:
    """The system's file with its column `id` called as gold's ids are, if it has those, or the other way round."""
    if "id" not in {gold.id_column, system.id_column} or not (gold.id_column and system.id_column):
        return system
    mine = set(system.ids(system.id_column))
    for name in IDS:
        if name in gold.table.columns and name not in system.table.columns and mine & set(gold.ids(name)):
            table = system.table.rename(columns={system.id_column: name})
            return replace(system, table=table, id_column=name)
    return system


def common_id(gold: Labelled, system: Labelled) -> str:
    """The column of ids that both have; empty if either has none.

    Files that both have ids of different kinds are not joined by position: that is an error.
    """
    both = [name for name in IDS if name in gold.table.columns and name in system.table.columns]
    if gold.id_column and gold.id_column == system.id_column:
        return gold.id_column
    if both:
        return both[0]
    if gold.id_column and system.id_column and gold.id_column != "id" and system.id_column != "id":
        raise InputError(
            f"has ids in '{system.id_column}', gold in '{gold.id_column}'",
            file=system.file,
            remedy="Give both the same column of ids",
        )
    return ""
