"""Posts of files: what is read of a row, and which copy of a post counts."""

import csv
import json
import re
from collections import Counter
from datetime import UTC, datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo


def utc(text, form="", zone=""):
    """A time as ISO 8601 text in UTC; empty if it is unknown or cannot be read. [guides/archives]"""
    try:
        if form == "epoch_s":
            when = datetime.fromtimestamp(int(text), UTC)
        else:
            when = datetime.strptime(text, form) if form else datetime.fromisoformat(text)  # noqa: DTZ007 - the zone follows
    except ValueError:
        return ""
    if when.tzinfo is None and re.fullmatch(r"[+-]\d\d:\d\d", zone):
        when = datetime.fromisoformat(when.isoformat() + zone)
    elif when.tzinfo is None:
        when = when.replace(tzinfo=ZoneInfo(zone or "UTC"))
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Post(NamedTuple):
    """A post as a file has it. `?`: there is another post, of which the id is unknown. [reference/tables]"""

    post_id: str
    text: str
    created_at: str
    language: str
    urls: list
    cards: list | tuple = ()
    reply_to: str = ""
    quote_of: str = ""
    repost_of: str = ""
    retrieved_at: str = ""


def read_csv(path, rule):
    """Posts of a table, read as its [[retrieval.columns]] says. [guides/your-own-posts]"""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            text, shared = row[rule["text"]], rule["repost"]
            is_repost = row[shared["column"]] == shared["is"] or re.match(r"RT @\w+", text)
            time = utc(row[rule["created_at"]], rule.get("date_format", ""), rule.get("timezone", ""))
            urls = [url for url in row[rule["urls"]].split(rule["urls_separator"]) if url]
            name, language = f"{rule['platform']}:{row[rule['id']]}", row[rule["language"]]
            yield Post(name, text, time, language, urls, repost_of="?" if is_repost else "")


def read_x_v2(path):
    """Posts of pages of X's API 2, one page a line. A repost has its original's text and links. [guides/archives]"""
    for page in map(json.loads, path.read_text("utf-8").splitlines()):
        posts = page["data"] + page.get("includes", {}).get("tweets", [])
        by_id = {post["id"]: post for post in posts}
        for post in posts:
            named = {one["type"]: one["id"] for one in post.get("referenced_tweets", [])}
            other = {kind: f"x:{name}" for kind, name in named.items()}
            shown = by_id.get(named.get("retweeted"), post)
            text = shown["text"].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
            links = shown.get("entities", {}).get("urls", [])
            urls = [link["expanded_url"] for link in links]
            cards = [link["title"] for link in links if link["title"]]
            others = [other.get(kind, "") for kind in ("replied_to", "quoted", "retweeted")]
            time, fetched = utc(post["created_at"]), utc(page["__twarc"]["retrieved_at"])
            yield Post(f"x:{post['id']}", text, time, shown["lang"], urls, cards, *others, fetched)


def rank(post):
    """Of several copies the highest counts: retrieved last, then the longest text, then by columns. [reference/tables]"""
    return post.retrieved_at, len(post.text), post[1:]


def copies(posts):
    """All copies of each post, the one that counts first. [reference/tables]"""
    found = {}
    for post in posts:
        found.setdefault(post.post_id, []).append(post)
    return {name: sorted(of_post, key=rank, reverse=True) for name, of_post in sorted(found.items())}


def repost_counts(posts):
    """How many posts of the archive repeat each post. [reference/tables]"""
    return Counter(post.repost_of for post in posts.values() if post.repost_of)
