"""A result's output in a terminal: lines for users, one JSON object for programs, without control characters."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.report.summary import Listing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from covmis_build.report.summary import Summary


def printable(text: str) -> str:
    r"""Make external text safe for a terminal: control characters and direction overrides are shown as escapes.

    >>> printable("a\x1b[31mb\u202ec")
    'a\\x1b[31mb\\u202ec'
    """
    return "".join(
        character
        if character in "\n\t" or (character.isprintable() or character == "\u00a0")
        else character.encode("unicode_escape").decode()
        for character in text
    )


def lines(summary: Summary) -> list[str]:
    """Return sentences unchanged, and tables with aligned columns: numbers right, words left.

    >>> lines(["Two posts.", Listing(("post", "hits"), [("x:1", 2), ("x:10", 1500)])])
    ['Two posts.', 'post   hits', '----  -----', 'x:1       2', 'x:10  1,500']
    """
    told: list[str] = []
    for part in summary:
        if isinstance(part, str):
            told.append(part)
        elif isinstance(part, Listing):
            told += _grid(part.rows, part.header)
        else:
            told += _grid(part.itertuples(index=False), list(part.columns))
    return told


def _grid(rows: Iterable[Sequence[Any]], header: Sequence[str]) -> list[str]:
    header = [_cell(name) for name in header]
    cells = [[_cell(value) for value in row] for row in rows]
    numeric = [all(_is_number(row[at]) for row in cells) for at in range(len(header))]
    widths = [max(len(name), *(len(row[at]) for row in cells), 0) for at, name in enumerate(header)]
    aligned = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in (header, *cells)
    ]
    return [aligned[0], "  ".join("-" * width for width in widths), *aligned[1:]]


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return printable(str(value)).replace("\n", " ")


def _is_number(cell: str) -> bool:
    return not cell.strip("0123456789.,-+%e ")


def as_json(result: Mapping[str, Any]) -> str:
    """Return one JSON object: snake_case keys, null for undefined values, without control characters."""
    text = json.dumps(plain(result), ensure_ascii=False, allow_nan=False)
    return "".join(
        character if character.isprintable() else json.dumps(character)[1:-1] for character in text
    )


def names(record: Any) -> Sequence[str]:
    """Return the field names of a dataclass, struct or named tuple; none for other values."""
    if is_dataclass(record):
        return [field.name for field in fields(record)]
    return getattr(record, "__struct_fields__", ()) or getattr(record, "_fields", ())


def plain(value: Any) -> Any:
    """Convert to JSON values: records by fields; NaN and infinities become null."""
    if hasattr(value, "columns") and hasattr(value, "to_dict"):
        value = value.to_dict("records")
    elif hasattr(value, "tolist"):
        value = value.tolist()
    elif hasattr(value, "to_dict"):
        value = value.to_dict()
    elif fields_of := names(value):
        value = {name: getattr(value, name) for name in fields_of}
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
