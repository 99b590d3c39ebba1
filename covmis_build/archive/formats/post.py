"""A post as every reader gives it, before it is a row of the table `posts`."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build.text.characters import whole_characters

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Claimed(msgspec.Struct, frozen=True, gc=False):
    """Who says that a post belongs to a claim, before it is matched: a collecting query, or a list of ids."""

    claim_id: str
    query_id: str = ""
    kind: str = "title"
    expression: str = ""


class Post(msgspec.Struct, gc=False):
    """One post; times are as the platform writes them until `iso`."""

    post_id: str
    native_id: str
    platform: str
    text: str = ""
    created_at: str = ""
    language: str = ""
    urls: list[str] = []
    cards: list[tuple[str, str, str]] = []
    media: list[tuple[str, str]] = []
    reply_to: str = ""
    parent_text: str = ""
    quote_of: str = ""
    quoted_text: str = ""
    repost_of: str = ""
    conversation: str = ""
    metrics: tuple[int | None, int | None, int | None, int | None] | None = None
    availability: str = "available"
    retrieved_at: str = ""
    claimed: tuple[Claimed, ...] = ()

    def __post_init__(self) -> None:
        """Mend halves of surrogate pairs: the post stays."""
        if not (
            self.text.isascii() and self.post_id.isascii() and self.native_id.isascii()
            and self.parent_text.isascii() and self.quoted_text.isascii() and self.conversation.isascii()
        ):  # fmt: skip
            for name in TEXTS:
                setattr(self, name, whole_characters(getattr(self, name)))
        if self.urls and not all(map(str.isascii, self.urls)):
            self.urls = [whole_characters(url) for url in self.urls]

    def empty_numbers(self) -> bool:
        """Leave out a count that no table can hold; whether there was one."""
        if not self.metrics or all(count is None or abs(count) <= LARGEST_COUNT for count in self.metrics):
            return False
        self.metrics = tuple(  # type: ignore[assignment]
            count if count is not None and abs(count) <= LARGEST_COUNT else None for count in self.metrics
        )
        return True


class Glance(msgspec.Struct, gc=False):
    """What matching needs of a post; `more` is what its form makes the whole post of, if it is one that matters.

    Texts and addresses may hold more than the post's own, which decide, but never less.
    """

    post_id: str
    text: str
    urls: list[str]
    cards: list[tuple[str, str, str]]
    quote_of: str
    repost_of: str
    more: Any
    retrieved_at: str = ""
    claimed: tuple[Claimed, ...] = ()


AnyPost = Glance | Post
"""A post as matching sees it first: where a form has no glances, whole at once."""

NONE: list[Any] = []
"""Shared by all glances without addresses or cards; nobody changes it."""

LARGEST_COUNT = 2**63 - 1
TEXTS = ("post_id", "native_id", "text", "parent_text", "quoted_text", "conversation")


class Stamp(msgspec.Struct, gc=False):
    """What `covmis collect` and twarc write on a page: which query asked, and when."""

    retrieved_at: str | None = ""
    query_id: str = ""
    claim_id: str = ""
    kind: str = ""
    expression: str = ""
    url: str | None = ""

    def mark(self, posts: Sequence[AnyPost], *, asked: Iterable[str] = ()) -> None:
        """Note the stamp's time on the posts; on those whose ids were asked for also its query."""
        claimed = (
            (Claimed(self.claim_id, self.query_id, self.kind, self.expression),) if self.query_id else ()
        )
        main = set(asked)
        when = iso(self.retrieved_at or "")
        for post in posts:
            post.retrieved_at = when
            if claimed and post.post_id in main:
                post.claimed = claimed


def unescaped(text: str) -> str:
    """X escapes three characters, in all its interfaces."""
    if "&" not in text:
        return text
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_OF_V1 = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (0[1-9]|1\d|2[0-8]) ((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d) \+0000 ([12]\d{3})",
    re.ASCII,
)
"""How interface 1.1 writes nearly all times; days that not every month has are read by the calendar."""


def iso(text: str) -> str:
    """A platform's time in UTC to the second; empty if it cannot be read.

    >>> iso("Wed Jan 01 03:59:03 +0000 2014"), iso("2020-04-22T14:34:56.000+02:00")
    ('2014-01-01T03:59:03Z', '2020-04-22T12:34:56Z')
    """
    if not text:
        return ""
    if (parts := _OF_V1.fullmatch(text)) and (at := _MONTHS.find(parts[1])) >= 0:
        return f"{parts[4]}-{at // 3 + 1:02d}-{parts[2]}T{parts[3]}Z"
    try:
        if text[0].isalpha():
            day, month, date, clock, zone, year = text.split()
            when = parsedate_to_datetime(f"{day}, {date} {month} {year} {clock} {zone}")
        else:
            when = datetime.fromisoformat(text)
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return ""


def fingerprint(post: Post) -> str:
    """The content hash that tells copies of a post apart: everything but where, when and for what it was fetched."""
    own = post.retrieved_at, post.claimed
    post.retrieved_at, post.claimed = "", ()
    content = _packed.encode(post)
    post.retrieved_at, post.claimed = own
    return hashlib.blake2b(content, digest_size=12).hexdigest()


_packed = msgspec.msgpack.Encoder()
