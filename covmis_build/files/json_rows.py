"""Tables in JSON: a list of objects or one per line, data frames as written by pandas, and labels by id."""

from __future__ import annotations

import codecs
import json
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build.characters import whole_in_json
from covmis_build.errors import InputError, counted
from covmis_build.files.columns import is_known
from covmis_build.files.delimited import bounded_lines
from covmis_build.files.table import MOST_COLUMNS, Row, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from covmis_build.files.contents import Open

LARGEST_DOCUMENT = 512 << 20
MOST_VALUES = 8_000_000
"""Values of a document that is read as a whole, where an object counts as four: what they take in memory, a gigabyte at most."""


def counted_values(text: str, before: int = 0) -> int:
    """Return how many values there are so far, before they are made; too many are refused."""
    return _few(before + text.count(",") + 4 * text.count("{"))


def _few(values: int) -> int:
    if values > MOST_VALUES:
        raise InputError(
            f"holds more than {MOST_VALUES // 4:,} objects", remedy="Divide it, or write one row a line"
        )
    return values


def refuse_many(data: bytes, most: int) -> None:
    """Refuse a table in JSON that has more rows than these, as one a line, or too many values, before one is made."""
    lines = data.count(b"\n{")
    if lines > most:
        raise InputError(f"has more than {counted(most, 'rows')}", remedy="Divide it")
    if not lines or data.startswith(b"["):
        _few(data.count(b",") + 4 * data.count(b"{"))


def decoded(data: bytes | str) -> Any:
    """Decode a JSON document. A repeated key with different values is an error, because either could be meant."""
    text = data if isinstance(data, str) else _utf8(data)
    try:
        document = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}"[:200]) from None
    return whole_in_json(document) if "\\u" in text else document


def _utf8(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8, as JSON is", remedy="Save it as UTF-8") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        for name, value in pairs:  # empty objects may be repeated, as in RumourEval's own key
            if value != values[name]:
                raise InputError(
                    f"'{name}' occurs twice in one object, with different values", remedy="Keep one"
                )
    return values


def documents(path: Path, text: str) -> list[Any]:
    """Return the documents of a JSON file: one, or one per line."""
    if not text.strip():
        raise InputError("is empty", file=path)
    try:
        return _documents(text)
    except InputError as error:
        raise error.at(path) from None


def _documents(text: str) -> list[Any]:
    try:
        return [decoded(text)]
    except InputError as whole:
        lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
        listed = []
        for number, line in lines:
            try:
                listed.append(decoded(line))
            except InputError as error:
                problem = whole if number == lines[0][0] else error
                raise InputError(problem.problem, row=number, remedy=problem.remedy) from None
        return listed


def open_json(opened: Open, path: str = "") -> Table:
    """Open a table in a JSON file: one object per line, or one document; its rows are where `path` says."""
    with opened() as file:
        lines = (line for line in bounded_lines(file) if line.strip())
        if _is_object(next(lines, b"")) and next(lines, b"") and not path:
            return _lines(opened)
    with opened() as file:
        data = file.read(LARGEST_DOCUMENT + 1)
    if len(data) > LARGEST_DOCUMENT:
        raise InputError(
            f"one JSON document of more than {LARGEST_DOCUMENT >> 20} MiB: write it as one row a line"
        )
    if not path:
        return table_of(decoded(data))
    return table_of(_rows_at(path, _documents(_utf8(data))))


def _rows_at(path: str, listed: list[Any]) -> list[Any]:
    """Return the objects at a path such as `data.comments[]`.

    >>> _rows_at("a[].b[]", [{"a": [{"b": [{"c": 1}]}, {"b": [{"c": 2}]}]}])
    [{'c': 1}, {'c': 2}]
    """
    reached = listed
    for step in path.split("."):
        name = step.removesuffix("[]")
        inner = [part[name] for part in reached if isinstance(part, dict) and name in part]
        if name == step:
            reached = inner
        else:
            reached = [part for parts in inner if isinstance(parts, list) for part in parts]
    if not reached:
        names = dict.fromkeys(chain.from_iterable(part for part in listed if isinstance(part, dict)))
        raise InputError(
            f"has no rows at '{path}'",
            remedy=f"Like comments[]; it has: {', '.join(map(str, names))[:100] or 'no names'}",
        )
    return reached


def _is_object(line: bytes) -> bool:
    """True if a line is a complete object."""
    try:
        return isinstance(decoded(line), dict)
    except InputError:
        return False


def table_of(document: Any) -> Table:
    """Return the table in a JSON document."""
    if isinstance(document, dict):
        if _is_split(document):
            names = [str(name) for name in document["columns"]]
            return _table("a JSON frame (split)", names, document["data"])
        if (listed := _listed(document)) is not None:
            return table_of(listed)
        if labels := _labels(document):
            return _table(
                "labels by their ids, in JSON", ["id", "label"], [list(pair) for pair in labels.items()]
            )
        if is_frame(document):
            return _frame(document)
        document = [document]
    if not isinstance(document, list) or not all(isinstance(row, dict) for row in document):
        raise InputError("is not a list of objects", remedy="Every row must be an object: {…}")
    names = list(dict.fromkeys(name for row in document for name in row))
    return _table("a JSON list of rows", names, [[row.get(name) for name in names] for row in document])


def _is_split(document: Any) -> bool:
    """True for `to_json(orient="split")`: names, then rows of values."""
    return (
        isinstance(document, dict)
        and isinstance(document.get("columns"), list)
        and isinstance(document.get("data"), list)
        and document.keys() <= {"columns", "index", "data", "name"}
    )


def is_frame(document: Any) -> bool:
    """True for a data frame as one object: columns and data separately, or one object per column or row with the same keys."""
    if not isinstance(document, dict) or not document:
        return False
    inner = list(document.values())
    return _is_split(document) or (
        all(isinstance(part, dict) and part for part in inner) and len({tuple(part) for part in inner}) == 1
    )


def is_row(row: Any) -> bool:
    """True for a frame's row as a JSON object: most of its values are not objects."""
    if not isinstance(row, dict) or len(row) < 2:
        return False
    plain = sum(not isinstance(value, dict) for value in row.values())
    return plain > len(row) / 2


def _frame(document: dict[str, dict[str, Any]]) -> Table:
    """Read one object per row by id, which becomes an unnamed first column; or one object per column."""
    inner = list(next(iter(document.values())))
    numbered = all(name.isdigit() for name in inner)
    if not numbered and (_are_names(inner) or all(key.isdigit() for key in document)):
        rows = [[key, *(row[name] for name in inner)] for key, row in document.items()]
        return _table("a JSON frame (index)", ["", *inner], rows)
    rows = [[column[key] for column in document.values()] for key in inner]
    return _table("a JSON frame (columns)", list(document), rows)


def _are_names(names: Iterable[str]) -> bool:
    return any(map(is_known, names))


def _listed(document: dict[str, Any]) -> list[Any] | None:
    """Return the only list of objects in a document."""
    lists = [
        part for part in document.values() if isinstance(part, list) and part and isinstance(part[0], dict)
    ]
    return lists[0] if len(lists) == 1 else None


def _labels(document: dict[str, Any]) -> dict[str, Any]:
    """Return labels by item id, as in RumourEval's answers; None for other documents."""
    tasks = [name for name in document if name.lower().startswith("subtaska")]
    if not tasks:
        plain = bool(document) and all(isinstance(label, str | None) for label in document.values())
        return document if plain and not _are_names(document) else {}
    answered = [name for name in tasks if document[name]]
    if len(answered) > 1:
        raise InputError(
            f"has the answers {' and '.join(answered)}", remedy="Keep those of one language in the file"
        )
    labels = document[(answered or tasks)[0]]
    return labels if isinstance(labels, dict) else {}


def _table(form: str, names: list[str], rows: Sequence[Any]) -> Table:
    """Return a table of values in memory."""
    table = Table(form, names, lambda: iter(read), begins=1)
    read = [_row(number, values, table) for number, values in enumerate(rows, start=1)]
    return table


def _row(number: int, values: Any, table: Table) -> Row:
    if not isinstance(values, list):
        return Row(number, [""] * len(table.header), "no row")
    return table.row(number, values)


def _lines(opened: Open) -> Table:
    names = _every_name(opened)
    table = Table("JSON lines of rows", names, lambda: iter(()), begins=1)

    def rows() -> Iterator[Row]:
        with opened() as file:
            for number, line in enumerate(bounded_lines(file), start=1):
                if not line.strip():
                    continue
                try:
                    row = decoded(line)
                except InputError as error:
                    yield Row(number, [""] * len(names), error.problem)
                    continue
                if isinstance(row, dict):
                    yield _row(number, [row.get(name) for name in names], table)
                else:
                    yield Row(number, [""] * len(names), "is not an object")

    table.rows = rows
    return table


NAMES = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _every_name(opened: Open) -> list[str]:
    """Return the columns of all rows, because a file may contain another program's rows."""
    names: dict[str, None] = {}
    with opened() as file:
        for line in bounded_lines(file):
            try:
                own = NAMES.decode(line.removeprefix(codecs.BOM_UTF8)).keys()
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue  # reported when rows are read
            if not own <= names.keys():
                names |= dict.fromkeys(own)
            if len(names) > MOST_COLUMNS:
                raise InputError(f"has more than {MOST_COLUMNS:,} columns")
    return list(names)
