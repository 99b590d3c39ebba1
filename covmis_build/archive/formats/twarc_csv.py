r"""twarc-csv: one row per post, lists as JSON in cells, line ends of texts as `\` and `n`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from covmis_build.archive.formats.table_tools import ISO, Row, digits, number
from covmis_build.archive.ids import x_id
from covmis_build.archive.post import Post, unescaped

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

NAME = "twarc_csv"

ID = "id"


def recognises_header(header: AbstractSet[str]) -> bool:
    """Recognise the columns for references, which are unique to this tool."""
    return "referenced_tweets.retweeted.id" in header


def post(row: Row) -> Post:
    """Return the post of a row."""
    native = digits(row["id"])
    links = _links(row.get("entities.urls", ""))
    addresses = [link.get(name) for link in links for name in ("expanded_url", "unwound_url")]
    counts = ("reply_count", "retweet_count", "like_count", "quote_count")
    replies, reposts, likes, quotes = (number(row.get(f"public_metrics.{name}", "")) for name in counts)
    return Post(
        x_id(native),
        native,
        "x",
        unescaped(row.get("text", "").replace("\\n", "\n")),
        ISO.read(row.get("created_at", "")),
        row.get("lang", ""),
        list(
            dict.fromkeys(
                address for address in addresses if isinstance(address, str) and address.startswith("http")
            )
        ),
        [
            (
                link.get("unwound_url") or link.get("expanded_url") or "",
                link["title"],
                link.get("description") or "",
            )
            for link in links
            if isinstance(link.get("title"), str) and link["title"]
        ],
        reply_to=x_id(row.get("referenced_tweets.replied_to.id")),
        quote_of=x_id(row.get("referenced_tweets.quoted.id")),
        repost_of=x_id(row["referenced_tweets.retweeted.id"]),
        conversation=x_id(row.get("conversation_id")),
        metrics=(replies, reposts, likes, quotes),
    )


def _links(cell: str) -> list[dict[str, Any]]:
    """Return the cell's list of X's link objects or plain URLs."""
    try:
        links = json.loads(cell) if cell else []
    except (ValueError, RecursionError):
        return []
    listed = links if isinstance(links, list) else []
    return [link if isinstance(link, dict) else {"expanded_url": link} for link in listed]
