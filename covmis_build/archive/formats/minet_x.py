"""minet, twitwi, gazouilloire: tables of X posts. Texts are already unescaped and contain full URLs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.archive.formats.table_tools import SECONDS, Row, digits, number, parted
from covmis_build.archive.ids import x_id
from covmis_build.archive.post import Post

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

NAME = "minet_x"

ID = "id"


def recognises_header(header: AbstractSet[str]) -> bool:
    """Recognise the columns of times and users."""
    return {"timestamp_utc", "user_screen_name", "id"} <= header


def post(row: Row) -> Post:
    """Return the post of a row. `local_time` is in the collector's zone; `url` is the post's own URL."""
    native = digits(row["id"])
    counts = [number(row.get(name, "")) for name in ("reply_count", "retweet_count", "like_count")]
    return Post(
        x_id(native),
        native,
        "x",
        row.get("text", ""),
        SECONDS.read(row["timestamp_utc"]),
        row.get("lang", ""),
        parted(row.get("links", "")),
        reply_to=x_id(row.get("to_tweetid")),
        quote_of=x_id(row.get("quoted_id")),
        repost_of=x_id(row.get("retweeted_id")),
        metrics=(counts[0], counts[1], counts[2], None),
    )
