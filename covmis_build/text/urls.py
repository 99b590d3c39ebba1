"""Canonical keys of pages: the same for all URLs of a page, different for different pages.

A key is `host/path?query` without scheme. Wrappers (web archives, AMP caches, link shields) are opened; mobile and AMP
hosts, default ports, tracking parameters, fragments and trailing slashes are removed; escapes are normalised. Paths keep
their case. `sites.py` has rules for sites with several URLs per page. There is no network access: short links that only
their server can resolve are unchanged.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, quote, unquote_to_bytes, urlsplit

from covmis_build.text.sites import ADDED, inside, same_page

if TYPE_CHECKING:
    from collections.abc import Iterator


TRACKING = re.compile(
    r"""(?ix) utm_\w+ | fbclid | gclid | gclsrc | dclid | gbraid | wbraid | msclkid | yclid | twclid | ttclid | igshid | igsh
    | li_fat_id | mc_[ce]id | _hs(?:enc|mi) | hsctatracking | mkt_tok | ref_(?:src|url) | __twitter_impression | ncid
    | (?:s_)?(?:cid|kwcid) (?<!^cid) | cmpid | cmp | ito | icid | ocid | smid | smtyp | sr_share | taid | tpcc | at_(?:medium|campaign\w*|custom\w*|link\w*)
    | ns_(?:mchannel|source|campaign|linkname|fee) | xtor | wt[._]mc(?:_id)? | vero_\w+ | oly_(?:enc|anon)_id | _g[al] | spm
    | guccounter | guce_referrer(?:_\w+)? | amp | amp_\w+ | fb_(?:action_ids|action_types|ref|source|comment_id)
    | action_(?:object|type|ref)_map | mibextid | __(?:tn|xts|cft|s)__(?:\[\d*\])? | soc_(?:src|trk) | s_source | share_?id | sharetype | _branch_match_id
    | trk(?:info|campaign)? | piano\w* | pwapi_token | recruiter | recruited_by_id | usqp | __s | _openstat | hootpostid | sfns"""
)
"""Parameters that describe the referrer, not the page."""

_TRACKING_OF = {
    **dict.fromkeys(
        ("youtube.com", "youtu.be", "music.youtube.com", "facebook.com"), ("app", "feature", "si")
    ),
    **dict.fromkeys(("wsj.com", "marketwatch.com", "barrons.com"), ("mod",)),
    "nytimes.com": ("emc",),
    "open.spotify.com": ("si",),
    "soundcloud.com": ("si",),
}
"""Such parameters on specific sites; elsewhere they may identify the page: a forum's `?mod=viewthread`."""

_INDEX = re.compile(r"/(?:index|default)\.(?:html?|php|aspx?|jsp|cfm)$", re.IGNORECASE)
_IN_TEXT = re.compile(
    r"(?:https?://|(?<![\w@./:-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}/)[^\s<>\"“”«»]+",
    re.IGNORECASE,
)


_SHORTENED = re.compile(r"https?://t\.co/", re.IGNORECASE)


@functools.lru_cache(maxsize=1 << 12)
def canonical_url(url: str) -> str:
    """Return the key of the page at this URL; empty if the text contains no URL.

    >>> canonical_url("https://m.example.org/a/?utm_source=x&id=3#top")
    'example.org/a?id=3'
    >>> canonical_url("http://youtu.be/Ab-1")
    'youtube.com/watch?v=Ab-1'
    """
    parts = opened(url)
    return str(_tidy(same_page(parts))) if parts else ""


def spellings(url: str) -> tuple[str, ...]:
    """Return the page's possible URLs in posts, for platforms' searches: the given one first, then the key.

    They have no scheme, wrapper, tracking or irrelevant parameters.

    >>> spellings("https://web.archive.org/web/2020/https://hoax-alert.leadstories.com/a.html?fbclid=1")
    ('hoax-alert.leadstories.com/a.html', 'leadstories.com/hoax-alert/a.html')
    >>> spellings("https://facebook.com/photo.php?fbid=12&set=a.3&type=1&theater")
    ('facebook.com/photo.php?fbid=12', 'facebook.com/photo?fbid=12')
    >>> spellings("https://twitter.com/who/status/12?s=20")
    ('twitter.com/who/status/12', 'x.com/who/status/12')
    """
    parts, key = opened(url), canonical_url(url)
    if parts is None:
        return ()
    tidy, asked = _tidy(parts), set(re.split("[?&=]", key)[1:])
    kept = [(name, value) for name, value in parts.query if (name, value) in tidy.query]
    kept = [(name, value) for name, value in kept if quoted(value or name) in asked]
    forms = [str(tidy._replace(query=tuple(kept))), key]
    if key.startswith("youtube.com/watch?v="):
        forms.append("youtu.be/" + key.partition("=")[2])
    if key.startswith("x.com/status/") and "/status/" in tidy.path:
        forms = [f"{host}{tidy.path}" for host in (tidy.host, "twitter.com", "x.com")]
    return tuple(dict.fromkeys(forms))


def opened(url: str) -> SplitUrl | None:
    """Return the split URL after opening every wrapper around it."""
    parts = _split_url(url)
    for _ in range(6):
        inner = inside(parts) if parts else ""
        within = _split_url(inner) if inner else None
        if within is None:
            break
        parts = within
    return parts


def addresses(text: str) -> Iterator[str]:
    """Return the URLs in a text, with or without scheme. Shortened t.co URLs are omitted."""
    if "/" not in text:
        return
    for piece in text.split():
        if "/" not in piece or piece.startswith(("https://t.co/", "http://t.co/")):
            continue
        for match in _IN_TEXT.finditer(piece):
            address = match[0].rstrip(".,;:!?'…’*_")
            while address.endswith(")") and address.count(")") > address.count("("):
                address = address[:-1].rstrip(".,;:!?'…’")
            if not _SHORTENED.match(address):
                yield address


def telling_piece(key: str) -> str:
    """Return the longest run of letters, digits, - and _ after the host. Every URL with this key contains it (unescaped).

    >>> telling_piece("youtube.com/watch?v=E95qChF-MOo")
    'E95qChF-MOo'
    """
    if key.startswith("dailymotion.com/"):
        return ""  # a title may follow the number
    host, _, behind = re.sub("%[0-9A-F]{2}", " ", key).partition("/")
    runs = (run for run in re.findall("[A-Za-z0-9_-]+", behind) if run not in ADDED.get(host, ()))
    return max(runs, key=len, default="")


def _tidy(parts: SplitUrl) -> SplitUrl:
    """Normalise escapes, path steps, trailing slash, AMP, tracking, and the order of parameters."""
    path = re.sub(r";jsessionid=[^/?]*", "", parts.path, flags=re.IGNORECASE)
    path = re.sub(r"/{2,}", "/", quoted(path, PATH_SAFE))
    path = _without_dots(path)
    path = re.sub(r"(?:/amp(?:\.html?)?|\.amp)/?$", "", path)
    path = re.sub(r"\.amp(?=\.html?$)", "", path)
    path = re.sub(r"^/amp/(?=[^/]*[^/\d])", "/", path)
    own = _TRACKING_OF.get(parts.host, ())
    query = tuple(
        sorted(
            {
                (name, value)
                for name, value in parts.query
                if not TRACKING.fullmatch(name)
                and name.lower() not in own
                and (name.lower(), value.lower()) != ("outputtype", "amp")
            }
        )
    )
    path = _INDEX.sub("", path) if not query else path
    return parts._replace(path=path.rstrip("/"), query=query)


def _without_dots(path: str) -> str:
    if "/." not in path:
        return path
    kept: list[str] = []
    for step in path.split("/"):
        if step == "..":
            kept = kept[:-1] if len(kept) > 1 else kept
        elif step != ".":
            kept.append(step)
    return "/".join(kept)


_HOST_PREFIX = re.compile(r"^(?:www\d?|m|mobile|amp|touch)\.(?=[^.]+\.)")
_PUBLIC = {
    f"{kind}.{country}"
    for kind in ("co", "com", "org", "net", "gov", "ac", "edu")
    for country in (
        "uk",
        "au",
        "nz",
        "za",
        "in",
        "jp",
        "kr",
        "br",
        "mx",
        "ar",
        "tr",
        "cn",
        "tw",
        "hk",
        "sg",
        "my",
        "ph",
        "ng",
        "ke",
        "il",
        "th",
        "id",
    )
}
PATH_SAFE = "!$&'()*+,;=:@/~-._"
_BREAKS = re.compile(r"[\t\r\n]")
_SCHEME, _HTTP = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://"), re.compile(r"https?://", re.IGNORECASE)
_OTHER_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+-]*:(?!//|\d)")


class SplitUrl(NamedTuple):
    """A split URL: `fragment` only if it identifies content; `query` without tracking, sorted."""

    host: str
    path: str
    query: tuple[tuple[str, str], ...]
    fragment: str

    def __str__(self) -> str:
        asked = "&".join(
            f"{quoted(name)}={quoted(value)}" if value else quoted(name) for name, value in self.query
        )
        marked = f"#{self.fragment}" if self.fragment else ""
        return f"{self.host}{self.path}{'?' + asked if asked else ''}{marked}"


def _split_url(url: str) -> SplitUrl | None:
    """Split the URL in this text, whatever is around it; None if it is no web URL."""
    text = url.strip().strip("<>\"'").replace("&amp;", "&")
    text = _BREAKS.sub("", text)
    if text.startswith("at://"):
        text = re.sub(r"^at://([^/]+)/app\.bsky\.feed\.post/", r"https://bsky.app/profile/\1/post/", text)
    if _OTHER_SCHEME.match(text):
        return None
    if not _SCHEME.match(text):
        text = "http://" + text.lstrip("/")
    elif not _HTTP.match(text):
        return None
    try:
        cut = urlsplit(text)
        host, port = cut.hostname or "", cut.port
    except ValueError:
        return None
    host = _host(host)
    if "." not in host and host != "localhost":
        return None
    if port not in {None, 80, 443}:
        host = f"{host}:{port}"
    fragment = cut.fragment if cut.fragment.startswith(("!", "/")) else ""
    return SplitUrl(host, cut.path, tuple(parse_qsl(cut.query, keep_blank_values=True)), fragment)


def _host(host: str) -> str:
    host = host.rstrip(".").lower()
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            return ""
    bare = _HOST_PREFIX.sub("", host)
    while bare != host and bare not in _PUBLIC:
        host, bare = bare, _HOST_PREFIX.sub("", bare)
    return host


def quoted(text: str, safe: str = "!$'()*,;:@/~-._") -> str:
    """Escape only what is necessary, whatever was escaped before; an escaped slash stays escaped."""
    if text.isascii() and "%" not in text and re.fullmatch(r"[\w!$'()*,;:@/~.-]*", text):
        return text
    pieces = re.split(r"(?i)(%2f|%3f|%23|%25|%26|%3d|%2b)", text) if safe is PATH_SAFE else [text]
    return "".join(
        piece.upper()
        if index % 2
        else quote(
            unquote_to_bytes(piece) if safe is PATH_SAFE else piece.encode("utf-8", "replace"), safe=safe
        )
        for index, piece in enumerate(pieces)
    )
