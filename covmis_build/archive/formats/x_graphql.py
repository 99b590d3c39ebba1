"""Responses of X's internal GraphQL API, as saved by browsers and scrapers: timelines, searches, threads."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from covmis_build.archive.formats.decoding import UNREADABLE, Posts, whole_number
from covmis_build.archive.formats.zeeschuimer import seen_on_x

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "x_graphql"
WHOLE = True

RESULTS = ("tweet_results", "tweetResult")
"""Keys of posts in a response; quoted and reposted posts are inside them."""
DEEPEST = 24


def recognises_line(row: dict[str, Any]) -> bool:
    """Recognise a response or a timeline entry, including an empty timeline."""
    return any(True for _ in _results(row, DEEPEST))


def read(line: bytes) -> Posts:
    """Return the posts of a response. Withheld ones are counted."""
    posts, skipped = [], Counter[str]()
    for result in _results(json.loads(line, parse_int=whole_number), DEEPEST):
        if result is None:
            continue
        try:
            seen = seen_on_x(result)
        except UNREADABLE:
            skipped["posts that cannot be read"] += 1
            continue
        for post in seen:
            post.mend()
        posts += seen
        skipped["posts that X does not show"] += not seen
    return Posts(posts, +skipped)


def _results(value: Any, depth: int) -> Iterator[Any]:
    """Return the posts' results in order; None if there is no timeline. A timeline may be empty."""
    if depth and isinstance(value, dict):
        for name, part in value.items():
            if name == "timeline" and isinstance(part, dict) and isinstance(part.get("instructions"), list):
                yield None
            if name in RESULTS and isinstance(part, dict):
                yield part.get("result", {})
            else:
                yield from _results(part, depth - 1)
    elif depth and isinstance(value, list):
        for part in value:
            yield from _results(part, depth - 1)
