"""Remove posts from the platforms' own data, in any format: the posts, copies of them, and their authors.

No content of a purged post is left: it is removed from lists, a quotation of it becomes empty, and a repost of it is
removed. Other authors' posts stay; references in them to a purged id become null.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from covmis_build.archive.ids import post_id
from covmis_build.credentials import pseudonym

GONE: Any = object()
REPEATS = ("retweeted_status", "retweetedTweet", "reblog", "subject", "repostedPost", "toot")
"""Keys of a repost that contain the original post. Without it nothing of the repost remains."""

SNSCRAPE = "snscrape.modules."
STAMPS = ("__covmis", "__twarc")
PURGED = "purged"
SHORT = 6
"""Shorter numbers are ids only with content next to them; otherwise they could be counts."""

_TOKEN = re.compile(rb"[0-9A-Za-z_]{4,}")
_WORD = re.compile(r"[0-9A-Za-z_]{4,}")
_CONTENT = {"text", "full_text", "content", "rawContent"}
_STATUS = re.compile(r"https?://([^/]+)/(?:.*/)?(?:statuses|@[^/]+|notice|notes|objects)/([\w-]+)")
_ID_IN_TEXT = re.compile(rf"(?<=[/=:])[0-9A-Za-z_]{{{SHORT},}}|(?<!\w)[0-9]{{15,}}(?!\w)")
"""An id in a text: after a slash, an equals sign or (in a DID) a colon; or a number of this length."""
_PSEUDONYM = re.compile(r"author:[0-9a-f]{32}")


@dataclass(frozen=True)
class Forget:
    """What to purge: post ids (`x:1255…`), and author keys (`author:x:12`, or `author:` and a pseudonym)."""

    posts: frozenset[str] = frozenset()
    authors: frozenset[str] = frozenset()
    _natives: frozenset[str] = field(init=False, repr=False, compare=False)
    _accounts: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _needles: frozenset[bytes] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compute the platforms' own names for these posts and authors."""
        posts = {post.partition(":")[2].rpartition("/")[2] for post in self.posts}
        people = {re.split(r"[:/]", author)[-1] for author in self.authors}
        natives = frozenset(posts | people) - {""}
        words = [max(_WORD.findall(native), key=len, default="") for native in natives]
        accounts = (author.removeprefix("author:masto:") for author in self.authors if ":masto:" in author)
        names = [name for account in accounts for name in account_names(account)]
        object.__setattr__(self, "_natives", natives)
        object.__setattr__(self, "_accounts", tuple(names))
        object.__setattr__(self, "_needles", frozenset(word.encode() for word in words))

    def __bool__(self) -> bool:
        return bool(self.posts or self.authors)

    @property
    def names(self) -> frozenset[str]:
        """How a table cell may name these posts and authors."""
        posts = {post.partition(":")[2] for post in self.posts}
        people = {author.removeprefix("author:").partition(":")[2] for author in self.authors}
        return self.posts | self.authors | frozenset(posts | people)

    @property
    def pseudonymous(self) -> bool:
        """True if some authors are given by pseudonym: then every author must be checked."""
        return any(map(_PSEUDONYM.fullmatch, self.authors))

    def touches(self, line: bytes) -> bool:
        """True if a line may contain purged data; false if it certainly does not."""
        if self.pseudonymous or b"" in self._needles:
            return True
        return not self._needles.isdisjoint(_TOKEN.findall(line))

    def without(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Return a page or a post without purged data. A purged post becomes an empty object."""
        if not self:
            return payload
        widened = Forget(self.posts | self.posts_of(payload), self.authors)
        left = widened._pruned(payload, _host(payload))
        return {} if left is GONE else left

    def posts_of(self, payload: Any, host: str = "") -> set[str]:
        """Return the ids of posts by purged authors in a payload."""
        if not self.authors:
            return set()
        host = host or _host(payload)
        post_ids: set[str] = set()
        if isinstance(payload, dict):
            if any(self._hates(part) for part in _authors(payload, host)):
                post_ids |= _post_ids(payload, host)
            inner: Any = payload.values()
        else:
            inner = payload if isinstance(payload, list) else ()
        for part in inner:
            if isinstance(part, dict | list):
                post_ids |= self.posts_of(part, host)
        return post_ids

    def _hates(self, author: str) -> bool:
        return author in self.authors or (
            self.pseudonymous and pseudonym(author.removeprefix("author:")) in self.authors
        )

    def _pruned(self, value: Any, host: str) -> Any:
        if isinstance(value, dict):
            return self._pruned_object(value, host)
        if isinstance(value, list):
            pairs = [(self._pruned(part, host), part) for part in value]
            return [left for left, part in pairs if left is not GONE and (left is not None or part is None)]
        if isinstance(value, str | int) and not isinstance(value, bool):
            text = str(value)
            known = (len(text) >= SHORT and text in self._natives) or text in self.posts
            if known or _of_uri(text) in self.posts:
                return None
            return self.without_addresses(text) if isinstance(value, str) else value
        return value

    def without_addresses(self, text: str) -> str:
        """Return another author's text with URLs of purged posts and authors made invalid."""
        text = _ID_IN_TEXT.sub(lambda token: PURGED if token[0] in self._natives else token[0], text)
        for name in self._accounts:
            text = text.replace(name, PURGED)
        return text

    def _pruned_object(self, value: dict[str, Any], host: str) -> Any:
        if not self.posts.isdisjoint(_post_ids(value, host)):
            return GONE
        if any(self._hates(reference) for reference in _authors(value, host)):
            return GONE
        named = (value.get("referenced_tweets"), value.get("referenced_posts"))
        for reference in (one for references in named if isinstance(references, list) for one in references):
            if (
                isinstance(reference, dict)
                and reference.get("type") in {"retweeted", "reposted"}
                and f"x:{reference.get('id')}" in self.posts
            ):
                return GONE
        left: dict[str, Any] = {}
        for name, reference in value.items():
            if name in STAMPS and isinstance(reference, dict):
                left[name] = {key: self._blotted(cell) for key, cell in reference.items()}
                continue
            if name in self._natives:
                continue
            kept = self._pruned(reference, host)
            if kept is GONE and name in REPEATS:
                return GONE
            left[name] = None if kept is GONE else kept
        return left

    def _blotted(self, cell: Any) -> Any:
        """Return a stamp's text without ids, which URLs of look-ups and notes contain."""
        if isinstance(cell, list):
            return [self._blotted(native) for native in cell]
        if isinstance(cell, str):
            for native in self._natives:
                if native in cell:
                    cell = re.sub(rf"(?<!\w){re.escape(native)}(?!\w)", PURGED, cell)
        return cell


def account_names(account: str) -> list[str]:
    """Return how posts name a Mastodon account, `server/name`.

    >>> account_names("example.social/ada")
    ['ada@example.social', 'example.social/@ada', 'example.social/users/ada']
    """
    server, _, name = account.partition("/")
    return [f"{name}@{server}", f"{server}/@{name}", f"{server}/users/{name}"]


def _host(payload: Any) -> str:
    """Return the server from which a Mastodon page was fetched."""
    stamp = payload.get("__covmis") if isinstance(payload, dict) else None
    asked = isinstance(stamp, dict) and stamp.get("source") == "mastodon"
    address = str(stamp.get("url", "")) if asked and stamp else ""
    return address.split("/")[2].lower() if address.count("/") > 2 else ""


def _of_uri(text: str) -> str:
    parts = text.removeprefix("at://").split("/") if text.startswith("at://") else []
    return f"bsky:{parts[0]}/{parts[2]}" if len(parts) == 3 else ""


def _post_ids(value: dict[str, Any], host: str) -> set[str]:
    """Return the possible post ids of an object."""
    post_ids = set()
    for name in ("id_str", "id", "resource_id", "value", "rest_id"):
        native = value.get(name)
        if (
            isinstance(native, str | int)
            and str(native).isdigit()
            and (len(str(native)) >= SHORT or _CONTENT & value.keys())
        ):
            post_ids.add(f"x:{native}")
            if host:
                post_ids.add(f"masto:{host}/{native}")
    uri = value.get("uri")
    if isinstance(uri, str):
        post_ids.add(_of_uri(uri))
    for address in (uri, value.get("url")):
        match = _STATUS.fullmatch(address) if isinstance(address, str) else None
        if match and ("content" in value or "account" in value):
            post_ids.add(f"masto:{match[1].lower()}/{match[2]}")
    if str(value.get("_type", "")).startswith(SNSCRAPE):
        post_ids.add(post_id(str(value.get("url", "")), ""))
    commit, did = value.get("commit"), value.get("did")
    if isinstance(commit, dict) and did:
        post_ids.add(f"bsky:{did}/{commit.get('rkey')}")
    return post_ids - {""}


def _authors(value: dict[str, Any], host: str) -> set[str]:
    """Return the author keys of an object that is a post or a person."""
    authors = set()
    user, account, author = value.get("user"), value.get("account"), value.get("author")
    if value.get("author_id"):
        authors.add(f"author:x:{value['author_id']}")
    if isinstance(user, dict):
        authors |= {f"author:x:{user[name]}" for name in ("id_str", "id") if user.get(name)}
    if {"username", "screen_name"} & value.keys() and value.get("id"):
        authors |= {f"author:x:{value[name]}" for name in ("id_str", "id") if value.get(name)}
    if isinstance(author, dict) and author.get("did"):
        authors.add(f"author:bsky:{author['did']}")
    if value.get("did"):
        authors.add(f"author:bsky:{value['did']}")
    if isinstance(value.get("uri"), str) and value["uri"].startswith("at://did:"):
        authors.add("author:bsky:" + value["uri"].removeprefix("at://").split("/")[0])
    if str(value.get("_type", "")).startswith(SNSCRAPE) and isinstance(user, dict):
        name, _, server = str(user.get("account", "")).removeprefix("@").partition("@")
        authors.add(f"author:masto:{server.lower()}/{name}")
    if isinstance(account, dict):
        authors |= _mastodon_names(account, value, host)
    return authors


def _mastodon_names(account: dict[str, Any], post: dict[str, Any], host: str) -> set[str]:
    """Return an account by its number on the fetched server, and by its name on its own server."""
    name, _, at = str(account.get("acct") or account.get("username") or "").partition("@")
    homes = {_server(account.get("url")), at, _server(post.get("uri")), _server(post.get("url")), host} - {""}
    return {f"author:masto:{home.lower()}/{name}" for home in homes} | {
        f"author:masto:{host}/{account.get('id')}"
    }


def _server(address: Any) -> str:
    parts = str(address or "").split("/")
    return parts[2] if len(parts) > 2 and parts[0].startswith("http") else ""
