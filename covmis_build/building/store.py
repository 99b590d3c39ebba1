"""The store as built by the stage `read`, the posts that count, and their words."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from covmis_build import checked_parquet, storage
from covmis_build.archive.parts import Facts, Parts
from covmis_build.errors import InputError, counted

if TYPE_CHECKING:
    from pathlib import Path

    from covmis_build.archive.counted import CountedPosts
    from covmis_build.archive.store import Store
    from covmis_build.archive.words import Words
    from covmis_build.engine import Engine, Progress
    from covmis_build.matching.kept import Kept
    from covmis_build.places import Places
    from covmis_build.settings import Settings


def parts_of(places: Places) -> Parts:
    """Return the location of the store's parts."""
    return Parts(places.far_store, places.store)


def _facts_of(places: Places) -> dict[str, Facts]:
    """Return the parts as built by the stage `read`."""
    path = places.table("parts")
    if not path.exists():
        return {}
    with checked_parquet.reading(path) as file:
        rows = file.read(["part", *Facts._fields]).to_pylist()
    return {row.pop("part"): Facts(**row) for row in rows}


def files_of(places: Places) -> dict[Path, Facts]:
    """Return the files of the store's parts where they were built."""
    parts = parts_of(places)
    return {parts.file(part): facts for part, facts in _facts_of(places).items()}


def files_here(places: Places) -> list[Path]:
    """Return the store's parts on this machine, downloaded if necessary."""
    parts = parts_of(places)
    return [parts.here(path, facts) for path, facts in files_of(places).items()]


def store_of(places: Places, engine: Engine) -> Store:
    """Return the store as built by the stage `read`."""
    from covmis_build.archive.stage import posts_of
    from covmis_build.archive.store import Store

    posts = posts_of(engine, parts_of(places), _facts_of(places))
    return Store(posts, engine.table(places.table("older_copies")))


def kept_matches(places: Places, version: int) -> Kept | None:
    """Return the matches that are kept of the store's parts; None if the store is not on this machine."""
    from covmis_build.matching.kept import Kept, Part

    if places.far:
        return None
    parts = [Part(path, facts.sha256) for path, facts in files_of(places).items()]
    return Kept(matches_file(places), parts, version)


def matches_file(places: Places) -> Path:
    """Return the file of kept matches, which may be missing."""
    from covmis_build.matching.kept import FILE

    return places.store / FILE


def copies(places: Places) -> int:
    """Return the number of rows that repeat another row's post; 0 before the first run."""
    path = places.table("older_copies")
    return checked_parquet.rows_in(path) if path.exists() else 0


def counted_posts(places: Places, settings: Settings) -> CountedPosts:
    """Return the store's posts that count."""
    from covmis_build.archive.counted import CountedPosts, Counting

    parts, options = files_here(places), settings.retrieval
    if not parts:
        raise InputError("the archive has no files", remedy="Put posts into data/archive")
    with checked_parquet.reading(places.table("older_copies")) as file:
        older = file.read()
    return CountedPosts(parts, older, Counting(options.reposts == "keep", *options.span), _unread(places))


def words_of(places: Places, settings: Settings, progress: Progress, *, lock: bool = True) -> Words:
    """Return the words of these posts. Missing word files are built under the study's lock."""
    from covmis_build.archive.words import Words
    from covmis_build.archive.words_file import FOLDER, file_of, is_whole

    posts, folder = counted_posts(places, settings), places.store / FOLDER
    whole = all(is_whole(file_of(part.stem, folder)) for part in posts.parts)
    changes = lock and not whole
    with storage.locked(places.build / ".lock", "indexing the archive") if changes else nullcontext():
        return Words(posts, folder, progress)


def _unread(places: Places) -> list[str]:
    """Return what could not be read, one sentence per file."""
    with checked_parquet.reading(places.table("intake")) as file:
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
