"""Typed decoding of lines, and what can go wrong with one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from covmis_build.archive.formats.post import Post

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable


UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError)


class Posts(list[Post]):
    """The posts of a line, and how many rows of it are no posts, by what they are."""

    def __init__(self, posts: Iterable[Post], skipped: Counter[str]) -> None:
        super().__init__(posts)
        self.skipped = skipped


def decoded(decoder: Decoder, line: bytes) -> Any:
    """A line as the decoder's type, mended where a post must not be lost for it.

    Halves of surrogate pairs, which JSON can say and text cannot, become marks; numbers beyond all bounds become one that
    the reader empties and counts; an empty object in place of a list, as R writes it, is nothing.
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
"""A number that no table can hold."""
_DIGITS = len(str(BEYOND)) + 1


def whole_number(digits: str) -> int:
    """A number of JSON, however many digits it has: Python refuses to read thousands of them."""
    return int(digits) if len(digits) < _DIGITS else BEYOND


def _real(digits: str) -> int | float:
    number = float(digits)
    return number if abs(number) < BEYOND else BEYOND


class Decoder(Protocol):
    """What makes typed records of lines."""

    def decode(self, line: bytes, /) -> Any:
        """The record of a line."""


def reader(decoder: Decoder, posts: Callable[[Any], list[Post]]) -> Callable[[bytes], list[Post]]:
    """What reads a line: `posts` makes the posts of a decoded record, and raises one of `UNREADABLE` for any other."""

    def read(line: bytes) -> list[Post]:
        return posts(decoded(decoder, line))

    return read
