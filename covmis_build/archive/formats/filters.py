"""What a form does with values: its filters, and the functions that compiled forms call."""

from __future__ import annotations

import hashlib
import html as markup
import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from covmis_build.archive import ids
from covmis_build.archive.dates import ZONES, Form, TimeForm
from covmis_build.archive.formats.bluesky import post_id as id_of_uri
from covmis_build.archive.post import unescaped

if TYPE_CHECKING:
    from collections.abc import Iterable

ADDRESS = re.compile(r"https?://[^\s<>\"']+")
LONGEST_NUMBER = 40
"""Maximum number of digits of a count; a longer one is out of range anyway."""
HASHED = 16
"""Digits of an id that is made of a post's content."""
ISO = TimeForm(Form.ISO)
SECONDS = TimeForm(Form.SECONDS)
TIMES = {
    "iso": Form.ISO, "seconds": Form.SECONDS, "ms": Form.MILLISECONDS, "us": Form.MICROSECONDS, "words": Form.RFC_2822,
    "letters": Form.LETTERS, "day_first": Form.DAY_FIRST, "month_first": Form.MONTH_FIRST,
}  # fmt: skip
"""Filters for times. `date:%d.%m.%Y` is one more, and `letters,iso` is the first that reads the time."""


def in_text(text: str) -> list[str]:
    """Return the URLs in a text, without punctuation after them. A bracket is included if it was opened within the URL."""
    addresses = []
    for written in ADDRESS.findall(text):
        address = written.rstrip(".,;:!?…")
        while address.endswith(")") and address.count(")") > address.count("("):
            address = address[:-1].rstrip(".,;:!?…")
        addresses.append(address.rstrip("]}"))
    return list(dict.fromkeys(addresses))


def number(value: object) -> int | None:
    """Return a count, if it is one: 1200, "1200" or "1,200"."""
    if type(value) is float:
        return int(value) if value.is_integer() else None
    text = str(value if value is not None else "").strip()
    text = text.replace(",", "") if _THOUSANDS.fullmatch(text) else text
    return int(text[:LONGEST_NUMBER]) if text.isdecimal() else None


_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")


def need(native: str) -> str:
    """Return an id without spreadsheet protection. A missing id is an error."""
    native = native.strip().lstrip("'")
    if not native:
        raise ValueError("no id")
    if "|" in native or any(ord(mark) < 32 for mark in native):
        raise ValueError(f"not a post id: {native[:60]}")
    return native


def digits(native: str) -> str:
    """Return an id that must be a number."""
    native = need(native)
    if not native.isdigit() or not native.isascii() or len(native) > 20:
        raise ValueError(f"not a post id: {native[:60]}")
    return native


def as_text(value: Any) -> str:
    """Return a value of JSON as a text."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    if value is None:
        return ""
    if kind is int:
        return str(value)
    if kind is float:
        return str(int(value)) if value.is_integer() else str(value)
    if kind is bool:
        return "true" if value else "false"
    raise ValueError("an object or a list where a text was expected")


def at(value: Any, *steps: str | int) -> Any:
    """Return the value at a place in plain JSON; None if it is not there."""
    for step in steps:
        if type(step) is str:
            value = value.get(step) if type(value) is dict else None
        else:
            value = value[step] if type(value) is list and len(value) > step else None  # type: ignore[index, operator]
    return value


def each(value: Any) -> list[Any]:
    """Return the elements of a list of plain JSON; a single value is a list of one."""
    return value if type(value) is list else [] if value is None or value == {} else [value]


def whole_id(post_id: str) -> str:
    """Return a whole post id, which must be there."""
    if not post_id:
        raise ValueError("no post id")
    return post_id


def id_on(native: str, platform: str) -> str:
    """Return the whole id of a post on a platform that the row names."""
    post_id = ids.post_id(native, platform)
    if not post_id:
        raise ValueError(f"not a post id: {native[:60]}")
    return post_id


def related(value: str, prefix: str) -> str:
    """Return the whole id of another post from its bare one."""
    return f"{prefix}:{value}" if value else ""


def together(*parts: str) -> str:
    """Join texts and, at every second place, values; empty if one of the values is."""
    return "".join(parts) if all(parts[1::2]) else ""


def paragraphs(*parts: str) -> str:
    """Join texts by blank lines."""
    return "\n\n".join(part for part in parts if part)


def unique(*links: str) -> list[str]:
    """Return links without empty and repeated ones."""
    return list(filter(None, dict.fromkeys(links)))


def filled(*media: tuple[str, str]) -> list[tuple[str, str]]:
    """Return the media that have a text."""
    return [medium for medium in media if medium[1]]


def texts(values: Iterable[Any]) -> list[str]:
    """Return the texts of a list's elements."""
    return [as_text(value) for value in values if value is not None]


def _plain(text: str) -> str:
    """Convert HTML to text: breaks and paragraphs become line ends, shortened URLs the full ones."""
    if "<" in text:
        text = _LINK.sub(r"\1", text)
        text = _TAG.sub("", _PARAGRAPH.sub("\n\n", _BREAK.sub("\n", text)))
    return markup.unescape(text)


_LINK = re.compile(r"""<a [^>]*?href=["'](https?://[^"']*)["'][^>]*>.*?</a>""", re.DOTALL)
_BREAK, _PARAGRAPH, _TAG = re.compile(r"<br ?/?>"), re.compile(r"</p>\s*<p[^>]*>"), re.compile(r"<[^>]+>")


def _from_json(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def _links_in(value: Any, *keys: str) -> list[str]:
    """Return these texts of each object of a list, and elements that are texts themselves."""
    parts = value if type(value) is list else []
    listed = [[part] if type(part) is str else [at(part, key) for key in keys] for part in parts]
    return [link for links in listed for link in links if type(link) is str]


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return (match[1] if pattern.groups else match[0]) or "" if match else ""


def _spans(value: Any) -> str:
    """Join a text that is a list of texts and of objects with one."""
    return "".join(as_text(at(part, "text") if type(part) is dict else part) for part in each(value))


def _of_meta(text: str) -> str:
    """Repair a text of Meta's downloads: UTF-8 bytes written as if they were Latin-1."""
    try:
        return text.encode("latin-1").decode()
    except UnicodeError:
        return text


def _zone_known(text: str) -> str:
    zone = text.rpartition(" ")[2]
    if zone.isalpha() and zone not in ZONES:
        raise ValueError(f"the zone {zone} may mean several (timezone = …)")
    return text


def _matched(table: tuple[tuple[re.Pattern[str], str], ...], text: str) -> str:
    return next((meaning for pattern, meaning in table if pattern.search(text)), "")


def _split(pattern: re.Pattern[str], text: str) -> list[str]:
    return [part.strip() for part in pattern.split(text) if part.strip()]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:HASHED] if text else ""


class Does(NamedTuple):
    """What a filter takes and gives, and its code. `v` is the value, `p` a pattern, `m` a map, `a`, `b` other arguments.

    Kinds: text, any (a value of JSON), list, id (a whole post id).
    """

    takes: str
    gives: str
    code: str
    says: str
    of_one: str = ""
    """The code for a text, of a filter that takes a list."""


FILTERS: dict[str, Does] = {
    "digits": Does("text", "text", "_digits({v})", "an id that must be a number; others are refused"),
    "need": Does("text", "text", "_need({v})", "an id that must be there"),
    "as_id": Does("text", "id", "_post_id({v}, {a})", "the post that an address, or an id of platform ARGUMENT, means"),
    "of_platform": Does("text", "id", "_post_id({v}, platform)", "the post of $platform with this id"),
    "at_uri": Does("text", "id", "_id_of_uri({v})", "the post that an AT protocol URI means"),
    "hash": Does("text", "text", "_hash({v})", "an id made of this text"),
    "unescape": Does("text", "text", "_unescaped({v})", "&amp; &lt; &gt; become characters"),
    "html": Does("text", "text", "_plain({v})", "HTML becomes text"),
    "strip": Does("text", "text", "{v}.strip()", "without spaces at both ends"),
    "lower": Does("text", "text", "{v}.lower()", "in lower case"),
    "mojibake": Does("text", "text", "_of_meta({v})", "Ã¼ becomes ü, as in Meta's downloads"),
    "prefix": Does("text", "text", "_together({a}, {v})", "ARGUMENT, then the text; empty if that is"),
    "replace": Does("text", "text", "{v}.replace({a}, {b})", "replace:OLD:NEW"),
    "lineends": Does("text", "text", "{v}.replace('\\\\n', '\\n')", "a line end for each backslash with n"),
    "before": Does("text", "text", "{v}.partition({a})[0]", "the text before the first ARGUMENT"),
    "after": Does("text", "text", "{v}.rpartition({a})[2]", "the text after the last ARGUMENT"),
    "cut": Does("text", "text", "{p}.sub('', {v})", "without what the expression matches"),
    "find": Does("text", "text", "_first({p}, {v})", "the first match, or its group"),
    "map": Does("text", "text", "{m}.get({v}, '')", "the meaning in maps.ARGUMENT"),
    "match": Does("text", "text", "_matched({m}, {v})", "the meaning of the first expression of maps.ARGUMENT that matches"),
    "known_zone": Does("text", "text", "_zone_known({v})", "times with an ambiguous zone such as IST are refused"),
    "joined": Does("any", "text", "_spans({v})", "one text of a list of texts and of objects with `text`"),
    "json": Does("text", "any", "_from_json({v})", "JSON in a cell"),
    "keys": Does("any", "list", "_links_in({v}, {names})", "these keys of each object of a list"),
    "urls": Does("text", "list", "_in_text({v})", "the URLs in a text"),
    "all": Does("text", "list", "{p}.findall({v})", "all matches, or their group"),
    "split": Does("text", "list", "_split({p}, {v})", "the parts between matches"),
    "only": Does("list", "list", "[w for w in {v} if w and {p}.match(w)]", "those that begin with a match",
                 "([t] if (t := {v}) and {p}.match(t) else [])"),
    "not": Does("list", "list", "[w for w in {v} if w and not {p}.match(w)]", "those that do not begin with a match",
                "([t] if (t := {v}) and not {p}.match(t) else [])"),
}  # fmt: skip

CALLED = {
    "_digits": digits, "_need": need, "_post_id": ids.post_id, "_platform_of": ids.platform_of, "_id_of_uri": id_of_uri,
    "_hash": _hash, "_unescaped": unescaped, "_plain": _plain, "_of_meta": _of_meta, "_together": together, "_first": _first,
    "_matched": _matched, "_zone_known": _zone_known, "_spans": _spans, "_from_json": _from_json, "_links_in": _links_in,
    "_in_text": in_text, "_split": _split, "_text": as_text, "_at": at, "_each": each, "_number": number,
    "_whole_id": whole_id, "_id_on": id_on, "_related": related, "_paragraphs": paragraphs, "_unique": unique,
    "_filled": filled, "_texts": texts,
}  # fmt: skip
"""The functions that compiled forms call, by the names that they have there."""
