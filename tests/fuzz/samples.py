"""Whole files of each kind that covmis reads, as their tools write them, with made-up posts."""

from __future__ import annotations

import io
import json
import zipfile

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from covmis_build import tables
from tests.archive.test_formats import STATUS, V1, VIEW
from tests.servers.bluesky import posts as skeets
from tests.servers.mastodon import posts as toots
from tests.servers.x import posts

WORDS = "Garlic &amp; onions cure it https://example.org/a"
TIME = "2020-04-22T10:00:00.000Z"
SECONDS = 1587549600


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


STAMPED = {
    "__covmis": {"job": "j", "source": "mastodon", "query_id": "q", "url": "https://a.test/api", "page": 1}
}
COMMENT = {
    "id": "c1", "name": "t1_c1", "subreddit": "s", "created_utc": SECONDS, "body": WORDS, "link_id": "t3_a",
    "parent_id": "t3_a", "score": 3,
}  # fmt: skip
SUBMISSION = {
    "id": "a1", "subreddit": "s", "created_utc": SECONDS, "title": "Garlic", "selftext": WORDS, "is_self": False,
    "url": "https://example.org/a", "num_comments": 3,
}  # fmt: skip
MESSAGE = {
    "id": 5, "type": "message", "date": "2020-04-22T10:00:00", "date_unixtime": str(SECONDS),
    "text": ["Garlic ", {"type": "link", "text": "https://example.org"}],
    "text_entities": [{"type": "plain", "text": "Garlic"}, {"type": "text_link", "text": "x", "href": "https://example.org"}],
    "reply_to_message_id": 4,
}  # fmt: skip
CHAT = {
    "id": 123,
    "type": "public_channel",
    "name": "n",
    "messages": [MESSAGE | {"forwarded_from": "n"}, MESSAGE | {"id": 6, "type": "service"}],
}
TELETHON = {
    "_": "Message", "id": 2, "peer_id": {"_": "PeerChannel", "channel_id": 1234567890}, "date": TIME, "message": WORDS,
    "entities": [{"_": "MessageEntityUrl", "offset": 6, "length": 10}, {"_": "T", "offset": 0, "length": 1, "url": "https://a.test"}],
    "fwd_from": {"from_id": {"_": "PeerChannel", "channel_id": 9}, "channel_post": 3}, "reply_to": {"reply_to_msg_id": 1},
}  # fmt: skip
YOUTUBE_COMMENT = {
    "kind": "youtube#comment", "id": "Ugx",
    "snippet": {"textDisplay": 'a <a href="https://e.test">b</a><br>c', "publishedAt": TIME, "videoId": "dQw"},
}  # fmt: skip
YOUTUBE = {
    "kind": "youtube#commentThreadListResponse",
    "items": [
        {"kind": "youtube#commentThread", "id": "Ugx", "snippet": {"videoId": "dQw", "topLevelComment": YOUTUBE_COMMENT},
         "replies": {"comments": [YOUTUBE_COMMENT]}},
        {"kind": "youtube#searchResult", "id": {"videoId": "dQw"}, "snippet": {"title": "T", "description": WORDS, "publishedAt": TIME}},
    ],
}  # fmt: skip
TIKTOK = {
    "data": {"videos": [{"id": 6924226890000000001, "create_time": SECONDS, "video_description": WORDS, "like_count": 3,
                         "comment_count": 1, "share_count": 2, "voice_to_text": "said"}]},
}  # fmt: skip
CROWDTANGLE = {
    "status": 200,
    "result": {"posts": [{"platformId": "123_456", "platform": "Facebook", "date": "2020-04-22 10:00:00", "message": WORDS,
                          "expandedLinks": [{"expanded": "https://example.org"}], "link": "https://example.org/a", "title": "T",
                          "postUrl": "https://www.facebook.com/123/posts/456", "languageCode": "en"}]},
}  # fmt: skip
LEGACY = {
    "full_text": WORDS, "created_at": "Wed Apr 22 10:00:00 +0000 2020", "lang": "en", "conversation_id_str": "1252934402983745001",
    "entities": {"urls": [{"expanded_url": "https://example.org/a"}]}, "reply_count": 1, "retweet_count": 2, "favorite_count": 3,
}  # fmt: skip
SEEN = {
    "rest_id": "1252934402983745001", "legacy": LEGACY,
    "note_tweet": {"note_tweet_results": {"result": {"text": "long", "entity_set": {"urls": []}}}},
    "quoted_status_result": {"result": {"rest_id": "1252934402983745002", "legacy": LEGACY}},
}  # fmt: skip
OWN = {
    "tweet": {"full_text": WORDS, "id_str": "1252934402983745001", "id": "1252934402983745001", "retweet_count": "3", "lang": "en",
              "favorite_count": "4", "created_at": "Wed Apr 22 10:00:00 +0000 2020",
              "entities": {"urls": [{"url": "https://t.co/a", "expanded_url": "https://twitter.com/a/status/1252934402983745002"}]}},
}  # fmt: skip
SNSCRAPED = {
    "_type": "snscrape.modules.twitter.Tweet", "url": "https://twitter.com/a/status/125", "date": "2020-04-01T00:00:00+00:00",
    "rawContent": "garlic", "id": 125, "user": {"id": 5, "username": "a"}, "likeCount": 3, "lang": "en",
    "links": [{"url": "https://example.org/%ed%a0%80"}], "media": [{"_type": "x.Photo", "altText": "a"}],
    "quotedTweet": {"id": 9, "url": "https://twitter.com/b/status/9", "rawContent": "q"},
}  # fmt: skip
IMPORTED = {
    "covmis_post": 1, "post_id": "forum:5", "native_id": "5", "text": WORDS, "created_at": "2020-04-22T10:00:00Z", "urls": ["https://a.test"],
    "cards": [["https://a.test", "T", "D"]], "media": [["photo", ""]], "metrics": [1, 2, 3, None], "claim": "c1",
}  # fmt: skip

REPOST = {
    "id_str": "9", "text": "RT @a: Garlic &amp; on…", "created_at": "Thu Apr 23 12:34:56 +0000 2020", "retweeted_status": V1,
}  # fmt: skip
BOOST = {
    "id": "1", "uri": "https://b.example/users/b/statuses/1/activity", "url": "https://b.example/@b/1", "content": "", "account": {},
    "reblog": STATUS,
}  # fmt: skip

LINES = {
    "x_v1.jsonl": lines(V1, V1, REPOST),
    "x_v2.jsonl": lines({"data": posts(3), "meta": {}, "includes": {"tweets": posts(1)}}, posts(1)[0]),
    "bluesky.jsonl": lines({"posts": skeets(3)}, VIEW),
    "jetstream.jsonl": lines(
        {"did": "did:plc:a", "time_us": 1728648794123456, "kind": "commit",
         "commit": {"operation": "create", "collection": "app.bsky.feed.post", "rkey": "3k", "record": VIEW["record"]}},
        {"id": 1, "type": "record", "record": {"did": "did:plc:a", "collection": "app.bsky.feed.post", "rkey": "3k", "action": "create",
                                               "record": VIEW["record"]}},
    ),
    "mastodon.jsonl": lines(STAMPED | {"statuses": [*toots(3), STATUS]}, STATUS, BOOST),
    "snscrape.jsonl": lines(SNSCRAPED, SNSCRAPED | {"id": 126, "retweetedTweet": SNSCRAPED}),
    "snscrape_reddit.jsonl": lines(
        {"_type": "snscrape.modules.reddit.Comment", "id": "t1_a", "body": WORDS, "date": TIME, "parentId": "t3_b"}
    ),
    "snscrape_telegram.jsonl": lines(
        {"_type": "snscrape.modules.telegram.TelegramPost", "url": "https://t.me/s/channel/12", "date": TIME, "content": WORDS,
         "outlinks": ["https://a.test"]}
    ),
    "reddit.jsonl": lines(COMMENT | {"body": "[removed]"}, SUBMISSION | {"crosspost_parent": "t3_a0"}, {"data": [COMMENT, SUBMISSION]}),
    "telegram.json": lines(CHAT),
    "telegram_all.json": lines({"about": "…", "chats": {"list": [CHAT, CHAT | {"type": "personal_chat"}]}}),
    "telethon.jsonl": lines(TELETHON, TELETHON | {"id": 3, "fwd_from": {"from_name": "n"}}),
    "youtube.json": lines(YOUTUBE),
    "tiktok.json": lines(TIKTOK, TIKTOK["data"]["videos"][0]),
    "crowdtangle.json": lines(CROWDTANGLE),
    "zeeschuimer.ndjson": lines({"source_platform": "x.com", "item_id": "1", "data": SEEN}, SEEN,
                                {"source_platform": "tiktok.com", "data": {"id": "692", "desc": WORDS, "createTime": SECONDS, "stats": {"diggCount": 3}}}),
    "x_graphql.jsonl": lines({"data": {"timeline": {"instructions": [{"entries": [{"content": {"tweet_results": {"result": SEEN}}}]}]}}}),
    "mastodon_archive.jsonl": lines({"type": "OrderedCollection", "orderedItems": [
        {"type": "Create", "actor": "a", "object": {"id": "https://a.test/users/b/statuses/1", "content": "<p>garlic</p>", "to": "as:Public"}},
        {"type": "Announce", "actor": "a", "cc": ["as:Public"], "id": "https://a.test/users/b/statuses/2/activity", "object": "https://a.test/users/b/statuses/3"}]}),
    "tweets.js": b"window.YTD.tweets.part0 = " + json.dumps([OWN, OWN], indent=1).encode(),
    "imported.jsonl": lines(IMPORTED, IMPORTED),
    "document.json": json.dumps([V1, V1], indent=1).encode(),
}  # fmt: skip
MASKS = "Masks keep no oxygen away, see https://example.org/a."
"""The words of files of further tools, each as its documentation or its code says that it writes them."""
REPEATED = {
    "id": 44,
    "owner_id": -9,
    "from_id": -9,
    "date": SECONDS - 60,
    "text": MASKS,
    "attachments": [
        {"type": "photo", "photo": {"id": 1}},
        {"type": "link", "link": {"url": "https://example.org/b", "title": "T", "description": "D"}},
    ],
}
ON_VK = {
    "id": 45,
    "owner_id": -1,
    "from_id": 7,
    "date": SECONDS,
    "text": "",
    "post_type": "post",
    "comments": {"count": 1},
    "likes": {"count": 3},
    "reposts": {"count": 2},
    "copy_history": [REPEATED],
}
SAID = {
    "id": "816000000000000001",
    "type": "Default",
    "timestamp": "2020-04-22T12:00:00.123+02:00",
    "isPinned": False,
    "content": MASKS,
    "author": {"id": "5", "name": "ann"},
    "attachments": [],
    "embeds": [{"url": "https://example.org/b", "title": "T", "description": "D"}],
}
SERVER = {
    "guild": {"id": "1", "name": "g"},
    "channel": {"id": "816000000000000000", "type": "GuildPublicThread", "name": "c"},
    "dateRange": {"after": None, "before": None},
    "messageCount": 4,
}
RECORD = {
    "uri": "at://did:plc:a/app.bsky.feed.post/3k",
    "cid": "c",
    "value": {
        "$type": "app.bsky.feed.post",
        "text": MASKS,
        "createdAt": TIME,
        "langs": ["en"],
        "reply": {
            "root": {"uri": "at://did:plc:a/app.bsky.feed.post/3i", "cid": "c"},
            "parent": {"uri": "at://did:plc:b/app.bsky.feed.post/3j", "cid": "c"},
        },
        "facets": [
            {
                "index": {"byteStart": 0, "byteEnd": 1},
                "features": [{"$type": "app.bsky.richtext.facet#link", "uri": "https://example.org/a"}],
            }
        ],
        "embed": {
            "$type": "app.bsky.embed.external",
            "external": {"uri": "https://example.org/b", "title": "T", "description": "D"},
        },
    },
}
QUOTING = {
    "uri": "at://did:plc:a/app.bsky.feed.post/3m",
    "cid": "c",
    "value": {
        "$type": "app.bsky.feed.post",
        "text": "no",
        "createdAt": TIME,
        "embed": {
            "$type": "app.bsky.embed.recordWithMedia",
            "record": {"record": {"uri": "at://did:plc:b/app.bsky.feed.post/3j", "cid": "c"}},
            "media": {"external": {"uri": "https://example.org/c"}},
        },
    },
}
ON_WEIBO = {
    "id": "4500000000000001",
    "mid": "4500000000000001",
    "created_at": "Wed Apr 22 18:00:00 +0800 2020",
    "comments_count": 1,
    "reposts_count": 2,
    "attitudes_count": 3,
    "text": '口罩<br />缺氧 <a href="https://example.org/a">网页链接</a>',
    "user": {"id": 7},
}
ACTIVITY = {
    "id": "tag:search.twitter.com,2005:1252934402983745001",
    "objectType": "activity",
    "verb": "post",
    "postedTime": TIME,
    "body": MASKS + " &amp;",
    "actor": {"id": "id:twitter.com:7"},
    "object": {"id": "object:search.twitter.com,2005:1252934402983745001"},
    "twitter_lang": "en",
    "favoritesCount": 3,
    "retweetCount": 2,
    "gnip": {"urls": [{"url": "https://t.co/a", "expanded_url": "https://example.org/a"}]},
    "inReplyTo": {"link": "http://twitter.com/a/statuses/1252934402983745000"},
}
ON_INSTAGRAM = {
    "shortcode": "B_Rumor1",
    "taken_at_timestamp": SECONDS,
    "edge_media_to_caption": {"edges": [{"node": {"text": MASKS}}]},
    "edge_media_to_comment": {"count": 1},
    "edge_media_preview_like": {"count": 3},
    "owner": {"id": "7"},
}
SAID_THERE = {
    "id": 17900000000000001,
    "created_at": SECONDS,
    "text": MASKS,
    "owner": {"id": "7", "username": "ann"},
    "likes_count": 3,
}
LINES |= {
    "yt_dlp.info.json": lines({"id": "dQw4w9WgXcQ", "title": "Masks", "description": MASKS, "timestamp": None, "upload_date": "20200422", "webpage_url": "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
        "extractor": "youtube", "extractor_key": "Youtube", "language": "en", "comment_count": 2, "like_count": 3, "comments": [
            {"id": "Ugx", "parent": "root", "text": MASKS, "timestamp": SECONDS, "like_count": 1, "author_id": "UC1"},
            {"id": "Ugx.a", "parent": "Ugx", "text": "no", "timestamp": SECONDS + 60, "like_count": None, "author_id": "UC2"}]}),
    "youtube_comment_downloader.jsonl": lines(
        {"cid": "Ugx", "text": MASKS, "time": "2 years ago", "author": "@a", "channel": "UC1", "votes": "12", "replies": "1", "heart": False, "reply": False, "time_parsed": float(SECONDS)},
        {"cid": "Ugx.a", "text": "no", "time": "1 year ago", "author": "@b", "channel": "UC2", "votes": "1.2K", "replies": "", "heart": False, "reply": True, "time_parsed": SECONDS + 60.5}),
    "vk.json": lines({"response": {"count": 3, "items": [ON_VK, ON_VK | {"id": 46, "text": "so what"}, {"id": 47, "owner_id": -1, "from_id": 8, "post_id": 45, "date": SECONDS, "text": "no", "reply_to_comment": 46}]}}),
    "instaloader.json": json.dumps({"node": ON_INSTAGRAM, "instaloader": {"version": "4.13", "node_type": "Post"}}, indent=4).encode(),
    "post_comments.json": json.dumps([SAID_THERE | {"answers": [SAID_THERE | {"id": 17900000000000002, "text": "no"}]}], indent=4).encode(),
    "instagram.ndjson": lines({"source_platform": "instagram.com", "item_id": "1", "data": ON_INSTAGRAM}, {"source_platform": "instagram.com", "item_id": "2", "data": {
        "code": "B_Rumor2", "taken_at": SECONDS, "caption": {"text": "no"}, "comment_count": 1, "like_count": 3}}),
    "discord.json": json.dumps(SERVER | {"messages": [
        SAID, SAID | {"id": "816000000000000002", "type": "Reply", "content": "no", "embeds": [], "reference": {"type": "Default", "messageId": "816000000000000001"}},
        SAID | {"id": "816000000000000003", "type": "GuildMemberJoin", "content": "Joined the server."},
        SAID | {"id": "816000000000000004", "content": "", "embeds": [], "reference": {"type": "Forward", "messageId": "815000000000000001"}, "forwardedMessage": {"content": MASKS, "embeds": []}}]}, indent=2).encode(),
    "bluesky_records.jsonl": lines({"records": [RECORD, QUOTING], "cursor": "3k"}, QUOTING, {"uri": "at://did:plc:a/app.bsky.feed.like/3k", "cid": "c", "value": {"$type": "app.bsky.feed.like"}}),
    "weibo_pages.json": lines({"ok": 1, "data": {"cards": [{"card_type": 58}, {"card_type": 9, "mblog": ON_WEIBO | {"id": "4500000000000002", "mid": "4500000000000002", "text": "转发微博", "retweeted_status": ON_WEIBO}}]}}),
    "gnip.jsonl": lines(ACTIVITY, ACTIVITY | {"id": "tag:search.twitter.com,2005:1252934402983745002", "verb": "share", "body": "RT @a: " + MASKS, "inReplyTo": None}, ACTIVITY | {"verb": "delete"}),
}  # fmt: skip


def csv(*rows: tuple[str, ...], separator: str = ",") -> bytes:
    cells = [[f'"{cell}"' if separator in cell or "\n" in cell else cell for cell in row] for row in rows]
    return "".join(separator.join(row) + "\r\n" for row in cells).encode()


FRAME = pd.DataFrame(
    {
        "created_at": ["2020-04-22 10:00:00+00:00", "2020-04-22 10:05:00+00:00"],
        "id": [1252934402983700001, 1252934402983700002],
        "text": ["Eating garlic cures, they say", "More garlic"],
        "author_id": [77, 78], "lang": ["en", "en"], "likes": [3, 4],
    }
)  # fmt: skip


def packed(write) -> bytes:
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def ods() -> bytes:
    from covmis_build.annotation.channels.workbooks import Grid
    from covmis_build.annotation.channels.workbooks import ods as workbook

    return workbook(Grid(list(FRAME), FRAME.astype(str).to_numpy().tolist(), {}))


def zipped(**files: bytes) -> bytes:
    def write(out: io.BytesIO) -> None:
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(zipfile.ZipInfo(name.replace("__", "."), (2020, 1, 1, 0, 0, 0)), data)

    return packed(write)


X_ID = "1252934402983700001"
TABLES = {
    "frame.csv": FRAME.to_csv(index=False).encode(),
    "frame.tsv": FRAME.to_csv(index=False, sep="\t").encode(),
    "latin.csv": "tweet_id;text\r\n1252934402983700001;Käse\r\n".encode("cp1252"),
    "utf16.csv": "tweet_id;text\r\n1252934402983700001;Käse\r\n".encode("utf-16"),
    "records.json": FRAME.to_json(orient="records").encode(),
    "split.json": FRAME.to_json(orient="split").encode(),
    "columns.json": FRAME.to_json().encode(),
    "rows.jsonl": FRAME.to_json(orient="records", lines=True).encode(),
    "frame.parquet": packed(FRAME.to_parquet),
    "frame.arrow": packed(FRAME.to_feather),
    "frame.xlsx": packed(lambda out: FRAME.astype(str).to_excel(out, index=False)),
    "ids.csv": b"tweet_id,note\r\n1250000000000005065,a\r\n1250000000000006078,b\r\n",
    "minet_x.csv": csv(("id", "timestamp_utc", "user_screen_name", "text", "lang", "links", "like_count", "to_tweetid", "quoted_id", "retweeted_id"),
                       (X_ID, str(SECONDS), "a", WORDS, "en", "https://a.test|https://b.test", "3", "5", "6", "7")),
    "minet_bluesky.csv": csv(("cid", "did", "uri", "timestamp_utc", "text", "like_count", "links", "quoted_uri", "user_langs", "card_title"),
                             ("x", "did:plc:a", "at://did:plc:a/app.bsky.feed.post/3k", str(SECONDS), WORDS, "3", "https://a.test", "at://did:plc:b/app.bsky.feed.post/3k", "en|de", "T")),
    "twarc.csv": csv(("id", "text", "created_at", "lang", "public_metrics.like_count", "entities.urls", "referenced_tweets.retweeted.id",
                      "referenced_tweets.quoted.id", "referenced_tweets.replied_to.id"), (X_ID, WORDS, TIME, "en", "3", "[]", "5", "6", "7")),
    "fourcat.csv": csv(("id", "thread_id", "timestamp", "body", "link", "like_count", "urls", "is_retweet", "is_reply", "is_quote_tweet"),
                       (X_ID, X_ID, "2020-04-22 10:00:00", WORDS, f"https://x.com/a/status/{X_ID}", "3", "https://a.test", "yes", "yes", "yes")),
    "weibo.csv": csv(("id", "bid", "微博正文", "头条文章url", "发布时间", "retweet_id"), ("4500000000000001", "Ix", WORDS, "", "2020-04-22 10:00", "4500000000000002")),
    "crowdtangle.csv": csv(("URL", "Message", "Total Interactions", "Post Created", "Link", "Final Link", "Link Text"),
                           ("https://www.facebook.com/123/posts/456", WORDS + " :=: https://a.test", "5", "2020-04-22 10:00:00 EDT", "https://a.test", "", "T")),
    "ytdt.tab": csv(("id", "likeCount", "publishedAt", "text", "isReply", "isReplyTo"), ("Ugx", "3", TIME, WORDS, "1", "Ugw"), separator="\t"),
    "minet_tiktok.csv": csv(("id", "description", "timestamp", "author_unique_id", "digg_count"), ("6924226890000000001", WORDS, str(SECONDS), "a", "3")),
    "pyktok.csv": csv(("video_id", "video_timestamp", "video_duration", "video_diggcount", "video_sharecount", "video_commentcount", "video_description", "video_stickers", "author_username"),
                      ("6924226890000000001", "2021-02-01T09:36:43", "15", "3", "2", "1", MASKS, "wear none", "ann")),
    "brandwatch.csv": b"Report:,Mentions\r\nBrand:,masks\r\nFrom:,Wed Apr 01 2020\r\nTo:,Thu Apr 30 2020\r\nLabel:,masks\r\n\r\n" + csv(
        ("Query Id", "Query Name", "Date", "Title", "Snippet", "Url", "Domain", "Page Type", "Language", "Author", "Full Text", "Resource Id", "Thread Entry Type", "Expanded URLs"),
        ("1", "masks", "2020-04-22 10:00:00.0", "no", "no", f"https://twitter.com/a/statuses/{X_ID}", "twitter.com", "twitter", "en", "a", MASKS, "77", "reply", "https://example.org/a, https://example.org/b?c=d,e"),
        ("1", "masks", "2020-04-22 10:05:00.0", "On masks", "A long", "https://blog.example/1", "blog.example", "blog", "en", "", "A long text", "78", "", "")),
    "meltwater.csv": csv(
        ("Date", "Headline", "URL", "Opening Text", "Hit Sentence", "Source", "Influencer", "Language"),
        ("22-Apr-2020 10:00AM", "", f"https://twitter.com/a/status/{X_ID}", "no", MASKS, "Twitter", "@a", "English"),
        ("2020-04-22 22:05", "On masks", "https://news.example/1", "It opens", "A sentence", "News", "Ann", "English"), separator="\t").decode().encode("utf-16"),
    "talkwalker.csv": csv(("url", "published", "title", "content", "lang", "source_type", "extra_author_attributes.name", "reach", "parent_url"),
        (f"https://twitter.com/a/status/{X_ID}", f"{SECONDS}000", "no", MASKS, "en", "SOCIALMEDIA_TWITTER", "Ann", "5", "https://twitter.com/b/status/5"),
        ("https://news.example/1", "2020-04-22 10:05:00", "On masks", "It opens", "en", "ONLINENEWS", "Bo", "5", "")),
    "meta_content_library.csv": csv(
        ("id", "creation_time", "lang", "link_attachment.description", "link_attachment.link", "link_attachment.name", "mcl_url", "post_owner.id", "shared_post_id", "statistics.comment_count", "statistics.like_count", "statistics.share_count", "text"),
        ("980000000000001", "2020-04-22T10:00:00+00:00", "en", "D", "https://example.org/a", "T", "https://www.facebook.com/transparency-tools/content-library/?id=980000000000001", "7", "980000000000000", "1", "3", "2", MASKS)),
    "praw.csv": csv(("id", "created_utc", "subreddit", "title", "selftext", "is_self", "url"), ("a1", str(SECONDS), "s", "T", WORDS, "True", "")),
}  # fmt: skip


def corpus_frame() -> pd.DataFrame:
    rows = {name: ["a", "b"] for name in tables.SCHEMAS["corpus"].names}
    rows |= {
        "item_id": ["c1|x:1", "c1|x:2"],
        "claim_id": ["c1", "c1"],
        "post_id": ["x:1", "x:2"],
        "native_id": ["1", "2"],
    }
    rows |= {
        "p_claim": [1.0, 0.5],
        "p_sample": [1.0, 1.0],
        "p_audit": [1.0, 1.0],
        "weight": [1.0, 2.0],
        "group_size": [1, 2],
    }
    rows |= {"weight_of_posts": [1.0, 4.0], "in_population": ["yes", "yes"]}
    return pd.DataFrame(rows)


def other_types() -> bytes:
    """A corpus whose columns have types that nobody expects."""
    frame = corpus_frame()
    wrong = {
        "item_id": [b"a", None],
        "p_claim": ["x", "y"],
        "label": [{"a": 1}, None],
        "group_size": [[1], []],
    }
    table = pa.table({name: wrong.get(name, list(frame[name])) for name in frame})
    return packed(lambda out: pq.write_table(table, out))
