"""Posts captured in a browser: Zeeschuimer's envelopes, and 4CAT's NDJSON of the same objects without envelope."""

from __future__ import annotations

from typing import Any

import msgspec

from covmis_build.archive.dates import iso
from covmis_build.archive.formats.decoding import decoded
from covmis_build.archive.formats.filters import SECONDS, digits, in_text
from covmis_build.archive.ids import x_id
from covmis_build.archive.post import Post, unescaped

NAME = "zeeschuimer"
WHOLE = True

TIKTOK, X = ("tiktok.com",), ("twitter.com", "x.com")


class _Url(msgspec.Struct, gc=False):
    expanded_url: str | None = None


class _Entities(msgspec.Struct, gc=False):
    urls: list[_Url] | None = None


class _NoteText(msgspec.Struct, gc=False):
    text: str | None = None
    entity_set: _Entities | None = None


class _NoteResults(msgspec.Struct, gc=False):
    result: _NoteText | None = None


class _Note(msgspec.Struct, gc=False):
    note_tweet_results: _NoteResults | None = None


class _Inner(msgspec.Struct, gc=False):
    result: _Tweet | None = None


class _Legacy(msgspec.Struct, gc=False):
    full_text: str | None = None
    created_at: str | None = None
    lang: str | None = None
    conversation_id_str: str | None = None
    in_reply_to_status_id_str: str | None = None
    quoted_status_id_str: str | None = None
    entities: _Entities | None = None
    retweeted_status_result: _Inner | None = None
    reply_count: int | None = None
    retweet_count: int | None = None
    favorite_count: int | None = None
    quote_count: int | None = None


class _Tweet(msgspec.Struct, gc=False):
    rest_id: str | None = None
    legacy: _Legacy | None = None
    note_tweet: _Note | None = None
    quoted_status_result: _Inner | None = None
    tweet: _Tweet | None = None
    """A post behind a warning is one level deeper."""


class _Stats(msgspec.Struct, gc=False, rename="camel"):
    comment_count: int | None = None
    share_count: int | None = None
    digg_count: int | None = None


class _Video(msgspec.Struct, gc=False, rename="camel"):
    id: str | None = None
    desc: str | None = None
    create_time: int | str | None = None
    stats: _Stats | None = None


class _Kind(msgspec.Struct, gc=False):
    source_platform: str | None = None
    data: msgspec.Raw = msgspec.Raw()


_envelope = msgspec.json.Decoder(_Kind)
_tweet = msgspec.json.Decoder(_Tweet)
_video = msgspec.json.Decoder(_Video)


def recognises_line(row: dict[str, Any]) -> bool:
    """Recognise the extension's envelope, or one of X's own objects."""
    if {"source_platform", "data"} <= row.keys():
        return True
    return ("rest_id" in row and "legacy" in row) or ("desc" in row and "createTime" in row)


def read(line: bytes) -> list[Post]:
    """Return the post of a line, and those that it reposts and quotes."""
    envelope: _Kind = decoded(_envelope, line)
    content = bytes(envelope.data) if envelope.source_platform else line
    platform = envelope.source_platform or ("tiktok.com" if b'"createTime"' in line else "x.com")
    if platform in TIKTOK:
        return [_of_tiktok(decoded(_video, content))]
    if platform not in X:
        raise ValueError(f"posts of {platform[:40]} are not read yet")
    posts = _of_x(decoded(_tweet, content))
    if not posts:
        raise ValueError("a row without post")
    return posts


def seen_on_x(result: dict[str, Any]) -> list[Post]:
    """Return the posts of a decoded X object; none if it contains no post."""
    return _of_x(msgspec.convert(result, _Tweet))


def _of_tiktok(video: _Video) -> Post:
    stats, native, text = video.stats or _Stats(), digits(video.id or ""), video.desc or ""
    return Post(
        f"tiktok:{native}",
        native,
        "tiktok",
        text,
        SECONDS.read(str(video.create_time or "")),
        urls=in_text(text),
        metrics=(stats.comment_count, stats.share_count, stats.digg_count, None),
    )


def _of_x(tweet: _Tweet) -> list[Post]:
    tweet = tweet.tweet or tweet
    legacy = tweet.legacy
    if not tweet.rest_id or not tweet.rest_id.isdigit() or legacy is None:
        return []
    original = _whole(legacy.retweeted_status_result)
    quoted = _whole(tweet.quoted_status_result)
    shown = original or tweet
    own = shown.legacy or legacy
    text, links = _text(shown, own)
    post = Post(
        x_id(tweet.rest_id),
        tweet.rest_id,
        "x",
        text,
        iso(legacy.created_at or ""),
        own.lang or "",
        links,
        reply_to=x_id(legacy.in_reply_to_status_id_str),
        quote_of=x_id(quoted.rest_id if quoted else own.quoted_status_id_str),
        quoted_text=_text(quoted, quoted.legacy)[0] if quoted and quoted.legacy else "",
        repost_of=x_id(original.rest_id) if original else "",
        conversation=x_id(legacy.conversation_id_str),
        metrics=(own.reply_count, own.retweet_count, own.favorite_count, own.quote_count),
    )
    inner = [post for part in (original, None if original else quoted) if part for post in _of_x(part)]
    return [post, *inner]


def _whole(inner: _Inner | None) -> _Tweet | None:
    result = inner.result if inner else None
    result = result.tweet or result if result else None
    return result if result and result.rest_id else None


def _text(tweet: _Tweet, legacy: _Legacy) -> tuple[str, list[str]]:
    """Return the full text (not escaped if it is a note) and its URLs."""
    results = tweet.note_tweet.note_tweet_results if tweet.note_tweet else None
    note = results.result if results else None
    spans = [part for part in (note.entity_set if note else None, legacy.entities) if part]
    links = [url.expanded_url for part in spans for url in part.urls or () if url.expanded_url]
    text = note.text if note and note.text else unescaped(legacy.full_text or "")
    return text, list(dict.fromkeys(links))
