"""The store of posts as the stage `read` has left it, the posts that count, and their words."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

from covmis_build import storage
from covmis_build.errors import InputError, counted

if TYPE_CHECKING:
    from pathlib import Path

    from covmis_build.archive.counted import CountedPosts
    from covmis_build.archive.store import Store
    from covmis_build.archive.words import Words
    from covmis_build.engine import Engine, Progress
    from covmis_build.places import Places
    from covmis_build.settings import Settings


def parts_of(places: Places) -> dict[Path, int]:
    """The parts of the store, and their sizes."""
    path = places.table("parts")
    if not path.exists():
        return {}
    # `read_table` would load Arrow's datasets, which takes longer than all else here
    with pq.ParquetFile(path) as file:
        rows = file.read(["part", "bytes"])
    return {
        places.store / f"{part}.parquet": size
        for part, size in zip(rows["part"].to_pylist(), rows["bytes"].to_pylist(), strict=True)
    }


def store_of(places: Places, engine: Engine) -> Store:
    """The store as the stage `read` has left it."""
    from covmis_build.archive.stage import posts_of
    from covmis_build.archive.store import Store

    parts = [path.stem for path in parts_of(places)]
    return Store(posts_of(engine, places.store, parts), engine.table(places.table("older_copies")))


def counted_posts(places: Places, settings: Settings) -> CountedPosts:
    """The posts of the store that count."""
    from covmis_build.archive.counted import CountedPosts, Counting

    parts, options = list(parts_of(places)), settings.retrieval
    if not parts:
        raise InputError("the archive has no files", remedy="Put posts into data/archive")
    with pq.ParquetFile(places.table("older_copies")) as file:
        older = file.read()
    return CountedPosts(parts, older, Counting(options.reposts == "keep", *options.span), _unread(places))


def words_of(places: Places, settings: Settings, progress: Progress, *, lock: bool = True) -> Words:
    """The words of the posts that count; files of words that are missing are made, while nothing else changes the study."""
    from covmis_build.archive.words import Words
    from covmis_build.archive.words_file import FOLDER, file_of

    posts, folder = counted_posts(places, settings), places.store / FOLDER
    whole = all(file_of(part.stem, folder).exists() for part in posts.parts)
    changes = lock and not whole
    with storage.locked(places.build / ".lock", "indexing the archive") if changes else nullcontext():
        return Words(posts, folder, progress)


def _unread(places: Places) -> list[str]:
    """What could not be read, a sentence for each file."""
    with pq.ParquetFile(places.table("intake")) as file:
        seen = file.read(["file", "outcome", "reason", "count"]).to_pylist()
    lines: dict[str, int] = {}
    for row in seen:
        if row["outcome"] == "unreadable":
            lines[row["file"]] = lines.get(row["file"], 0) + row["count"]
    return [
        *(f"{row['file']} is not searched: {row['reason']}" for row in seen if row["outcome"] == "refused"),
        *(
            f"{file}: {counted(count, 'lines')} could not be read and {'is' if count == 1 else 'are'} not searched "
            "(`covmis posts look FILE` says why)"
            for file, count in lines.items()
        ),
    ]
