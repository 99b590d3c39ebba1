"""Read a corpus whose rows are table rows, by a description of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.datasets.shape import Row, epoch_time, post_time
from covmis_build.datasets.stance import table
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from covmis_build.datasets.stance import Cells

FIELDS = ("id", "label", "target_id", "target", "text", "time", "split", "group")


@dataclass(frozen=True, slots=True)
class Columns:
    """How the common format's fields are computed from a table's columns."""

    fields: Mapping[str, Any]
    """A column name; a text with columns in braces; or { lookup, key, by, value }: a cell of another table."""
    labels: Mapping[str, str]
    """Written label → the scheme's label; empty if they are equal."""
    times: str = ""
    """id (from post ids), epoch (seconds), utc (day and hour in UTC), or unchanged."""
    header: Sequence[str] = ()
    """The columns of a file without header (cells separated by tabs)."""
    drop: frozenset[str] = frozenset()
    """Labels whose rows are omitted."""


def rows_of(
    columns: Columns, files: Sequence[tuple[str, Mapping[str, str]]]
) -> Callable[[Path], Iterator[Row]]:
    """Return a reader of these files; each has additional values (such as its split)."""

    def read(folder: Path) -> Iterator[Row]:
        tables: dict[tuple[str, str], dict[str, Cells]] = {}
        for name, own in files:
            for number, cells in enumerate(table(folder / name, columns.header)):
                cells.update({"row": str(number), **own} | cells)
                values = {field: _value(how, cells, folder, tables) for field, how in columns.fields.items()}
                if values["label"] in columns.drop:
                    continue
                if columns.labels and values["label"] not in columns.labels:
                    raise InputError(
                        f"the label '{values['label']}' is unknown",
                        file=cells.path,
                        remedy=f"Known: {', '.join(columns.labels)}",
                    )
                if columns.labels:
                    values["label"] = columns.labels[values["label"]]
                if columns.times:
                    values["time"] = _time(columns.times, values)
                yield Row(**values)

    return read


def _value(how: Any, cells: Cells, folder: Path, tables: dict[tuple[str, str], dict[str, Cells]]) -> str:
    if isinstance(how, str):
        return how.format_map(cells) if "{" in how else cells[how]
    at = (how["lookup"].format_map(cells), how["key"])
    if at not in tables:
        tables[at] = {row[at[1]]: row for row in table(folder / at[0])}
    if cells[how["by"]] not in tables[at]:
        raise InputError(f"has no row with {at[1]} {cells[how['by']]}", file=folder / at[0])
    return tables[at][cells[how["by"]]][how["value"]]


def _time(kind: str, values: Mapping[str, str]) -> str:
    if kind == "id":
        return post_time(values["id"])
    if kind == "epoch":
        return epoch_time(int(values["time"]))
    if kind == "utc":
        return values["time"].replace(" ", "T") + "Z"
    raise ValueError(f"times = '{kind}': it is id, epoch or utc")
