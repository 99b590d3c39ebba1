"""CrowdTangle: CSV exports of Facebook and Instagram, and API responses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build.archive import ids
from covmis_build.archive.dates import ZONES, Form, TimeForm
from covmis_build.archive.formats.decoding import decoded
from covmis_build.archive.formats.table_tools import ISO, Row
from covmis_build.archive.post import Post

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

NAME = "crowdtangle"
WHOLE = True

ID = "URL"
SHOWN = ":=:"
"""Separator between a URL as displayed in a message and the full URL."""
OWN = re.compile(r"https?://(?:www\.)?(?:facebook|instagram)\.com/")
_LETTERS = TimeForm(Form.LETTERS)


def recognises_header(header: AbstractSet[str]) -> bool:
    """Recognise the exports' column names."""
    return {"URL", "Message", "Total Interactions"} <= header or {
        "URL",
        "Description",
        "Total Interactions",
    } <= header


def post(row: Row) -> Post:
    """Return the post of a row; its id is in its URL."""
    post_id = ids.post_id(row["URL"].strip(), "")
    if not post_id:
        raise ValueError(f"no post id in the address: {row['URL'][:80]}")
    shown, whole = _whole_addresses(row.get("Message", ""))
    moment = row.get("Post Created", "")
    zone = moment.rpartition(" ")[2]
    if zone.isalpha() and zone not in ZONES:
        raise ValueError(f"the zone {zone} may mean several (timezone = …)")
    link, final = row.get("Link", ""), row.get("Final Link", "")
    title = row.get("Link Text", "")
    addresses = [address for address in (*whole, final, link) if address and not OWN.match(address)]
    card = [(final or link, title, row.get("Description", ""))] if title else []
    return Post(
        post_id,
        post_id.partition(":")[2],
        ids.platform_of(post_id),
        shown,
        _LETTERS.read(moment) or ISO.read(moment),
        urls=list(dict.fromkeys(addresses)),
        cards=card,
    )


def _whole_addresses(message: str) -> tuple[str, list[str]]:
    """Return the text as displayed, and the full URLs behind it."""
    whole = re.findall(rf"{SHOWN}(\S+)", message)
    return re.sub(rf"{SHOWN}\S+", "", message), whole


class _Link(msgspec.Struct, gc=False):
    expanded: str | None = None


class _Post(msgspec.Struct, gc=False, rename="camel"):
    platform_id: str | None = None
    platform: str | None = None
    date: str | None = None
    message: str | None = None
    title: str | None = None
    description: str | None = None
    expanded_links: list[_Link] | None = None
    link: str | None = None
    post_url: str | None = None
    language_code: str | None = None


class _Result(msgspec.Struct, gc=False):
    posts: list[_Post] | None = None


class _Line(_Post, gc=False, rename="camel"):
    result: _Result | None = None


_decoder = msgspec.json.Decoder(_Line)


def recognises_line(row: dict[str, Any]) -> bool:
    """Recognise an API response or a post of one."""
    result = row.get("result")
    return {"platformId", "postUrl"} <= row.keys() or (
        isinstance(result, dict) and isinstance(result.get("posts"), list)
    )


def read(line: bytes) -> list[Post]:
    """Return the posts of a response; its times are UTC."""
    row: _Line = decoded(_decoder, line)
    listed = row.result.posts or [] if row.result else [row]
    return [_of_interface(post) for post in listed]


def _of_interface(row: _Post) -> Post:
    prefix = {"facebook": "facebook", "instagram": "instagram"}.get((row.platform or "").lower(), "")
    native = row.platform_id or ""
    post_id = ids.post_id(row.post_url or "", "") if prefix == "instagram" else ids.post_id(native, prefix)
    if not prefix or not native or not post_id:
        raise ValueError("a post without platform or id")
    addresses = [link.expanded or "" for link in row.expanded_links or ()] + [row.link or ""]
    return Post(
        post_id,
        post_id.partition(":")[2],
        prefix,
        row.message or "",
        ISO.read(row.date or ""),
        row.language_code or "",
        list(dict.fromkeys(address for address in addresses if address and not OWN.match(address))),
        [(row.link or "", row.title, row.description or "")] if row.title else [],
    )
