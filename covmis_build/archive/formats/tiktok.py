"""TikTok: responses of its Research API, minet's table, and the objects in its web pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build.archive.formats.decoding import decoded
from covmis_build.archive.formats.table_tools import SECONDS, Row, digits, in_text, number
from covmis_build.archive.post import Post

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

NAME = "tiktok"
WHOLE = True

ID = "id"


class _Video(msgspec.Struct, gc=False):
    id: int | str | None = None
    create_time: int | str | None = None
    video_description: str | None = None
    voice_to_text: str | None = None
    comment_count: int | None = None
    share_count: int | None = None
    like_count: int | None = None


class _Data(msgspec.Struct, gc=False):
    videos: list[_Video] | None = None


class _Line(_Video, gc=False):
    data: _Data | None = None


_decoder = msgspec.json.Decoder(_Line)


def recognises_line(row: dict[str, Any]) -> bool:
    """Recognise a Research API response or a video of one."""
    data = row.get("data")
    return {"video_description", "create_time"} <= row.keys() or (
        isinstance(data, dict) and isinstance(data.get("videos"), list)
    )


def read(line: bytes) -> list[Post]:
    """Return the videos of a line. Ids above 2^53 are read digit by digit."""
    row: _Line = decoded(_decoder, line)
    return [_of_interface(video) for video in (row.data.videos or [] if row.data else [row])]


def _of_interface(video: _Video) -> Post:
    counts = (video.comment_count, video.share_count, video.like_count, None)
    spoken = [("speech", video.voice_to_text)] if video.voice_to_text else []
    return made(
        str(video.id or ""), video.video_description or "", str(video.create_time or ""), counts, spoken
    )


def made(
    native: str,
    text: str,
    moment: str,
    counts: tuple[int | None, int | None, int | None, int | None],
    media: list[tuple[str, str]],
) -> Post:
    """Return a video as a post. Speech and overlaid text are not part of its text."""
    native = digits(native)
    return Post(
        f"tiktok:{native}",
        native,
        "tiktok",
        text,
        SECONDS.read(moment),
        urls=in_text(text),
        media=media,
        metrics=counts,
    )


def recognises_header(header: AbstractSet[str]) -> bool:
    """Recognise minet's column names."""
    return {"id", "description", "timestamp", "author_unique_id"} <= header


def post(row: Row) -> Post:
    """Return the video of a row."""
    counts = (
        number(row.get("comment_count")),
        number(row.get("share_count")),
        number(row.get("digg_count")),
        None,
    )
    stuck = [("sticker", row["stickers_texts"])] if row.get("stickers_texts") else []
    return made(row["id"], row["description"], row["timestamp"], counts, stuck)
