"""Mastodon: statuses, timelines and search pages, whose HTML becomes the displayed text; snscrape's lines."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlsplit

import msgspec

from covmis_build.archive.formats.decoding import decoded, reader
from covmis_build.archive.post import NONE, Post, Stamp

NAME = "mastodon"
SCRAPED = "snscrape.modules.mastodon"


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
    """A status in the API's format."""

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


def recognises_line(row: dict[str, Any]) -> bool:
    """Recognise statuses (HTML content and a URL of their own) and search pages (`statuses`)."""
    if str(row.get("_type", "")).startswith(SCRAPED):
        return True
    stamp = row.get("__covmis")
    if isinstance(stamp, dict) and stamp.get("source"):
        return str(stamp["source"]).startswith("mastodon")
    if isinstance(row.get("statuses"), list) and "search_metadata" not in row:
        return True
    return "content" in row and "uri" in row and ("account" in row or "spoiler_text" in row)


def posts(row: _Line) -> list[Post]:
    """Return the statuses of a line, and those that they boost and quote."""
    statuses = row.statuses if row.statuses is not None else [row]
    server = urlsplit(row.stamp.url or "").netloc if row.stamp else ""
    by_id: dict[str, Post] = {}
    for status in statuses:
        _add(status, server, by_id)
    listed = list(by_id.values())
    if not listed and row.statuses is None:
        raise ValueError("a row without status")
    if row.stamp:
        row.stamp.mark(listed, {id_of(status, server) for status in statuses})
    return listed


def id_of(status: Status, server: str) -> str:
    """Identify a status by its home server and its number there, so that copies on other servers are the same post."""
    steps = (status.uri or "").split("/")
    if (
        len(steps) > 4
        and steps[0] == "https:"
        and not steps[1]
        and steps[2]
        and steps[-2] in _KINDS
        and (steps[-1].isalnum() and steps[-1].isascii() and "\n" not in (status.uri or ""))
    ):  # servers' usual format first: the regular expression below is slow for long URLs
        return f"masto:{steps[2].lower()}/{steps[-1]}"
    for address in (status.uri, status.url):
        match = _STATUS.fullmatch(address or "")
        if match:
            return f"masto:{match[1].lower()}/{match[2]}"
    home = server or urlsplit(status.url or status.uri or "").netloc
    return f"masto:{home.lower()}/{status.id}" if home and status.id else ""


_KINDS = frozenset({"statuses", "notice", "notes", "objects"})
_STATUS = re.compile(r"https?://([^/]+)/(?:.*/)?(?:statuses|@[^/]+|notice|notes|objects)/([\w-]+)")


def _add(status: Status, server: str, by_id: dict[str, Post]) -> None:
    """Add a status if missing, and the one that it boosts or quotes."""
    own = id_of(status, server)
    if not own or status.content is None:
        return
    shown = status.reblog or status
    quoted = shown.quote.quoted_status if shown.quote else None
    if own not in by_id:
        by_id[own] = _post(own, status, quoted, server)
    if inner := status.reblog or quoted:
        _add(inner, server, by_id)


def _post(own: str, status: Status, quoted: Status | None, server: str) -> Post:
    """Return the post of a status; a boost has the boosted content."""
    shown, parent, reply_to = status, status.in_reply_to_id, ""
    if status.reblog is not None:
        shown = status.reblog
    elif parent:
        home = server or own.removeprefix("masto:").split("/", maxsplit=1)[0]
        reply_to = f"masto:{home}/{parent}"
    text, urls = plain(shown.content or "")
    if shown.spoiler_text and (warning := shown.spoiler_text.strip()):
        text = f"{warning}\n\n{text}"
    card, cards, media = shown.card, NONE, NONE
    if card is not None:
        cards = [(card.url or "", card.title or "", card.description or "")]
        if card.url:
            urls = [*urls, card.url]
    if shown.media_attachments:
        media = [(medium.type or "", medium.description or "") for medium in shown.media_attachments]
    return Post(
        own,
        str(status.id or own.rpartition("/")[2]),
        "mastodon",
        text,
        status.created_at or "",
        shown.language or "",
        list(dict.fromkeys(urls)) if len(urls) > 1 else urls,
        cards,
        media,
        reply_to,
        "",
        id_of(quoted, server) if quoted else "",
        plain(quoted.content or "")[0] if quoted else "",
        id_of(status.reblog, server) if status.reblog else "",
        "",
        (shown.replies_count, shown.reblogs_count, shown.favourites_count, shown.quotes_count),
    )


_ATTRIBUTES = r'(?: [a-z-]+="[^"<>]*")*'
_LINK = re.compile(
    r'<a href="(https?://[^"<>&]*(?:&amp;[^"<>&]*)*)"(?: (?:target|rel|translate)="[^"<>]*")*><span class="invisible">'
    r'([^<>]*)</span><span class="(?:ellipsis)?">([^<>]*)</span><span class="invisible">([^<>]*)</span></a>'
)
"""A link in Mastodon's format, with its URL in three parts."""
_TAG = re.compile(rf"</?(?:p|br|a|span|strong|em|b|i|u|del|s|code|ul|ol|li|blockquote){_ATTRIBUTES} ?/?>")
_ANCHOR, _ATTRIBUTE = re.compile(f"<a({_ATTRIBUTES})"), re.compile(' ([a-z-]+)="([^"]*)"')
_CUT_OFF = re.compile("&[^;<>&]*<")


def plain(content: str) -> tuple[str, list[str]]:
    r"""Return the displayed text of a status's HTML, and its linked URLs.

    >>> plain('<p>See <a href="https://a.org/b"><span class="invisible">https://</span>a.org/b</a></p><p>x &amp; y</p>')
    ('See https://a.org/b\n\nx & y', ['https://a.org/b'])
    """
    inner = text = content.removeprefix("<p>").removesuffix("</p>")
    links: list[str] = NONE
    if "<" in inner:
        pieces = _LINK.split(inner)
        links = [link.replace("&amp;", "&") for link in pieces[1::5]]
        del pieces[1::5]
        text = "".join(pieces)
        if "<" in text:
            pieces[::4] = map(_without_tags, pieces[::4])
            text = "".join(pieces)
            if inner.count("<a") > len(links):
                links = _linked(inner)
        if "<" in text or ("&" in inner and _CUT_OFF.search(inner)):
            return parsed(content)
    return (unescape(text) if "&" in text else text).strip(), links


def _without_tags(text: str) -> str:
    """Return the text between links. Remaining tag characters mean an unusual format."""
    return _TAG.sub("", text.replace("<br", "\n<br").replace("<p", "\n\n<p"))


def _linked(content: str) -> list[str]:
    """Return the URLs of all anchors except mentions and hashtags, if all tags have the servers' format."""
    links = []
    for attributes in _ANCHOR.findall(content):
        if "&" in attributes.replace("&amp;", ""):
            return parsed(content)[1]
        known = dict(_ATTRIBUTE.findall(attributes))
        if _OWN.isdisjoint(known.get("class", "").split()):
            links.append(known.get("href", "").replace("&amp;", "&"))
    return [link for link in links if link.startswith("http")]


_OWN = frozenset({"mention", "hashtag"})
"""Classes of anchors for people and hashtags, which are not links."""


class _Reader(HTMLParser):
    """Collects text and links. Paragraphs and breaks are line ends; mentions and hashtags are not links."""

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
        elif tag == "a" and _OWN.isdisjoint((known.get("class") or "").split()):
            self.links.append(known.get("href") or "")

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        """Skip an unknown `<![x[` as a comment up to the next `>`, as browsers do; Python's parser would fail."""
        try:
            return super().parse_marked_section(i, report)
        except AssertionError:
            return self.parse_bogus_comment(i, report)


def parsed(content: str) -> tuple[str, list[str]]:
    """Parse any HTML; ten times slower."""
    reader = _Reader()
    reader.feed(content)
    reader.close()
    return "".join(reader.parts).strip(), [link for link in reader.links if link.startswith("http")]


class _Attachment(msgspec.Struct, gc=False):
    name: str | None = None


class _Toot(msgspec.Struct, gc=False, rename="camel"):
    """A line of snscrape: a post, or a boost of one."""

    url: str | None = None
    date: str | None = None
    text: str | None = None
    spoiler_text: str | None = None
    links: list[str] | None = None
    attachments: list[_Attachment] | None = None
    toot: _Toot | None = None


def _of_snscrape(row: _Toot) -> list[Post]:
    """Return the post. A boost has no address and no time of its own: only the boosted post is known."""
    shown = row.toot or row
    own = id_of(Status(url=shown.url), "")
    if not own:
        raise ValueError(f"no status's address: {(shown.url or '')[:60]}")
    # snscrape calls the warning `text` and the hidden words `spoilerText`
    text = "\n\n".join(part for part in (shown.text, shown.spoiler_text) if part)
    native = own.rpartition("/")[2]
    media = [("", "") for _ in shown.attachments or ()] or NONE
    return [Post(own, native, NAME, text, shown.date or "", urls=shown.links or NONE, media=media)]


_line, _toot = reader(msgspec.json.Decoder(_Line), posts), msgspec.json.Decoder(_Toot)


def read(line: bytes) -> list[Post]:
    """Return the posts of a line of the API, or of snscrape."""
    return _of_snscrape(decoded(_toot, line)) if SCRAPED.encode() in line[:100] else _line(line)
