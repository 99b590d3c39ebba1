"""Data frames of R (.rds, .RData), read by rdata; factors are shown as their words, lists as JSON."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from covmis_build.errors import InputError, MissingExtra
from covmis_build.files.columns import best_known
from covmis_build.files.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from covmis_build.files.table import Row

R_DATA = (b"X\n\0\0\0\2", b"X\n\0\0\0\3", b"RDX2\n", b"RDX3\n")
"""First bytes of one object, and of several with their names, after unpacking."""
LATIN_1 = 4
"""The mark of R for a text that is not UTF-8."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def open_r_data(content: bytes, with_column: str = "") -> Table:
    """Open the data frame, or of several the one with this column or with most columns of known names."""
    try:
        from rdata import parser
    except ImportError:
        raise MissingExtra.of("statistics", "A file of R") from None

    data = parser.parse_data(content, extension=".rda" if content.startswith(b"RD") else ".rds")
    frames = _frames(data.object)
    if not frames:
        raise InputError("has no data frame", remedy="Save it with write.csv()")
    chosen, note = best_known({name: frame.names for name, frame in frames.items()}, with_column)
    frame = frames[chosen]
    table = Table("R", frame.names, lambda: iter(()), notes=[note] if note else [], begins=1)

    def rows() -> Iterator[Row]:
        yield from (table.row(number, values) for number, values in enumerate(frame.rows(), 1))

    table.rows = rows
    return table


class _Frame(NamedTuple):
    names: list[str]
    columns: list[list[Any]]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        return zip(*self.columns, strict=True)


def _frames(node: Any) -> dict[str, _Frame]:
    """Return the data frames by their names: the object itself, or those in a list or in a workspace."""
    if frame := _frame(node):
        return {"": frame}
    inside: Iterable[tuple[str, Any]] = _pairs(node).items()
    if _kind(node) == "VEC":
        names = _names(node) or [str(number) for number in range(1, len(node.value) + 1)]
        inside = zip(names, node.value, strict=True)
    return {name: frame for name, value in inside if (frame := _frame(value))}


def _frame(node: Any) -> _Frame | None:
    if _kind(node) != "VEC" or "data.frame" not in _classes(node):
        return None
    frame = _Frame(_names(node), list(map(_values, node.value)))
    rows = _pairs(node.attributes).get("row.names")
    if rows is not None and _kind(rows) == "STR":  # others are numbers of rows
        frame = _Frame(["", *frame.names], [list(map(_text, rows.value)), *frame.columns])
    if len(set(map(len, frame.columns))) > 1:
        raise InputError("has columns of different lengths", remedy="Save it with write.csv()")
    return frame


def _values(node: Any) -> list[Any]:
    """Return the values of a column; None where R has none."""
    if inner := _frame(node):
        return [dict(zip(inner.names, row, strict=True)) for row in inner.rows()]
    kind, classes = _kind(node), _classes(node)
    if kind == "NILVALUE":
        return []
    if kind == "VEC" and "POSIXlt" not in classes:
        return [[one for one in _values(value) if one is not None] for value in node.value]
    if kind == "STR":
        return list(map(_text, node.value))
    if kind not in {"INT", "REAL", "LGL"}:
        raise InputError(
            f"has a column of R's kind {' '.join(classes) or kind}", remedy="Save it with write.csv()"
        )
    values = node.value.view("int64").tolist() if "integer64" in classes else node.value.tolist()
    if "integer64" in classes:
        return [None if value == -(2**63) else value for value in values]
    meant = _meaning(node, classes)
    return [None if value is None or value != value else meant(value) for value in values]  # noqa: PLR0124 - R's NA is no number


def _meaning(node: Any, classes: list[str]) -> Callable[[Any], Any]:
    if "factor" in classes:
        words = list(map(_text, _pairs(node.attributes)["levels"].value))
        return lambda value: words[value - 1]
    if "POSIXct" in classes:
        return lambda value: EPOCH + timedelta(seconds=value)
    if "Date" in classes:
        return lambda value: date(1970, 1, 1) + timedelta(days=int(value))
    return bool if _kind(node) == "LGL" else lambda value: value


def _text(node: Any) -> str | None:
    if node.value is None:
        return None
    value: bytes = node.value
    return value.decode("cp1252" if node.info.gp & LATIN_1 else "utf-8", "replace")


def _names(node: Any) -> list[str]:
    names = _pairs(node.attributes).get("names")
    return [name or "" for name in map(_text, names.value)] if names is not None else []


def _classes(node: Any) -> list[str]:
    named = _pairs(node.attributes).get("class")
    return [name or "" for name in map(_text, named.value)] if named is not None else []


def _pairs(node: Any) -> dict[str, Any]:
    """Return the objects of a linked list by their names."""
    pairs = {}
    while node is not None and _kind(node) == "LIST":
        tag = node.tag
        while tag is not None and _kind(tag) == "REF":
            tag = tag.referenced_object
        first, rest = node.value
        pairs[(_text(tag.value) or "") if tag is not None else ""] = first
        node = rest
    return pairs


def _kind(node: Any) -> str:
    return str(node.info.type.name)
