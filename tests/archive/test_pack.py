"""Forms of further tools, each against a reader of its own: plain code that counts ids, texts and times of the same file."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from covmis_build.archive import streams
from covmis_build.archive.reader import read
from tests.fuzz import samples

Seen = Iterator[tuple[str, str, str]]
"""Whole id, text and time of each post."""


def at(seconds: float | str) -> str:
    return datetime.fromtimestamp(float(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def on(written: str, form: str) -> str:
    when = datetime.strptime(written, form)  # noqa: DTZ007 - without a zone it is UTC
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rows(data: bytes, separator: str = ",", above: int = 0) -> list[dict[str, str]]:
    text = data.decode("utf-16" if data[:2] == b"\xff\xfe" else "utf-8")
    return list(csv.DictReader(io.StringIO("\n".join(text.splitlines()[above:])), delimiter=separator))


def lines(data: bytes) -> list[Any]:
    return [json.loads(line) for line in data.splitlines()]


def yt_dlp(data: bytes) -> Seen:
    video = json.loads(data)
    yield (
        f"youtube:{video['id']}",
        f"{video['title']}\n\n{video['description']}",
        on(video["upload_date"], "%Y%m%d"),
    )
    for comment in video["comments"]:
        yield f"youtube:{comment['id']}", comment["text"], at(comment["timestamp"])


def youtube_comment_downloader(data: bytes) -> Seen:
    for comment in lines(data):
        yield f"youtube:{comment['cid']}", comment["text"], at(comment["time_parsed"])


def vk(data: bytes) -> Seen:
    for item in json.loads(data)["response"]["items"]:
        for post in (item, *item.get("copy_history", ())):
            yield f"vk:{post['owner_id']}_{post['id']}", post["text"], at(post["date"])


def instaloader(data: bytes) -> Seen:
    post = json.loads(data)["node"]
    text = post["edge_media_to_caption"]["edges"][0]["node"]["text"]
    yield f"instagram:{post['shortcode']}", text, at(post["taken_at_timestamp"])


def instaloader_comments(data: bytes) -> Seen:
    for comment in json.loads(data):
        for said in (comment, *comment["answers"]):
            yield f"instagram:{said['id']}", said["text"], at(said["created_at"])


def zeeschuimer_instagram(data: bytes) -> Seen:
    for line in lines(data):
        post = line["data"]
        if "code" in post:
            yield f"instagram:{post['code']}", post["caption"]["text"], at(post["taken_at"])
        else:
            yield from instaloader(json.dumps({"node": post}).encode())


def discord(data: bytes) -> Seen:
    for message in json.loads(data)["messages"]:
        if message["type"] in {"Default", "Reply"}:
            text = message.get("forwardedMessage", message)["content"]
            yield f"discord:{message['id']}", text, on(message["timestamp"], "%Y-%m-%dT%H:%M:%S.%f%z")


def bluesky_records(data: bytes) -> Seen:
    for line in lines(data):
        for record in line.get("records", [line]):
            _, _, whose, kind, key = record["uri"].split("/")
            if kind == "app.bsky.feed.post":
                said = record["value"]
                yield f"bsky:{whose}/{key}", said["text"], on(said["createdAt"], "%Y-%m-%dT%H:%M:%S.%fZ")


def weibo_pages(data: bytes) -> Seen:
    for card in json.loads(data)["data"]["cards"]:
        post = card.get("mblog")
        while post:
            text = re.sub(r"<br ?/?>", "\n", re.sub(r'<a href="(.*?)">.*?</a>', r"\1", post["text"]))
            yield f"weibo:{post['mid']}", text, on(post["created_at"], "%a %b %d %H:%M:%S %z %Y")
            post = post.get("retweeted_status")


def gnip(data: bytes) -> Seen:
    for activity in lines(data):
        if activity["verb"] in {"post", "share"}:
            text = activity["body"].replace("&amp;", "&")
            yield (
                f"x:{activity['id'].split(':')[-1]}",
                text,
                on(activity["postedTime"], "%Y-%m-%dT%H:%M:%S.%fZ"),
            )


def pyktok(data: bytes) -> Seen:
    for row in rows(data):
        yield f"tiktok:{row['video_id']}", row["video_description"], ""


def whose(url: str, platform: str, other: str) -> str:
    return f"x:{url.rsplit('/', maxsplit=1)[-1]}" if "twitter.com" in url else f"{platform}:{other}"


def brandwatch(data: bytes) -> Seen:
    for row in rows(data, above=6):
        title = "" if row["Page Type"] == "twitter" else f"{row['Title']}\n\n"
        post_id = whose(row["Url"], "brandwatch", row["Resource Id"])
        yield post_id, title + row["Full Text"], on(row["Date"], "%Y-%m-%d %H:%M:%S.%f")


HASH = "f1372b7cd058c104"
"""Of https://news.example/1: `printf https://news.example/1 | sha256sum`."""


def meltwater(data: bytes) -> Seen:
    for row in rows(data, separator="\t"):
        of_x = "twitter.com" in row["URL"]
        text = row["Hit Sentence"] if of_x else f"{row['Headline']}\n\n{row['Opening Text']}"
        form = "%d-%b-%Y %I:%M%p" if row["Date"].endswith("M") else "%Y-%m-%d %H:%M"
        yield whose(row["URL"], "meltwater", HASH), text, on(row["Date"], form)


def talkwalker(data: bytes) -> Seen:
    for row in rows(data):
        text = (
            row["content"]
            if row["source_type"].startswith("SOCIAL")
            else f"{row['title']}\n\n{row['content']}"
        )
        when = row["published"]
        time = at(int(when) / 1000) if when.isdigit() else on(when, "%Y-%m-%d %H:%M:%S")
        yield whose(row["url"], "talkwalker", HASH), text, time


def meta_content_library(data: bytes) -> Seen:
    for row in rows(data):
        yield f"mcl:{row['id']}", row["text"], on(row["creation_time"], "%Y-%m-%dT%H:%M:%S%z")


FILES: dict[str, tuple[Callable[[bytes], Seen], int]] = {
    "yt_dlp.info.json": (yt_dlp, 3), "youtube_comment_downloader.jsonl": (youtube_comment_downloader, 2), "vk.json": (vk, 5),
    "instaloader.json": (instaloader, 1), "post_comments.json": (instaloader_comments, 2),
    "instagram.ndjson": (zeeschuimer_instagram, 2), "discord.json": (discord, 3), "bluesky_records.jsonl": (bluesky_records, 3),
    "weibo_pages.json": (weibo_pages, 2), "gnip.jsonl": (gnip, 2), "pyktok.csv": (pyktok, 1), "brandwatch.csv": (brandwatch, 2),
    "meltwater.csv": (meltwater, 2), "talkwalker.csv": (talkwalker, 2), "meta_content_library.csv": (meta_content_library, 1),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_the_posts_of_a_file_are_those_that_plain_code_counts(name, tmp_path):
    reader, count = FILES[name]
    data = (samples.LINES | samples.TABLES)[name]
    (tmp_path / name).write_bytes(data)
    seen = [line for job in streams.jobs([(tmp_path / name, name)]) for line in read(job)]
    assert {line.form for line in seen} == {reader.__name__}
    assert not any(line.problem for line in seen)
    posts = [(post.post_id, post.text, post.created_at) for line in seen for post in line.posts]
    assert posts == list(reader(data))
    assert len(posts) == count


def test_private_chats_on_discord_are_left_out(tmp_path):
    export = json.loads(samples.LINES["discord.json"])
    export["channel"]["type"] = "DirectTextChat"
    (tmp_path / "dm.json").write_text(json.dumps(export))
    (line,) = (line for job in streams.jobs([(tmp_path / "dm.json", "dm.json")]) for line in read(job))
    assert (line.posts, line.skipped) == ([], {"private chat": 4})


def test_days_that_could_be_meant_in_two_ways_are_no_times(tmp_path):
    """An account sets the form of the dates of its exports."""
    data = samples.TABLES["talkwalker.csv"].replace(b"2020-04-22 10:05:00", b"04/05/2020 10:05")
    (tmp_path / "a.csv").write_bytes(data)
    seen = [line for job in streams.jobs([(tmp_path / "a.csv", "a.csv")]) for line in read(job)]
    assert [(line.posts[0].created_at, line.note) for line in seen] == [
        ("2020-04-22T10:00:00Z", ""), ("", "no time that can be read"),
    ]  # fmt: skip
