"""Readers of rumour corpora of threads: RumourEval 2017 and 2019, PHEME."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

from covmis_build.datasets.shape import Row, epoch_time, post_time
from covmis_build.datasets.stance import text_of
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

TWITTER_TIME = "%a %b %d %H:%M:%S %z %Y"


def _rumoureval_posts(folder: Path) -> Iterator[Row]:
    """Read RumourEval-2017 as one JSON object per post, with threads and texts."""
    posts = [json.loads(line) for line in text_of(folder / "2017_posts_text.jsonl.gz").split("\n") if line]
    sources = {post["thread"]: post["text"] for post in posts if post["is_source"]}
    for post in posts:
        thread = post["thread"]
        yield Row(
            post["id"],
            post["label"],
            thread,
            sources.get(thread, ""),
            post["text"],
            _twitter_time(post["created_at"]),
            post["split"],
            post["event"],
        )


def _rumoureval_keys(folder: Path, keys: Mapping[str, str]) -> Iterator[Row]:
    """Read labels by post id, one answer key per split; without threads there are no targets and texts."""
    for split, name in keys.items():
        for post_id, label in _key(folder / name).items():
            yield Row(post_id, label, time=post_time(post_id), split=split)


def _rumoureval_threads(folder: Path, keys: Mapping[str, str]) -> Iterator[Row]:
    """Read the distributed folders: answer keys, and threads (source and replies) at any depth."""
    known = {
        post_id: (label, split)
        for split, name in keys.items()
        for post_id, label in _key(folder / name).items()
    }
    for event, thread, posts in threads(folder):
        for post_id, text, time in posts:
            if post_id in known:
                label, split = known[post_id]
                yield Row(post_id, label, thread, posts[0][1], text, time, split, event)


def _key(path: Path) -> dict[str, str]:
    """Read an answer key: {id: label}, or 2019's nested by subtask."""
    answers = json.loads(text_of(path))
    answers = answers.get("subtaskaenglish", answers)
    if not isinstance(answers, dict) or not all(isinstance(answer, str) for answer in answers.values()):
        raise InputError("is no answer key of subtask A", file=path, remedy="It maps post ids to labels")
    return answers


def threads(folder: Path) -> Iterator[tuple[str, str, list[tuple[str, str, str]]]]:
    """Return every thread in a folder: (event, thread id, posts as (id, text, time) with the source first)."""
    for place in sorted(folder.rglob("source-tweet*")):
        if place.is_dir():
            thread = place.parent
            files = [
                file
                for name in (place.name, "replies", "reactions")
                for file in sorted((thread / name).glob("*.json"))
                if not file.name.startswith(".")
            ]
            posts = [_post(json.loads(text_of(file)), file) for file in files]
            if posts:
                yield thread.parent.name, thread.name, posts


def _post(data: Any, file: Path) -> tuple[str, str, str]:
    """Return a post in Twitter's or Reddit's API format; the file's name is its id."""
    if isinstance(data, dict) and "created_at" in data:
        return file.stem, data.get("full_text") or data.get("text") or "", _twitter_time(data["created_at"])
    while isinstance(data, list) or "children" in data.get("data", {}):
        data = data[0] if isinstance(data, list) else data["data"]["children"][0]
    inner = data.get("data", data)
    text = inner.get("body") or " ".join(filter(None, (inner.get("title"), inner.get("selftext")))) or ""
    return file.stem, text, epoch_time(inner["created_utc"]) if "created_utc" in inner else ""


def _twitter_time(text: str) -> str:
    """Convert Twitter's time format to that of our tables.

    >>> _twitter_time("Wed Jan 07 11:14:38 +0000 2015")
    '2015-01-07T11:14:38Z'
    """
    return epoch_time(dt.datetime.strptime(text, TWITTER_TIME).astimezone(dt.UTC).timestamp())


def _pheme_threads(folder: Path) -> Iterator[Row]:
    """Read the distributed PHEME: the folder above a thread shows whether its source is a rumour."""
    for kind, label in (("rumours", "rumour"), ("non-rumours", "non-rumour")):
        for place in sorted(folder.rglob(kind)):
            for _, thread, posts in threads(place):
                yield Row(thread, label, text=posts[0][1], time=posts[0][2], group=place.parent.name)


READERS: dict[str, Callable[..., Iterator[Row]]] = {
    "rumoureval posts": _rumoureval_posts, "rumoureval keys": _rumoureval_keys, "rumoureval threads": _rumoureval_threads,
    "pheme threads": _pheme_threads,
}  # fmt: skip
