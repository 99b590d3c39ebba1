"""Readers of all post formats: forms that are data (`archive/forms/`), and modules for those that need more.

`read(line)` returns the posts of one line (a post, or a page of many) as `Post`. Unreadable lines raise one of
`UNREADABLE`. Deleted, withheld and tombstone rows are posts without text; their `availability` gives the reason.
"""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from covmis_build.archive.formats import (
    bluesky,
    mastodon,
    mastodon_archive,
    nested,
    neutral,
    snscrape,
    telegram,
    x_archive,
    x_graphql,
    x_v1,
    x_v2,
    zeeschuimer,
)
from covmis_build.archive.formats.declared import Declared, of_settings, ours
from covmis_build.archive.formats.decoding import UNREADABLE, whole_number
from covmis_build.errors import InputError
from covmis_build.options import PostForm
from covmis_build.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from covmis_build.archive.post import Post


class LineForm(Protocol):
    """A line format: recognises a decoded line, and reads a line's posts."""

    def recognises_line(self, row: dict[str, Any], /) -> bool: ...

    def read(self, line: bytes, /) -> list[Post]: ...


class TableTool(Protocol):
    """A table format of another package: the id column, recognises a header, and reads a row's post."""

    ID: str

    def recognises_header(self, header: AbstractSet[str], /) -> bool: ...

    def post(self, row: Mapping[str, str], /) -> Post: ...


__all__ = ["KNOWN", "READERS", "TABLES", "UNREADABLE", "WHOLE", "Forms", "loads", "of_rows", "with_own"]

BUILT_IN: dict[str, Any] = {
    **{form.NAME: form for form in (neutral, x_archive, telegram)},
    **ours(),
    **{
        form.NAME: form
        for form in (zeeschuimer, x_v1, x_v2, x_graphql, snscrape, bluesky, mastodon, mastodon_archive)
    },
}
"""Formats by name, in the order of detection. Other packages add theirs under `covmis.forms`: modules or objects with
`recognises_line` and `read` for lines, `recognises_header`, `ID` and `post` for tables.
"""

GROUP = "covmis.forms"
OF_LINES, OF_TABLES = ("recognises_line", "read"), ("recognises_header", "ID", "post")


def _complete(_name: str, form: Any) -> Any:
    """Return a format from another package if it is complete."""
    if not any(all(hasattr(form, name) for name in names) for names in (OF_LINES, OF_TABLES)):
        raise TypeError(f"it has neither {' and '.join(OF_LINES)} nor {', '.join(OF_TABLES)}")
    return form


UNKNOWN = (
    "no known form of post; posts of other tools can be read as a table (CSV, or a list of flat JSON objects), or with a form of "
    "your own in study.toml (docs/guides/forms.md)"
)


def _unknown(line: bytes) -> list[Post]:
    value = loads(line)
    if key := nested.key_of(value):
        raise ValueError(nested.way_out(key))
    raise ValueError("; ".join(["not JSON" if value is None else UNKNOWN, *_others()[1]]))


def _reads(form: Any, names: tuple[str, ...]) -> bool:
    if isinstance(form, Declared):
        return form.of_documents if names is OF_LINES else form.of_tables
    return all(hasattr(form, name) for name in names)


FORMS: Registry[Any] = Registry(BUILT_IN, GROUP, "form", _complete)
LINES: dict[str, LineForm] = {name: form for name, form in FORMS.items() if _reads(form, OF_LINES)}
"""The built-in line formats."""
READERS: Registry[Callable[[bytes], list[Post]]] = Registry(
    {"": _unknown, **{name: form.read for name, form in LINES.items()}},
    GROUP,
    "form",
    lambda name, form: _complete(name, form).read,
)
"""The reader of each line format."""
TABLES: Registry[Declared | TableTool] = Registry(
    {name: form for name, form in FORMS.items() if _reads(form, OF_TABLES)}, GROUP, "form", _complete
)
"""Tools that write tables, each detected from its header."""
WHOLE: Registry[Any] = Registry(
    {name: form for name, form in LINES.items() if hasattr(form, "WHOLE")}, GROUP, "form", _complete
)
"""Formats in which a purge removes whole lines only; also those from other packages."""


def of_rows(
    tool: Declared | TableTool, header: Sequence[str]
) -> tuple[str, Callable[[Sequence[str]], Post | str]]:
    """Return the column of ids of a tool's table, and the function of a row's cells: its post, or why it is none."""
    if isinstance(tool, Declared):
        return tool.of_header(header)
    return tool.ID, lambda cells: tool.post(dict(zip(header, cells, strict=True)))


@cache
def _others() -> tuple[dict[str, Any], list[str]]:
    """Return the formats of other packages, and the problems of unusable ones, which detection skips."""
    forms, faults = {}, []
    for name in FORMS.added:
        try:
            forms[name] = FORMS[name]
        except InputError as error:
            faults.append(str(error))
    return forms, faults


def loads(line: bytes) -> Any:
    """Decode a line to plain objects; None if it is not JSON."""
    try:
        return json.loads(line, parse_int=whole_number)
    except (ValueError, RecursionError):
        return None


class Forms:
    """The forms that a study's files may have: covmis's own lines, the study's forms, the built-in ones, and those of packages."""

    def __init__(self, own: Mapping[str, Declared]) -> None:
        self._own = own
        first = {
            neutral.NAME: LINES[neutral.NAME],
            **{name: form for name, form in own.items() if form.of_documents},
        }
        self._lines: dict[str, LineForm] = first | {
            name: form for name, form in LINES.items() if name not in first
        }
        self._tables: dict[str, Declared | TableTool] = {
            name: form for name, form in own.items() if form.of_tables
        }
        self._tables.update(TABLES)

    def detect(self, line: bytes) -> str:
        """Return the format of a line; empty if unknown."""
        return self.form_of(loads(line))

    def form_of(self, row: Any) -> str:
        """Return the format of a decoded line."""
        if isinstance(row, list):
            row = next((part for part in row if isinstance(part, dict)), None)
        if not isinstance(row, dict):
            return ""
        return _recognised(self._lines, OF_LINES[0], row)

    def tool_of(self, header: AbstractSet[str]) -> str:
        """Return the tool that writes tables with this header; empty if unknown."""
        return _recognised(self._tables, OF_TABLES[0], header)

    def reader(self, form: str) -> Callable[[bytes], list[Post]]:
        """Return the reader of a line format."""
        return self._own[form].read if form in self._own else READERS[form]

    def table(self, tool: str) -> Declared | TableTool | None:
        """Return the format of a tool's tables, if it is known."""
        return self._tables.get(tool) or TABLES.get(tool)

    def is_whole(self, form: str) -> bool:
        """True if a purge removes whole lines only."""
        return form in self._own or form in WHOLE


def _recognised(known: Mapping[str, Any], by: str, sign: object) -> str:
    """Return the first form that recognises this; those of packages, which are loaded for it, come last."""
    return _first(known, by, sign) or _first(_others()[0], by, sign)


def _first(forms: Mapping[str, Any], by: str, sign: object) -> str:
    return next((name for name, form in forms.items() if hasattr(form, by) and getattr(form, by)(sign)), "")


KNOWN = Forms({})
"""The forms without a study's own."""


def with_own(forms: Sequence[PostForm]) -> Forms:
    """Return the forms of a study with these [[retrieval.forms]]. Raises InputError for one that cannot be used."""
    return _with_own(msgspec.json.encode(forms)) if forms else KNOWN


@cache
def _with_own(written: bytes) -> Forms:
    return Forms(of_settings(msgspec.json.decode(written, type=tuple[PostForm, ...]), FORMS.names))
