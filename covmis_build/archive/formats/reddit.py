"""Reddit: dumps (Pushshift, Arctic Shift), API responses, PRAW's and PMAW's tables, snscrape's lines.

Ids are base 36: 12345 and 1e5 are ids, not numbers. Dumps escape `<`, `>` and `&`, also in URLs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build.archive.dates import Form, TimeForm
from covmis_build.archive.formats.decoding import decoded
from covmis_build.archive.formats.table_tools import ISO, Row, in_text, need
from covmis_build.archive.post import Post, unescaped

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

NAME = "reddit"
WHOLE = True

ID = "id"
SECONDS = TimeForm(Form.SECONDS)
GONE = {"[deleted]": "deleted", "[removed]": "removed"}


class _Row(msgspec.Struct, gc=False):
    id: str | None = None
    name: str | None = None
    title: str | None = None
    selftext: str | None = None
    body: str | None = None
    url: str | None = None
    is_self: bool | None = None
    created_utc: int | float | str | None = None
    link_id: str | None = None
    parent_id: str | None = None
    crosspost_parent: str | None = None
    num_comments: int | None = None
    score: int | None = None


class _Scraped(msgspec.Struct, gc=False, rename="camel"):
    id: str
    kind: str = msgspec.field(default="", name="_type")
    body: str | None = None
    title: str | None = None
    selftext: str | None = None
    link: str | None = None
    date: str | None = None
    parent_id: str | None = None


class _Line(_Row, gc=False):
    data: list[_Row] | None = None
    kind: str | None = msgspec.field(default=None, name="_type")


_decoder = msgspec.json.Decoder(_Line)
_scraped = msgspec.json.Decoder(_Scraped)


def recognises_line(row: dict[str, Any]) -> bool:
    """Recognise the keys of all Reddit objects, alone or in Arctic Shift's responses."""
    if str(row.get("_type", "")).startswith("snscrape.modules.reddit"):
        return True
    data = row.get("data")
    first = data[0] if isinstance(data, list) and data and isinstance(data[0], dict) else row
    return {"id", "subreddit", "created_utc"} <= first.keys() and bool({"body", "title"} & first.keys())


def read(line: bytes) -> list[Post]:
    """Return the comments and submissions of a line."""
    row: _Line = decoded(_decoder, line)
    if row.kind:
        return [_of_snscrape(decoded(_scraped, line))]
    return [_post(thing) for thing in (row.data if row.data is not None else [row])]


def _post(row: _Row) -> Post:
    comment = row.body is not None
    name = row.name or f"{'t1' if comment else 't3'}_{need(row.id or '')}"
    own = f"reddit:{need(name)}"
    text, availability = _text(row.body if comment else row.selftext)
    title = unescaped(row.title or "")
    if not comment and availability == "available":
        text = f"{title}\n\n{text}" if text else title
    linked = [] if comment or row.is_self or not row.url else [unescaped(row.url)]
    when = row.created_utc
    moment = str(int(when)) if isinstance(when, int | float) else str(when or "")
    return Post(
        own,
        name,
        "reddit",
        text,
        SECONDS.read(moment),
        urls=list(dict.fromkeys([*(link for link in linked if link.startswith("http")), *in_text(text)])),
        reply_to=f"reddit:{row.parent_id}" if row.parent_id else "",
        quote_of="",
        repost_of=f"reddit:{row.crosspost_parent}" if row.crosspost_parent else "",
        conversation=f"reddit:{row.link_id}" if row.link_id else "" if comment else own,
        availability=availability,
    )


def _text(escaped: str | None) -> tuple[str, str]:
    """Return the text, and whether it exists: Reddit replaces a deleted text by a mark."""
    gone = GONE.get((escaped or "").strip(), "")
    if gone:
        return "", gone
    return unescaped(escaped or "").replace("&#x200B;", " "), "available"


def _of_snscrape(row: _Scraped) -> Post:
    own = f"reddit:{need(row.id)}"
    comment = row.kind.endswith("Comment")
    text, availability = _text(row.body if comment else row.selftext)
    title = unescaped(row.title or "")
    if not comment and availability == "available":
        text = f"{title}\n\n{text}" if text else title
    links = [unescaped(row.link)] if row.link and row.link.startswith("http") else []
    return Post(
        own,
        row.id,
        "reddit",
        text,
        ISO.read(row.date or ""),
        urls=list(dict.fromkeys([*links, *in_text(text)])),
        reply_to=f"reddit:{row.parent_id}" if row.parent_id else "",
        conversation="" if comment else own,
        availability=availability,
    )


def recognises_header(header: AbstractSet[str]) -> bool:
    """Recognise tables of PRAW and PMAW, which use Reddit's own names."""
    return {"id", "created_utc", "subreddit"} <= header and bool({"body", "title"} & header)


def post(row: Row) -> Post:
    """Return the comment or submission of a row."""
    is_self = row.get("is_self", "").lower() in {"true", "1"}
    fields_of_row = {
        name: row.get(name) or None
        for name in ("id", "name", "title", "url", "created_utc", "link_id", "parent_id")
    }
    body = row.get("body") if "body" in row else None
    return _post(_Row(**fields_of_row, selftext=row.get("selftext"), body=body, is_self=is_self))  # type: ignore[arg-type]
