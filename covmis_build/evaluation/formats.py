"""Tables from files as people have them: CSV, workbooks, JSONL, JSON (also RumourEval answers), Parquet, arrays, lines.

The format follows from the name's end. Everything is text in the end, ids too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError, doubted
from covmis_build.storage import restored
from covmis_build.text import parquet, sheets
from covmis_build.text.characters import whole_in_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

FNC_HEADER = ("Headline", "Body ID", "Stance")
FORMATS = ".csv, .tsv, .xlsx, .ods, .jsonl, .json, .parquet, .npy or .txt (also .gz)"
BLOCK = 1 << 20
GAP = "gap"
"""Attribute of a table: the row of the first empty line that others follow. Its items may be counted otherwise than meant."""

ROUNDED = "rounded"
"""Attribute of a table: its columns with numbers of which a spreadsheet does not keep all digits; no ids stand there."""


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

    header, rows, gap = sheets.read_rows_with_gap(path)
    if tuple(header) == FNC_HEADER:  # its rows are items by position: headlines and bodies repeat
        return _with_gap(
            pd.DataFrame(
                {"body_id": [row["Body ID"] for row in rows], "stance": [row["Stance"] for row in rows]}
            ),
            gap,
        )
    table = pd.DataFrame(
        [{name: restored(cell) for name, cell in row.items()} for row in rows], columns=header
    )
    return _with_gap(table, gap)


def _with_gap(table: pd.DataFrame, row: int) -> pd.DataFrame:
    table.attrs[GAP] = row
    return table


def _workbook(path: Path) -> pd.DataFrame:
    """The first sheet; what would have to be supposed to read it is refused, since nobody would be told."""
    import pandas as pd

    sheet = sheets.read_sheet(path)
    if sheet.note:
        raise InputError(
            f"is not a plain table: {sheet.note}", file=path, remedy="Make it one, or save it as CSV"
        )
    table = pd.DataFrame(
        [{name: restored(cell) for name, cell in row.items()} for row in sheet.rows], columns=sheet.header
    )
    table.attrs[ROUNDED] = sheet.rounded
    return _with_gap(table, sheet.gap)


def _plain(path: Path) -> pd.DataFrame:
    import pandas as pd

    lines = sheets.text_of(path).split("\n")
    table = pd.DataFrame({"label": [line.strip() for line in lines if line.strip()]})
    return _with_gap(table, _gap_of_lines(lines))


def _gap_of_lines(lines: Sequence[str]) -> int:
    """The row of the first empty line that others follow, where there is no header; 0 if there is none."""
    return max(0, sheets.first_gap([[], *([line] for line in lines)]) - 1)


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
                    if file.tell() + len(block) > sheets.LARGEST:
                        raise InputError(
                            f"unpacks to more than {sheets.LARGEST >> 20:,} MiB",
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
    if not path.exists():
        raise InputError("is missing", file=path)
    with doubted(path, "is not readable as Parquet"):
        table = parquet.read(path)
        rows = table.to_pylist()  # texts that are none are met here
    return _text(rows, table.schema.names)


def _array(path: Path) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    try:
        values = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise InputError("is missing", file=path) from None
    except (ValueError, EOFError, OSError, MemoryError) as error:
        raise InputError(f"is not readable as an array: {error}", file=path) from error
    if values.ndim != 1:
        raise InputError(
            f"is an array of shape {values.shape}", file=path, remedy="One label per item is expected"
        )
    return pd.DataFrame({"label": [str(value) for value in values]})


def _lines(path: Path) -> pd.DataFrame:
    lines = sheets.text_of(path).split("\n")
    rows = [_object(path, line, number) for number, line in enumerate(lines, 1) if line.strip()]
    table = _text(rows, list(dict.fromkeys(name for row in rows for name in row)))
    return _with_gap(table, _gap_of_lines(lines))


def _object(path: Path, line: str, number: int) -> dict[str, Any]:
    try:
        row = whole_in_json(json.loads(line, parse_int=str, object_pairs_hook=_each_once))
    except InputError as error:
        error.file, error.row = path, number
        raise
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}", file=path, row=number) from error
    if not isinstance(row, dict):
        raise InputError("is not an object", file=path, row=number, remedy="Write one object per line")
    return row


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, in which nothing may stand twice: which of its values is meant, nobody can say.

    Empty objects may: RumourEval's own key has those of its other languages twice.
    """
    value_of: dict[str, Any] = {}
    for name, value in pairs:
        if name in value_of and not (value == {} == value_of[name]):
            raise InputError(
                f"'{name}' occurs more than once in one object", remedy="Keep one label per item"
            )
        value_of[name] = value
    return value_of


def _answers(path: Path) -> pd.DataFrame:
    """RumourEval's answers {"subtaskaenglish": {id: label}}, a plain {id: label}, or a list of objects."""
    import pandas as pd

    try:
        data = whole_in_json(json.loads(sheets.text_of(path), object_pairs_hook=_each_once, parse_int=str))
    except InputError as error:
        raise error.at(path) from None
    except ValueError as error:
        raise InputError(f"is not JSON: {error}", file=path) from error
    except RecursionError:
        raise InputError("is nested too deeply for a file of labels", file=path) from None
    if isinstance(data, list) and all(isinstance(row, dict) for row in data):
        return _text(data, list(dict.fromkeys(name for row in data for name in row)))
    if isinstance(data, dict):
        stances = [name for name in data if name.lower().startswith("subtaska")]
        answered = [name for name in stances if data[name]]
        if len(answered) > 1:
            raise InputError(
                f"has the answers {' and '.join(answered)}",
                file=path,
                remedy="Keep those of one language in the file",
            )
        data = data[(answered or stances)[0]] if stances else data
    if not isinstance(data, dict) or not all(isinstance(label, str | None) for label in data.values()):
        raise InputError("is neither {id: label}, nor RumourEval's answers, nor a list of objects", file=path)
    return pd.DataFrame(
        {"id": list(data), "label": [label or "" for label in data.values()]}
    )  # null: no label


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
    **dict.fromkeys(sheets.WORKBOOKS, _workbook),
    ".jsonl": _lines,
    ".ndjson": _lines,
    ".json": _answers,
    ".parquet": _parquet,
    ".npy": _array,
    ".txt": _plain,
}
