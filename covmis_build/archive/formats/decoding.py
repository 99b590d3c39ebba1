"""Typed decoding of lines, and its errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from covmis_build.archive.post import Post

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable


UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError)


class Posts(list[Post]):
    """The posts of a line, and counts of rows that are not posts, by kind."""

    def __init__(self, posts: Iterable[Post], skipped: Counter[str]) -> None:
        super().__init__(posts)
        self.skipped = skipped


def decoded(decoder: Decoder, line: bytes) -> Any:
    """Decode a line as the decoder's type, repaired so that small errors do not lose a post.

    Unpaired surrogates (valid in JSON, not in text) become replacement characters. Numbers out of range become one that
    the reader empties and counts. An empty object instead of a list, as R writes it, becomes an empty list.
    """
    try:
        return decoder.decode(line)
    except msgspec.DecodeError as error:
        numbers = any(sign in str(error) for sign in ("out of range", "got `float`"))
        half = b"\\ud" in line.lower() and not isinstance(error, msgspec.ValidationError)
        of_r = "`array" in str(error) and "got `object`" in str(error)
        if not (numbers or half or of_r):
            raise
        row = json.loads(line, parse_int=whole_number, parse_float=_real, object_hook=_or_nothing)
        text = json.dumps(row, ensure_ascii=False).encode("utf-16", "surrogatepass")
        return decoder.decode(text.decode("utf-16", "replace").encode())


def _or_nothing(record: dict[str, Any]) -> dict[str, Any] | None:
    return record or None


BEYOND = 2**63
"""A number that no table can store."""
_DIGITS = len(str(BEYOND)) + 1


def whole_number(digits: str) -> int:
    """Convert a JSON number of any length; Python refuses those with thousands of digits."""
    return int(digits) if len(digits) < _DIGITS else BEYOND


def _real(digits: str) -> int | float:
    number = float(digits)
    return number if abs(number) < BEYOND else BEYOND


class Decoder(Protocol):
    """Decodes lines to typed records."""

    def decode(self, line: bytes, /) -> Any:
        """Return the record of a line."""


def reader(decoder: Decoder, posts: Callable[[Any], list[Post]]) -> Callable[[bytes], list[Post]]:
    """Return a line reader. `posts` converts a decoded record to posts, or raises one of `UNREADABLE`."""

    def read(line: bytes) -> list[Post]:
        return posts(decoded(decoder, line))

    return read
