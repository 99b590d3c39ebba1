"""Posts as the tools write them: read as expected.json says, told by content, and nothing guessed in silence."""

from __future__ import annotations

import json

import pytest

from covmis_build.archive import streams
from covmis_build.archive.dates import iso
from covmis_build.archive.reader import ReadingOptions, read
from covmis_build.errors import BrokenIds

FOLDERS = (
    "4cat", "bluesky", "crowdtangle", "mastodon", "minet_bluesky", "minet_twitter", "reddit", "snscrape", "tables",
    "telegram", "tiktok", "twarc1", "twarc2", "twitter_archive", "weibo", "youtube", "zeeschuimer",
)  # fmt: skip
FIELDS = (
    "post_id", "native_id", "text", "created_at", "language", "urls", "reply_to", "quote_of", "repost_of",
    "conversation",
)  # fmt: skip
NOT_IN_THE_FILE = {("twarc.csv", "x:1589681856940032130", "urls")}
"""twarc-csv wrote a picture's short address where expected.json, made of the page, has the whole one."""


def posts_in(path):
    """Every post of a file once, the longest text wins; how much was unreadable; what was skipped."""
    posts, unreadable, skipped = {}, 0, {}
    for job in streams.jobs([(path, path.name)]):
        for one in read(job, how=ReadingOptions((), frozenset({"c1"}))):
            unreadable += bool(one.problem)
            for reason, count in one.skipped.items():
                skipped[reason] = skipped.get(reason, 0) + count
            for post in one.posts:
                known = posts.get(post.post_id)
                if known is None or len(post.text) > len(known.text):
                    posts[post.post_id] = post
    return posts, unreadable, skipped


def as_expected(post, wanted):
    values = {name: iso(post.created_at) if name == "created_at" else getattr(post, name) for name in FIELDS}
    if "cards" in wanted:
        values["cards"] = [list(card) for card in post.cards]
    if "claim" in wanted:
        values["claim"] = post.claimed[0].claim_id if post.claimed else ""
    return values | {"availability": post.availability}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_tools_files_are_read_as_expected(folder, data_home):
    for name, expected in json.loads((data_home / "formats" / folder / "expected.json").read_text()).items():
        path = data_home / "formats" / folder / name
        if "refused" in expected:
            with pytest.raises(BrokenIds, match="spreadsheet"):
                posts_in(path)
            continue
        posts, unreadable, skipped = posts_in(path)
        wanted = {post["post_id"]: post for post in expected["posts"]}
        assert unreadable == expected["unreadable"], name
        assert skipped.items() >= expected.get("skipped", {}).items(), name
        if "referenced ones may come, too" in expected.get("note", ""):
            posts = {post_id: post for post_id, post in posts.items() if post_id in wanted}
        assert posts.keys() == wanted.keys(), name
        for post_id, post in posts.items():
            made = as_expected(post, wanted[post_id])
            for field, value in made.items():
                if (name, post_id, field) not in NOT_IN_THE_FILE:
                    default = "available" if field == "availability" else None
                    assert value == wanted[post_id].get(field, default), (name, post_id, field)
