"""Every form of posts, as its platform or client writes it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from covmis_build.archive import formats, streams
from covmis_build.archive.dates import Form, TimeForm, iso, settle, utc
from covmis_build.archive.formats import bluesky, snscrape, x_v1, x_v2
from covmis_build.archive.ids import post_at, snowflake_time
from covmis_build.archive.reader import ReadingOptions, open_job, read
from covmis_build.errors import BrokenIds

FULL = "Garlic & onions cure everything, says a very long post that goes on beyond what once was allowed"
V1 = {
    "created_at": "Wed Apr 22 12:34:56 +0000 2020", "id": 1252934402983763968, "id_str": "1252934402983763968",
    "text": "Garlic &amp; onions cure… https://t.co/x", "truncated": True, "lang": "en", "user": {"id_str": "7", "screen_name": "a"},
    "extended_tweet": {
        "full_text": "Garlic &amp; onions cure everything, says a very long post that goes on beyond what once was allowed",
        "entities": {"urls": [{"url": "https://t.co/y", "expanded_url": "https://example.org/a", "unwound": {"url": "https://example.org/b", "title": "T", "description": "D"}}]},
        "extended_entities": {"media": [{"type": "photo", "ext_alt_text": "A clove"}]},
    },
    "entities": {"urls": [{"expanded_url": "https://twitter.com/i/web/status/1252934402983763968"}]},
    "in_reply_to_status_id_str": "5", "quoted_status_id_str": "6", "quoted_status": {"id_str": "6", "text": "I was quoted", "lang": "en"},
    "retweet_count": 3, "favorite_count": 4, "reply_count": 1, "quote_count": 2,
}  # fmt: skip


def line(row) -> bytes:
    return json.dumps(row).encode()


def test_x_v1_full_text_of_extended_mode_and_cards_of_grabs():
    row = {
        "id_str": "9",
        "full_text": "whole",
        "card": {
            "url": "https://t.co/z",
            "binding_values": {"title": {"string_value": "Title"}, "description": {"string_value": "More"}},
        },
    }
    (post,) = x_v1.read(line(row))
    assert (post.text, post.cards) == ("whole", [("https://t.co/z", "Title", "More")])


@pytest.mark.parametrize(
    ("row", "outcome"),
    [
        (
            {"delete": {"status": {"id": 77, "id_str": "77", "user_id": 1}, "timestamp_ms": "1"}},
            [("x:77", "deleted")],
        ),
        (
            {"status_withheld": {"id": 78, "user_id": 1, "withheld_in_countries": ["DE"]}},
            [("x:78", "withheld")],
        ),
        ({"limit": {"track": 3}}, []),
        ({"scrub_geo": {"user_id": 1, "up_to_status_id": 2}}, []),
    ],
)
def test_x_v1_outcomes_and_notices(row, outcome):
    assert formats.KNOWN.detect(line(row)) == "x_v1"
    assert [(post.post_id, post.availability) for post in x_v1.read(line(row))] == outcome


def page(tweets: str, references: str, ids: str, reposts: str, note: str) -> dict:
    """A page of interface 2, in the older or the newer naming."""
    return {
        "data": [
            {
                "id": "10", "text": "cut…", note: {"text": "the long text &gt; 280", "entities": {"urls": [{"expanded_url": "https://example.org/n"}]}},
                "created_at": "2020-04-22T12:34:56.000Z", "lang": "en", "conversation_id": "5", ids: ["10"],
                "entities": {"urls": [{"url": "https://t.co/a", "expanded_url": "https://bit.ly/x", "unwound_url": "https://example.org/a", "title": "Card", "description": "More"}]},
                "attachments": {"media_keys": ["3_1"]}, "public_metrics": {reposts: 3, "reply_count": 1, "like_count": 4, "quote_count": 2},
                references: [{"type": "replied_to", "id": "5"}, {"type": "quoted", "id": "6"}],
            },
            {"id": "11", "text": "RT @a: the lo…", references: [{"type": "retweeted" if reposts == "retweet_count" else "reposted", "id": "12"}]},
        ],
        "includes": {
            tweets: [{"id": "5", "text": "the parent"}, {"id": "6", "text": "the quoted"}, {"id": "12", "text": "the reposted, whole"}],
            "media": [{"media_key": "3_1", "type": "photo", "alt_text": "A clove"}],
        },
        "errors": [
            {"value": "90", "resource_id": "90", "resource_type": "tweet", "type": "https://api.twitter.com/2/problems/resource-not-found"},
            {"resource_id": "91", "resource_type": "tweet", "detail": "the user has been suspended", "type": "https://api.twitter.com/2/problems/not-authorized-for-resource"},
            {"value": "92", "type": "https://api.twitter.com/2/problems/not-authorized-for-resource"},
            {"value": "somebody", "resource_type": "user", "type": "https://api.twitter.com/2/problems/resource-not-found"},
        ],
        "meta": {"result_count": 2},
        "__twarc": {"url": "https://api.twitter.com/2/tweets/search/all", "version": "2.14.0", "retrieved_at": "2023-01-02T03:04:05+00:00"},
    }  # fmt: skip


OLD = ("tweets", "referenced_tweets", "edit_history_tweet_ids", "retweet_count", "note_tweet")
NEW = ("posts", "referenced_posts", "edit_history_post_ids", "repost_count", "note_post")


@pytest.mark.parametrize("names", [OLD, NEW])
def test_x_v2_pages_in_both_namings(names):
    row = page(*names)
    assert formats.KNOWN.detect(line(row)) == "x_v2"
    posts = {post.post_id: post for post in x_v2.read(line(row))}
    post = posts["x:10"]
    assert post.text == "the long text > 280"
    assert post.urls == ["https://example.org/n", "https://bit.ly/x", "https://example.org/a"]
    assert post.cards == [("https://example.org/a", "Card", "More")]
    assert post.media == [("photo", "A clove")]
    assert (post.reply_to, post.parent_text, post.quote_of, post.quoted_text) == (
        "x:5",
        "the parent",
        "x:6",
        "the quoted",
    )
    assert (post.conversation, post.metrics, post.retrieved_at) == (
        "x:5",
        (1, 3, 4, 2),
        "2023-01-02T03:04:05Z",
    )
    assert (posts["x:11"].repost_of, posts["x:11"].text) == ("x:12", "the reposted, whole")
    assert posts["x:12"].text == "the reposted, whole"
    gone = {name: one.availability for name, one in posts.items() if not one.text}
    assert gone == {"x:90": "deleted", "x:91": "suspended", "x:92": "protected"}


def test_x_v2_flat_and_all_missing():
    flat = {
        "id": "10",
        "text": "flat",
        "edit_history_tweet_ids": ["10"],
        "referenced_tweets": [{"type": "retweeted", "id": "12", "text": "inside", "lang": "en"}],
        "__twarc": {"retrieved_at": "2023-01-02T03:04:05+00:00"},
    }
    assert formats.KNOWN.detect(line(flat)) == "x_v2"
    assert [(post.post_id, post.text, post.repost_of) for post in x_v2.read(line(flat))] == [
        ("x:10", "inside", "x:12"),
        ("x:12", "inside", ""),
    ]
    missing = {"errors": [{"resource_id": "90", "resource_type": "tweet", "type": "x/resource-not-found"}]}
    assert formats.KNOWN.detect(line(missing)) == "x_v2"
    assert [post.availability for post in x_v2.read(line(missing))] == ["deleted"]
    empty = {"meta": {"result_count": 0}}
    assert formats.KNOWN.detect(line(empty)) == "x_v2"
    assert x_v2.read(line(empty)) == []


def seen(native, text, **more):
    return {
        "rest_id": native,
        "legacy": {"full_text": text, "created_at": V1["created_at"], "lang": "en"},
        **more,
    }


ANSWER = {"data": {"search_by_raw_query": {"search_timeline": {"timeline": {"instructions": [{"entries": [
    {"entryId": "tweet-11", "content": {"itemContent": {"tweet_results": {"result": seen(
        "11", "Garlic &amp; onions", quoted_status_result={"result": seen("10", "I was quoted")})}}}},
    {"entryId": "module-1", "content": {"items": [
        {"item": {"itemContent": {"tweet_results": {"result": {"tweet": seen("12", "behind a warning")}}}}},
        {"item": {"itemContent": {"tweet_results": {"result": {"__typename": "TweetTombstone"}}}}},
        {"item": {"itemContent": {"tweet_results": {"result": {"rest_id": 5}}}}}]}},
    {"entryId": "cursor-bottom", "content": {"value": "next"}}]}]}}}}}  # fmt: skip


def test_answers_of_xs_own_interface():
    assert formats.KNOWN.detect(line(ANSWER)) == "x_graphql"
    posts = formats.READERS["x_graphql"](line(ANSWER))
    assert [(post.post_id, post.text, post.quote_of) for post in posts] == [
        ("x:11", "Garlic & onions", "x:10"), ("x:10", "I was quoted", ""), ("x:12", "behind a warning", ""),
    ]  # fmt: skip
    assert {iso(post.created_at) for post in posts} == {"2020-04-22T12:34:56Z"}
    assert posts.skipped == {"posts that X does not show": 1, "posts that cannot be read": 1}
    assert formats.KNOWN.detect(line({"id": 1, "text": "a recipe", "instructions": ["cut", "cook"]})) == ""
    nothing = {"data": {"user": {"result": {"timeline": {"timeline": {"instructions": []}}}}}}
    assert (formats.KNOWN.detect(line(nothing)), formats.READERS["x_graphql"](line(nothing))) == (
        "x_graphql",
        [],
    )


PUBLIC = "https://www.w3.org/ns/activitystreams#Public"
NOTE = {
    "id": "https://example.social/users/ada/statuses/11", "published": "2021-09-07T17:49:07Z", "summary": "Warning", "to": [PUBLIC], "cc": [],
    "content": '<p>Garlic &amp; <a href="https://a.org/b">a.org/b</a></p>', "contentMap": {"en": "…"},
    "inReplyTo": "https://other.social/users/bob/statuses/9", "attachment": [{"mediaType": "image/png", "name": "A clove"}],
}  # fmt: skip
OUTBOX = {"@context": "…", "type": "OrderedCollection", "orderedItems": [
    {"type": "Create", "actor": "a", "object": NOTE},
    {"type": "Announce", "actor": "a", "id": "https://example.social/users/ada/statuses/12/activity", "cc": [PUBLIC],
     "published": "2021-09-08T00:00:00Z", "object": "https://other.social/users/bob/statuses/10"},
    {"type": "Create", "actor": "a", "object": NOTE | {"to": ["https://example.social/users/bob"]}},
    {"type": "Delete", "actor": "a", "object": "https://example.social/users/ada/statuses/3"},
]}  # fmt: skip


def test_a_persons_own_archive_from_mastodon():
    assert (
        formats.KNOWN.detect(line(OUTBOX))
        == formats.KNOWN.detect(line(OUTBOX["orderedItems"][0]))
        == "mastodon_archive"
    )
    own, boost = posts = formats.READERS["mastodon_archive"](line(OUTBOX))
    assert (own.post_id, own.text, own.urls) == (
        "masto:example.social/11",
        "Warning\n\nGarlic & a.org/b",
        ["https://a.org/b"],
    )
    assert (own.reply_to, own.language, own.media) == (
        "masto:other.social/9",
        "en",
        [("image/png", "A clove")],
    )
    assert (boost.post_id, boost.repost_of, boost.created_at) == (
        "masto:example.social/12",
        "masto:other.social/10",
        "2021-09-08T00:00:00Z",
    )
    assert posts.skipped == {"posts that are not public": 1, "other activities": 1}


def test_a_stamp_of_the_collector_claims_what_was_asked_for():
    row = page(*OLD) | {
        "__covmis": {
            "source": "x",
            "query_id": "1:keywords:1",
            "claim_id": "1",
            "kind": "keywords",
            "expression": "garlic",
            "retrieved_at": "2026-11-21T10:00:00Z",
        }
    }
    posts = {post.post_id: post for post in x_v2.read(line(row))}
    assert posts["x:10"].claimed[0].query_id == "1:keywords:1"
    assert posts["x:5"].claimed == ()
    assert posts["x:5"].retrieved_at == "2026-11-21T10:00:00Z"


def test_snscrape_new_and_old():
    new = {
        "_type": "snscrape.modules.twitter.Tweet", "url": "https://twitter.com/a/status/10", "date": "2020-04-22T12:34:56+00:00", "rawContent": "Garlic &amp; more", "renderedContent": "x",
        "id": 10, "user": {"_type": "snscrape.modules.twitter.User", "username": "a", "id": 7}, "lang": "en", "conversationId": 5, "inReplyToTweetId": 5,
        "links": [{"_type": "snscrape.modules.twitter.TextLink", "text": "e", "url": "https://example.org/a", "tcourl": "https://t.co/a", "indices": [0, 1]}],
        "media": [{"_type": "snscrape.modules.twitter.Photo", "altText": "A clove"}], "card": {"_type": "snscrape.modules.twitter.SummaryCard", "title": "Card", "url": "https://example.org/a", "description": "More"},
        "quotedTweet": {"_type": "snscrape.modules.twitter.Tweet", "id": 6, "rawContent": "the quoted", "date": "2020-04-21T00:00:00+00:00"}, "retweetCount": 3, "likeCount": 4, "replyCount": 1, "quoteCount": 2,
    }  # fmt: skip
    assert formats.KNOWN.detect(line(new)) == "snscrape"
    post, quoted = snscrape.read(line(new))
    assert (post.post_id, post.text, post.urls) == ("x:10", "Garlic & more", ["https://example.org/a"])
    assert (post.reply_to, post.quote_of, post.quoted_text, post.conversation) == (
        "x:5",
        "x:6",
        "the quoted",
        "x:5",
    )
    assert (post.cards, post.media) == ([("https://example.org/a", "Card", "More")], [("photo", "A clove")])
    assert post.metrics == (1, 3, 4, 2)
    assert quoted.text == "the quoted"
    old = {
        "url": "https://twitter.com/a/status/11",
        "date": "2020-04-22T12:34:56+00:00",
        "content": "old",
        "id": 11,
        "outlinks": ["https://example.org/o"],
        "tcooutlinks": ["https://t.co/o"],
    }
    assert formats.KNOWN.detect(line(old)) == "snscrape"
    assert [(one.text, one.urls) for one in snscrape.read(line(old))] == [("old", ["https://example.org/o"])]


def test_snscrape_outcomes_and_broken_numbers():
    for kind in ("Tombstone", "TweetRef"):
        row = {"_type": f"snscrape.modules.twitter.{kind}", "id": 12}
        assert formats.KNOWN.detect(line(row)) == "snscrape"
        assert [(post.post_id, post.availability) for post in snscrape.read(line(row))] == [
            ("x:12", "unavailable")
        ]
    buggy = {
        "_type": "snscrape.modules.twitter.Tweet",
        "id": 1.2529344029837640e18,
        "id.str": "1252934402983763968",
        "date": "2020-04-22T12:34:56+00:00",
        "rawContent": "x",
    }
    assert snscrape.read(line(buggy))[0].post_id == "x:1252934402983763968"


TEXT = "🧄🧄 Knoblauch: example.org/a… hilft"
RECORD = {
    "$type": "app.bsky.feed.post", "text": TEXT, "createdAt": "2024-10-11T12:13:14.123Z", "langs": ["de"],
    "facets": [
        {"index": {"byteStart": 20, "byteEnd": 36}, "features": [{"$type": "app.bsky.richtext.facet#link", "uri": "https://example.org/a/whole"}]},
        {"index": {"byteStart": 20, "byteEnd": 9000}, "features": [{"$type": "app.bsky.richtext.facet#link", "uri": "https://example.org/outside"}]},
        {"index": {"byteStart": 0, "byteEnd": 4}, "features": [{"$type": "app.bsky.richtext.facet#mention", "did": "did:plc:z"}]},
    ],
    "embed": {"$type": "app.bsky.embed.recordWithMedia", "record": {"record": {"uri": "at://did:plc:q/app.bsky.feed.post/3q", "cid": "x"}},
              "media": {"$type": "app.bsky.embed.external", "external": {"uri": "https://example.org/card", "title": "Card", "description": "More"}}},
    "reply": {"root": {"uri": "at://did:plc:r/app.bsky.feed.post/3r", "cid": "x"}, "parent": {"uri": "at://did:plc:p/app.bsky.feed.post/3p", "cid": "x"}},
}  # fmt: skip
VIEW = {
    "uri": "at://did:plc:abc/app.bsky.feed.post/3k", "cid": "x", "author": {"did": "did:plc:abc", "handle": "a.example"}, "record": RECORD, "replyCount": 1, "repostCount": 3, "likeCount": 4, "quoteCount": 2, "indexedAt": "2024-10-11T12:13:15Z",
    "embed": {"$type": "app.bsky.embed.recordWithMedia#view", "record": {"record": {"$type": "app.bsky.embed.record#viewRecord", "uri": "at://did:plc:q/app.bsky.feed.post/3q", "value": {"$type": "app.bsky.feed.post", "text": "the quoted", "createdAt": "2024-10-10T00:00:00Z"}}}},
}  # fmt: skip


def test_bluesky_other_shapes():
    assert bluesky.read(line({"feed": [{"post": VIEW}]}))[0].post_id == "bsky:did:plc:abc/3k"
    assert formats.KNOWN.detect(line(VIEW)) == "bluesky"
    images = VIEW | {
        "record": {
            "text": "x",
            "createdAt": "2024-01-01T00:00:00Z",
            "embed": {"$type": "app.bsky.embed.images", "images": [{"alt": "A clove"}]},
        },
        "embed": None,
    }
    assert bluesky.read(line(images))[0].media == [("image", "A clove")]
    gone = {"uri": "at://did:plc:abc/app.bsky.feed.post/3g", "notFound": True}
    assert [post.availability for post in bluesky.read(line(gone))] == ["deleted"]


def test_jetstream_events():
    event = {
        "did": "did:plc:abc",
        "time_us": 1728648794123456,
        "kind": "commit",
        "commit": {
            "rev": "x",
            "operation": "create",
            "collection": "app.bsky.feed.post",
            "rkey": "3k",
            "record": RECORD,
            "cid": "x",
        },
    }
    assert formats.KNOWN.detect(line(event)) == "bluesky"
    assert bluesky.read(line(event))[0].text == TEXT
    repost = event | {
        "commit": {
            "operation": "create",
            "collection": "app.bsky.feed.repost",
            "rkey": "3s",
            "record": {
                "$type": "app.bsky.feed.repost",
                "subject": {"uri": VIEW["uri"], "cid": "x"},
                "createdAt": "2024-10-11T00:00:00Z",
            },
        }
    }
    assert [(one.post_id, one.repost_of) for one in bluesky.read(line(repost))] == [
        ("bsky:did:plc:abc/3s", "bsky:did:plc:abc/3k")
    ]
    deleted = event | {"commit": {"operation": "delete", "collection": "app.bsky.feed.post", "rkey": "3k"}}
    assert [(one.post_id, one.availability) for one in bluesky.read(line(deleted))] == [
        ("bsky:did:plc:abc/3k", "deleted")
    ]
    follow = event | {
        "commit": {
            "operation": "create",
            "collection": "app.bsky.graph.follow",
            "rkey": "3k",
            "record": {"subject": "did:plc:z", "createdAt": "2024-10-11T00:00:00Z"},
        }
    }
    assert bluesky.read(line(follow)) == []
    assert bluesky.read(line({"did": "did:plc:abc", "time_us": 1, "kind": "identity", "identity": {}})) == []


STATUS = {
    "id": "112233", "uri": "https://home.example/users/a/statuses/99", "url": "https://home.example/@a/99", "created_at": "2024-10-11T12:13:14.000Z", "language": "en", "spoiler_text": "CW: food",
    "content": '<p>Garlic &amp; <a href="https://example.org/a" rel="nofollow"><span class="invisible">https://</span><span class="ellipsis">example.org</span></a> <a href="https://home.example/tags/x" class="mention hashtag">#x</a><br>two</p>',
    "account": {"acct": "a"}, "in_reply_to_id": "5", "card": {"url": "https://example.org/a", "title": "Card", "description": "More"}, "media_attachments": [{"type": "image", "description": "A clove"}],
    "replies_count": 1, "reblogs_count": 3, "favourites_count": 4, "reblog": None, "quote": {"state": "accepted", "quoted_status": {"id": "6", "uri": "https://q.example/users/q/statuses/6", "content": "<p>quoted</p>"}},
}  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [b"{}", b"[]", b"nonsense", b'{"a": 1}', b'{"id": 1}', b"{" * 5000, b'{"id_str": 5, "text": {}}'],
)
def test_what_is_no_post_is_unreadable_or_of_no_form(content):
    form = formats.KNOWN.detect(content)
    with pytest.raises(formats.UNREADABLE):
        formats.READERS[form](content)


def test_half_a_surrogate_pair_is_no_reason_to_lose_a_post():
    (post,) = x_v1.read(b'{"id_str": "1", "text": "garlic \\ud83d and \\ud83e\\uddc4"}')
    assert post.text == "garlic \ufffd and 🧄"


def test_times_and_pages():
    assert snowflake_time("1252934402983763968") == "2020-04-22T12:16:54Z"
    assert snowflake_time("20") == ""
    assert iso("yesterday at noon or so") == ""
    assert iso("2020-04-22") == "2020-04-22T00:00:00Z"
    assert iso("03/04/2020") == iso("2020-04-22 12:34:56 IST") == iso("43943.5") == ""


@pytest.mark.parametrize(
    "text",
    [
        "2020/04/22 12:34:56", "1587558896", "Wed, 22 Apr 2020 12:34:56 GMT", "2020-04-22 12:34:56 UTC", "22.04.2020 12:34:56",
        "20200422T123456Z", "2020-04-22T14:34:56.5+02:00", " 2020-04-22T12:34:56Z ",
    ],
)  # fmt: skip
def test_a_time_is_the_same_in_a_post_and_in_a_column(text):
    assert iso(text) == settle([text]).read(text) == "2020-04-22T12:34:56Z"


def test_ids_of_posts_and_pages():
    assert post_at("bsky.app/profile/did:plc:abc/post/3k") == "bsky:did:plc:abc/3k"
    assert post_at("home.example/@a/99") == "masto:home.example/99"


def by_the_calendar(text: str) -> str:
    """The time of a text, read by Python alone."""
    try:
        if text[:1].isalpha():
            day, month, date, clock, zone, year = text.split()
            when = parsedate_to_datetime(f"{day}, {date} {month} {year} {clock} {zone}")
        else:
            when = datetime.fromisoformat(text)
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return ""


def two(first: int, last: int):
    return st.integers(first, last).map("{:02d}".format)


MONTH = st.sampled_from(
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "jan", "Foo", "Ja"]
)
YEAR = st.sampled_from(["1000", "1970", "2020", "2024", "2999", "3000", "0999", "202"])
CLOCK = st.builds("{}:{}:{}".format, two(0, 25), two(0, 61), two(0, 61))
TIME = st.one_of(
    st.builds(
        "{}-{}-{}{}{}{}{}".format, YEAR, two(0, 13), two(0, 32), st.sampled_from("T t"), CLOCK,
        st.sampled_from(["", ".1", ".123", ".123456", ".1234567", ",123"]),
        st.sampled_from(["", "Z", "z", "+00:00", "-00:00", "+02:00", "+0000", " "]),
    ),
    st.builds(
        "{} {} {} {} {} {}".format, st.sampled_from(["Wed", "Thu", "wed", "We"]), MONTH, two(0, 32), CLOCK,
        st.sampled_from(["+0000", "+0200", "-0000", "GMT"]), YEAR,
    ),
)  # fmt: skip


@settings(max_examples=500)
@given(TIME)
@example("2020-04-2\u0662T12:34:56Z")
@example("\u0662020-04-22T12:34:56Z")
@example("Wed Apr 22 12:34:5\u0666 +0000 2020")
def test_common_times_are_read_as_a_column_reads_all_and_as_the_calendar(text):
    found, calendar = iso(text), by_the_calendar(text)
    assert found == settle([text]).read(text)
    assert not found or not calendar or found == calendar


@settings(max_examples=500)
@given(TIME, st.sampled_from(["", "Asia/Tokyo"]))
def test_common_times_of_a_column_are_read_as_all_of_its_form(text, zone):
    column = TimeForm(Form.ISO, zone=zone)
    moment = column.moment(text)
    assert column.read(text) == (utc(moment) if moment else "")


@pytest.fixture
def ids(tmp_path):
    def write(text: str, name: str = "ids.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def rows(path, claims=frozenset()):
    """Row numbers with the row's post, or with what is wrong with it."""
    (job,) = streams.jobs([(path, path.name)])
    return {
        one.place: one.problem or one.posts[0]
        for one in read(job, how=ReadingOptions((), claims))
        if one.place
    }


def test_sheets_of_ids(ids):
    path = ids(
        "tweet_id,mid,source\n1250000000000000004,9,news_url\n'1252934402983763968,9,\nhttps://twitter.com/a/status/77,,\nbsky:did:plc:abc/3k,,\nx y,,\n"
    )
    found = rows(path, frozenset({"9"}))
    assert found[2].post_id == "x:1250000000000000004"
    assert (found[2].claimed[0].claim_id, found[2].claimed[0].kind) == ("9", "news_url")
    assert found[3].claimed[0].kind == "title"
    assert found[4].post_id == "x:77"
    assert found[5].post_id == "bsky:did:plc:abc/3k"
    assert found[6] == "not a post id: x y"


def test_a_column_is_a_claims_by_its_values_too(ids):
    path = ids("tweet_id,mid\n1250000000000000004,9\n1250000000000000005,8\n")
    assert [post.claimed for post in rows(path, frozenset({"9"})).values()] == [(), ()]


def test_sheets_of_whole_posts_and_of_bare_ids(ids):
    path = ids(
        "tweet_id,text,created_at,lang,outlinks\n10,'=garlic,2020-04-22T12:34:56Z,en,\"['https://example.org/a']\"\n"
    )
    (post,) = rows(path).values()
    assert (post.text, post.urls, post.availability) == ("'=garlic", ["https://example.org/a"], "available")
    bare = ids("10\n11\n", "bare.txt")
    assert [post.post_id for post in rows(bare).values()] == ["x:10", "x:11"]
    assert [one.partition(". ")[0] for one in questions(ids("a,b\n1,2\n"))] == [
        "no column of post ids among: a, b"
    ]


def questions(path):
    (job,) = streams.jobs([(path, path.name)])
    return open_job(job, ReadingOptions()).understood.questions


@pytest.mark.parametrize(
    ("ids_in_file", "refused"),
    [
        (["1.25E+18", "1252934402983763968"], True),
        (["1,25E+18"], True),
        ([f"1252934402983{n}0000" for n in (61, 62, 63)], True),
        (["1252934402983760000"] * 2, False),
        (["1252934402983760000"] * 2 + ["1252934402983763968"], False),
        ([f"1252934402983{n}0000" for n in range(11, 19)] + [str(1252934402983763968 + n) for n in range(100)], True),
        (["1252934402983760000"] * 2 + [str(1252934402983763968 + n) for n in range(100)], False),
        (["1252934402983760000"] + [str(1252934402983763968 + n) for n in range(100)], False),
        (["123400000000000"] * 5, False),
    ],
)  # fmt: skip
def test_ids_broken_by_a_spreadsheet(ids, ids_in_file, refused):
    path = ids("tweet_id\n" + "\n".join(f'"{one}"' for one in ids_in_file) + "\n")
    if refused:
        with pytest.raises(BrokenIds, match="spreadsheet") as error:
            questions(path)
        assert path.name in str(error.value)
    else:
        assert questions(path) == []


def test_genuine_ids_that_end_in_zeros_are_taken(data_home):
    (job,) = streams.jobs([(data_home / "covmis/covmis_stance.csv", "covmis_stance.csv")])
    understood = open_job(job, ReadingOptions()).understood
    assert understood.questions == []
    assert not any("zeros" in note or "rounded" in note for note in understood.notes)


@given(st.datetimes(datetime(1000, 1, 1), datetime(2999, 12, 31)))  # noqa: DTZ001 - what draws them takes no zone
def test_times_of_interface_1_1_are_read_by_the_calendar(when):
    text = f"{when:%a %b %d %H:%M:%S} +0000 {when:%Y}"
    assert iso(text) == when.strftime("%Y-%m-%dT%H:%M:%SZ") == iso(when.isoformat())
