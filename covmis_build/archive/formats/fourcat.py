"""4CAT's CSV, one format for all sources. Relations are only yes or no, without the other post's id."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from covmis_build.archive import ids
from covmis_build.archive.formats.table_tools import ISO, Row, need, number
from covmis_build.archive.post import Post, unescaped

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

NAME = "fourcat"

ID = "id"
COLUMNS = frozenset({"id", "thread_id", "timestamp", "body"})
SITES = (
    (re.compile(r"https?://(?:www\.)?(?:x|twitter)\.com/"), "x"),
    (re.compile(r"https?://(?:www\.|m\.)?tiktok\.com/"), "tiktok"),
    (re.compile(r"https?://(?:www\.)?instagram\.com/"), "instagram"),
    (re.compile(r"https?://(?:www\.|old\.)?reddit\.com/"), "reddit"),
    (re.compile(r"https?://t\.me/"), "telegram"),
    (re.compile(r"https?://(?:www\.)?threads\.net/"), "threads"),
)
"""Platform of a row by its own URL."""


def recognises_header(header: AbstractSet[str]) -> bool:
    """Recognise the columns that all sources of 4CAT share."""
    return header >= COLUMNS


def post(row: Row) -> Post:
    """Return the post of a row. `unix_timestamp` depends on the time zone of 4CAT's server, `timestamp` does not."""
    native = need(row["id"])
    platform = _platform(row)
    post_id = ids.post_id(native, platform)
    if not post_id:
        raise ValueError(f"not a post id: {native[:60]}")
    escaped = unescaped if platform in {"x", "reddit"} else str
    subject = row.get("subject", "")
    thread = row["thread_id"] if platform != "tiktok" else ""
    counts = ("reply_count", "retweet_count", "like_count", "quote_count")
    replies, reposts, likes, quotes = (number(row.get(name, "")) for name in counts)
    return Post(
        post_id,
        native,
        ids.platform_of(post_id),
        escaped(f"{subject}\n\n{row['body']}" if subject else row["body"]),
        ISO.read(row["timestamp"]),
        row.get("language_guess", ""),
        # separated by commas, which URLs may contain too
        [part.strip() for part in re.split(r",\s*(?=https?://)", row.get("urls", "")) if part.strip()],
        reply_to="?" if row.get("is_reply") == "yes" else "",
        quote_of=_quoted(row, platform),
        repost_of="?" if row.get("is_retweet") == "yes" else "",
        conversation=ids.post_id(thread, platform) if thread else "",
        metrics=(replies, reposts, likes, quotes),
    )


def _platform(row: Row) -> str:
    own = " ".join(row.get(name, "") for name in ("link", "tiktok_url", "url", "post_url"))
    for address, platform in SITES:
        if address.search(own):
            return platform
    raise ValueError("whose post is this? no address names a platform (platform = …)")


def _quoted(row: Row, platform: str) -> str:
    if row.get("is_quote_tweet") != "yes":
        return ""
    return ids.post_id(row.get("quote_tweet_id", ""), platform) or "?"
