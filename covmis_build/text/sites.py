"""Rules for known sites: URLs that wrap another URL, and pages with several URLs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode

if TYPE_CHECKING:
    from covmis_build.text.urls import SplitUrl

_ARCHIVE_TODAY = {f"archive.{end}" for end in ("is", "today", "ph", "fo", "li", "md", "vn")}
_PARAMETER = {
    "l.facebook.com": "u", "lm.facebook.com": "u", "l.instagram.com": "u", "out.reddit.com": "url",
    "t.umblr.com": "z", "vk.com": "to", "l.messenger.com": "u", "slack-redir.net": "url", "disq.us": "url",
    "duckduckgo.com": "uddg", "exit.sc": "url", "steamcommunity.com": "url", "getpocket.com": "url",
    "translate.google.com": "u", "l.wl.co": "u", "youtube.com": "q", "facebook.com": "u", "linkedin.com": "url",
    "consent.youtube.com": "continue", "consent.google.com": "continue", "away.vk.com": "to", "l.threads.net": "u",
}  # fmt: skip
_SHIELDS = {
    "vk.com": r"/away\.php", "duckduckgo.com": "/l/?", "steamcommunity.com": "/linkfilter/?",
    "getpocket.com": "/redirect", "translate.google.com": "/translate", "youtube.com": "/redirect",
    "facebook.com": r"/(?:flx/warn/?|l\.php)", "linkedin.com": "/(?:redir/redirect|safety/go)", "t.umblr.com": "/redirect",
    "disq.us": "/(?:url)?", "slack-redir.net": "/link",
}  # fmt: skip
"""Hosts that wrap other URLs only under these paths."""
_SHARERS = {
    ("facebook.com", "/sharer"): "u", ("facebook.com", "/sharer.php"): "u", ("facebook.com", "/sharer/sharer.php"): "u",
    ("facebook.com", "/share.php"): "u", ("facebook.com", "/dialog/share"): "href", ("twitter.com", "/intent/tweet"): "url",
    ("x.com", "/intent/tweet"): "url", ("x.com", "/intent/post"): "url", ("twitter.com", "/share"): "url",
    ("linkedin.com", "/shareArticle"): "url", ("linkedin.com", "/sharing/share-offsite"): "url",
    ("t.me", "/share/url"): "url", ("reddit.com", "/submit"): "url", ("pinterest.com", "/pin/create/button"): "url",
}  # fmt: skip
"""Pages for sharing another page: host and path → the parameter with its URL."""


def inside(parts: SplitUrl) -> str:  # noqa: PLR0911 - one rule a kind of wrapper
    """Return the URL that this one wraps; empty if none."""
    host, path, query = parts.host, parts.path, dict(parts.query)
    tail = _tail(parts)
    if host in {"web.archive.org", "archive.org", "wayback.archive.org"}:
        match = re.match(r"(?:/web)?/(?:\d{1,14}|\*)(?:[a-z]{2}_)?\*?/(.+)", path)
        return match[1] + tail if match and "." in match[1] else _wrapped(parts)
    if host in _ARCHIVE_TODAY:
        match = re.match(r"/(?:\d{4}[\d.\-]*|newest|o/\w+)/(.+)", path)
        return match[1] + tail if match else _wrapped(parts) or query.get("url", "")
    if re.fullmatch(r"google(?:\.[a-z]{2,3}){1,2}", host):
        match = re.match(r"/amp/(?:s/)?(.+)", path)
        if path == "/url":
            return query.get("url") or query.get("q", "")
        return match[1] + tail if match else ""
    if host.endswith(".cdn.ampproject.org") or host == "cdn.ampproject.org":
        match = re.match(r"/(?:[a-z]/)+(.+)", path)
        return match[1] + tail if match else ""
    if host == "webcache.googleusercontent.com":
        cached = re.match(r"cache:(?:[\w-]{12}:)?(\S+)", query.get("q", ""))
        return cached[1] if cached else ""
    if host.endswith(".translate.goog"):
        name = re.sub("\0", "-", host[: -len(".translate.goog")].replace("--", "\0").replace("-", "."))
        return name + path + _tail(parts, drop="_x_tr_")
    if host in {"outline.com", "12ft.io", "href.li", "r.jina.ai"}:
        return _wrapped(parts)
    name = _parameter(host, path)
    return query.get(name, "") if name else ""


def _parameter(host: str, path: str) -> str:
    """Return the parameter with the URL that a page of this host shares, or leads to; empty if it has none."""
    if host in _PARAMETER and re.fullmatch(_SHIELDS.get(host, ".*"), path):
        return _PARAMETER[host]
    return _SHARERS.get((host, path.rstrip("/")), "")


def _wrapped(parts: SplitUrl) -> str:
    match = re.match(r"/(?:proxy/|web/|save/)?(https?:/.+)", parts.path)
    bare = next((name for name, value in parts.query if name.startswith("http") and not value), "")
    return re.sub(r"^(https?):/+", r"\1://", match[1]) + _tail(parts) if match else bare


def _tail(parts: SplitUrl, drop: str = "\0") -> str:
    kept = [(name, value) for name, value in parts.query if not name.startswith(drop)]
    return ("?" + urlencode(kept) if kept else "") + (f"#{parts.fragment}" if parts.fragment else "")


_ALIASES = {
    "twitter.com": "x.com", "nitter.net": "x.com", "fxtwitter.com": "x.com", "vxtwitter.com": "x.com",
    "fixupx.com": "x.com", "fixvx.com": "x.com", "mobile.x.com": "x.com",
    "web.facebook.com": "facebook.com", "mbasic.facebook.com": "facebook.com", "fb.com": "facebook.com",
    "old.reddit.com": "reddit.com", "np.reddit.com": "reddit.com", "new.reddit.com": "reddit.com",
    "i.reddit.com": "reddit.com", "sh.reddit.com": "reddit.com", "edition.cnn.com": "cnn.com", "us.cnn.com": "cnn.com",
    "dx.doi.org": "doi.org", "telegram.me": "t.me", "telegram.dog": "t.me", "youtube-nocookie.com": "youtube.com",
    "music.youtube.com": "youtube.com", "gaming.youtube.com": "youtube.com", "bbc.co.uk": "bbc.com",
    "thedailybeast.com": "thedailybeast.com", "huffpost.com": "huffpost.com", "amp-cnn-com.cdn.ampproject.org": "cnn.com",
}  # fmt: skip

_NO_QUERY = {
    "nytimes.com", "washingtonpost.com", "theguardian.com", "dailymail.co.uk", "politifact.com", "snopes.com",
    "leadstories.com", "factcheck.org", "reuters.com", "cnn.com", "bbc.com", "usatoday.com", "foxnews.com",
    "medium.com", "healthfeedback.org", "naturalnews.com", "breitbart.com", "independent.co.uk", "forbes.com",
    "businessinsider.com", "apnews.com", "thegatewaypundit.com", "zerohedge.com", "nypost.com", "thesun.co.uk",
    "mirror.co.uk", "express.co.uk", "buzzfeednews.com", "vox.com", "wsj.com", "bloomberg.com", "cnbc.com",
}  # fmt: skip
"""Sites whose articles are identified by the path alone; their query only describes the referrer."""

_ARTICLE = re.compile(
    r"(?i)/(?:19|20)\d\d/|/(?:19|20)\d\d-\d\d-\d\d|-[0-9a-f]{8,}$|[\w]+(?:-[\w]+){3,}|\.s?html?$"
)


def same_page(parts: SplitUrl) -> SplitUrl:
    """Return the site's standard URL of the page."""
    host = _ALIASES.get(parts.host, parts.host)
    host = re.sub(r"^[a-z]{2}-[a-z]{2}\.facebook\.com$", "facebook.com", host)
    host = re.sub(r"^([\w-]+)\.m\.(wiki\w+\.org)$", r"\1.\2", host)
    host = re.sub(r"^(.+)\.blogspot\.(?:[a-z]{2}|com?\.[a-z]{2})$", r"\1.blogspot.com", host)
    parts = parts._replace(host=host)
    if host in {"x.com", "t.me"} and parts.fragment.startswith("!/"):
        parts = parts._replace(path=parts.fragment[1:], fragment="")
    for pattern, target in _PATHS.get(host, ()):
        match = re.match(pattern, parts.path)
        if match:
            return _target(parts, match.expand(target))
    rule = _BY_QUERY.get(host)
    if rule:
        parts = _by_query(parts, rule)
    if host == "hoax-alert.leadstories.com":
        return parts._replace(host="leadstories.com", path="/hoax-alert" + parts.path, query=())
    if host.endswith(".blogspot.com"):
        return parts._replace(query=tuple(pair for pair in parts.query if pair[0] != "m"))
    if host in _NO_QUERY and _ARTICLE.search(parts.path):
        return parts._replace(query=())
    return parts


def _target(parts: SplitUrl, text: str) -> SplitUrl:
    host, _, rest = text.partition("/")
    path, _, asked = rest.partition("?")
    return parts._replace(
        host=host, path="/" + path if path else "", query=tuple(parse_qsl(asked)), fragment=""
    )


class _Asked(NamedTuple):
    """A page identified by its query: under `path`, the parameter `names` → the target."""

    path: str
    names: tuple[str, ...]
    target: str


_BY_QUERY: dict[str, tuple[_Asked, ...]] = {
    "youtube.com": (
        _Asked("/watch/?", ("v",), "youtube.com/watch?v={}"),
        _Asked("/playlist", ("list",), "youtube.com/playlist?list={}"),
    ),
    "facebook.com": (
        _Asked(r"/(?:photo(?:\.php)?/?)", ("fbid",), "facebook.com/photo?fbid={}"),
        _Asked(r"/(?:watch(?:/live)?/?|video\.php|video/video\.php)", ("v",), "facebook.com/watch?v={}"),
        _Asked(r"/(?:story|permalink)\.php", ("story_fbid", "id"), "facebook.com/story.php?id={1}&story_fbid={0}"),
    ),
    "bitchute.com": (), "dailymotion.com": (),
}  # fmt: skip


def _by_query(parts: SplitUrl, rules: tuple[_Asked, ...]) -> SplitUrl:
    asked = dict(parts.query)
    if parts.host == "youtube.com" and parts.path == "/attribution_link" and "u" in asked:
        path, _, rest = unquote(asked["u"]).partition("?")
        parts = parts._replace(path=path, query=tuple(parse_qsl(rest)))
        asked = dict(parts.query)
    for rule in rules:
        if re.fullmatch(rule.path, parts.path) and all(asked.get(name) for name in rule.names):
            return _target(parts, rule.target.format(*(asked[name].strip("/") for name in rule.names)))
    return parts


_PATHS: dict[str, tuple[tuple[str, str], ...]] = {
    "x.com": (
        (r"/(?:i/web|i|[^/]+)/status(?:es)?/(\d+)(?:[/?].*)?$", r"x.com/status/\1"),
        (r"/status/(\d+)$", r"x.com/status/\1"),
    ),
    "youtu.be": ((r"/([\w-]+)/?$", r"youtube.com/watch?v=\1"),),
    "youtube.com": ((r"/(?:embed|v|e|shorts|live)/([\w-]{6,})/?$", r"youtube.com/watch?v=\1"),),
    "facebook.com": (
        (r"/[^/]+/videos/(?:[^/]+/)?(\d+)/?$", r"facebook.com/watch?v=\1"),
        (r"/[^/]+/photos/[^/]+/(\d+)/?$", r"facebook.com/photo?fbid=\1"),
        (r"/groups/([^/]+)/(?:permalink|posts)/(\d+)/?$", r"facebook.com/groups/\1/posts/\2"),
    ),
    "fb.watch": (),
    "instagram.com": ((r"/(?:[\w.]+/)?(?:p|reel|reels|tv)/([\w-]+)/?$", r"instagram.com/p/\1"),),
    "tiktok.com": (
        (r"/@[^/]+/video/(\d+)", r"tiktok.com/video/\1"),
        (r"/v/(\d+)\.html", r"tiktok.com/video/\1"),
        (r"/embed/(?:v2/)?(\d+)", r"tiktok.com/video/\1"),
    ),
    "reddit.com": (
        (r"/(?:(?:r|user|u)/[^/]+/)?comments/(\w+)/[^/]+/(\w+)/?$", r"reddit.com/comments/\1/comment/\2"),
        (r"/(?:(?:r|user|u)/[^/]+/)?comments/(\w+)(?:/[^/]*)?/?$", r"reddit.com/comments/\1"),
    ),
    "redd.it": ((r"/(\w+)/?$", r"reddit.com/comments/\1"),),
    "t.me": ((r"/s/(\w+)/(\d+)", r"t.me/\1/\2"),),
    "dai.ly": ((r"/(\w+)$", r"dailymotion.com/video/\1"),),
    "dailymotion.com": ((r"/(?:embed/)?video/([^_/]+)", r"dailymotion.com/video/\1"),),
    "player.vimeo.com": ((r"/video/(\d+)", r"vimeo.com/\1"),),
    "bitchute.com": ((r"/(?:embed|video)/(\w+)/?$", r"bitchute.com/video/\1"),),
    "ncbi.nlm.nih.gov": (
        (r"/pubmed/(\d+)/?$", r"pubmed.ncbi.nlm.nih.gov/\1"),
        (r"/pmc/articles/(PMC\d+)/?$", r"pmc.ncbi.nlm.nih.gov/articles/\1"),
    ),
    "amazon.com": ((r"/(?:[^/]+/)?(?:dp|gp/product)/(\w{10})(?:/.*)?$", r"amazon.com/dp/\1"),),
}

REWRITTEN = frozenset(
    ".".join(host.split(".")[-2:])
    for host in (
        *_ALIASES,
        *_ALIASES.values(),
        *_PATHS,
        *_PARAMETER,
        *(host for host, _ in _SHARERS),
        *_ARCHIVE_TODAY,
        "archive.org",
        "ampproject.org",
        "googleusercontent.com",
        "translate.goog",
        "outline.com",
        "12ft.io",
        "href.li",
        "jina.ai",
        "leadstories.com",
        "bsky.app",
        "amazon.com",
    )
)
"""Last two labels of hosts whose keys may contain another host, besides google.* and blogspot.*."""


def _added() -> dict[str, set[str]]:
    words: dict[str, set[str]] = {"bsky.app": {"profile", "post"}}
    targets = [to for rules in _PATHS.values() for _, to in rules]
    for target in [*targets, *(rule.target for rules in _BY_QUERY.values() for rule in rules)]:
        host, _, behind = re.sub(r"\\\d|\{\d?\}", " ", target).partition("/")
        words.setdefault(host, set()).update(re.findall("[A-Za-z0-9_-]+", behind))
    return words


ADDED = _added()
"""Words that the rules above add to keys of a host and that are not in all URLs of the page."""


def names_of(host: str) -> frozenset[str]:
    """Return name parts such that every URL (in plain lower-case letters) of a page at this host has one of them.

    >>> sorted(names_of("x.com"))
    ['fixupx', 'fixvx', 'fxtwitter', 'nitter', 'twitter', 'vxtwitter', 'x']
    """
    hosts, waiting = {host}, [host]
    while waiting:
        target = waiting.pop()
        sources = {source for source, to in _MOVED if to == target} - hosts
        hosts |= sources
        waiting += sources
    labels = (name.split(".")[-2] if "." in name else name for name in hosts)
    return frozenset(max(label.split("-"), key=len) for label in labels)  # a translator doubles hyphens


_MOVED = frozenset(
    [*_ALIASES.items(), *((host, to.partition("/")[0]) for host, rules in _PATHS.items() for _, to in rules)]
)
"""Hosts, and the rules for their pages."""
