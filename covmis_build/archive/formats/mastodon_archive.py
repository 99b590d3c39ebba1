"""A user's own archive from Mastodon and related servers: outbox.json. Only public posts are read."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from covmis_build.archive.formats.decoding import Posts, decoded
from covmis_build.archive.formats.mastodon import Status, id_of, plain
from covmis_build.archive.post import Post

NAME = "mastodon_archive"
WHOLE = True

PUBLIC = frozenset({"https://www.w3.org/ns/activitystreams#Public", "as:Public", "Public"})


class _Medium(msgspec.Struct, gc=False, rename="camel"):
    media_type: str | None = None
    name: str | None = None


class _Note(msgspec.Struct, gc=False, rename="camel"):
    id: str | None = None
    url: Any = None
    published: str | None = None
    summary: str | None = None
    content: str | None = None
    content_map: dict[str, str | None] | None = None
    in_reply_to: str | None = None
    quote: str | None = None
    attachment: list[_Medium] | None = None
    to: str | list[str] | None = None
    cc: str | list[str] | None = None


class _Activity(_Note, gc=False):
    type: str = ""
    object: str | _Note | None = None


class _Line(_Activity, gc=False, rename="camel"):
    ordered_items: list[_Activity] | None = None


_decoder = msgspec.json.Decoder(_Line)


def recognises_line(row: dict[str, Any]) -> bool:
    """Recognise an outbox or one of its activities."""
    if row.get("type") == "OrderedCollection":
        return isinstance(row.get("orderedItems"), list)
    return str(row.get("type")) in {"Create", "Announce"} and "object" in row and "actor" in row


def read(line: bytes) -> Posts:
    """Return the posts of an outbox, and its boosts (without text). Other activities are counted."""
    row: _Line = decoded(_decoder, line)
    posts, skipped = list[Post](), Counter[str]()
    for activity in row.ordered_items if row.ordered_items is not None else [row]:
        shown = activity.object if isinstance(activity.object, _Note) else activity
        if activity.type not in {"Create", "Announce"}:
            skipped["other activities"] += 1
        elif not _is_public(shown):
            skipped["posts that are not public"] += 1
        elif post := _post(activity):
            posts.append(post)
        else:
            skipped["posts without an address of their own"] += 1
    return Posts(posts, skipped)


def _post(activity: _Activity) -> Post | None:
    note = activity.object
    if not isinstance(note, _Note):
        own, boosted = _id((activity.id or "").removesuffix("/activity")), _id(note)
        time = activity.published or ""
        return (
            Post(own, own.rpartition("/")[2], "mastodon", created_at=time, repost_of=boosted or "?")
            if own
            else None
        )
    own = _id(note.id) or _id(note.url)
    if not own:
        return None
    text, urls = plain(note.content or "")
    return Post(
        own,
        own.rpartition("/")[2],
        "mastodon",
        f"{warning}\n\n{text}" if (warning := (note.summary or "").strip()) else text,
        note.published or "",
        next(iter(note.content_map or {}), ""),
        urls,
        media=[(medium.media_type or "", medium.name or "") for medium in note.attachment or ()],
        reply_to=(_id(note.in_reply_to) or "?") if note.in_reply_to else "",
        quote_of=(_id(note.quote) or "?") if note.quote else "",
    )


def _is_public(note: _Note) -> bool:
    return any(
        name in PUBLIC
        for names in (note.to, note.cc)
        for name in ([names] if isinstance(names, str) else names or ())
    )


def _id(address: object) -> str:
    return id_of(Status(uri=address), "") if isinstance(address, str) else ""
