"""Read gold and systems from files, frames, Series, dicts or lists, and join them by gold's ids."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError, UnknownName, nearest
from covmis_build.evaluation.label_files import (
    LABELS,
    POSITION,
    Labelled,
    as_label,
    common_id,
    golds_copy,
    is_empty,
    joined_by_columns,
    label_set,
    labelled,
    read_labels,
    share_columns,
    with_gold_id_name,
)
from covmis_build.evaluation.times import moments
from covmis_build.files.columns import CLAIM_OF_ITEM, IDS, column_of
from covmis_build.files.reading import SUFFIXES
from covmis_build.tables import with_frames

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pandas as pd

    from covmis_build.evaluation.joining import Invalid

PROBABILITIES = ("p_claim", "p_sample")
POPULATION = "in_population"
"""Columns of a corpus whose product is an item's inclusion probability."""
SYSTEM = "system"
"""Default name of a single system."""


UNITS = {
    **dict.fromkeys(("claim", "claim_id", "mid", "misconception_id"), "claims"),
    **dict.fromkeys(("target", "target_id"), "targets"),
    "event": "events", "topic": "topics", "thread": "threads", "author": "authors",
}  # fmt: skip
"""Names of columns and of what their values are, if intervals are over these."""


def unit_of(clusters: Any) -> str:
    """Return what the units of intervals are called: items, or by the column that they were taken from.

    >>> import pandas as pd
    >>> [unit_of(pd.Series(["x"], name=name)) for name in ("claim_id", "target", "politician", None)], unit_of(None)
    (['claims', 'targets', 'values of politician', 'claims'], 'items')
    """
    if clusters is None:
        return "items"
    name = str(getattr(clusters, "name", None) or "")
    return UNITS.get(name, f"values of {name}" if name else "claims")


@dataclass(frozen=True)
class GoldAndSystems:
    """Labels of gold and of each system, indexed by gold's ids if both have ids."""

    gold: Any
    systems: dict[str, Any]
    table: Labelled | None = None
    """Gold's own table, if any. Its columns can then be named."""
    tables: tuple[Labelled, ...] = ()
    """The systems' tables, if any."""
    joined_by: tuple[str, ...] = ()
    """The keys that joined the rows: an id column, other columns, or position."""
    other_golds: tuple[str, ...] = ()
    """Sentences on systems whose files have other gold labels than gold."""

    def labels(
        self,
        declared: Sequence[Any] | None,
        order: Sequence[Any] | None = None,
        invalid: Invalid = "refuse",
    ) -> list[str]:
        """Return the label set: as declared, as ordered, or all labels in gold. `invalid` says if systems may have others."""
        given = declared if declared is not None and len(declared) else order
        if given is not None and len(given):
            labels = [as_label(label) for label in given]
        else:
            labels = label_set(_values(self.gold), "gold") if self.table is None else self.table.label_set()
        if not labels:
            raise InputError("no item of gold has a label", file=self.table.file if self.table else "")
        if self.table is not None:
            self.table.check_labels(labels)
        for table in self.tables if invalid == "refuse" else ():
            table.check_labels(labels, predicted=True)
        return labels

    def column(self, given: Any, what: str) -> Any:
        """Return one value per item: as given, or gold's column of this name (month and year also from its times)."""
        if not isinstance(given, str):
            return given
        if self.table is None:
            raise InputError(
                f"{what} = '{given}' names a column, and gold has none", remedy="Give gold as a DataFrame"
            )
        if given in {"month", "year"} and given not in self.table.table.columns:
            until = 7 if given == "month" else 4
            return self._series([moment[:until] for moment in moments(self.table.table)], given)
        return self._series(self.table.column(given), given)

    def claims(self, given: Any) -> Any:
        """Return each item's claim: as given, or gold's column of this name; without a name, its claim column if any."""
        if isinstance(given, str) and not given:
            names = [] if self.table is None else [str(name) for name in self.table.table.columns]
            given = column_of(names, CLAIM_OF_ITEM) or None
        return self.column(given, "clusters")

    def probabilities(self, given: Any) -> Any:
        """Return inclusion probabilities: as given, gold's column of this name, or the product of several columns.

        Without a name: the product of p_claim and p_sample if gold has them, otherwise none.
        """
        if isinstance(given, str) and not given:
            given = self._own_probabilities()
        if not _are_columns(given):
            return self.column(given, "probabilities")
        product = 1.0
        for name in given:
            values = self.column(name, "probabilities")
            try:
                product = values.astype(float) * product
            except ValueError:
                raise InputError(
                    f"{' and '.join(given)} must be numbers",
                    file=self.table.file if self.table else "",
                    remedy="Or use probabilities = none",
                ) from None
        return product

    def remarks(self, probabilities: Any) -> tuple[str, ...]:
        """Return what weighted figures need said: rows of a corpus that its own weights leave out still count in them."""
        if probabilities is None or self.table is None or POPULATION not in self.table.table.columns:
            return self.other_golds
        inside = self.table.table[POPULATION]
        outside = int((inside == "no").sum())
        told = (
            f"{outside:,} of {len(inside):,} items are no longer among the posts that the study's queries find ({POPULATION} is "
            "no); weighted figures count them, too."
        )
        return (*self.other_golds, told) if outside else self.other_golds

    def _own_probabilities(self) -> list[str] | None:
        names = [] if self.table is None else [str(name) for name in self.table.table.columns]
        of_claim, of_sample = (column_of(names, [name]) for name in PROBABILITIES)
        if of_sample and not of_claim:
            raise InputError(
                f"has {of_sample} without p_claim",
                file=self.table.file if self.table else "",
                remedy=f"If nothing else decided what was drawn, say probabilities = {of_sample} (--probabilities {of_sample}); or none",
            )
        return [of_claim, of_sample] if of_sample else None

    def _series(self, values: list[Any], name: str) -> pd.Series[Any]:
        import pandas as pd

        return pd.Series(values, index=getattr(self.gold, "index", None), name=name, dtype=object)


def gold_and_systems(
    gold: Any,
    systems: Any,
    *,
    id: str | None = None,  # noqa: A002 - the column's name in every table
    label: str | None = None,
    by_position: bool = False,
    map: Mapping[str, str] | None = None,  # noqa: A002 - what everyone calls it
) -> GoldAndSystems:
    """Read gold and systems in any form. `id` and `label` name columns of tables, which are otherwise detected.

    Items that are pairs, such as a post for each of several claims, have an `id` of several columns: `claim_id,post_id`.
    `map` says what a label of these is called here; one that occurs nowhere is refused.
    """
    for what, labels in (("gold", gold), ("systems", systems)):
        if labels is None or isinstance(labels, int | float):
            raise InputError(
                f"{what} = {labels} is no labels",
                remedy="Give a file, a DataFrame, a Series, a dict or a list",
            )
    gold, systems = with_frames(gold), with_frames(systems)
    table = _table(gold, "gold", id or "", label or "", predicted=False)
    of_pairs = id if id and "," in id else ""
    names = Names(map or {})
    of_gold: Any = gold if table is not None else names.of(gold)
    if table is not None:
        table = table.renamed(names)
        of_gold = table.labels(table.id_column) if table.id_column else table.by_position()
    joined, tables, joined_by, other_golds = {}, list[Labelled](), set[str](), list[str]()
    known = {as_label(value) for value in _values(of_gold) if not is_empty(value)}
    for name, predictions in by_name(systems, "" if table is None else table.id_column, known).items():
        runs = predictions if _are_runs(predictions) else [predictions]
        own = [
            names.of(run)
            if (read := _table(run, name, of_pairs, "", predicted=True, labels=known)) is None
            else read.renamed(names)
            for run in runs
        ]
        tables += [run for run in own if isinstance(run, Labelled)]
        under_ids = [_under_golds_ids(run, gold, table, id or "", by_position=by_position) for run in own]
        joined_by |= {how for _, how in under_ids if how}
        joined[name] = [labels for labels, _ in under_ids] if len(own) > 1 else under_ids[0][0]
        for run in own:
            copy = golds_copy(table, run) if table is not None and isinstance(run, Labelled) else None
            if table is not None and copy is not None:
                theirs = _under_golds_ids(
                    copy.renamed(names), gold, table, id or "", by_position=by_position
                )[0]
                if sentence := _differs(name, copy, theirs, table, of_gold):
                    other_golds.append(sentence)
    names.check()
    return GoldAndSystems(
        of_gold, joined, table, tuple(tables), tuple(sorted(joined_by)), tuple(dict.fromkeys(other_golds))
    )


class Names:
    """What labels are called here, and what labels were seen."""

    def __init__(self, to: Mapping[str, str]) -> None:
        self.to = {str(old): str(new) for old, new in to.items()}
        self.seen: set[str] = set()

    def __call__(self, cell: Any) -> Any:
        """Return what this cell's label is called here."""
        if is_empty(cell) or not self.to:
            return cell
        label = as_label(cell)
        self.seen.add(label)
        return self.to.get(label, cell)

    def of(self, labels: Any) -> Any:
        """Rename labels that are in no table: in a dict, a Series, a list, or a list of several of these."""
        if not self.to:
            return labels
        if isinstance(labels, Mapping):
            return {item: self(label) for item, label in labels.items()}
        if hasattr(labels, "index") and hasattr(labels, "to_numpy"):
            return labels.map(self)
        return [self(cell) if _is_cell(cell) else self.of(cell) for cell in labels]

    def check(self) -> None:
        """Refuse a name that no label has: it would change nothing."""
        for name in self.to:
            if name not in self.seen:
                raise UnknownName(
                    f"map: no label is called '{name}'", remedy=nearest(name, sorted(self.seen))
                )


def _differs(name: str, copy: Labelled, theirs: Any, table: Labelled, of_gold: Any) -> str:
    """Compare the gold labels in a system's file with gold; return a sentence if they differ.

    Columns without any of gold's labels (numbers for names) are no copy of gold.
    """
    if hasattr(theirs, "index") and table.id_column:
        pairs = [(item, theirs[item], label) for item, label in of_gold.items() if item in theirs.index]
    else:
        pairs = [
            (f"row {table.row(at)}", *both) for at, both in enumerate(zip(theirs, of_gold, strict=True), 1)
        ]
    pairs = [
        (item, as_label(own), as_label(label))
        for item, own, label in pairs
        if not (is_empty(own) or is_empty(label))
    ]
    if {own for _, own, _ in pairs}.isdisjoint(label for _, _, label in pairs):
        return ""
    unequal = [(item, own, label) for item, own, label in pairs if own != label]
    if not unequal:
        return ""
    item, own, label = unequal[0]
    return (
        f"The file of {name} ({copy.name}) has another gold: its column {copy.label_column} differs from {table.name} in {len(unequal):,} of "
        f"{len(pairs):,} items (first: {item}, {own} for {label}). It is judged by {table.name}; to judge it by its own, give "
        f"{copy.name}:{copy.label_column} as GOLD."
    )


def _table(
    values: Any,
    name: str,
    id_column: str,
    label_column: str,
    *,
    predicted: bool,
    labels: Collection[str] = (),
) -> Labelled | None:
    """Return the values as a table if they are a file or a frame."""
    how: dict[str, Any] = {
        "id_column": id_column,
        "label_column": label_column,
        "predicted": predicted,
        "labels": labels,
    }
    if isinstance(values, Labelled):
        return values
    if isinstance(values, str | Path):
        return read_labels(Path(values), **how)
    if getattr(values, "ndim", 1) == 2 and hasattr(values, "columns"):
        return labelled(name, values, **how)
    return None


def by_name(systems: Any, id_column: str, labels: Collection[str]) -> dict[str, Any]:
    """Return the systems by name: from a dict, a frame with one column per system, or a single unnamed system."""
    if hasattr(systems, "columns"):
        names = [str(name) for name in systems.columns]
        if any(name in names for name in (*LABELS, "prediction", "predicted")) or share_columns(
            names, labels
        ):
            return {SYSTEM: systems}
        columns = [name for name in names if name != id_column]
        if not columns:
            raise InputError(
                f"has no column of predictions; it has {', '.join(names)}",
                file="systems",
                remedy="Give a column for each system, or one called prediction",
            )
        kept = [id_column] if id_column in names else []
        return {name: systems[[*kept, name]].rename(columns={name: "prediction"}) for name in columns}
    if isinstance(systems, Mapping) and not all(_is_cell(value) for value in systems.values()):
        return {str(name): predictions for name, predictions in systems.items()}
    if isinstance(systems, Mapping) and not systems:
        return {}
    if isinstance(systems, str | Path):
        return {Path(systems).name.split(".")[0]: systems}
    return {str(getattr(systems, "name", None) or SYSTEM): systems}


def _under_golds_ids(
    own: Any, gold: Any, table: Labelled | None, id_column: str, *, by_position: bool
) -> tuple[Any, str]:
    """Return predictions indexed by gold's ids or in gold's order, and the key of the join.

    Tables are joined by common ids. Otherwise other common columns are used if they identify rows or agree row by row.
    Position alone is used only on request.
    """
    if not isinstance(own, Labelled):  # a Series from a frame with gold's rows belongs to these rows
        same_rows = table is not None and hasattr(gold, "columns") and hasattr(own, "to_numpy")
        return (list(own), "index") if same_rows and own.index.equals(gold.index) else (own, "")
    if table is None:
        by_id = isinstance(gold, Mapping) or (hasattr(gold, "index") and hasattr(gold, "to_numpy"))
        by_id = by_id and bool(own.id_column)
        return (own.labels(own.id_column), own.id_column) if by_id else (own.by_position(), POSITION)
    own = with_gold_id_name(table, own)
    named = id_column if id_column and id_column in own.table.columns else ""  # an index has no column name
    column = "" if by_position else named or common_id(table, own)
    if not column:
        if not by_position and (table.id_column or own.id_column):
            without, with_ids = (own, table) if table.id_column else (table, own)
            raise InputError(
                f"has no ids that {with_ids.name} has ({with_ids.id_column})",
                file=without.file,
                remedy="Add that column; or say --by-position (by_position=True) if row 1 belongs to row 1, row 2 to row 2, and so on",
            )
        return joined_by_columns(table, own, by_position=by_position)
    labels = own.labels(column)
    if column == table.id_column:
        return labels, column
    of_gold = dict(zip(table.labels(column).index, table.labels(table.id_column).index, strict=True))
    return labels.set_axis([of_gold.get(item, item) for item in labels.index]), column


def check_ids(systems: Any, items: Collection[str], labels: Collection[str]) -> None:
    """Refuse predictions without ids if the order of the items is unknown. Files are checked when they are read."""
    for name, predictions in by_name(systems, "item_id", labels).items():
        if not _has_ids(predictions, items):
            raise InputError(
                f"{name} has no ids",
                remedy="Give a frame with item_id, a Series indexed by item_id, or a dict",
            )


def with_labels(
    systems: Any, to: Mapping[str, str], labels: Sequence[str], *, all_used: bool = False
) -> dict[str, Any]:
    """Return the systems by name with each label replaced by what it is called in gold (`to`).

    `labels` are the systems' own, for tables of probabilities: the most probable of them is replaced. With `all_used`, a
    name that no label has is refused.
    """
    names = Names(to)

    def renamed(name: str, predictions: Any) -> Any:
        table = _table(predictions, name, "", "", predicted=True, labels=labels)
        if table is not None:
            return table.renamed(names)
        several = isinstance(predictions, list | tuple)
        return [renamed(name, run) for run in predictions] if several else names.of(predictions)

    by_gold = {name: renamed(name, own) for name, own in by_name(systems, "item_id", labels).items()}
    if all_used:
        names.check()
    return by_gold


def _has_ids(predictions: Any, items: Collection[str]) -> bool:
    """True if predictions (or all of several runs) have ids. A frame's default row numbers are no ids."""
    if isinstance(predictions, str | Path | Mapping | Labelled):
        return True
    if hasattr(predictions, "columns"):
        return bool(column_of([str(name) for name in predictions.columns], IDS))
    if hasattr(predictions, "index") and hasattr(predictions, "to_numpy"):
        numbered = predictions.index.inferred_type == "integer"
        return not numbered or not set(map(str, predictions.index)).isdisjoint(items)
    several = isinstance(predictions, list | tuple) and len(predictions) > 0
    return several and all(not _is_cell(run) and _has_ids(run, items) for run in predictions)


def _are_runs(predictions: Any) -> bool:
    """True for a list of tables: several runs of a system. Lists of lists are detected when joined."""
    return isinstance(predictions, list | tuple) and any(
        isinstance(run, Labelled | Path)
        or hasattr(run, "columns")
        or (not _is_cell(run) and isinstance(run, str))
        for run in predictions
    )


def _are_columns(given: Any) -> bool:
    """True for several column names, as opposed to one value per item."""
    return (
        isinstance(given, list | tuple)
        and bool(given)
        and all(column_of([str(name)], PROBABILITIES) for name in given)
    )


def _is_cell(value: Any) -> bool:
    """True for a label or a missing one, as opposed to a file."""
    if isinstance(value, str):
        return Path(value).suffix.lower() not in SUFFIXES
    return value is None or isinstance(value, int | float)


def _values(labels: Any) -> Any:
    return labels.values() if isinstance(labels, Mapping) else labels


def parts_of_spec(spec: str) -> tuple[str, Path, str]:
    """Split [NAME=]FILE[:COLUMN]. The default name is that of the column or file; the column may be empty."""
    name, equals, rest = spec.partition("=")
    if not equals or "/" in name or Path(spec).exists():
        name, rest = "", spec
    path, colon, column = rest.rpartition(":")
    if not colon or Path(rest).exists():
        path, column = rest, ""
    file = Path(path)
    return name or column or file.name.split(".")[0], file, column


def read_spec(spec: str, id_column: str = "") -> tuple[str, Labelled]:
    """Read gold's [NAME=]FILE[:COLUMN]: name and table."""
    name, file, column = parts_of_spec(spec)
    return name, read_labels(file, id_column=id_column, label_column=column)


def read_specs(
    specs: Sequence[str], id_column: str = "", labels: Collection[str] = ()
) -> dict[str, list[Labelled]]:
    """Read the systems by name. A repeated name means several runs of one system."""
    systems: dict[str, list[Labelled]] = {}
    for spec in specs:
        name, file, column = parts_of_spec(spec)
        run = read_labels(file, id_column=id_column, label_column=column, predicted=True, labels=labels)
        systems.setdefault(name, []).append(run)
    return systems
