"""A post as returned by all readers, before it becomes a row of the table `posts`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from covmis_build.archive.dates import iso
from covmis_build.characters import whole_characters

if TYPE_CHECKING:
    from collections.abc import Container, Iterable


class Claimed(msgspec.Struct, frozen=True, gc=False):
    """A source that assigns a post to a claim before matching: a collecting query, or a list of ids."""

    claim_id: str
    query_id: str = ""
    kind: str = "title"
    expression: str = ""


RETWEET = re.compile(r"RT @\w+\b")
"""X's mark of reposts in their texts; some users delete the colon after the name."""

Metrics: TypeAlias = "tuple[int | None, int | None, int | None, int | None]"
"""Replies, reposts, likes and quotes."""


class Post(msgspec.Struct, gc=False):
    """One post. Times are in the platform's format; `iso` converts them."""

    post_id: str
    native_id: str
    platform: str
    text: str = ""
    created_at: str = ""
    language: str = ""
    urls: list[str] = []
    cards: list[tuple[str, str, str]] = []
    media: list[tuple[str, str]] = []
    reply_to: str = ""
    parent_text: str = ""
    quote_of: str = ""
    quoted_text: str = ""
    repost_of: str = ""
    conversation: str = ""
    metrics: Metrics | None = None
    availability: str = "available"
    retrieved_at: str = ""
    claimed: tuple[Claimed, ...] = ()

    def mend(self) -> None:
        """Replace unpaired surrogates, which UTF-8 cannot encode. JSON lines are repaired when decoded."""
        try:
            "".join(
                (
                    self.post_id,
                    self.native_id,
                    self.text,
                    self.parent_text,
                    self.quoted_text,
                    self.conversation,
                    *self.urls,
                )
            ).encode()
        except UnicodeEncodeError:
            for name in TEXTS:
                setattr(self, name, whole_characters(getattr(self, name)))
            self.urls = [whole_characters(url) for url in self.urls]

    def empty_numbers(self) -> bool:
        """Remove counts that no table can store. True if there was one."""
        if self.metrics is None:
            return False
        first, second, third, fourth = self.metrics
        if (
            -LARGEST_COUNT <= (first or 0) <= LARGEST_COUNT
            and -LARGEST_COUNT <= (second or 0) <= LARGEST_COUNT
            and -LARGEST_COUNT <= (third or 0) <= LARGEST_COUNT
            and -LARGEST_COUNT <= (fourth or 0) <= LARGEST_COUNT
        ):
            return False
        self.metrics = tuple(  # type: ignore[assignment]
            count if count is not None and abs(count) <= LARGEST_COUNT else None for count in self.metrics
        )
        return True


NONE: list[Any] = []
"""The URLs, cards or media of a post without any. All such posts share this list: never change it."""
UNCOUNTED: Metrics = (None, None, None, None)
"""The metrics of a post whose counts are missing."""

LARGEST_COUNT = 2**63 - 1
TEXTS = ("post_id", "native_id", "text", "parent_text", "quoted_text", "conversation")


class Stamp(msgspec.Struct, gc=False):
    """What `covmis collect` and twarc record on a page: query and time."""

    retrieved_at: str | None = ""
    query_id: str = ""
    claim_id: str = ""
    kind: str = ""
    expression: str = ""
    url: str | None = ""

    def mark(self, posts: Iterable[Post], asked: Container[str]) -> None:
        """Set the page's time on all its posts, and its query on those whose ids were requested."""
        retrieved_at = iso(self.retrieved_at or "")
        claimed = (
            (Claimed(self.claim_id, self.query_id, self.kind, self.expression),) if self.query_id else ()
        )
        for post in posts:
            post.retrieved_at = retrieved_at
            if claimed and post.post_id in asked:
                post.claimed = claimed


def unescaped(text: str) -> str:
    """Undo X's escapes of three characters, the same in all its APIs."""
    if "&" not in text:
        return text
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
