"""The parts of platforms' responses that a crawl needs, decoded with types; the rest is stored unchanged.

A response in another format becomes a reason as text.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


class Unread(Exception):
    """A response without the promised format; str() gives the reason."""


def decoded(payload: Any, kind: type[T]) -> T:
    """Decode the part of a response that this type declares; raises Unread."""
    try:
        return msgspec.convert(payload, kind, strict=False)
    except (ValueError, OverflowError, RecursionError) as error:
        raise Unread(f"an answer with an unexpected structure: {error}"[:200]) from None


DEEPEST = 100
"""Maximum nesting of a response; those of the platforms have about ten levels."""


def parsed(content: bytes) -> Any:
    """Parse a response body as JSON; None if it is invalid or nested too deeply."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return None
    level, depth = [body], 0
    while level and depth <= DEEPEST:
        level = [
            part
            for value in level
            if isinstance(value, dict | list)
            for part in (value.values() if isinstance(value, dict) else value)
        ]
        depth += 1
    return None if level else body


def seconds_of(header: object) -> float | None:
    """Return the whole number of seconds in a header, if plausible.

    >>> seconds_of("30"), seconds_of("²"), seconds_of("9" * 20)
    (30.0, None, None)
    """
    text = str(header or "")
    return float(text) if re.fullmatch(r"[0-9]{1,12}", text) else None


def moment_of(text: str | None) -> str:
    """Return a valid time unchanged, otherwise an empty string.

    >>> moment_of("2020-04-01T00:15:00.000Z"), moment_of("yesterday")
    ('2020-04-01T00:15:00.000Z', '')
    """
    try:
        return str(text) if text and dt.datetime.fromisoformat(text).tzinfo else ""
    except ValueError:
        return ""


Id = str | int


class XPost(msgspec.Struct):
    """A post on X."""

    id: Id | None = None
    created_at: str | None = None


class XMeta(msgspec.Struct):
    """The position of the next page."""

    next_token: str | None = None


class XProblem(msgspec.Struct):
    """Why something is missing from a response, or why there is none."""

    title: str | None = None
    detail: str | None = None
    message: str | None = None
    type: str | None = None
    resource_id: Id | None = None
    value: Any = None
    parameters: Any = None


class XIncludes(msgspec.Struct):
    """Objects returned in addition to the requested posts."""

    posts: list[dict[str, Any]] | None = None
    tweets: list[dict[str, Any]] | None = None
    users: list[dict[str, Any]] | None = None


class XAnswer(msgspec.Struct):
    """A page of X's search or look-up."""

    data: list[XPost] | None = None
    meta: XMeta | None = None
    errors: list[XProblem] | None = None
    includes: XIncludes | None = None


class XCount(msgspec.Struct):
    """The number of posts on a day, in either naming."""

    post_count: int = 0
    tweet_count: int = 0


class XCounts(msgspec.Struct):
    """A page of X's counts."""

    data: list[XCount] | None = None
    meta: XMeta | None = None


class XRefusal(msgspec.Struct):
    """The body of a refusal."""

    title: str | None = None
    detail: str | None = None
    type: str | None = None
    errors: list[XProblem] | None = None


class BlueskyRecord(msgspec.Struct):
    """The author's content."""

    created_at: str | None = msgspec.field(default=None, name="createdAt")


class BlueskyPost(msgspec.Struct):
    """A post on Bluesky."""

    uri: str
    record: BlueskyRecord | None = None
    indexed_at: str | None = msgspec.field(default=None, name="indexedAt")


class BlueskyAnswer(msgspec.Struct):
    """A page of Bluesky's search or look-up."""

    posts: list[BlueskyPost]
    cursor: str | None = None
    hits_total: int | None = msgspec.field(default=None, name="hitsTotal")


class MastodonStatus(msgspec.Struct):
    """A post on Mastodon."""

    id: Id
    created_at: str | None = None


class MastodonAnswer(msgspec.Struct):
    """A page of Mastodon's search."""

    statuses: list[MastodonStatus]
