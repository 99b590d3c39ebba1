"""X's interface 2: pages as twarc and `covmis collect` keep them, and flat posts; older and newer names of fields."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build.archive.formats.decoding import Glancing
from covmis_build.archive.formats.post import Glances, Post, Stamp, unescaped
from covmis_build.archive.ids import x_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet


class _Url(msgspec.Struct, gc=False):
    expanded_url: str | None = None
    unwound_url: str | None = None
    title: str | None = None
    description: str | None = None
    media_key: str | None = None


class _Entities(msgspec.Struct, gc=False):
    urls: list[_Url] | None = None


class _Note(msgspec.Struct, gc=False):
    text: str | None = None
    entities: _Entities | None = None


class _Medium(msgspec.Struct, gc=False):
    media_key: str | None = None
    type: str | None = None
    alt_text: str | None = None


class _Attachments(msgspec.Struct, gc=False):
    media_keys: list[str] | None = None
    media: list[_Medium] | None = None


class _Public(msgspec.Struct, gc=False):
    reply_count: int | None = None
    retweet_count: int | None = None
    repost_count: int | None = None
    like_count: int | None = None
    quote_count: int | None = None


class Tweet(msgspec.Struct, gc=False):
    """A post as interface 2 gives it; `type` is set on references, which flat files give whole."""

    id: str | int = ""
    text: str | None = None
    type: str | None = None
    created_at: str | None = None
    lang: str | None = None
    conversation_id: str | int | None = None
    entities: _Entities | None = None
    note_tweet: _Note | None = None
    note_post: _Note | None = None
    attachments: _Attachments | None = None
    public_metrics: _Public | None = None
    referenced_tweets: list[Tweet] | None = None
    referenced_posts: list[Tweet] | None = None
    withheld: dict[str, Any] | None = None


class _Includes(msgspec.Struct, gc=False):
    tweets: list[Tweet] | None = None
    posts: list[Tweet] | None = None
    media: list[_Medium] | None = None


class _Problem(msgspec.Struct, gc=False):
    value: str | int | None = None
    resource_id: str | int | None = None
    resource_type: str | None = None
    type: str | None = None
    detail: str | None = None


class _Line(Tweet, gc=False):
    id_str: str | None = None
    data: list[Tweet] | Tweet | None = None
    includes: _Includes | None = None
    errors: list[_Problem] | None = None
    meta: dict[str, Any] | None = None
    twarc: Stamp | None = msgspec.field(default=None, name="__twarc")
    stamp: Stamp | None = msgspec.field(default=None, name="__covmis")


OUTCOMES = {
    "resource-not-found": "deleted",
    "not-authorized-for-resource": "protected",
    "resource-unavailable": "unavailable",
    "disallowed-resource": "withheld",
}
"""What the type of a partial error says about a post."""

OF_A_POST = frozenset({
    "edit_history_tweet_ids", "edit_history_post_ids", "author_id", "conversation_id", "public_metrics", "entities",
    "referenced_tweets", "referenced_posts", "note_tweet", "note_post", "author_user",
})  # fmt: skip
"""What the interface gives beside id and text; a row that has none of it may be anybody's."""


def recognises(row: dict[str, Any]) -> bool:
    """A page has `data`, or `errors` and `meta`; a flat post has an id of digits, a text, and more of X."""
    stamp = row.get("__covmis")
    if isinstance(stamp, dict) and stamp.get("source"):
        return str(stamp["source"]).startswith("x")
    data = row.get("data")
    post = data[0] if isinstance(data, list) and data else data
    if isinstance(post, dict):
        return "id" in post and ("text" in post or "edit_history_tweet_ids" in post)
    if "__twarc" in row or (isinstance(row.get("meta"), dict) and "result_count" in row["meta"]):
        return "id_str" not in row
    errors = row.get("errors")
    if isinstance(errors, list) and errors and isinstance(errors[0], dict) and "resource_type" in errors[0]:
        return True
    own = isinstance(row.get("id"), str) and row["id"].isdigit() and "id_str" not in row and "text" in row
    return own and not OF_A_POST.isdisjoint(row)


def glances(rows: Iterable[tuple[int, _Line]], seen: Glances) -> None:
    """All posts of pages: those asked for, those they refer to, and the outcomes of those that are missing."""
    for at, row in rows:
        if (
            row.data is None
            and row.errors is None
            and row.meta is None
            and row.includes is None
            and row.text is not None
            and row.id
            and row.id_str is None
            and row.stamp is None
            and row.twarc is None
            and not _refers(row)
        ):
            _add_plain(at, row, row.text, NO_MEDIA, seen)
        else:
            _any_line(at, row, seen)


def _refers(tweet: Tweet) -> bool:
    """Whether a post has its text elsewhere, or others with it."""
    return bool(
        tweet.referenced_tweets
        or tweet.referenced_posts
        or tweet.note_tweet is not None
        or tweet.note_post is not None
    )


def _any_line(at: int, row: _Line, seen: Glances) -> None:
    before, includes = len(seen), row.includes
    if row.data is None and row.errors is None and row.meta is None and includes is None:
        if not row.id or row.text is None or row.id_str is not None:
            raise ValueError("a post without id or text")
        main: list[Tweet] = [row]
    else:
        main = row.data if isinstance(row.data, list) else [row.data] if row.data else []
    others = [*(includes.tweets or ()), *(includes.posts or ())] if includes else []
    media = {medium.media_key: medium for medium in includes.media or ()} if includes else NO_MEDIA
    known = {str(tweet.id): tweet for tweet in (*others, *main)} if others or len(main) > 1 else {}
    own: set[str] = set()
    for tweet in (*main, *known.values()) if others else main:
        _glance(at, tweet, known, media, own, seen)
    if row.errors:
        for post in _missing(row.errors, own):
            seen.add_post(at, post)
    if stamp := row.stamp or row.twarc:
        stamp.mark(seen, before, asked=[x_id(tweet.id) for tweet in main])


def _glance(
    at: int,
    tweet: Tweet,
    known: Mapping[str, Tweet],
    media: Mapping[str | None, _Medium],
    own: set[str],
    seen: Glances,
) -> None:
    """A post and, in flat files, the posts given whole inside it."""
    post_id, text = f"x:{tweet.id}", tweet.text
    if text is None or not tweet.id or post_id in own:
        return
    own.add(post_id)
    if not _refers(tweet):
        _add_plain(at, tweet, text, media, seen)
        return
    references = (*(tweet.referenced_tweets or ()), *(tweet.referenced_posts or ()))
    whole = {reference.type: reference for reference in references}
    whole = {kind: known.get(str(reference.id), reference) for kind, reference in whole.items()}
    original = _original(whole)
    shown = tweet if original is None or original.text is None else original
    urls, cards = _addresses(_links(shown))
    references_of = (x_id(tweet.id) if tweet else "" for tweet in (whole.get("quoted"), original))
    seen.add(at, post_id, _text(shown), (tweet, shown, whole, media), urls, cards, *references_of)
    for reference in whole.values():
        _glance(at, reference, known, media, own, seen)


def _add_plain(at: int, tweet: Tweet, text: str, media: Mapping[str | None, _Medium], seen: Glances) -> None:
    entities, number = tweet.entities, len(seen.ids)
    if entities is not None and (links := entities.urls):
        only = links[0]
        if len(links) > 1 or only.unwound_url or only.title:
            more = (tweet, tweet, _ALONE, media)
            seen.add(at, f"x:{tweet.id}", unescaped(text), more, *_addresses(links))
            return
        if only.expanded_url:
            seen.links.append(only.expanded_url)
            seen.linking.append(number)
    seen.ids.append(f"x:{tweet.id}")
    seen.texts.append(unescaped(text) if "&" in text else text)
    seen.more.append((tweet, tweet, _ALONE, media))
    seen.places.append(at)


def _original(whole: Mapping[str | None, Tweet]) -> Tweet | None:
    return whole.get("retweeted") or whole.get("reposted")


_ALONE: dict[str | None, Tweet] = {}
NO_MEDIA: dict[str | None, _Medium] = {}


def _links(shown: Tweet) -> list[_Url]:
    note = shown.note_tweet or shown.note_post
    parts = (note.entities if note else None, shown.entities)
    return [url for part in parts if part for url in part.urls or ()]


def _addresses(links: Sequence[_Url]) -> tuple[list[str], list[tuple[str, str, str]]]:
    """What is linked to, and the titles of pages."""
    urls = [address for url in links for address in (url.expanded_url, url.unwound_url) if address]
    cards = [_card(url) for url in links if url.title]
    return list(dict.fromkeys(urls)), list(dict.fromkeys(cards))


def _card(url: _Url) -> tuple[str, str, str]:
    return url.unwound_url or url.expanded_url or "", url.title or "", url.description or ""


def post(more: tuple[Tweet, Tweet, Mapping[str | None, Tweet], Mapping[str | None, _Medium]]) -> Post:
    """The row of a post; of a repost, with what it shows."""
    tweet, shown, whole, media = more
    original, parent, quoted = _original(whole), whole.get("replied_to"), whole.get("quoted")
    attached = shown.attachments or _Attachments()
    pictures = [media[key] for key in attached.media_keys or () if key in media] + (attached.media or [])
    counts = shown.public_metrics or _Public()
    reposts = counts.retweet_count if counts.retweet_count is not None else counts.repost_count
    return Post(
        x_id(tweet.id),
        str(tweet.id),
        "x",
        _text(shown),
        tweet.created_at or "",
        shown.lang or "",
        *_addresses(_links(shown)),
        [(picture.type or "", picture.alt_text or "") for picture in pictures],
        x_id(parent.id) if parent else "",
        _text(parent) if parent else "",
        x_id(quoted.id) if quoted else "",
        _text(quoted) if quoted else "",
        x_id(original.id) if original else "",
        x_id(tweet.conversation_id),
        (counts.reply_count, reposts, counts.like_count, counts.quote_count),
        "withheld" if (shown.withheld or {}).get("copyright") else "available",
    )


def _text(tweet: Tweet) -> str:
    note = tweet.note_tweet or tweet.note_post
    return unescaped((note.text if note else None) or tweet.text or "")


def _missing(problems: Iterable[_Problem], known: AbstractSet[str]) -> list[Post]:
    """Posts that the platform says it cannot give, and why, as far as it says."""
    posts = []
    for problem in problems:
        if (problem.resource_type or "tweet") not in {"tweet", "post"}:
            continue
        native = str(problem.resource_id or problem.value or "")
        if native.isdigit() and x_id(native) not in known:
            reason = OUTCOMES.get((problem.type or "").rsplit("/", 1)[-1], "unknown")
            if reason == "protected" and "suspended" in (problem.detail or "").lower():
                reason = "suspended"
            posts.append(Post(x_id(native), native, "x", availability=reason))
    return posts


FORM = Glancing(msgspec.json.Decoder(_Line), glances, post)
read = FORM.read
