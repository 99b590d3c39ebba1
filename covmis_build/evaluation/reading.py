"""Labels from files as people have them: CSV, JSONL, JSON (also RumourEval answers), Parquet, arrays, plain lines.

The format follows from the name's end. What comes back is a DataFrame of text, ids as text, one row per item.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError, nearest
from covmis_build.storage import restored
from covmis_build.text import sheets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

IDS = ("item_id", "post_id", "native_id", "tweet_id", "id")
LABELS = ("prediction", "predicted", "label", "gold", "stance", "labels")
"""Columns that are taken for ids and labels, in this order, unless others are named."""
POINT_ZERO = re.compile(r"\d+\.0")
FNC_HEADER = ("Headline", "Body ID", "Stance")
BLOCK = 1 << 20
LARGEST = 1 << 30
"""More than this no packed file is unpacked to: it would not fit into memory as a table."""
FORMATS = ".csv, .tsv, .jsonl, .json, .parquet, .npy or .txt (also .gz)"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A file of labels: its table, and which columns hold ids (may be empty) and labels."""

    file: Path
    table: pd.DataFrame
    id_column: str
    label_column: str

    def labels(self, id_column: str = "") -> pd.Series[str]:
        """The labels; with the ids of this column as index, if one is named."""
        values = self.table[self.label_column]
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


def read_labels(path: Path, *, id_column: str = "", label_column: str = "") -> Labelled:
    """Read a file of gold labels or predictions."""
    table = read_table(path)
    if table.empty:
        raise InputError("has no rows", file=path, remedy="At least one labelled item is expected")
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


def read_table(path: Path) -> pd.DataFrame:
    """A file of any of the FORMATS as a table of text."""
    name = path.name.lower()
    if name.endswith(".gz"):
        return _unpacked(path)
    read = READERS.get(Path(name).suffix)
    if read is None:
        raise InputError(f"is of the unknown kind '{path.suffix}'", file=path, remedy=f"Use {FORMATS}")
    return read(path)


def _sheet(path: Path) -> pd.DataFrame:
    import pandas as pd

    header, rows = sheets.read_rows(path)
    if tuple(header) == FNC_HEADER:  # its rows are items by position: headlines and bodies repeat
        return pd.DataFrame(
            {"body_id": [row["Body ID"] for row in rows], "stance": [row["Stance"] for row in rows]}
        )
    return pd.DataFrame(
        [{name: restored(cell) for name, cell in row.items()} for row in rows], columns=header
    )


def _plain(path: Path) -> pd.DataFrame:
    import pandas as pd

    lines = [line.strip() for line in sheets.text_of(path).split("\n")]
    return pd.DataFrame({"label": [line for line in lines if line]})


def _unpacked(path: Path) -> pd.DataFrame:
    """A gzipped file, by way of a temporary one; block by block, and no more than LARGEST."""
    import gzip
    import tempfile
    import zlib

    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / path.stem  # errors name it
        try:
            with gzip.open(path) as packed, plain.open("wb") as file:
                while block := packed.read(BLOCK):
                    if file.tell() + len(block) > LARGEST:
                        raise InputError(
                            f"unpacks to more than {LARGEST >> 20:,} MiB",
                            file=path,
                            remedy="Is this a file of labels? If so, divide it",
                        )
                    file.write(block)
        except FileNotFoundError:
            raise InputError("is missing", file=path) from None
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"cannot be unpacked: {error}", file=path) from error
        return read_table(plain)


def _parquet(path: Path) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, partitioning=None)
    except FileNotFoundError:
        raise InputError("is missing", file=path) from None
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"is not readable as Parquet: {error}", file=path) from error
    return _text(table.to_pylist(), table.schema.names)


def _array(path: Path) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    try:
        values = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise InputError("is missing", file=path) from None
    except (ValueError, EOFError, OSError) as error:
        raise InputError(f"is not readable as an array: {error}", file=path) from error
    if values.ndim != 1:
        raise InputError(
            f"is an array of shape {values.shape}", file=path, remedy="One label per item is expected"
        )
    return pd.DataFrame({"label": [str(one) for one in values]})


def _lines(path: Path) -> pd.DataFrame:
    rows = []
    for number, line in enumerate(sheets.text_of(path).split("\n"), 1):
        if line.strip():
            rows.append(_object(path, line, number))
    return _text(rows, list(dict.fromkeys(name for row in rows for name in row)))


def _object(path: Path, line: str, number: int) -> dict[str, Any]:
    try:
        row = json.loads(line, parse_int=str)
    except ValueError as error:
        raise InputError(f"is not JSON: {error}", file=path, row=number) from error
    if not isinstance(row, dict):
        raise InputError("is not an object", file=path, row=number, remedy="Write one object per line")
    return row


def _answers(path: Path) -> pd.DataFrame:
    """RumourEval's answers {"subtaskaenglish": {id: label}}, a plain {id: label}, or a list of objects."""
    import pandas as pd

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs) and all(isinstance(one, str) for one in made.values()):
            seen: set[str] = set()
            twice = next(one for one, _ in pairs if one in seen or seen.add(one))  # type: ignore[func-returns-value]
            raise InputError(
                f"the id {twice} occurs more than once", file=path, remedy="Keep one label per item"
            )
        return made

    try:
        data = json.loads(sheets.text_of(path), object_pairs_hook=unique, parse_int=str)
    except ValueError as error:
        raise InputError(f"is not JSON: {error}", file=path) from error
    except RecursionError:
        raise InputError("is nested too deeply for a file of labels", file=path) from None
    if isinstance(data, list) and all(isinstance(row, dict) for row in data):
        return _text(data, list(dict.fromkeys(name for row in data for name in row)))
    if isinstance(data, dict):
        data = next((data[name] for name in data if name.lower().startswith("subtaska")), data)
    if not isinstance(data, dict) or not all(isinstance(one, str) for one in data.values()):
        raise InputError("is neither {id: label}, nor RumourEval's answers, nor a list of objects", file=path)
    return pd.DataFrame({"id": list(data), "label": list(data.values())})


def _text(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            name: pd.Series(["" if row.get(name) is None else str(row[name]) for row in rows], dtype=object)
            for name in names
        },
        columns=list(names),
    )


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": _sheet,
    ".tsv": _sheet,
    ".jsonl": _lines,
    ".ndjson": _lines,
    ".json": _answers,
    ".parquet": _parquet,
    ".npy": _array,
    ".txt": _plain,
}
