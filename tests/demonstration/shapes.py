"""A post in the words of the two archives: X API v2 as twarc writes it, and snscrape's JSON lines, new and old."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

from tests.demonstration.stories import EPOCH, Post, username

if TYPE_CHECKING:
    from collections.abc import Iterable

JSON = dict[str, Any]
PROBLEMS = "https://api.twitter.com/2/problems/"


def line(value: Any) -> bytes:
    """One line of JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def iso(time: int, end: str) -> str:
    """A time in milliseconds as text."""
    moment = dt.datetime.fromtimestamp(time // 1000, dt.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S") + end


def author_id(author: int) -> int:
    """An author's id, of the same form as a post's."""
    return ((1546300800000 + author * 7919 - EPOCH) << 22) | 0xFF0


def counts(post: Post) -> tuple[int, int, int, int]:
    """Reposts, replies, likes and quotes: small, and the same whenever they are asked for."""
    base = post.id % 9973
    return base % 41, base % 7, base % 97, base % 3


def escaped(text: str) -> str:
    """X writes these three characters as HTML in its texts."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def x_url(link: Any, text: str) -> JSON:
    """A link among a post's entities."""
    start = max(0, text.find(link.short))
    found = {"start": start, "end": start + len(link.short), "url": link.short, "expanded_url": link.url,
             "display_url": link.url.split("//")[-1][:27]}  # fmt: skip
    if link.title:
        found |= {
            "status": 200,
            "title": link.title,
            "description": link.description,
            "unwound_url": link.url,
        }
    return found


def x_post(post: Post, referenced: str = "referenced_tweets") -> JSON:
    """A post as the API gives it; one too long for 280 characters carries its text in note_tweet."""
    reposts, replies, likes, quotes = counts(post)
    text = escaped(post.text)
    made: JSON = {
        "id": str(post.id),
        "created_at": iso(post.time, f".{post.time % 1000:03d}Z"),
        "author_id": str(author_id(post.author)),
        "conversation_id": str(post.reply_to.id if post.reply_to else post.id),
        "lang": post.language,
        "text": text,
        "public_metrics": {
            "retweet_count": reposts, "reply_count": replies, "like_count": likes, "quote_count": quotes
        },
    }  # fmt: skip
    if len(post.text) > 280 and post.repost_of is None:
        made["note_tweet"] = {"text": text}
        made["text"] = text[:270] + "… https://t.co/" + str(post.id)[-10:]
    if post.links:
        made["entities"] = {"urls": [x_url(link, text) for link in post.links]}
    relations = [("replied_to", post.reply_to), ("quoted", post.quotes), ("retweeted", post.repost_of)]
    named = [{"type": kind, "id": str(other.id)} for kind, other in relations if other]
    if named:
        made[referenced] = named
    if post.reply_to:
        made["in_reply_to_user_id"] = str(author_id(post.reply_to.author))
    return made


def x_page(posts: list[Post], number: int, *, newer: bool = False) -> bytes:
    """A page of search results with what it refers to; `newer` names things as the API does since 2026."""
    referenced, included = ("referenced_posts", "posts") if newer else ("referenced_tweets", "tweets")
    others = {
        other.id: other
        for post in posts
        for other in (post.reply_to, post.quotes, post.repost_of)
        if other is not None
    }
    there = [other for other in others.values() if other.availability == "available"]
    authors = sorted({one.author for one in (*posts, *there)})
    page: JSON = {"data": [x_post(post, referenced) for post in posts]} if posts else {}
    page["includes"] = {
        "users": [{"id": str(author_id(one)), "username": username(one), "name": f"Simulated {one}"} for one in authors],
        included: [x_post(other, referenced) for other in there],
    }  # fmt: skip
    gone = [other for other in others.values() if other.availability != "available"]
    if gone:
        page["errors"] = [problem(other) for other in gone]
    page["meta"] = {"result_count": len(posts)}
    if posts:
        page["meta"] |= {"newest_id": str(posts[0].id), "oldest_id": str(posts[-1].id)}
    page["__twarc"] = {
        "url": f"https://api.twitter.com/2/tweets/search/all?max_results=100&query=simulated&next_token=sim{number}",
        "version": "2.14.0",
        "retrieved_at": iso(1625097600000 + 1000 * number, "+00:00"),
    }
    return line(page)


def problem(post: Post) -> JSON:
    """What the API says about a post that is gone, or that it will not show."""
    kind = "not-authorized-for-resource" if post.id % 5 == 0 else "resource-not-found"
    return {
        "value": str(post.id), "resource_id": str(post.id), "parameter": "referenced_tweets.id",
        "resource_type": "tweet", "title": "Not Found Error", "type": PROBLEMS + kind,
        "detail": f"Could not find tweet with referenced_tweets.id: [{post.id}].",
    }  # fmt: skip


def snscrape_post(post: Post, *, old: bool = False, depth: int = 0) -> JSON:
    """A post as snscrape 0.7 writes it, or as its versions before 0.4 did."""
    reposts, replies, likes, quotes = counts(post)
    name = username(post.author)
    made: JSON = {
        "_type": "snscrape.modules.twitter.Tweet",
        "url": f"https://twitter.com/{name}/status/{post.id}",
        "date": iso(post.time, "+00:00"),
        "content" if old else "rawContent": post.text,
        "id": post.id,
        "user": {"username": name, "id": author_id(post.author)},
        "replyCount": replies, "retweetCount": reposts, "likeCount": likes, "quoteCount": quotes,
        "conversationId": post.reply_to.id if post.reply_to else post.id,
        "lang": post.language,
    }  # fmt: skip
    if old:
        made["outlinks"] = [link.url for link in post.links]
        made["tcooutlinks"] = [link.short for link in post.links]
    elif post.links:
        made["links"] = [snscrape_link(link, post.text) for link in post.links]
        if post.links[0].title:
            first = post.links[0]
            made["card"] = {"_type": "snscrape.modules.twitter.SummaryCard", "title": first.title,
                            "description": first.description, "url": first.url}  # fmt: skip
    made["inReplyToTweetId"] = post.reply_to.id if post.reply_to else None
    for key, other in (("quotedTweet", post.quotes), ("retweetedTweet", post.repost_of)):
        made[key] = snscrape_post(other, old=old, depth=1) if other and depth == 0 else None
    return made


def snscrape_link(link: Any, text: str) -> JSON:
    """A link of a post."""
    start = max(0, text.find(link.short))
    return {"text": link.url.split("//")[-1][:27], "url": link.url, "tcourl": link.short,
            "indices": [start, start + len(link.short)]}  # fmt: skip


def gone_lines(posts: Iterable[Post]) -> bytes:
    """Rows that say only that a post is unavailable."""
    kinds = ("Tombstone", "TweetRef")
    return b"".join(
        line({"_type": f"snscrape.modules.twitter.{kinds[post.id % 2]}", "id": post.id,
              **({"text": {"text": "This post was deleted by its author."}} if post.id % 2 == 0 else {})})
        for post in posts
    )  # fmt: skip
