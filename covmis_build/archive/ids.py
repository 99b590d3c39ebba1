"""Post ids: the platform, a colon, and the platform's own id; the same for every tool."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

KNOWN = (
    "x", "bsky", "masto", "reddit", "telegram", "youtube", "tiktok", "weibo", "threads", "facebook", "instagram",
    "truth", "gab", "vk", "4chan",
)  # fmt: skip
NATIVE = r"[^|\x00-\x1f\x7f]+"
"""Characters allowed in a platform's own id: all except bars and control characters."""

_FORMS = (
    (re.compile(r"x:(\d{1,20})"), "x:{0}"),
    (re.compile(r"https?://(?:www\.|mobile\.)?(?:twitter|x)\.com/[^/]+/status(?:es)?/(\d+).*"), "x:{0}"),
    (re.compile(r"bsky:(did:[^/\s|]+)/([^/\s|]+)"), "bsky:{0}/{1}"),
    (re.compile(r"at://(did:[^/\s]+)/app\.bsky\.feed\.post/(\w+)"), "bsky:{0}/{1}"),
    (re.compile(r"https?://bsky\.app/profile/(did:[^/\s]+)/post/(\w+).*"), "bsky:{0}/{1}"),
    (re.compile(r"masto:([^/\s|]+)/([^/\s|]+)"), "masto:{0}/{1}"),
    (re.compile(r"https?://([^/\s]+)/(?:@[^/]+|users/[^/]+/statuses)/(\d+)"), "masto:{0}/{1}"),
    (re.compile(r"https?://(?:www\.|m\.)?tiktok\.com/(?:@[^/]+|share)/video/(\d+).*"), "tiktok:{0}"),
    (re.compile(r"https?://(?:www\.|old\.)?reddit\.com/r/[^/]+/comments/\w+/[^/]*/(\w+)/?"), "reddit:t1_{0}"),
    (re.compile(r"https?://(?:www\.|old\.)?reddit\.com/r/[^/]+/comments/(\w+)(?:/[^/]*)?/?"), "reddit:t3_{0}"),
    (re.compile(r"https?://(?:www\.)?facebook\.com/(\d+)/posts/(\d+)"), "facebook:{0}_{1}"),
    (re.compile(r"https?://(?:www\.)?instagram\.com/(?:p|reel)/([\w-]+)/?.*"), "instagram:{0}"),
    (re.compile(r"https?://t\.me/(?:s/)?(?!c/)(\w+)/(\d+)"), "telegram:{0}/{1}"),
    (re.compile(r"https?://t\.me/c/(\d+)/(\d+)"), "telegram:{0}/{1}"),
)  # fmt: skip
"""The notations of a post, with its id."""

_PREFIXED = re.compile(rf"(?!https?:|at:|author:|did:|x:|bsky:|masto:)([a-z0-9][a-z0-9_-]*):({NATIVE})")
PLATFORM = re.compile(r"[a-z0-9][a-z0-9_-]*")

FIRST_SNOWFLAKE = 29_700_859_247
X_EPOCH = 1_288_834_974_657
"""X's ids since the first snowflake contain their time: milliseconds since this one, above 22 bits."""

NAMED = {"bsky": "bluesky", "masto": "mastodon"}
"""Platforms whose id prefix is an abbreviation."""


def post_id(text: str, platform: str = "x") -> str:
    """Return the post id that a text means. A bare id belongs to `platform`; empty if that is unknown.

    >>> post_id("https://mobile.twitter.com/someone/status/125500?s=20"), post_id("1.25E+18")
    ('x:125500', '')
    >>> post_id("1e5123", "reddit"), post_id("forum:12/3"), post_id("1255", "")
    ('reddit:1e5123', 'forum:12/3', '')
    """
    for form, written in _FORMS:
        match = form.fullmatch(text)
        if match:
            return written.format(*match.groups())
    match = _PREFIXED.fullmatch(text)
    if match and (platform in {"", "x"} or match[1] == platform or match[1] in KNOWN):
        return text
    if platform == "x":
        return f"x:{text}" if re.fullmatch(r"\d{1,20}", text) else ""
    if platform and text.strip() and re.fullmatch(NATIVE, text):
        return f"{platform}:{text}"
    return ""


def platform_of(post_id: str) -> str:
    """Return the platform's name as in the table `posts`.

    >>> platform_of("bsky:did:plc:a/3k"), platform_of("forum:7")
    ('bluesky', 'forum')
    """
    prefix = post_id.partition(":")[0]
    return NAMED.get(prefix, prefix)


def seconds(time: str) -> float:
    """Convert a table's time to seconds since 1970."""
    return datetime.fromisoformat(time).timestamp()


def time_of_id(post_id: str) -> str:
    """Return a post's time from its id, if the platform's ids contain it; otherwise empty.

    >>> time_of_id("x:1252934402983763968"), time_of_id("tiktok:6924226890000000001"), time_of_id("forum:1")
    ('2020-04-22T12:16:54Z', '2021-02-01T09:36:43Z', '')
    """
    prefix, _, native = post_id.partition(":")
    if prefix == "x":
        return snowflake_time(native)
    if prefix == "tiktok" and native.isdigit() and int(native) >> 32 < 4_100_000_000:
        return datetime.fromtimestamp(int(native) >> 32, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return ""


def x_id(native: Any) -> str:
    """Return the post id of a post on X; empty for none."""
    return f"x:{native}" if native else ""


def snowflake_time(native: str) -> str:
    """Return the time of a post on X from its id; empty for old ids without time."""
    if not native.isdigit() or not FIRST_SNOWFLAKE <= int(native) < 1 << 63:
        return ""
    return datetime.fromtimestamp(((int(native) >> 22) + X_EPOCH) // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def post_at(key: str) -> str:
    """Return the post id of a page that is a post; otherwise empty.

    >>> post_at("x.com/status/123"), post_at("example.org/status/123")
    ('x:123', '')
    """
    # If the fake news is itself a post, that post is retrieved, and those containing its URL (3.1).
    head, _, tail = key.rpartition("/")
    if head == "x.com/status":
        return f"x:{tail}"
    if head.startswith("bsky.app/profile/did:") and head.endswith("/post"):
        return f"bsky:{head.split('/')[2]}/{tail}"
    if tail.isdigit() and (head.count("/") == 1 and "/@" in head):
        return f"masto:{head.split('/')[0]}/{tail}"
    return ""
