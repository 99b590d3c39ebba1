"""Mastodon: statuses, timelines and pages of its search; their HTML as the text that readers see."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from covmis_build.archive.formats.decoding import Glancing
from covmis_build.archive.formats.post import NONE, Glances, Post, Stamp

if TYPE_CHECKING:
    from collections.abc import Iterable


class _Card(msgspec.Struct, gc=False):
    url: str | None = None
    title: str | None = None
    description: str | None = None


class _Medium(msgspec.Struct, gc=False):
    type: str | None = None
    description: str | None = None


class _Quote(msgspec.Struct, gc=False):
    quoted_status: Status | None = None


class Status(msgspec.Struct, gc=False):
    """A status as the interface gives it."""

    id: str | int | None = None
    uri: str | None = None
    url: str | None = None
    created_at: str | None = None
    language: str | None = None
    content: str | None = None
    spoiler_text: str | None = None
    in_reply_to_id: str | int | None = None
    reblog: Status | None = None
    quote: _Quote | None = None
    card: _Card | None = None
    media_attachments: list[_Medium] | None = None
    replies_count: int | None = None
    reblogs_count: int | None = None
    favourites_count: int | None = None
    quotes_count: int | None = None


class _Line(Status, gc=False):
    statuses: list[Status] | None = None
    stamp: Stamp | None = msgspec.field(default=None, name="__covmis")


def recognises(row: dict[str, Any]) -> bool:
    """Statuses have HTML content and an address of their own; pages of the search have `statuses`."""
    stamp = row.get("__covmis")
    if isinstance(stamp, dict) and stamp.get("source"):
        return str(stamp["source"]).startswith("mastodon")
    if isinstance(row.get("statuses"), list) and "search_metadata" not in row:
        return True
    return "content" in row and "uri" in row and ("account" in row or "spoiler_text" in row)


def glances(rows: Iterable[tuple[int, _Line]], seen: Glances) -> None:
    """The statuses of lines, and those that they boost and quote."""
    for at, row in rows:
        before = len(seen)
        statuses = row.statuses if row.statuses is not None else [row]
        server = urlsplit(row.stamp.url or "").netloc if row.stamp else ""
        known: set[str] = set()
        for status in statuses:
            _glance(at, status, server, known, seen)
        if len(seen) == before and row.statuses is None:
            raise ValueError("a row without status")
        if row.stamp:
            row.stamp.mark(seen, before, asked=[_id(status, server) for status in statuses])


def _id(status: Status, server: str) -> str:
    """A status by its home server and number there, so that copies on other servers are the same post."""
    steps = (status.uri or "").split("/")
    if (
        len(steps) > 4
        and steps[0] == "https:"
        and not steps[1]
        and steps[2]
        and steps[-2] in _KINDS
        and (steps[-1].isalnum() and steps[-1].isascii() and "\n" not in (status.uri or ""))
    ):  # as servers write it: the expression below goes back and forth over long addresses
        return f"masto:{steps[2].lower()}/{steps[-1]}"
    for address in (status.uri, status.url):
        match = _STATUS.fullmatch(address or "")
        if match:
            return f"masto:{match[1].lower()}/{match[2]}"
    home = server or urlsplit(status.url or status.uri or "").netloc
    return f"masto:{home.lower()}/{status.id}" if home and status.id else ""


_KINDS = frozenset({"statuses", "notice", "notes", "objects"})
_STATUS = re.compile(r"https?://([^/]+)/(?:.*/)?(?:statuses|@[^/]+|notice|notes|objects)/([\w-]+)")


def _glance(at: int, status: Status, server: str, known: set[str], seen: Glances) -> None:
    own = _id(status, server)
    if not own or status.content is None:
        return
    shown, quoted = status.reblog or status, _quoted(status)
    if own not in known:
        known.add(own)
        text, links = loose(shown.content or "")
        warning, card = (shown.spoiler_text or "").strip(), shown.card
        urls = [*links, card.url] if card and card.url else links
        text, more = f"{warning}\n\n{text}" if warning else text, (status, shown, own, server)
        quote_of = _id(quoted, server) if quoted else ""
        seen.add(at, own, text, more, urls, _cards(card), quote_of, _repost(status, server))
    for inner in (status.reblog, quoted if status.reblog is None else None):
        if inner is not None:
            _glance(at, inner, server, known, seen)


def _quoted(status: Status) -> Status | None:
    shown = status.reblog or status
    return shown.quote.quoted_status if shown.quote else None


def _repost(status: Status, server: str) -> str:
    return _id(status.reblog, server) if status.reblog else ""


def _cards(card: _Card | None) -> list[tuple[str, str, str]]:
    return [(card.url or "", card.title or "", card.description or "")] if card else NONE


def post(more: tuple[Status, Status, str, str]) -> Post:
    """The row of a status; of a boost, with what it shows."""
    status, shown, own, server = more
    text, links = plain(shown.content or "")
    warning = (shown.spoiler_text or "").strip()
    card, quoted = shown.card, _quoted(status)
    home = own.removeprefix("masto:").split("/", maxsplit=1)[0]
    return Post(
        own,
        str(status.id or own.rpartition("/")[2]),
        "mastodon",
        f"{warning}\n\n{text}" if warning else text,
        status.created_at or "",
        shown.language or "",
        list(dict.fromkeys([*links, *([card.url] if card and card.url else [])])),
        _cards(card),
        [(medium.type or "", medium.description or "") for medium in shown.media_attachments or ()],
        f"masto:{server or home}/{shown.in_reply_to_id}" if shown.in_reply_to_id and status is shown else "",
        "",
        _id(quoted, server) if quoted else "",
        plain(quoted.content or "")[0] if quoted else "",
        _repost(status, server),
        "",
        (shown.replies_count, shown.reblogs_count, shown.favourites_count, shown.quotes_count),
    )


_TAG = re.compile(
    r'</?(?:p|br|a|span|strong|em|b|i|u|del|s|code|pre|ul|ol|li|blockquote)(?: [a-z-]+="[^"<>]*")* ?/?>'
)
_HREF, _CUT_OFF = re.compile(' href="([^"]*)"'), re.compile("&[^;<>&]*<")


def loose(content: str) -> tuple[str, list[str]]:
    """Text with the tokens of `plain`, and at least its addresses, without a parser; blanks may differ.

    That goes where tags are as servers write them. A reference that a tag cuts off is the parser's, and anything else.
    """
    text, links = content, NONE
    if "<" in content:
        if content.find("<", 3) == len(content) - 4 and content[:3] == "<p>" and "&" not in content:
            return (content[3:-4], NONE) if content.endswith("</p>") else plain(content)
        text = _TAG.sub("", content.replace("<br", " <br").replace("<p", " <p"))
        if "<" in text or ("&" in content and _CUT_OFF.search(content)):
            return plain(content)
        if " href=" in content:
            links = _HREF.findall(content)
            if "&" in content:
                links = [unescape(link) for link in links]
    return (unescape(text) if "&" in text else text), links


class _Reader(HTMLParser):
    """Text and links; paragraphs and breaks are line ends, mentions and hashtags are no links."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag == "br":
            self.parts.append("\n")
        elif tag == "p" and self.parts:
            self.parts.append("\n\n")
        elif tag == "a" and not {"mention", "hashtag"} & set((known.get("class") or "").split()):
            self.links.append(known.get("href") or "")

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def plain(content: str) -> tuple[str, list[str]]:
    r"""The text of a status' HTML, and the addresses it links to.

    >>> plain('<p>See <a href="https://a.org/b"><span class="invisible">https://</span>a.org/b</a></p><p>x &amp; y</p>')
    ('See https://a.org/b\n\nx & y', ['https://a.org/b'])
    """
    reader = _Reader()
    reader.feed(content)
    reader.close()
    return "".join(reader.parts).strip(), [link for link in reader.links if link.startswith("http")]


FORM = Glancing(msgspec.json.Decoder(_Line), glances, post)
read = FORM.read
