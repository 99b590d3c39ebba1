"""Bluesky: posts from its search and feeds, bare records, and Jetstream events."""

from __future__ import annotations

from typing import Any

import msgspec

from covmis_build.archive.formats.decoding import reader
from covmis_build.archive.post import NONE, Post, Stamp

NAME = "bluesky"

POSTS, REPOSTS = "app.bsky.feed.post", "app.bsky.feed.repost"


class _Span(msgspec.Struct, gc=False, rename="camel"):
    byte_start: int = 0
    byte_end: int = 0


class _Feature(msgspec.Struct, gc=False):
    uri: str | None = None


class _Facet(msgspec.Struct, gc=False):
    index: _Span | None = None
    features: list[_Feature] | None = None


class _External(msgspec.Struct, gc=False):
    uri: str | None = None
    title: str | None = None
    description: str | None = None


class _Image(msgspec.Struct, gc=False):
    alt: str | None = None


class _Ref(msgspec.Struct, gc=False):
    uri: str | None = None
    record: _Ref | None = None
    value: Record | None = None


class _Embed(msgspec.Struct, gc=False):
    kind: str | None = msgspec.field(default=None, name="$type")
    external: _External | None = None
    images: list[_Image] | None = None
    alt: str | None = None
    record: _Ref | None = None
    media: _Embed | None = None


class _Reply(msgspec.Struct, gc=False):
    root: _Ref | None = None
    parent: _Ref | None = None


class Record(msgspec.Struct, gc=False, rename="camel"):
    """The author's own content, or in a repost the reference to the reposted post."""

    kind: str | None = msgspec.field(default=None, name="$type")
    text: str | None = None
    created_at: str | None = None
    langs: list[str] | None = None
    facets: list[_Facet] | None = None
    embed: _Embed | None = None
    reply: _Reply | None = None
    subject: _Ref | str | None = None


class _Commit(msgspec.Struct, gc=False):
    operation: str | None = None
    collection: str | None = None
    rkey: str | None = None
    record: Record | None = None


class View(msgspec.Struct, gc=False, rename="camel"):
    """A post with its URI and counts."""

    uri: str | None = None
    record: Record | None = None
    embed: _Embed | None = None
    reply_count: int | None = None
    repost_count: int | None = None
    like_count: int | None = None
    quote_count: int | None = None
    not_found: bool | None = None
    blocked: bool | None = None


class _Threaded(msgspec.Struct, gc=False):
    post: View | None = None


class _Line(View, gc=False, rename="camel"):
    did: str | None = None
    commit: _Commit | None = None
    posts: list[View] | None = None
    feed: list[_Threaded] | None = None
    cursor: str | None = None
    kind: str | None = None
    stamp: Stamp | None = msgspec.field(default=None, name="__covmis")


class _TapRecord(msgspec.Struct, gc=False):
    did: str
    collection: str = ""
    rkey: str = ""
    action: str = ""
    record: Record | None = None


class _Tap(msgspec.Struct, gc=False):
    """An event in the format of the tool Tap."""

    record: _TapRecord | None = None


_line = msgspec.json.Decoder(_Line)
_tap = msgspec.json.Decoder(_Tap)


class _Decoder:
    """Decode a line, with Tap events converted to Jetstream events."""

    def decode(self, line: bytes) -> _Line:
        head = line[:200]
        if b'"type"' not in head or b'"record"' not in head or b'"uri"' in head:
            return _line.decode(line)
        event = _tap.decode(line).record
        if event is None:
            return _Line(did="did:")
        return _Line(did=event.did, commit=_Commit(event.action, event.collection, event.rkey, event.record))


TAP = frozenset({"record", "identity"})


def recognises_line(row: dict[str, Any]) -> bool:
    """Recognise AT protocol URIs, or events with an author's DID."""
    stamp = row.get("__covmis")
    if isinstance(stamp, dict) and stamp.get("source"):
        return str(stamp["source"]).startswith("bluesky")
    if str(row.get("did", "")).startswith("did:") or _is_tap(row):
        return True
    for name in ("posts", "feed"):
        listed = row.get(name)
        if isinstance(listed, list) and (not listed or "at://" in str(listed[0])):
            return True
    return str(row.get("uri", "")).startswith("at://")


def posts(row: _Line) -> list[Post]:
    """Return the posts of a line. Deletions become outcomes; other events are skipped."""
    return _of_event(row.did, row.commit) if row.did else _of_page(row)


def _of_page(row: _Line) -> list[Post]:
    views = row.posts if row.posts is not None else [row]
    if row.feed is not None:
        views = [threaded.post for threaded in row.feed if threaded.post]
    by_id: dict[str, Post] = {}
    for view in views:
        for post in _posts(view):
            by_id.setdefault(post.post_id, post)
    listed = list(by_id.values())
    if not listed and row.posts is None and row.feed is None:
        raise ValueError("a row without post")
    if row.stamp:
        row.stamp.mark(listed, {post_id(view.uri) for view in views})
    return listed


def post_id(uri: str | None) -> str:
    """Return the post id of an AT protocol URI.

    >>> post_id("at://did:plc:abc/app.bsky.feed.post/3k")
    'bsky:did:plc:abc/3k'
    """
    parts = (uri or "").removeprefix("at://").split("/")
    return f"bsky:{parts[0]}/{parts[2]}" if len(parts) == 3 and parts[1] in {POSTS, REPOSTS} else ""


def _is_tap(row: dict[str, Any]) -> bool:
    kind = str(row.get("type", ""))
    inside = row.get(kind) if kind in TAP else None
    return isinstance(inside, dict) and str(inside.get("did", "")).startswith("did:")


def _of_event(did: str, commit: _Commit | None) -> list[Post]:
    if commit is None or commit.collection not in _COLLECTIONS or not commit.rkey:
        return []
    uri, record = f"at://{did}/{commit.collection}/{commit.rkey}", commit.record
    if commit.operation == "delete":
        of_post = commit.collection == POSTS
        return [Post(post_id(uri), uri, "bluesky", availability="deleted")] if of_post else []
    if record is None:
        raise ValueError("an event without record")
    return [_repost(uri, record) if commit.collection == REPOSTS else _post(uri, record, NO_VIEW)]


_COLLECTIONS = frozenset({POSTS, REPOSTS})
NO_VIEW = View()


def _repost(uri: str, record: Record) -> Post:
    subject = record.subject.uri if isinstance(record.subject, _Ref) else ""
    return Post(post_id(uri), uri, "bluesky", created_at=record.created_at or "", repost_of=post_id(subject))


def _posts(view: View) -> list[Post]:
    if not view.uri or not post_id(view.uri):
        return []
    if view.record is None:
        gone = "deleted" if view.not_found else "blocked" if view.blocked else "unavailable"
        return [Post(post_id(view.uri), view.uri, "bluesky", availability=gone)]
    posts = [_post(view.uri, view.record, view)]
    quoted = _quoted(view.embed)
    if quoted and quoted.value and quoted.uri and quoted.value.text is not None and post_id(quoted.uri):
        posts.append(_post(quoted.uri, quoted.value, NO_VIEW))
    return posts


def _quoted(embed: _Embed | None) -> _Ref | None:
    """Return the quoted post of an embed; next to media it is one level deeper."""
    ref = embed.record if embed else None
    return ref.record if ref and ref.record and not ref.uri else ref


def _post(uri: str, record: Record, view: View) -> Post:
    own, text, embed, reply = post_id(uri), record.text or "", record.embed, record.reply
    urls = _links(record.facets, text) if record.facets else NONE
    cards = media = NONE
    quote = quoted_text = ""
    if embed is not None:
        embeds = [embed] if embed.media is None else [embed, embed.media]
        cards = [
            (one.external.uri or "", one.external.title or "", one.external.description or "")
            for one in embeds
            if one.external
        ]
        media = [("image", image.alt or "") for one in embeds for image in one.images or ()]
        media += [("video", one.alt or "") for one in embeds if (one.kind or "").endswith(".video")]
        urls = list(dict.fromkeys([*urls, *(card[0] for card in cards if card[0])]))
        quoted, shown = _quoted(embed), _quoted(view.embed)
        quote = post_id(quoted.uri) if quoted else ""
        quoted_text = (shown.value.text or "") if shown and shown.value and quote else ""
    elif len(urls) > 1:
        urls = list(dict.fromkeys(urls))
    return Post(
        own,
        uri,
        "bluesky",
        text,
        record.created_at or "",
        record.langs[0] if record.langs else "",
        urls,
        cards,
        media,
        post_id(reply.parent.uri) if reply and reply.parent else "",
        "",
        quote,
        quoted_text,
        "",
        post_id(reply.root.uri) if reply and reply.root else own,
        (view.reply_count, view.repost_count, view.like_count, view.quote_count),
    )


def _links(facets: list[_Facet], text: str) -> list[str]:
    """Return the full URLs behind shortened ones in the text. Facet positions count bytes and must be valid."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return [
        feature.uri
        for facet in facets
        if facet.index is None or 0 <= facet.index.byte_start < facet.index.byte_end <= size
        for feature in facet.features or ()
        if feature.uri
    ]


read = reader(_Decoder(), posts)
