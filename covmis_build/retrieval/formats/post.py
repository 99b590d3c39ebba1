"""A post as every reader gives it, before it is a row of the table `posts`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

FIRST_SNOWFLAKE = 29_700_859_247
X_EPOCH = 1_288_834_974_657
"""Ids of X from the first snowflake on carry their time: milliseconds since this one, above 22 bits."""


Glance = tuple[str, str, Sequence[str]]
"""The id, text and addresses of a post that has no cards, no quoted post, and nothing inside it."""


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


class Stamp(msgspec.Struct, gc=False):
    """What `covmis collect` and twarc write on a page: which query asked, and when."""

    retrieved_at: str | None = ""
    query_id: str = ""
    claim_id: str = ""
    kind: str = ""
    expression: str = ""
    url: str | None = ""

    def mark(self, posts: list[Post], *, asked: Iterable[str] = ()) -> list[Post]:
        """The posts, with the stamp's time; those whose ids were asked for also with its query."""
        claimed = (
            (Claimed(self.claim_id, self.query_id, self.kind, self.expression),) if self.query_id else ()
        )
        main = set(asked)
        when = iso(self.retrieved_at or "")
        for post in posts:
            post.retrieved_at = when
            if claimed and post.post_id in main:
                post.claimed = claimed
        return posts


def unescaped(text: str) -> str:
    """X escapes three characters, in all its interfaces."""
    if "&" not in text:
        return text
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def x_id(native: Any) -> str:
    """The post id of a post on X; empty for none."""
    return f"x:{native}" if native else ""


def snowflake_time(native: str) -> str:
    """When a post on X was made, by its id; empty where ids do not say."""
    if not native.isdigit() or int(native) < FIRST_SNOWFLAKE:
        return ""
    return datetime.fromtimestamp(((int(native) >> 22) + X_EPOCH) // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso(text: str) -> str:
    """A platform's time in UTC to the second; empty if it cannot be read.

    >>> iso("Wed Jan 01 03:59:03 +0000 2014"), iso("2020-04-22T14:34:56.000+02:00")
    ('2014-01-01T03:59:03Z', '2020-04-22T12:34:56Z')
    """
    if not text:
        return ""
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


def post_of(key: str) -> str:
    """The post id of a page that is itself a post; empty otherwise.

    >>> post_of("x.com/status/123"), post_of("example.org/status/123")
    ('x:123', '')
    """
    head, _, tail = key.rpartition("/")
    if head == "x.com/status":
        return f"x:{tail}"
    if head.startswith("bsky.app/profile/did:") and head.endswith("/post"):
        return f"bsky:{head.split('/')[2]}/{tail}"
    if tail.isdigit() and (head.count("/") == 1 and "/@" in head):
        return f"masto:{head.split('/')[0]}/{tail}"
    return ""


def fingerprint(post: Post) -> str:
    """The content hash that tells copies of a post apart: everything but where, when and for what it was fetched."""
    bare = msgspec.structs.replace(post, retrieved_at="", claimed=())
    return hashlib.blake2b(msgspec.msgpack.encode(bare), digest_size=12).hexdigest()
