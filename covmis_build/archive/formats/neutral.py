"""covmis's own line format, as written by `covmis posts add --convert` for any source."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from covmis_build.archive.dates import iso
from covmis_build.archive.formats.decoding import decoded
from covmis_build.archive.ids import NATIVE, PLATFORM, platform_of
from covmis_build.archive.post import Claimed, Post

NAME = "covmis"
WHOLE = True

KEY = "covmis_post"
_VALID = re.compile(rf"{PLATFORM.pattern}:{NATIVE}")


class _Row(msgspec.Struct, gc=False, omit_defaults=True):
    """A post with the columns of the table `posts`. `covmis_post` is the format's version."""

    covmis_post: int
    post_id: str
    native_id: str = ""
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
    claim: str = ""
    kind: str = "title"
    source: dict[str, Any] = {}


_decoder = msgspec.json.Decoder(_Row)
_SHARED = tuple(name for name in _Row.__struct_fields__ if name in Post.__struct_fields__)


def recognises_line(row: dict[str, Any]) -> bool:
    """Recognise the key that names the format."""
    return KEY in row


def read(line: bytes) -> list[Post]:
    """Return the post of a line."""
    row: _Row = decoded(_decoder, line)
    if not _VALID.fullmatch(row.post_id):
        raise ValueError(f"not a post id: {row.post_id[:60]}")
    post = Post(platform=platform_of(row.post_id), **{name: getattr(row, name) for name in _SHARED})
    if row.claim:
        post.claimed = (Claimed(row.claim, kind=row.kind),)
    return [post]


def line(post: Post, source: dict[str, Any]) -> bytes:
    """Format a post as a line, with its time in UTC and its source."""
    values = {name: getattr(post, name) for name in _SHARED} | {"created_at": iso(post.created_at)}
    claim = post.claimed[0] if post.claimed and not post.claimed[0].query_id else Claimed("")
    row = _Row(covmis_post=1, **values, claim=claim.claim_id, kind=claim.kind, source=source)
    return msgspec.json.encode(row) + b"\n"
