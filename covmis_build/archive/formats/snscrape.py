"""snscrape's lines, old and new: `content` or `rawContent`, links as addresses or as objects, tombstones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build.archive.formats.decoding import Glancing
from covmis_build.archive.formats.post import Glances, Post, Stamp, unescaped
from covmis_build.archive.ids import x_id

if TYPE_CHECKING:
    from collections.abc import Iterable


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


def recognises(row: dict[str, Any]) -> bool:
    """Rows name snscrape's classes; its oldest files have `content` and `date` without."""
    if str(row.get("_type", "")).startswith("snscrape.modules.twitter"):
        return True
    return "id" in row and "date" in row and bool(row.keys() & {"content", "rawContent"})


def glances(rows: Iterable[tuple[int, Row]], seen: Glances) -> None:
    """The posts and those inside them; a tombstone or a bare reference says that the post is unavailable."""
    for at, row in rows:
        before = len(seen.ids)
        _glance(at, row, seen)
        if len(seen.ids) == before:
            raise ValueError("a row without id or text")
        if row.stamp:
            row.stamp.mark(seen, before, asked=[seen.ids[before]])


def _native(row: Row) -> str:
    """The whole id: files written for programs with small numbers have it as text beside the number."""
    if row.id_text:
        return row.id_text
    return "" if row.id is None or isinstance(row.id, float) else str(row.id)


def _text(row: Row | None) -> str:
    return unescaped((row.raw_content or row.content or "") if row else "")


def _glance(at: int, row: Row, seen: Glances) -> None:
    native = _native(row)
    if not native:
        return
    if row.raw_content is None and row.content is None:
        if (row.type or "").rsplit(".", 1)[-1] in {"Tombstone", "TweetRef"}:
            seen.add_post(at, Post(x_id(native), native, "x", availability="unavailable"))
        return
    original, quoted = row.retweeted_tweet, row.quoted_tweet
    if original is None and quoted is None and row.card is None:
        text = row.raw_content or row.content or ""
        if row.links or row.outlinks:
            urls = _links(row)
            seen.links += urls
            seen.linking += [len(seen.ids)] * len(urls)
        seen.ids.append(f"x:{native}")
        seen.texts.append(unescaped(text) if "&" in text else text)
        seen.more.append(row)
        seen.places.append(at)
        return
    shown = _shown(row)
    of = (x_id(_native(inner)) if inner else "" for inner in (shown.quoted_tweet, original))
    seen.add(at, x_id(native), _text(shown), row, _links(shown), _cards(shown), *of)
    for inner in (original, quoted):
        if inner is not None:
            _glance(at, inner, seen)


def _shown(row: Row) -> Row:
    original = row.retweeted_tweet
    return original if original is not None and _text(original) else row


def _links(shown: Row) -> list[str]:
    outlinks = shown.outlinks.split() if isinstance(shown.outlinks, str) else shown.outlinks or ()
    return list(dict.fromkeys([*(link.url for link in shown.links or () if link.url), *outlinks]))


def _cards(shown: Row) -> list[tuple[str, str, str]]:
    card = shown.card
    return [(card.url or "", card.title, card.description or "")] if card and card.title else []


def post(row: Row) -> Post:
    """The row of a post; of a repost, with what it shows."""
    original, shown = row.retweeted_tweet, _shown(row)
    quoted = shown.quoted_tweet
    return Post(
        x_id(_native(row)),
        _native(row),
        "x",
        _text(shown),
        row.date or "",
        shown.lang or "",
        _links(shown),
        _cards(shown),
        [
            ((medium.kind or "").rsplit(".", 1)[-1].lower(), medium.altText or "")
            for medium in shown.media or ()
        ],
        x_id(row.in_reply_to_tweet_id),
        "",
        x_id(_native(quoted)) if quoted else "",
        _text(quoted),
        x_id(_native(original)) if original else "",
        x_id(row.conversation_id),
        (shown.reply_count, shown.retweet_count, shown.like_count, shown.quote_count),
    )


FORM = Glancing(msgspec.json.Decoder(Row), glances, post)
read = FORM.read
