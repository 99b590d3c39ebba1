"""A user's own archive from X: tweets.js with API 1.1 statuses without user. A repost is only an "RT @" text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from covmis_build.archive.formats.decoding import UNREADABLE
from covmis_build.archive.formats.x_v1 import read as read_v1
from covmis_build.archive.ids import post_id
from covmis_build.archive.post import RETWEET

if TYPE_CHECKING:
    from covmis_build.archive.post import Post

NAME = "x_archive"
WHOLE = True


def recognises_line(row: dict[str, Any]) -> bool:
    """Recognise a status with text counts, in a `tweet` object or, in old archives, without."""
    status = row.get("tweet", row)
    return (
        isinstance(status, dict)
        and "full_text" in status
        and "user" not in status
        and isinstance(status.get("retweet_count", status.get("favorite_count")), str)
    )


def read(line: bytes) -> list[Post]:
    """Return the status of a line, counts as numbers. A link to a status at the end is a quotation."""
    row = json.loads(line)
    status = row.get("tweet", row) if isinstance(row, dict) else None
    if not isinstance(status, dict):
        raise ValueError("a row without status")  # noqa: TRY004 - unreadable, as every other row that is not one
    status.pop("in_reply_to_status_id", None)  # here a text; `in_reply_to_status_id_str` has the same value
    for name in ("retweet_count", "favorite_count"):
        count = status.get(name)
        status[name] = int(count) if isinstance(count, str) and count.isdigit() else None
    try:
        posts = read_v1(json.dumps(status).encode())
    except UNREADABLE as error:
        raise ValueError(str(error)) from None
    for post in posts:
        if RETWEET.match(post.text):
            post.repost_of = "?"
        elif post.urls and not post.quote_of:
            quoted = post_id(post.urls[-1], "")
            last = (status.get("entities") or {}).get("urls") or [{}]
            if quoted.startswith("x:") and str(status.get("full_text", "")).rstrip().endswith(
                str(last[-1].get("url"))
            ):
                post.quote_of = quoted
    return posts
