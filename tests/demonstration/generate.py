"""Write the demonstration's archives, or larger ones of the same kind for measurements.

    python -m tests.demonstration.generate                                the two files of data/archive
    python -m tests.demonstration.generate --posts 1000000 --out DIR      a million posts

Posts about the claims that no query finds come on top, one to twelve others.

The same seed and number of posts give the same bytes before compression, on every Python from 3.11 on.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import random
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import zstandard

from tests.demonstration import shapes
from tests.demonstration.stories import ROOT, SEED, UNFOUND, Post, posts, unfound

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

POSTS = 20_000
CHAPTER = 5000
PAGE = 100
X, SNSCRAPE = "x-search.jsonl", "snscrape.jsonl"
BROKEN_X = b'{"data":[{"id":"1250000000000000001","text":"the connection broke he\n<html><body>503 over capacity</body></html>\n'
BROKEN_SNSCRAPE = (
    b'{"_type":"snscrape.modules.twitter.Tweet","id":12500000000\n'
    b"\xff\xfe\x00\x01 not text at all \xc3\x28\n"
    b"[]\n\n12\n"
    b'{"_type":"snscrape.modules.twitter.Tweet","id":1250000000000003841,"rawContent":"half a character \\ud83d","lang":"en"}\n'
)


def archives(count: int, seed: int = SEED, *, with_unfound: bool = True) -> Iterator[tuple[str, bytes]]:
    """Pieces of the two files, each with the name of its file, in order; what no query finds comes on top, and last."""
    numbers = itertools.count()
    where = random.Random(seed + 1).random
    yield X, shapes.x_page([], next(numbers))
    for number, chapter in enumerate(
        itertools.chain(chapters(posts(count, seed)), chapters(unfound(count, seed) if with_unfound else ()))
    ):
        places = [where() for _ in chapter]
        for_x = [post for post, place in zip(chapter, places, strict=True) if place < 0.6]
        for_snscrape = [post for post, place in zip(chapter, places, strict=True) if place > 0.57]
        for start in range(0, len(for_x), PAGE):
            page = next(numbers)
            yield X, shapes.x_page(for_x[start : start + PAGE], page, newer=page % 9 == 8)
        old = number % 3 == 2
        yield SNSCRAPE, b"".join(shapes.line(shapes.snscrape_post(post, old=old)) for post in for_snscrape)
        yield SNSCRAPE, shapes.gone_lines(lost(for_snscrape))
        if number == 0:
            yield X, BROKEN_X
            yield SNSCRAPE, BROKEN_SNSCRAPE


def chapters(made: Iterable[Post]) -> Iterator[list[Post]]:
    """Some thousand posts at a time, newest first, as a search gives them."""
    stream = iter(made)
    while chapter := list(itertools.islice(stream, CHAPTER)):
        yield sorted(chapter, key=lambda post: -post.id)


def lost(made: Iterable[Post]) -> list[Post]:
    """The deleted posts that these answer."""
    return [post.reply_to for post in made if post.reply_to and post.reply_to.availability != "available"]


def write(folder: Path, count: int, seed: int = SEED, *, with_unfound: bool = True) -> None:
    """Write both archives, compressed."""
    folder.mkdir(parents=True, exist_ok=True)
    level = 19 if count <= POSTS else 3
    with ExitStack() as stack:
        x = stack.enter_context((folder / f"{X}.zst").open("wb"))
        snscrape = stack.enter_context((folder / f"{SNSCRAPE}.gz").open("wb"))
        files = {
            X: stack.enter_context(zstandard.ZstdCompressor(level=level).stream_writer(x)),
            SNSCRAPE: stack.enter_context(
                gzip.GzipFile("", "wb", compresslevel=min(9, level), fileobj=snscrape, mtime=0)
            ),
        }
        for name, piece in archives(count, seed, with_unfound=with_unfound):
            files[name].write(piece)


def main() -> None:
    """Run from the command line."""
    options = argparse.ArgumentParser(description="Generate simulated posts in two archive formats.")
    options.add_argument("--posts", type=int, default=POSTS, help="how many posts (default: %(default)s)")
    options.add_argument("--out", type=Path, default=ROOT / "data" / "archive", help="folder to write to")
    options.add_argument("--seed", type=int, default=SEED)
    asked = options.parse_args()
    began = time.monotonic()
    write(asked.out, asked.posts, asked.seed)
    for name in (f"{X}.zst", f"{SNSCRAPE}.gz"):
        print(f"{asked.out / name}: {(asked.out / name).stat().st_size / 1e6:.1f} MB")
    print(
        f"{asked.posts:,} posts and {asked.posts // UNFOUND:,} that no query finds in {time.monotonic() - began:.1f} s"
    )


if __name__ == "__main__":
    main()
