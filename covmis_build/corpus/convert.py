"""Convert the corpus between CSV, JSON lines and Parquet, all with the same table."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import checked_parquet, records, storage, tables
from covmis_build.errors import InputError, doubted
from covmis_build.files.contents import bytes_of
from covmis_build.files.frames import read_parquet
from covmis_build.files.ids import is_broken
from covmis_build.files.reading import read_table

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("csv", "jsonl", "parquet")
NUMBERS = {
    column.name: {tables.COUNT: int, tables.REAL: float}[column.type]
    for column in records.TABLES["corpus"].columns
    if column.type in {tables.COUNT, tables.REAL}
}
"""Numeric columns, and the function that parses each."""


def columns(*, text: bool) -> list[str]:
    """Return the columns of a released corpus; `text` is included only if texts are released.

    post_id comes first: with its prefix, R and spreadsheets do not round it.
    """
    names = tables.SCHEMAS["corpus"].names
    return ["post_id", *(name for name in names if name != "post_id" and (text or name != "text"))]


def write_corpus(path: Path, corpus: pd.DataFrame, *, text: bool) -> None:
    """Write the corpus in the format of the file's extension."""
    kept = corpus[columns(text=text)]
    if path.suffix == ".csv":
        storage.write_bytes(path, storage.csv_bytes(list(kept.columns), _rows(kept)))
    elif path.suffix == ".jsonl":
        storage.write_text(path, "".join(_line(row) for row in kept.to_dict("records")))
    elif path.suffix == ".parquet":
        table = tables.conform(corpus, "corpus").select(list(kept.columns))
        with storage.replacing(path) as beside:
            checked_parquet.write(beside, table)
    else:
        raise InputError("is no format of a corpus", file=path, remedy="Use .csv, .jsonl or .parquet")


def _rows(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    return [tuple("" if _missing(cell) else cell for cell in row) for row in frame.itertuples(index=False)]


def _line(row: dict[Any, Any]) -> str:
    """Return one object as a line. Unicode line separators are escaped, so that no reader splits the line."""
    cells = {name: None if _missing(cell) else _native(cell) for name, cell in row.items()}
    text = json.dumps(cells, ensure_ascii=False, allow_nan=False)
    for line_end in "\x85\u2028\u2029":
        text = text.replace(line_end, f"\\u{ord(line_end):04x}")
    return text + "\n"


def _native(cell: Any) -> Any:
    return cell.item() if hasattr(cell, "item") else cell


def _missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def corpus_file(path: Path) -> Path:
    """Return the corpus of a release's folder; a file as it is."""
    if not path.is_dir():
        return path
    for ending in ("parquet", "csv", "jsonl"):
        if (file := path / f"corpus.{ending}").is_file():
            return file
    raise InputError(
        "has no corpus.parquet, corpus.csv or corpus.jsonl", file=path, remedy="Name the folder of a release"
    )


def read_corpus(file: Path | str) -> pd.DataFrame:
    """Read a released corpus in any of its formats as the table `corpus` (text is empty if not released)."""
    import pandas as pd

    path = Path(file)
    if path.is_dir():
        raise InputError("is a folder", file=path, remedy="Name corpus.csv in it")
    if not path.is_file():
        raise InputError("is not there", file=path, remedy="Name a corpus, or make one with `covmis release`")
    with doubted(path):
        if path.suffix == ".parquet":
            frame = tables.frame(read_parquet(path))
        elif path.suffix == ".jsonl":
            frame = pd.DataFrame(_json_rows(path))
        elif path.suffix == ".csv":
            frame = _csv_frame(path)
        else:
            raise InputError("is no format of a corpus", file=path, remedy="Use .csv, .jsonl or .parquet")
        return checked(frame, path)


def checked(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the table `corpus` after checking columns, types, keys and ids."""
    import pandas as pd

    lacking = [name for name in records.needed("corpus") if name not in frame and name != "text"]
    if lacking:
        if {"mid", "mis"} <= set(frame):
            raise InputError(
                "is in COVMis-Stance's shape, without probabilities and what else a corpus could be checked by",
                file=path,
                remedy="Name the folder of its release, or corpus.csv there",
            )
        raise InputError(
            f"lacks the columns {', '.join(lacking)}",
            file=path,
            remedy="Is this a corpus of `covmis release`?",
        )
    for name in ("item_id", "claim_id", "post_id"):
        if frame[name].isna().any():
            raise InputError(f"has rows without {name}", file=path, row=int(frame[name].isna().argmax()) + 2)
    if "text" not in frame:
        frame["text"] = None
    check_ids(frame["native_id"].fillna("").astype(str), path)
    _check_text(frame, path)
    return pd.DataFrame(tables.frame(tables.conform(frame, "corpus")))


def _json_rows(path: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(bytes_of(path).decode().split("\n"), 1):
        if line.strip():
            try:
                rows.append(dict(json.loads(line)))
            except (ValueError, TypeError, RecursionError) as error:
                raise InputError(f"is not a JSON object: {error}", file=path, row=number) from None
    return rows


def _csv_frame(path: Path) -> pd.DataFrame:
    import pandas as pd

    if not bytes_of(path).endswith(b"\n"):
        raise InputError("ends in the middle of a row", file=path, remedy="Fetch it again")
    table = read_table(path, own=True)
    rows: list[dict[str, Any]] = []
    for number, cells in zip(table.numbers, table.rows, strict=True):
        numbers = {
            name: _number(cells[name], kind, name, path, number)
            for name, kind in NUMBERS.items()
            if name in cells
        }
        rows.append({**cells, **numbers})
    return pd.DataFrame(rows, columns=table.header)


def _number(cell: str, kind: type[int | float], name: str, path: Path, row: int) -> float | int | None:
    try:
        return None if cell == "" else kind(cell)
    except ValueError:
        raise InputError(f"{name} is not a number: {cell!r}", file=path, row=row) from None


def once(corpus: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the corpus if each item occurs once; concatenated files would count some twice."""
    again = corpus.loc[corpus["item_id"].duplicated(), "item_id"]
    if len(again):
        raise InputError(
            f"has {len(again):,} rows for items that stand above them, first {again.iloc[0]}",
            file=path,
            row=int(again.index[0]) + 2,
            remedy="Leave each item once",
        )
    return corpus


def _check_text(frame: pd.DataFrame, path: Path) -> None:
    """Refuse a NUL in a cell: no writer of a corpus creates one, and many readers stop there."""
    for name in frame.columns:
        damaged = [at for at, cell in enumerate(frame[name]) if isinstance(cell, str) and "\0" in cell]
        if damaged:
            raise InputError(
                f"the column {name} contains a NUL character",
                file=path,
                row=damaged[0] + 2,
                remedy="The file is damaged: fetch it again",
            )


def check_ids(ids: pd.Series[str], path: Path) -> None:
    """Refuse ids in scientific notation (1.25E+18), which lost digits in a spreadsheet."""
    broken = ids[ids.map(is_broken).astype(bool)]
    if len(broken):
        raise InputError(
            f"the id {broken.iloc[0]} is in scientific notation: a spreadsheet has rounded it",
            file=path,
            row=int(broken.index[0]) + 2,
            remedy="Use the file as released, or import the column as text",
        )
