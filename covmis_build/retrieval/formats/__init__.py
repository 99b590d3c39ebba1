"""Readers of every form in which posts are kept: one module a form, each with `recognises` and `read`.

`read(line)` gives the posts of one line (a post, or a page of many) as `Post`; what is not readable raises one of
`UNREADABLE`. Deleted, withheld and tombstone rows are posts without text whose `availability` says what happened.
"""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

if TYPE_CHECKING:
    from covmis_build.retrieval.formats.post import Post

NAMES = ("x_v1", "x_v2", "snscrape", "bluesky", "mastodon")
"""Forms of lines, in the order in which they are tried."""

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError)


class Format(Protocol):
    """A module that reads one form."""

    def recognises(self, row: dict[str, Any]) -> bool:
        """Whether a line's object has this form."""

    def read(self, line: bytes) -> list[Post]:
        """The posts in a line."""


def reader(name: str) -> Format:
    """The module for a form."""
    module: Format = importlib.import_module(f"covmis_build.retrieval.formats.{name}")  # type: ignore[assignment]
    return module


def detect(line: bytes) -> str:
    """The form of a line; empty if it is none of ours."""
    row = loads(line)
    if isinstance(row, list):
        row = next((one for one in row if isinstance(one, dict)), None)
    if not isinstance(row, dict):
        return ""
    return next((name for name in NAMES if reader(name).recognises(row)), "")


def loads(line: bytes) -> Any:
    """A line as plain objects; None if it is not JSON."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def decoded(decoder: msgspec.json.Decoder[Any], line: bytes) -> Any:
    """A line as the decoder's type; halves of surrogate pairs, which JSON can say and text cannot, become marks."""
    try:
        return decoder.decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        if b"\\ud" not in line.lower():
            raise
        text = json.dumps(json.loads(line), ensure_ascii=False).encode("utf-16", "surrogatepass")
        return decoder.decode(text.decode("utf-16", "replace").encode())
