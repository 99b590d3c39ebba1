"""Labels as a matrix with one row per item and one column per annotator, read from a frame or CSV and checked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.annotation.answers import Phase
from covmis_build.annotation.exports import ITEMS, PEOPLE, TEXTS, export_in
from covmis_build.errors import InputError, nearest
from covmis_build.files.columns import GIVEN_LABELS, column_of
from covmis_build.files.ids import NO_LABELS, check_ids
from covmis_build.label_words import label_meant
from covmis_build.tables import frame_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray


COLUMNS = "It needs a row for each label, with the columns item, annotator and label, or a column for each annotator"


@dataclass(frozen=True, slots=True)
class LabelMatrix:
    """Labels as codes: one row per item, one column per annotator, -1 for no label."""

    codes: NDArray[np.int64]
    items: list[str]
    people: list[str]
    claims: list[str] | None
    classes: list[str]


def long_rows(
    given: Any, item: str, annotator: str | Sequence[str], label: str, claim: str | None, round_: str | None
) -> pd.DataFrame:
    """Convert to a long frame with the columns item, annotator, label, and claim and round if present."""
    frame = _independent(frame_of(given))
    usual = (item, annotator, label) == ("item", "annotator", "label")
    export = export_in(frame) if usual and not {"item", "label"} <= {*frame.columns} else None
    return export.frame() if export else _long(frame, item, annotator, label, claim, round_)


def _long(
    frame: pd.DataFrame,
    item: str,
    annotator: str | Sequence[str],
    label: str,
    claim: str | None,
    round_: str | None,
) -> pd.DataFrame:
    if item not in frame.columns and item in frame.index.names:
        frame = frame.reset_index()
    if item == "item" and item not in frame.columns and "item_id" in frame.columns:
        item = "item_id"
    if claim is None and "claim" not in frame.columns and "claim_id" in frame.columns:
        claim = "claim_id"
    for name in (claim, round_):
        if name is not None and name not in frame.columns:
            raise _missing_column(name, frame)
    beside = {name: given or name for name, given in (("claim", claim), ("round", round_))}
    kept = [name for name in beside.values() if name in frame.columns]
    people = _columns_of_people(frame, item, annotator, label, kept)
    if people is not None:
        if item not in frame.columns:
            frame = frame.rename_axis(index=item).reset_index()
        frame = frame.melt([item, *kept], people, "annotator", "label", ignore_index=False)
        annotator, label = "annotator", "label"
    for name in (item, str(annotator), label):
        if name not in frame.columns:
            raise _missing_column(name, frame)
    names = {item: "item", str(annotator): "annotator", label: "label"} | {
        given: name for name, given in beside.items()
    }
    in_the_way = [name for name in names.values() if name in frame.columns and name not in names]
    renamed: pd.DataFrame = frame.drop(columns=in_the_way).rename(columns=names)
    return renamed


def _independent(frame: pd.DataFrame) -> pd.DataFrame:
    """Keep the independent annotations of a release, without discussion and adjudication."""
    if "phase" not in frame.columns or not set(frame["phase"]) <= set(Phase):
        return frame
    alone: pd.DataFrame = frame[frame["phase"] == Phase.INDEPENDENT]
    return alone


def _columns_of_people(
    frame: pd.DataFrame, item: str, annotator: str | Sequence[str], label: str, kept: Sequence[str]
) -> list[str] | None:
    """Return the annotator columns of a wide frame; None if the frame is long."""
    if not isinstance(annotator, str):
        for name in annotator:
            if name not in frame.columns:
                raise _missing_column(name, frame)
        return list(annotator)
    if item in frame.columns and annotator not in frame.columns and label not in frame.columns:
        people = [str(name) for name in frame.columns if name not in {item, *kept}]
        _refuse_no_people(frame, people)
        return people if len(people) > 1 else None
    return None


def _refuse_no_people(frame: pd.DataFrame, people: Sequence[str]) -> None:
    """Refuse a wide frame with a column that shares no label with the others: it may be a text or a confidence."""
    labels = {name: {_text(cell) for cell in frame[name][~_blank(frame[name])]} for name in people}
    for name, own in labels.items():
        others = set().union(*(labels[other] for other in people if other != name))
        if (
            own
            and others
            and not own & others
            and (len(people) > 2 or max(len(own), len(others)) > len(frame) / 2)
        ):
            raise InputError(
                f"the column {name} has none of the labels of the other columns",
                remedy=f"Name the annotators' columns: annotator={list(people)[:2]}",
            )


def _missing_column(name: str, frame: pd.DataFrame) -> InputError:
    """Return the error for a missing column, with the existing ones."""
    return InputError(
        f"the column {name} is missing", remedy=f"Columns: {', '.join(map(str, frame.columns)) or 'none'}"
    )


def in_scheme(
    rows: pd.DataFrame, labels: Sequence[str] | None, order: Sequence[str] | None
) -> tuple[pd.DataFrame, list[str]]:
    """Return the labelled rows, checked, and the scheme: as declared, or the labels that occur."""
    rows = _checked(rows, labels or order or ())
    classes = list(order or labels or ()) or sorted(rows["label"].unique())
    if len(set(classes)) < len(classes):
        raise InputError("a label is declared twice")
    if order and labels and sorted(order) != sorted(labels):
        raise InputError("the order must name every label once", remedy=f"Labels: {', '.join(labels)}")
    return rows, classes


def _checked(frame: pd.DataFrame, labels: Sequence[str]) -> pd.DataFrame:
    rows = frame[~_blank(frame["label"])].copy()
    for name in ("item", "annotator"):
        if rows[name].isna().any():
            raise InputError(
                f"the column {name} has an empty cell", row=_row(rows.index[rows[name].isna()][0])
            )
    for name in ("item", "annotator", "label"):
        rows[name] = [_text(cell) for cell in rows[name]]
    rows["label"] = rows["label"].replace(_spellings(rows["label"], labels))
    unknown = sorted(set(rows["label"]) - set(labels)) if labels else []
    if unknown:
        row = rows.index[rows["label"] == unknown[0]][0]
        raise InputError(f"unknown label '{unknown[0]}'", row=_row(row), remedy=nearest(unknown[0], labels))
    twice = rows[rows.duplicated(["item", "annotator"])]
    if len(twice):
        second = twice.iloc[0]
        raise InputError(
            f"{second['annotator']} labels the item {second['item']} twice",
            row=_row(twice.index[0]),
            remedy="Keep one row for each item and annotator",
        )
    return rows.reset_index(drop=True)


def _spellings(given: pd.Series, labels: Sequence[str]) -> dict[str, str]:
    """Map labels in other spellings to the declared ones. Refuses two spellings of an undeclared label."""
    if labels:
        meant = {label: label_meant(label, labels) for label in given.unique()}
        return {label: known for label, known in meant.items() if known and known != label}
    spelled: dict[str, str] = {}
    for label in given.unique():
        known = spelled.setdefault(label.casefold(), label)
        if known != label:
            raise InputError(
                f"the labels {known} and {label} differ only in capitals",
                row=_row(given.index[given == label][0]),
                remedy="Write each label in one way",
            )
    return {}


def _text(cell: Any) -> str:
    """Return a cell as stripped text. Whole numbers that pandas made floats (because of a gap) become integers again."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def _blank(column: pd.Series) -> pd.Series:
    """Mark the empty cells of a column."""
    return column.isna() | (column.astype(str).str.strip() == "")


def _row(index: Any) -> int | str:
    """Return the row's number as a file counts it, below the header."""
    return int(index) + 2 if isinstance(index, int) or hasattr(index, "item") else str(index)


def in_natural_order(names: Iterable[str]) -> list[str]:
    """Sort names with numbers as people count them.

    >>> in_natural_order(["a10", "a2", "a1"])
    ['a1', 'a2', 'a10']
    """
    return sorted(map(str, names), key=natural)


def natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """Return a key that sorts a2 before a10."""
    parts = re.findall(r"\d+|\D+", name)
    return tuple((not part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts)


def label_matrix(rows: pd.DataFrame, classes: Sequence[str]) -> LabelMatrix:
    """Encode the rows as a matrix. An item's claim is that of its first row; annotators stand as a1, a2, a10."""
    import numpy as np
    import pandas as pd

    row, items = pd.factorize(rows["item"], sort=True)
    people = in_natural_order(rows["annotator"].unique())
    column = pd.Categorical(rows["annotator"], categories=pd.Index(people, dtype=object)).codes
    codes = np.full((len(items), len(people)), -1, dtype=np.int64)
    codes[row, column] = pd.Categorical(rows["label"], categories=pd.Index(classes)).codes
    claims = None
    # without a claim, it is unknown which items belong together
    if "claim" in rows.columns and len(rows) and not _blank(rows["claim"]).any():
        own = rows["claim"].to_numpy(dtype=object)
        first = own[np.unique(row, return_index=True)[1]]
        if (deviating := np.flatnonzero(own != first[row])).size:
            item, claim = items[row[deviating[0]]], own[deviating[0]]
            raise InputError(
                f"the item {item} has two claims, {first[row[deviating[0]]]} and {claim}",
                remedy="An item belongs to one claim",
            )
        claims = [str(claim) for claim in first]
    return LabelMatrix(codes, list(items), people, claims, list(classes))


def read_labels_file(path: Path) -> pd.DataFrame:
    """Read a table of labels for comparison: item, annotator, label, and optional claim, round, kind, seconds, comment.

    Columns may have other usual names (`coder`, `text_id`, `code`), or each annotator a column.
    """
    import pandas as pd

    from covmis_build.annotation.channels.sheets import ROW, read_rows

    try:
        rows = read_rows(path, ("annotator", "label")).whole(path)
    except InputError as error:
        if "column" not in error.problem:
            raise
        error.remedy = COLUMNS
        rows = _named_otherwise(read_rows(path, ()).whole(path), error)
    if not rows:
        raise InputError("has a header and no labels", file=path, remedy="Give a row for each label")
    item = next((name for name in ("item", "item_id") if name in rows[0]), "")
    if not item:
        raise InputError("the column item is missing", file=path, remedy=COLUMNS)
    _refuse_unlike_labels(rows, path)
    check_ids(path, [row[item].strip() for row in rows], rows=[int(row[ROW]) for row in rows])
    numbers = [int(row.pop(ROW)) - 2 for row in rows]
    frame = pd.DataFrame(rows, index=numbers, dtype=object)
    if "seconds" in frame.columns:
        try:
            frame["seconds"] = pd.to_numeric(frame["seconds"].replace("", None))
        except (ValueError, TypeError):
            raise InputError("seconds must be numbers", file=path) from None
    return frame


LABELS = (*GIVEN_LABELS, "class", "code", "annotation", "choice", "answer", "rating", "category", "value")
BESIDE = ("claim", "claim_id", "round", "kind", "seconds", "comment", "n", "nr", "no", "index", "url", "date")
"""Columns of a wide table that are nobody's labels."""


def _named_otherwise(rows: list[dict[str, str]], missing: InputError) -> list[dict[str, str]]:
    """Return a row for each label of a table with other names for its columns, or with a column for each annotator."""
    import pandas as pd

    from covmis_build.annotation.channels.sheets import ROW

    names = [name for name in (rows[0] if rows else ()) if name != ROW]
    item, who, label = (column_of(names, known) for known in (ITEMS, PEOPLE, LABELS))
    if item and who and label:
        known = {item: "item", who: "annotator", label: "label"}
        return [{known.get(name, name): cell for name, cell in row.items()} for row in rows]
    beside = [name for name in names if name == item or column_of([name], (*TEXTS, *BESIDE))]
    people = [name for name in names if name not in beside]
    if not item or who or label or len(people) < 2:
        raise missing
    _refuse_no_people(pd.DataFrame(rows), people)
    kept = {name: "item" if name == item else name for name in (*beside, ROW)}
    return [
        {**{now: row[name] for name, now in kept.items()}, "annotator": person, "label": row[person]}
        for row in rows
        for person in people
    ]


def _refuse_unlike_labels(rows: Sequence[Mapping[str, str]], path: Path) -> None:
    """Refuse values that would wrongly count as labels."""
    from covmis_build.annotation.channels.sheets import ROW

    for row in rows:
        if row["label"].strip().casefold() in NO_LABELS:
            raise InputError(
                f"the label is '{row['label'].strip()}'",
                file=path,
                row=int(row[ROW]),
                remedy="Leave the cell empty where there is no label; a label needs another name",
            )
