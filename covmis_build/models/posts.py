"""Read tables of posts for training or prediction, with any column names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build import tables
from covmis_build.errors import InputError
from covmis_build.files.frames import read_parquet
from covmis_build.text.shown import shown_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

COLUMNS = {
    "text": ("text", "post", "tweet", "premise", "sentence1"),
    "target": ("target", "claim", "mis", "hypothesis", "sentence2"),
    "label": ("label", "stance", "labels", "gold_label"),
}
"""Standard column → accepted names."""
IDS = ("item_id", "post_id", "id")


def read_posts(posts: pd.DataFrame | str | Path, *, labelled: bool, text_alone: bool = False) -> pd.DataFrame:
    """Read a table with the columns text, target (if any) and label; ids are unique per target.

    For frozen items (with columns `show`, `cards` …) the text is everything that annotators saw or, with `text_alone`, the
    post's own words.
    """
    file: str | Path = ""
    if isinstance(posts, str | Path):
        from covmis_build.evaluation.label_files import read_rows

        file, posts = (
            posts,
            _frozen_items(Path(posts))
            if _holds_frozen_items(Path(posts))
            else read_rows(Path(posts)).frame(),
        )
    frame = posts.rename(columns=_renamed(file, [str(name) for name in posts.columns], labelled=labelled))
    if "show" in frame.columns and "cards" in frame.columns:
        rows = frame.assign(claim=frame.get("target", "")).to_dict("records")
        frame = frame.assign(
            text=[
                shown_text({str(name): cell for name, cell in row.items()}, text_alone=text_alone)
                for row in rows
            ]
        )
    _check_ids(file, frame)
    if labelled:
        if frame.empty:
            raise InputError("has no rows" if file else "the table has no rows", file=file)
        for row, label in enumerate(frame["label"], 2):
            if not str(label).strip():
                raise InputError("has no label", file=file, row=row, remedy="Label the row, or remove it")
    return frame


def _holds_frozen_items(path: Path) -> bool:
    import pyarrow.parquet as pq

    if path.suffix != ".parquet" or not path.is_file():
        return False
    try:
        return {"show", "cards"} <= set(pq.read_schema(path).names)
    except (OSError, ValueError):
        return False  # the reader of tables reports the problem


def _frozen_items(path: Path) -> pd.DataFrame:
    return tables.frame(read_parquet(path))


def id_column(frame: pd.DataFrame) -> str:
    """Return the id column, if any."""
    return next((name for name in IDS if name in frame.columns), "")


def label_set(labels: Sequence[str], frame: pd.DataFrame) -> list[str]:
    """Return the named labels, or those of the table: at least two, each once."""
    values = list(labels) or sorted(set(frame["label"].astype(str)))
    for at, label in enumerate(values):
        if label in values[:at]:
            raise InputError(f"the label set names '{label}' twice", remedy="Name each label once")
    if len(values) < 2:
        raise InputError(
            f"there is one label, '{values[0]}'",
            remedy="A model needs two: name those that the table lacks, too",
        )
    return values


def _renamed(file: str | Path, names: list[str], *, labelled: bool) -> dict[str, str]:
    renamed = {}
    for column, known in COLUMNS.items():
        name = next((name for name in known if name in names), "")
        if name:
            renamed[name] = column
        elif column == "text" or (column == "label" and labelled):
            there = ", ".join(name[:40] for name in names[:12]) + (" …" if len(names) > 12 else "")
            remedy = f"{'The file' if file else 'The table'} has {there}"
            if column == "text" and {"item_id", "post_id"} <= set(names):
                remedy = "`covmis hydrate` writes a released corpus with its texts"
            raise InputError(
                f"{'' if file else 'the table '}has no column {column}", file=file, remedy=remedy
            )
    return renamed


def _check_ids(file: str | Path, frame: pd.DataFrame) -> None:
    """Check that all rows or none have an id. A post may occur once for each target."""
    name = id_column(frame)
    if not name:
        return
    rows: dict[tuple[str, ...], int] = {}
    columns = [column for column in (name, "dataset", "target") if column in frame.columns]
    for row, key in enumerate(frame[columns].astype(str).itertuples(index=False, name=None), 2):
        if not key[0].strip():
            raise InputError(f"has no {name}", file=file, row=row, remedy="Give every row its id")
        if key in rows:
            raise InputError(
                f"the {name} {key[0]} stands in row {rows[key]}, too",
                file=file,
                row=row,
                remedy="Keep one of them",
            )
        rows[key] = row
