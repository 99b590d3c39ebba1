"""Weibo, from the crawlers weibo-search and weibo-crawler; times are Beijing time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.archive.dates import Form, TimeForm
from covmis_build.archive.formats.table_tools import Row, digits, in_text
from covmis_build.archive.post import Post

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

NAME = "weibo"

ID = "id"
BEIJING = TimeForm(Form.ISO, zone="Asia/Shanghai")


def recognises_header(header: AbstractSet[str]) -> bool:
    """Recognise a post's two ids and a text under its Chinese name."""
    return {"id", "bid"} <= header and bool({"微博正文", "正文"} & header)


def post(row: Row) -> Post:
    """Return the post of a row; weibo-crawler appends a tab to every number."""
    native = digits(row["id"])
    original = (row.get("retweet_id") or row.get("源微博id") or "").strip()
    article = row.get("头条文章url", "").strip()
    return Post(
        f"weibo:{native}",
        native,
        "weibo",
        (row.get("微博正文") or row.get("正文") or "").strip(),
        BEIJING.read(row.get("发布时间") or row.get("完整日期") or ""),
        urls=in_text(article),
        repost_of=f"weibo:{original}" if original else "",
    )
