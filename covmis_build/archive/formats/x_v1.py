"""X's API 1.1: streams, archive.org's grabs, twarc 1; with the long text and the reposted post."""

from __future__ import annotations

from typing import Any

import msgspec

from covmis_build.archive.formats.decoding import reader
from covmis_build.archive.ids import x_id
from covmis_build.archive.post import NONE, Post, Stamp, unescaped

NAME = "x_v1"


class _Url(msgspec.Struct, gc=False):
    expanded_url: str | None = None
    unwound: dict[str, Any] | None = None


class _Medium(msgspec.Struct, gc=False):
    type: str | None = None
    ext_alt_text: str | None = None


class _Entities(msgspec.Struct, gc=False):
    urls: list[_Url] | None = None
    media: list[_Medium] | None = None


class _Long(msgspec.Struct, gc=False):
    full_text: str | None = None
    entities: _Entities | None = None
    extended_entities: _Entities | None = None


class Status(msgspec.Struct, gc=False):
    """A post in the format of API 1.1."""

    id_str: str | None = None
    id: int | str | None = None
    text: str | None = None
    full_text: str | None = None
    created_at: str | None = None
    lang: str | None = None
    entities: _Entities | None = None
    extended_entities: _Entities | None = None
    extended_tweet: _Long | None = None
    retweeted_status: Status | None = None
    quoted_status: Status | None = None
    quoted_status_id_str: str | None = None
    in_reply_to_status_id_str: str | None = None
    in_reply_to_status_id: int | None = None
    reply_count: int | None = None
    retweet_count: int | None = None
    favorite_count: int | None = None
    quote_count: int | None = None
    card: dict[str, Any] | None = None
    withheld_copyright: bool | None = None
    withheld_in_countries: list[str] | str | None = None


class _Line(Status, gc=False):
    delete: dict[str, Any] | None = None
    status_withheld: dict[str, Any] | None = None
    limit: dict[str, Any] | None = None
    scrub_geo: dict[str, Any] | None = None
    warning: dict[str, Any] | None = None
    disconnect: dict[str, Any] | None = None
    user_withheld: dict[str, Any] | None = None
    statuses: list[Status] | None = None
    twarc: Stamp | None = msgspec.field(default=None, name="__twarc")
    stamp: Stamp | None = msgspec.field(default=None, name="__covmis")


_NOTICES = ("limit", "scrub_geo", "warning", "disconnect", "user_withheld")


def recognises_line(row: dict[str, Any]) -> bool:
    """Recognise posts of API 1.1 (`id_str` and a text) and notices of streams."""
    if "id_str" in row and ("full_text" in row or "text" in row):
        return True
    if isinstance(row.get("statuses"), list) and "search_metadata" in row:
        return True
    return len(row) == 1 and bool(row.keys() & {*_NOTICES, "delete", "status_withheld"})


def posts(row: _Line) -> list[Post]:
    """Return the posts with those that they quote and repost. Stream notices are skipped; deletions become outcomes."""
    if row.delete is not None or row.status_withheld is not None:
        return _outcome(row)
    if row.statuses is not None:
        listed = [post for status in row.statuses for post in _posts(status)]
    elif row.id_str and (row.text is not None or row.full_text is not None):
        listed = _posts(row)
    elif any(getattr(row, name) is not None for name in _NOTICES):
        return []
    else:
        raise ValueError("a post without id or text")
    if stamp := row.stamp or row.twarc:
        stamp.mark(listed, {post.post_id for post in listed})
    return listed


def _outcome(row: _Line) -> list[Post]:
    inner = row.delete.get("status") if row.delete else row.status_withheld
    native = str(inner.get("id_str") or inner.get("id") or "") if isinstance(inner, dict) else ""
    gone = "deleted" if row.delete else "withheld"
    return [Post(x_id(native), native, "x", availability=gone)] if native else []


def _posts(status: Status) -> list[Post]:
    """Return a post and the one inside it as separate posts."""
    inner, quoted = status.retweeted_status, status.quoted_status
    if inner is None:
        inner = quoted if quoted is not None and _native(quoted) else None
    return [_post(status)] if inner is None else [_post(status), *_posts(inner)]


def _post(status: Status) -> Post:
    """Return a post; a repost has the text and other content of the original."""
    original, native = status.retweeted_status, status.id_str or str(status.id or "")
    if original is None:
        shown, parent, repost_of = (
            status,
            status.in_reply_to_status_id_str or status.in_reply_to_status_id,
            "",
        )
    else:
        shown, parent, repost_of = original, None, x_id(_native(original))
    text, entities, quoted = shown.full_text or shown.text or "", shown.entities, shown.quoted_status
    urls = cards = media = NONE
    if shown.extended_tweet is not None or shown.extended_entities is not None or shown.card is not None:
        text, cards = _text(shown), _cards(shown)
        parts = _parts(shown)
        urls, media = _links(parts), _media(parts)
    else:
        if "&" in text:
            text = unescaped(text)
        if entities is not None:
            if entities.urls:
                urls, cards = _links([entities]), _cards(shown)
            if entities.media:
                media = _media([entities])
    return Post(
        f"x:{native}",
        native,
        "x",
        text,
        status.created_at or "",
        shown.lang or "",
        urls,
        cards,
        media,
        f"x:{parent}" if parent else "",
        "",
        x_id(shown.quoted_status_id_str or (_native(quoted) if quoted else "")),
        _text(quoted) if quoted else "",
        repost_of,
        "",
        (shown.reply_count, shown.retweet_count, shown.favorite_count, shown.quote_count),
        "withheld" if shown.withheld_copyright else "available",
    )


def _native(status: Status) -> str:
    return status.id_str or str(status.id or "")


def _text(status: Status) -> str:
    long = status.extended_tweet.full_text if status.extended_tweet else None
    return unescaped(long or status.full_text or status.text or "")


def _parts(shown: Status) -> list[_Entities]:
    """Return the additional content of a post, from its long form if present and from its short form."""
    long = shown.extended_tweet
    parts = [long.extended_entities, long.entities] if long else []
    return [part for part in (*parts, shown.extended_entities, shown.entities) if part is not None]


def _links(parts: list[_Entities]) -> list[str]:
    urls: list[str] = []
    for part in parts:
        for url in part.urls or ():
            if url.expanded_url:
                urls.append(url.expanded_url)
            if url.unwound and (further := str(url.unwound.get("url") or "")):
                urls.append(further)
    return list(dict.fromkeys(urls)) if len(urls) > 1 else urls


def _media(parts: list[_Entities]) -> list[tuple[str, str]]:
    media = next((part.media for part in parts if part.media), ())
    return [(medium.type or "", medium.ext_alt_text or "") for medium in media]


def _cards(status: Status) -> list[tuple[str, str, str]]:
    """Return a link's card if the file has it (web grabs), and the page titles of streams."""
    cards: list[tuple[str, str, str]] = []
    if status.card:
        values = status.card.get("binding_values") or {}
        if isinstance(values, dict):
            title, description, address = (
                str((values.get(name) or {}).get("string_value") or "")
                for name in ("title", "description", "card_url")
            )
            cards.append((str(status.card.get("url") or "") or address, title, description))
    for url in (status.entities.urls or ()) if status.entities else ():
        if url.unwound and url.unwound.get("title"):
            known = url.unwound
            cards.append(
                (str(known.get("url") or ""), str(known["title"]), str(known.get("description") or ""))
            )
    return cards


read = reader(msgspec.json.Decoder(_Line), posts)
