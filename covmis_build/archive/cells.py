"""The cells of a table's rows: without protection marks, joined, or as URLs."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TOGETHER = 256
"""Rows that are processed in one block."""
LOOKED_AT = 10_000
"""Characters of a cell that are searched for escapes and URLs. A longer cell contains no post URL."""
_ADDRESS = re.compile(r'https?://[^\s|,;"]+')


def column_in(block: Sequence[Sequence[str]], at: Sequence[int], between: str = "/") -> list[str]:
    """Return cells of many rows without protection marks."""
    return list(map(cell_of(at, between), block))


def bare_cell(cell: str) -> str:
    """Remove marks from a cell that protect it from spreadsheets or quote it.

    >>> bare_cell("'125500"), bare_cell("'125500'"), bare_cell('="125500"')
    ('125500', '125500', '125500')
    """
    if cell[:1] in _MARKS or cell[-1:] in _MARKS_BEHIND:
        bare = cell.strip()
        bare = bare[1:].removesuffix("'") if bare[:1] == "'" else bare
        return bare.strip('="').strip()
    return cell


_MARKS, _MARKS_BEHIND = frozenset("'= \t"), frozenset(" \t\"'")


def cell_of(at: Sequence[int], between: str = "/") -> Callable[[Sequence[str]], str]:
    """Return a function that extracts the cell at a place without protection marks; several cells are joined."""
    if not at:
        return lambda _: ""
    if len(at) > 1:
        return lambda cells: between.join([bare_cell(cells[place]) for place in at]).strip()
    (only,) = at
    return lambda cells: bare_cell(cells[only])


def addresses(cell: str, separator: str = "") -> list[str]:
    """Return the URLs in a cell: a JSON or Python list or object, or separated by blanks, bars, or commas before `http`.

    >>> addresses('{"https://t.co/a": "https://example.org/long"}'), addresses('[{"expanded_url": "https://example.org"}]')
    (['https://example.org/long'], ['https://example.org'])
    """
    if separator:
        parts = cell.split(separator)
    elif _ADDRESS.fullmatch(cell):
        return [cell]
    elif cell.startswith(("[", "{")) and (listed := _listed(cell)) is not None:
        parts = [_of_link(link) for link in listed]
    else:
        parts = re.split(r"[\s|]+|[,;]\s*(?=https?://)", cell)
    return list(dict.fromkeys(filter(None, (_with_scheme(part.strip()) for part in parts))))


_BARE_ADDRESS = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,24}(?::\d+)?(?:/\S*)|www\.(?:[\w-]+\.)+[a-z]{2,24}",
    re.IGNORECASE,
)
"""A URL without its beginning: a host and a path, or a host that begins with www."""


def _with_scheme(part: str) -> str:
    """Return a URL of a column of URLs with its scheme; empty for other words.

    >>> _with_scheme("example.org/a"), _with_scheme("www.example.org"), _with_scheme("//example.org/a"), _with_scheme("none")
    ('https://example.org/a', 'https://www.example.org', 'https://example.org/a', '')
    """
    if part.startswith(("http://", "https://")):
        return part
    bare = part.removeprefix("//")
    return f"https://{bare}" if _BARE_ADDRESS.fullmatch(bare) else ""


def _of_link(link: object) -> str:
    """Return the URL of an element of a list."""
    return str(link.get("expanded_url") or link.get("url") or "" if isinstance(link, dict) else link)


def _listed(cell: str) -> list[object] | None:
    """Return the elements of a list, or of an object: one link, or long URLs by their short ones."""
    for read in (json.loads, ast.literal_eval):
        try:
            listed = read(cell)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(listed, list):
            return listed
        if isinstance(listed, dict):
            return [listed] if _of_link(listed) else list(listed.values())
    return None
