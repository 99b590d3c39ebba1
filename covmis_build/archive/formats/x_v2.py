"""X's API 2: pages as saved by twarc and `covmis collect`, and flat posts, with old and new field names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build.archive.formats.decoding import reader
from covmis_build.archive.ids import x_id
from covmis_build.archive.post import NONE, UNCOUNTED, Post, Stamp, unescaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

NAME = "x_v2"


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
    """A post in the format of API 2. `type` is set on references that flat files contain in full."""

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
"""Type of a partial error → the post's availability."""

OF_A_POST = frozenset({
    "edit_history_tweet_ids", "edit_history_post_ids", "author_id", "conversation_id", "public_metrics", "entities",
    "referenced_tweets", "referenced_posts", "note_tweet", "note_post", "author_user",
})  # fmt: skip
"""Fields of the API besides id and text. A row without any of them could be from another source."""


def recognises_line(row: dict[str, Any]) -> bool:
    """Recognise a page (`data`, or `errors` and `meta`) and a flat post (numeric id, text, and other fields of X)."""
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


def posts(row: _Line) -> list[Post]:
    """Return all posts of pages: requested, referenced, and outcomes of missing ones."""
    includes = row.includes
    main: list[Tweet]
    if row.data is None and row.errors is None and row.meta is None and includes is None:
        if not row.id or row.text is None or row.id_str is not None:
            raise ValueError("a post without id or text")
        main = [row]
    else:
        main = row.data if isinstance(row.data, list) else [row.data] if row.data else []
    others = [*(includes.tweets or ()), *(includes.posts or ())] if includes else []
    media = {medium.media_key: medium for medium in includes.media or ()} if includes else NO_MEDIA
    known = {str(tweet.id): tweet for tweet in (*others, *main)} if others or len(main) > 1 else NO_POSTS
    every = [*main, *known.values()] if others else main
    by_id: dict[str, Post] = {}
    for tweet in every:
        _add(tweet, known, media, by_id)
    listed = list(by_id.values())
    if row.errors:
        listed += _missing(row.errors, by_id.keys())
    if stamp := row.stamp or row.twarc:
        stamp.mark(listed, {x_id(tweet.id) for tweet in main})
    return listed


def _add(
    tweet: Tweet, known: Mapping[str, Tweet], media: Mapping[str | None, _Medium], by_id: dict[str, Post]
) -> None:
    """Add a post if missing and, in flat files, the posts that it contains."""
    if tweet.text is None or not tweet.id or (post_id := f"x:{tweet.id}") in by_id:
        return
    if not (tweet.referenced_tweets or tweet.referenced_posts):
        by_id[post_id] = _post(post_id, tweet, NO_POSTS, media)
        return
    references = (*(tweet.referenced_tweets or ()), *(tweet.referenced_posts or ()))
    by_type = {reference.type: reference for reference in references}
    whole = {kind: known.get(str(reference.id), reference) for kind, reference in by_type.items()}
    by_id[post_id] = _post(post_id, tweet, whole, media)
    for reference in whole.values():
        _add(reference, known, media, by_id)


NO_POSTS: dict[Any, Tweet] = {}
NO_MEDIA: dict[str | None, _Medium] = {}


def _post(
    post_id: str, tweet: Tweet, whole: Mapping[str | None, Tweet], media: Mapping[str | None, _Medium]
) -> Post:
    """Return a post and the posts that it refers to by type; a repost has the reposted content."""
    shown, reply_to, parent_text, quote_of, quoted_text, repost_of = tweet, "", "", "", "", ""
    if whole:
        if original := whole.get("retweeted") or whole.get("reposted"):
            shown, repost_of = tweet if original.text is None else original, x_id(original.id)
        if parent := whole.get("replied_to"):
            reply_to, parent_text = x_id(parent.id), _text(parent)
        if quoted := whole.get("quoted"):
            quote_of, quoted_text = x_id(quoted.id), _text(quoted)
    urls = cards = pictures = NONE
    note, entities, attached = shown.note_tweet or shown.note_post, shown.entities, shown.attachments
    if note is not None or (entities is not None and entities.urls):
        urls, cards = _addresses(
            [url for part in (note and note.entities, entities) if part for url in part.urls or ()]
        )
    if attached is not None:
        pictures = [media[key] for key in attached.media_keys or () if key in media] + (attached.media or [])
        pictures = [(picture.type or "", picture.alt_text or "") for picture in pictures]
    metrics, counts, conversation = UNCOUNTED, shown.public_metrics, tweet.conversation_id
    if counts is not None:
        reposts = counts.retweet_count if counts.retweet_count is not None else counts.repost_count
        metrics = counts.reply_count, reposts, counts.like_count, counts.quote_count
    return Post(
        post_id,
        str(tweet.id),
        "x",
        _text(shown),
        tweet.created_at or "",
        shown.lang or "",
        urls,
        cards,
        pictures,
        reply_to,
        parent_text,
        quote_of,
        quoted_text,
        repost_of,
        f"x:{conversation}" if conversation else "",
        metrics,
        "withheld" if shown.withheld and shown.withheld.get("copyright") else "available",
    )


def _addresses(links: Sequence[_Url]) -> tuple[list[str], list[tuple[str, str, str]]]:
    """Return the linked URLs and the titles of pages."""
    urls = [address for url in links for address in (url.expanded_url, url.unwound_url) if address]
    cards = [_card(url) for url in links if url.title]
    return list(dict.fromkeys(urls)), list(dict.fromkeys(cards))


def _card(url: _Url) -> tuple[str, str, str]:
    return url.unwound_url or url.expanded_url or "", url.title or "", url.description or ""


def _text(tweet: Tweet) -> str:
    note = tweet.note_tweet or tweet.note_post
    return unescaped((note.text if note else None) or tweet.text or "")


def _missing(problems: Iterable[_Problem], known: AbstractSet[str]) -> list[Post]:
    """Return the posts that the platform reports as unavailable, with the reason if given."""
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


read = reader(msgspec.json.Decoder(_Line), posts)
