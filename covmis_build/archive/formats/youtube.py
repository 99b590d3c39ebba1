"""YouTube: responses of its Data API, and comments from minet and YouTube Data Tools."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build.archive.formats.decoding import decoded
from covmis_build.archive.formats.table_tools import ISO, Row, in_text, need
from covmis_build.archive.post import Post

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

NAME = "youtube"
WHOLE = True

ID = "comment_id"


class _Snippet(msgspec.Struct, gc=False, rename="camel"):
    video_id: str | None = None
    parent_id: str | None = None
    text_original: str | None = None
    text_display: str | None = None
    published_at: str | None = None
    title: str | None = None
    description: str | None = None
    default_language: str | None = None
    top_level_comment: _Item | None = None


class _Replies(msgspec.Struct, gc=False):
    comments: list[_Item] | None = None


class _Item(msgspec.Struct, gc=False):
    kind: str = ""
    id: str | dict[str, str] | None = None
    snippet: _Snippet | None = None
    replies: _Replies | None = None


class _Line(_Item, gc=False):
    items: list[_Item] | None = None


_decoder = msgspec.json.Decoder(_Line)


def recognises_line(row: dict[str, Any]) -> bool:
    """Recognise the `kind` of a response or of an object in one."""
    return str(row.get("kind", "")).startswith("youtube#")


def read(line: bytes) -> list[Post]:
    """Return the comments, threads and videos of a line."""
    row: _Line = decoded(_decoder, line)
    return [post for item in (row.items if row.items is not None else [row]) for post in _posts(item)]


def _posts(item: _Item) -> list[Post]:
    kind, snippet = item.kind.removeprefix("youtube#"), item.snippet
    if kind == "commentThread" and snippet and snippet.top_level_comment:
        video = snippet.video_id or ""
        replies = item.replies.comments or [] if item.replies else []
        return [_comment(comment, video) for comment in (snippet.top_level_comment, *replies)]
    if kind == "comment":
        return [_comment(item, "")]
    if kind in {"video", "searchResult"} and snippet:
        return [_video(item, snippet)]
    raise ValueError(f"no comment and no video: {kind[:40]}")


def _comment(item: _Item, video: str) -> Post:
    snippet = item.snippet
    if snippet is None or not isinstance(item.id, str):
        raise ValueError("a comment without id or text")
    text = snippet.text_original if snippet.text_original is not None else _plain(snippet.text_display or "")
    return _to_post(
        item.id, text, snippet.published_at or "", snippet.parent_id or "", snippet.video_id or video
    )


def _video(item: _Item, snippet: _Snippet) -> Post:
    native = item.id.get("videoId", "") if isinstance(item.id, dict) else item.id or ""
    parts = [part for part in (snippet.title, snippet.description) if part]
    text = "\n\n".join(parts)
    own = f"youtube:{need(native)}"
    return Post(
        own,
        native,
        "youtube",
        text,
        ISO.read(snippet.published_at or ""),
        snippet.default_language or "",
        in_text(text),
        conversation=own,
    )


def _plain(display: str) -> str:
    """Convert `textDisplay` from HTML: breaks become line ends, shortened URLs the full ones."""
    linked = re.sub(r'<a href="([^"]*)">.*?</a>', r"\1", display, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"<br ?/?>", "\n", linked)))


def _to_post(native: str, text: str, moment: str, parent: str, video: str) -> Post:
    native = need(native)
    return Post(
        f"youtube:{native}",
        native,
        "youtube",
        text,
        ISO.read(moment),
        urls=in_text(text),
        reply_to=f"youtube:{parent or video}" if parent or video else "",
        conversation=f"youtube:{video}" if video else "",
    )


def recognises_header(header: AbstractSet[str]) -> bool:
    """Recognise comments of minet or YouTube Data Tools."""
    return {"video_id", "comment_id", "author_channel_id"} <= header or {
        "isReplyTo",
        "publishedAt",
        "text",
    } <= header


def post(row: Row) -> Post:
    """Return the comment of a row."""
    if "comment_id" in row:
        return _to_post(
            row["comment_id"],
            row["text"],
            row.get("published_at", ""),
            row.get("parent_comment_id", ""),
            row["video_id"],
        )
    return _to_post(row["id"], row["text"], row["publishedAt"], row["isReplyTo"], "")
