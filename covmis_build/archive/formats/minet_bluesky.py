"""minet, twitwi: tables of Bluesky posts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.archive.formats.bluesky import post_id
from covmis_build.archive.formats.table_tools import SECONDS, Row, need, number, parted
from covmis_build.archive.post import Post

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

NAME = "minet_bluesky"

ID = "uri"


def recognises_header(header: AbstractSet[str]) -> bool:
    """Recognise AT protocol URIs with times in seconds."""
    return {"uri", "did", "timestamp_utc", "cid"} <= header


def post(row: Row) -> Post:
    """Return the post of a row. Only the URI is used, because `did` may contain the record's key."""
    uri = need(row["uri"])
    if not (own := post_id(uri)):
        raise ValueError(f"not a post id: {uri[:60]}")
    title, card = row.get("card_title", ""), row.get("card_link", "")
    counts = ("reply_count", "repost_count", "like_count", "quote_count")
    replies, reposts, likes, quotes = (number(row.get(name, "")) for name in counts)
    root = row.get("to_root_post_uri", "")
    return Post(
        own,
        uri,
        "bluesky",
        row.get("text", ""),
        SECONDS.read(row["timestamp_utc"]),
        row.get("user_langs", "").partition("|")[0],
        parted(row.get("links", "")),
        [(card, title, row.get("card_description", ""))] if title or card else [],
        reply_to=post_id(row.get("to_post_uri", "")),
        quote_of=post_id(row.get("quoted_uri", "")),
        repost_of=own if row.get("repost_created_at") else "",
        conversation=post_id(root) or own,
        metrics=(replies, reposts, likes, quotes),
    )
