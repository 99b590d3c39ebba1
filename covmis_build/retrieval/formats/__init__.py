"""Readers of every form in which posts are kept: one module a form, each with `recognises` and `read`.

`read(line)` gives the posts of one line (a post, or a page of many) as `Post`; what is not readable raises one of
`UNREADABLE`. Deleted, withheld and tombstone rows are posts without text whose `availability` says what happened.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from covmis_build.retrieval.formats import bluesky, mastodon, snscrape, x_v1, x_v2
from covmis_build.retrieval.formats.decoding import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from covmis_build.retrieval.formats.post import Glance, Post
    from covmis_build.retrieval.shapes import Shape

__all__ = ["GLANCES", "READERS", "SHAPES", "UNREADABLE", "detect", "loads"]

FORMS = {"x_v1": x_v1, "x_v2": x_v2, "snscrape": snscrape, "bluesky": bluesky, "mastodon": mastodon}
"""Forms of lines, in the order in which they are tried."""


def _unknown(line: bytes) -> list[Post]:
    raise ValueError("not JSON" if loads(line) is None else "no known form of post")


READERS: dict[str, Callable[[bytes], list[Post]]] = {
    "": _unknown,
    **{name: form.read for name, form in FORMS.items()},
}


GLANCES: dict[str, Callable[[bytes], Glance | None]] = {"x_v1": x_v1.glance, "snscrape": snscrape.glance}
"""For forms with a post a line, what tells cheaply that a post does not matter."""

SHAPES: dict[str, Callable[[], Shape]] = {"x_v1": x_v1.line_shape, "snscrape": snscrape.line_shape}
"""For the same forms, what compiled code must know of a line to tell it without reading the line."""


def detect(line: bytes) -> str:
    """The form of a line; empty if it is none of ours."""
    row = loads(line)
    if isinstance(row, list):
        row = next((one for one in row if isinstance(one, dict)), None)
    if not isinstance(row, dict):
        return ""
    return next((name for name, form in FORMS.items() if form.recognises(row)), "")


def loads(line: bytes) -> Any:
    """A line as plain objects; None if it is not JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None
