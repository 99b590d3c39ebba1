"""snscrape's lines, old and new: `content` or `rawContent`, links as URLs or objects, tombstones.

Pages of `covmis collect snscrape` hold the lines of any of its modules as `items`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from covmis_build.archive.formats import mastodon, telegram
from covmis_build.archive.formats.decoding import decoded, reader
from covmis_build.archive.ids import x_id
from covmis_build.archive.post import NONE, Post, Stamp, unescaped

NAME = "snscrape"


class _Link(msgspec.Struct, gc=False):
    url: str | None = None


class _Card(msgspec.Struct, gc=False):
    title: str | None = None
    url: str | None = None
    description: str | None = None


class _Medium(msgspec.Struct, gc=False):
    kind: str | None = msgspec.field(default=None, name="_type")
    altText: str | None = None  # noqa: N815 - snscrape's name


class Row(msgspec.Struct, gc=False, rename="camel"):
    """A line, or a post inside one."""

    type: str | None = msgspec.field(default=None, name="_type")
    id: int | str | float | None = None
    id_text: str | None = msgspec.field(default=None, name="id.str")
    date: str | None = None
    raw_content: str | None = None
    content: str | None = None
    lang: str | None = None
    conversation_id: int | str | None = None
    in_reply_to_tweet_id: int | str | None = None
    links: list[_Link] | None = None
    outlinks: list[str] | str | None = None
    card: _Card | None = None
    media: list[_Medium] | None = None
    quoted_tweet: Row | None = None
    retweeted_tweet: Row | None = None
    reply_count: int | None = None
    retweet_count: int | None = None
    like_count: int | None = None
    quote_count: int | None = None
    stamp: Stamp | None = msgspec.field(default=None, name="__covmis")


def recognises_line(row: dict[str, Any]) -> bool:
    """Recognise snscrape's class names; its oldest files have only `content` and `date`."""
    stamp = row.get("__covmis")
    if isinstance(stamp, dict) and stamp.get("source") == NAME:
        return True
    if str(row.get("_type", "")).startswith("snscrape.modules.twitter"):
        return True
    return "id" in row and "date" in row and bool(row.keys() & {"content", "rawContent"})


def posts(row: Row) -> list[Post]:
    """Return the post and those inside it. Tombstones and bare references are unavailable posts."""
    listed = _posts(row)
    if not listed:
        raise ValueError("a row without id or text")
    if row.stamp:
        row.stamp.mark(listed, (listed[0].post_id,))
    return listed


def _native(row: Row) -> str:
    """Return the exact id: files for programs with limited numbers have it as text next to the number."""
    if row.id_text:
        return row.id_text
    return "" if row.id is None or isinstance(row.id, float) else str(row.id)


def _text(row: Row | None) -> str:
    return unescaped((row.raw_content or row.content or "") if row else "")


def _posts(row: Row) -> list[Post]:
    native = _native(row)
    if not native:
        return []
    if row.raw_content is None and row.content is None:
        bare = (row.type or "").rsplit(".", 1)[-1] in {"Tombstone", "TweetRef"}
        return [Post(x_id(native), native, "x", availability="unavailable")] if bare else []
    listed = [_post(row, native)]
    for inner in (row.retweeted_tweet, row.quoted_tweet):
        if inner is not None:
            listed += _posts(inner)
    return listed


def _shown(row: Row) -> Row:
    original = row.retweeted_tweet
    return original if original is not None and _text(original) else row


def _links(shown: Row) -> list[str]:
    if not shown.links and not shown.outlinks:
        return NONE
    outlinks = shown.outlinks.split() if isinstance(shown.outlinks, str) else shown.outlinks or ()
    return list(dict.fromkeys([*(link.url for link in shown.links or () if link.url), *outlinks]))


def _cards(shown: Row) -> list[tuple[str, str, str]]:
    card = shown.card
    return [(card.url or "", card.title, card.description or "")] if card and card.title else NONE


def _post(row: Row, native: str) -> Post:
    """Return the post of a row; a repost has the reposted content."""
    original, shown = row.retweeted_tweet, row if row.retweeted_tweet is None else _shown(row)
    quoted, parent, conversation = shown.quoted_tweet, row.in_reply_to_tweet_id, row.conversation_id
    return Post(
        f"x:{native}",
        native,
        "x",
        _text(shown),
        row.date or "",
        shown.lang or "",
        _links(shown),
        _cards(shown),
        _media(shown.media) if shown.media else NONE,
        f"x:{parent}" if parent else "",
        "",
        x_id(_native(quoted)) if quoted else "",
        _text(quoted),
        x_id(_native(original)) if original else "",
        f"x:{conversation}" if conversation else "",
        (shown.reply_count, shown.retweet_count, shown.like_count, shown.quote_count),
    )


def _media(media: list[_Medium]) -> list[tuple[str, str]]:
    return [((medium.kind or "").rsplit(".", 1)[-1].lower(), medium.altText or "") for medium in media]


class _Page(msgspec.Struct, gc=False):
    items: list[msgspec.Raw]
    stamp: Stamp | None = msgspec.field(default=None, name="__covmis")


_line, _page = reader(msgspec.json.Decoder(Row), posts), msgspec.json.Decoder(_Page)
_OF_PAGES = {b"snscrape.modules.telegram": telegram.read, b"snscrape.modules.mastodon": mastodon.read}


def read(line: bytes) -> list[Post]:
    """Return the posts of a line, or of all lines in a collected page."""
    if not line.startswith(b'{"__covmis":') or b'"items":[' not in line:
        return _line(line)
    page: _Page = decoded(_page, line)
    listed: list[Post] = []
    for item in map(bytes, page.items):
        listed += next((read for kind, read in _OF_PAGES.items() if kind in item[:100]), _line)(item)
    if page.stamp:
        page.stamp.mark(listed, ())
    return listed
