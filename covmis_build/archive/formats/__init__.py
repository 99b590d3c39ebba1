"""Readers of every form in which posts are kept: one module a form, each with `recognises` and `read`.

`read(line)` gives the posts of one line (a post, or a page of many) as `Post`; what is not readable raises one of
`UNREADABLE`. Deleted, withheld and tombstone rows are posts without text whose `availability` says what happened.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

from covmis_build.archive.formats import (
    bluesky,
    crowdtangle,
    fourcat,
    mastodon,
    minet_bluesky,
    minet_x,
    neutral,
    reddit,
    snscrape,
    telegram,
    tiktok,
    twarc_csv,
    weibo,
    x_archive,
    x_v1,
    x_v2,
    youtube,
    zeeschuimer,
)
from covmis_build.archive.formats.decoding import UNREADABLE, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from covmis_build.archive.formats.post import Post
    from covmis_build.archive.formats.table_tools import Row


class TableTool(Protocol):
    """A tool that writes tables: what its header is, and a row as a post."""

    ID: str

    def recognises(self, header: AbstractSet[str], /) -> bool: ...

    def post(self, row: Row, /) -> Post: ...


__all__ = ["READERS", "TABLES", "UNREADABLE", "WHOLE", "detect", "form_of", "loads", "tool_of"]

FORMS: dict[str, tuple[Callable[[dict[str, Any]], bool], Callable[[bytes], list[Post]]]] = {
    "covmis": (neutral.recognises_line, neutral.read),
    "x_archive": (x_archive.recognises_line, x_archive.read),
    "zeeschuimer": (zeeschuimer.recognises_line, zeeschuimer.read),
    "telegram": (telegram.recognises_line, telegram.read),
    "youtube": (youtube.recognises_line, youtube.read),
    "tiktok": (tiktok.recognises_line, tiktok.read),
    "reddit": (reddit.recognises_line, reddit.read),
    "crowdtangle": (crowdtangle.recognises_line, crowdtangle.read),
    "x_v1": (x_v1.recognises, x_v1.read),
    "x_v2": (x_v2.recognises, x_v2.read),
    "snscrape": (snscrape.recognises, snscrape.read),
    "bluesky": (bluesky.recognises, bluesky.read),
    "mastodon": (mastodon.recognises, mastodon.read),
}
"""Forms of lines: what recognises one, and what reads it; in the order in which they are tried."""

WHOLE = frozenset(
    {"covmis", "x_archive", "zeeschuimer", "telegram", "youtube", "tiktok", "reddit", "crowdtangle"}
)
"""Forms out of which posts are only taken with their whole line."""

TABLES: dict[str, TableTool] = {
    "twarc_csv": twarc_csv,
    "minet_x": minet_x,
    "minet_bluesky": minet_bluesky,
    "fourcat": fourcat,
    "weibo": weibo,
    "crowdtangle": crowdtangle,
    "youtube": youtube,
    "tiktok": tiktok,
    "reddit": reddit,
}
"""Tools that write tables, each told by its header."""


def _unknown(line: bytes) -> list[Post]:
    raise ValueError("not JSON" if loads(line) is None else "no known form of post")


READERS: dict[str, Callable[[bytes], list[Post]]] = {
    "": _unknown,
    **{name: read for name, (_, read) in FORMS.items()},
}


def detect(line: bytes) -> str:
    """The form of a line; empty if it is none of ours."""
    return form_of(loads(line))


def form_of(row: Any) -> str:
    """The form of a line that is decoded already."""
    if isinstance(row, list):
        row = next((part for part in row if isinstance(part, dict)), None)
    if not isinstance(row, dict):
        return ""
    return next((name for name, (recognises, _) in FORMS.items() if recognises(row)), "")


def loads(line: bytes) -> Any:
    """A line as plain objects; None if it is not JSON."""
    try:
        return json.loads(line, parse_int=whole_number)
    except (ValueError, RecursionError):
        return None


def tool_of(header: AbstractSet[str]) -> str:
    """The tool that writes tables with this header; empty if none of ours."""
    return next((name for name, tool in TABLES.items() if tool.recognises(header)), "")
