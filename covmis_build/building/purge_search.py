"""Search a whole study for what was purged. Every file is opened in a separate process; files of the user's are named, not changed."""

from __future__ import annotations

import csv
import io
import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from covmis_build import storage
from covmis_build.annotation import label_lines
from covmis_build.annotation.round_folder import RoundKind
from covmis_build.archive import reader, streams
from covmis_build.archive.stretches import Stretches, stretches_of
from covmis_build.archive.traces import Seen, Traces
from covmis_build.children import each_in_child, in_child
from covmis_build.errors import CovmisError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from covmis_build.archive.reader import ReadingOptions
    from covmis_build.places import Places

T = TypeVar("T")
MEMORY = 3 << 30
"""Maximum address space of the search, in bytes: threads of libraries reserve much that they never use."""
SHOWN = 3

MAY_NAME_POSTS = {
    "items.parquet", "labels.parquet", "decisions.parquet", "seal.json", "round.json", "report.json", "summary.json",
    "label_studio.json", "frame.parquet", "population.parquet", "draws.parquet",
}  # fmt: skip
"""Files of rounds that keep the ids of purged rows: seals, labels and their counts need them."""
HOLDS = "holds words of it, or names it"


class Where(StrEnum):
    """The owner of a file in the study."""

    ARCHIVE = "an archive"
    ROUNDS = "a round"
    MADE = "what commands make"
    ELSEWHERE = "elsewhere"


class Left(NamedTuple):
    """What a search ends with. Each line begins with the file."""

    problems: list[str]
    """Places that should hold nothing, and do, or cannot be searched."""
    named: list[str]
    """Files of the user's that hold something."""
    not_searched: list[str]


class Others(NamedTuple):
    """Stretches of purged texts that other posts have as well, and some of these posts."""

    words: Stretches = Stretches()
    post_ids: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    """Files of the archive in which such words stand."""


def seen_in(
    paths: Sequence[Path], traces: Traces, *, ids: bool = True, texts: bool = True, ours: bool = False
) -> Iterator[tuple[Path, Seen]]:
    """Yield what these files hold. One that ends the process that reads it is damaged."""
    given = [(traces, path, ids, texts, ours) for path in paths]
    answers = each_in_child(_seen, given, memory=MEMORY)
    for path, answer in zip(paths, answers, strict=True):
        yield path, Seen(unread=(answer.problem,), damaged=True) if isinstance(answer, InputError) else answer


def _seen(traces: Traces, path: Path, ids: bool, texts: bool, ours: bool) -> Seen:
    return traces.of_file(path, ids=ids, texts=texts, ours=ours)


def holding(paths: Sequence[Path], traces: Traces) -> list[Path]:
    """Return the files that hold a trace, or that cannot be read to their end."""
    return [path for path, seen in seen_in(paths, traces) if seen.holds or seen.damaged]


def words_of(files: Sequence[Path], post_ids: Collection[str], how: ReadingOptions) -> Stretches:
    """Return the stretches of the texts that these posts have in files of an archive."""
    words = Stretches()
    for path, seen in seen_in(files, Traces(post_ids), texts=False, ours=True):
        if seen.ids:
            words |= _attempted(_own_words, Stretches(), path, frozenset(post_ids), how)
    return words


def _own_words(path: Path, post_ids: frozenset[str], how: ReadingOptions) -> Stretches:
    return stretches_of(text for post_id, text in _posts(path, how) if post_id in post_ids)


def words_of_others(
    files: Sequence[Path],
    frozen: Iterable[tuple[str, str]],
    words: Stretches,
    post_ids: Collection[str],
    how: ReadingOptions,
) -> Others:
    """Return the stretches that other posts, in files of an archive or frozen, have as well."""
    if not words:
        return Others()
    others = _shared(words, ((post_id, text) for post_id, text in frozen if post_id not in post_ids))
    for path, seen in seen_in(files, Traces(words=words), ids=False, ours=True):
        if seen.texts:
            more = _attempted(_others_words, Others(), path, words, frozenset(post_ids), how)
            post_ids_shown = (*others.post_ids, *more.post_ids)[:SHOWN]
            others = Others(others.words | more.words, post_ids_shown, (*others.files, path))
    return others


def _others_words(path: Path, words: Stretches, post_ids: frozenset[str], how: ReadingOptions) -> Others:
    return _shared(words, ((post_id, text) for post_id, text in _posts(path, how) if post_id not in post_ids))


def _shared(words: Stretches, posts: Iterable[tuple[str, str]]) -> Others:
    shared, post_ids = Stretches(), list[str]()
    for several in _by_thousands(posts):
        here = words.among(text for _, text in several)
        if here and len(post_ids) < SHOWN:
            post_ids += [post_id for post_id, text in several if here.among([text])]
        shared |= here
    return Others(shared, tuple(dict.fromkeys(post_ids))[:SHOWN])


def _by_thousands(posts: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    waiting = list[tuple[str, str]]()
    for post in posts:
        waiting.append(post)
        if len(waiting) == 1000:
            yield waiting
            waiting = []
    yield waiting


def _posts(path: Path, how: ReadingOptions) -> Iterator[tuple[str, str]]:
    for job in streams.jobs([(path, path.name)], how.own_forms):
        for line in reader.read(job, how=how):
            yield from ((post.post_id, post.text) for post in line.posts)


def _attempted(act: Callable[..., T], otherwise: T, *given: object) -> T:
    """A file that cannot be read has no posts; the final search says that it cannot be read."""
    try:
        return in_child(act, *given, memory=MEMORY)
    except CovmisError:
        return otherwise


def search(places: Places, traces: Traces, archived: Collection[Path], with_words: Collection[Path]) -> Left:
    """Search every file below the study, and its archives, for what is left.

    Files of posts were searched for words before (`words_of_others`): the others have none.
    """
    left = Left([], [], [])
    own = {places.purge_csv, places.purge_journal, places.purge_left}
    looked_at = read_left(places)
    files, folders, closed = _below(places)
    files = [path for path in dict.fromkeys([*files, *archived]) if path not in own]
    left.not_searched.extend(closed)
    for path in folders:
        if traces.of_name(path.name).holds and places.relative(path) not in looked_at:
            left.named.append(f"{places.relative(path)}: its name says it")
    posts = {path for path in archived if path not in with_words}
    keeps_ids = {path for path in files if _may_name_posts(places, path)}
    rest = [path for path in files if path not in posts and path not in keeps_ids]
    seen = dict(seen_in([path for path in files if path in posts], traces, texts=False, ours=True))
    seen |= dict(seen_in(sorted(keeps_ids), traces, ids=False))
    seen |= dict(seen_in(rest, traces))
    for path in files:
        _tell(left, places, path, seen[path], traces.of_name(path.name), archived, looked_at)
    return left


def _tell(
    left: Left,
    places: Places,
    path: Path,
    seen: Seen,
    name: Seen,
    archived: Collection[Path],
    looked_at: dict[str, str],
) -> None:
    where, called = Where.ARCHIVE if path in archived else _where(places, path), places.relative(path)
    if seen.damaged and where is not Where.ELSEWHERE:
        left.problems.append(f"{called}: cannot be searched ({seen.unread[0]})")
    else:
        left.not_searched.extend(f"{called}: {why}" for why in seen.unread)
    of_people = seen.people and where is not Where.ARCHIVE  # other people's posts answer and mention them
    if not (seen.ids or of_people or seen.texts or name.holds):
        return
    page = where is Where.ROUNDS and path.suffix == ".html"
    if where is Where.MADE or (where is not Where.ELSEWHERE and (seen.ids or of_people or page)):
        left.problems.append(f"{called}: still holds something of it")
    elif looked_at.get(called) != _state(path):
        left.named.append(f"{called}: {HOLDS}")


def _may_name_posts(places: Places, path: Path) -> bool:
    kept = path.name in MAY_NAME_POSTS or path in label_lines.files(path.parent)
    return kept and _where(places, path) is Where.ROUNDS


def _below(places: Places) -> tuple[list[Path], list[Path], list[str]]:
    """Return every file and folder of the study, and the folders that are not searched."""
    files, folders, closed, seen = [], [], list[str](), {places.folder.resolve()}

    def refused(error: OSError) -> None:
        closed.append(f"{places.relative(Path(error.filename))}: {error.strerror}")

    for folder, inside, names in os.walk(places.folder, followlinks=True, onerror=refused):
        here = Path(folder)
        if ".git" in (*inside, *names):
            closed.append(f"{places.relative(here / '.git')}: earlier commits keep what they held")
        inside[:] = [name for name in sorted(inside) if name != ".git"]
        linked = {name: (here / name).resolve() for name in inside if (here / name).is_symlink()}
        inside[:] = [name for name in inside if linked.get(name) not in seen]  # a link may lead upwards
        seen |= set(linked.values())
        folders += [here / name for name in inside]
        files += [here / name for name in names if name != ".git" and (here / name).is_file()]
    return sorted(files), sorted(folders), sorted(closed)


def of_study(places: Places) -> list[Path]:
    """Return every file of the study's folder, except git's."""
    return _below(places)[0]


def _where(places: Places, path: Path) -> Where:
    if any(path.is_relative_to(place) for place in places.archives):
        return Where.ARCHIVE
    if any(path.is_relative_to(place) for place in of_rounds(places)):
        return Where.ROUNDS
    made = (places.build, places.release, places.deposit, places.notes)
    return Where.MADE if any(path.is_relative_to(place) for place in made) else Where.ELSEWHERE


def of_rounds(places: Places) -> list[Path]:
    """Return the folders of rounds, those that were taken back among them."""
    return [*(kind.folder(places.rounds) for kind in RoundKind), places.discarded]


def read_left(places: Places) -> dict[str, str]:
    """Return the files that the user has looked at and kept, with their hashes."""
    if not places.purge_left.exists():
        return {}
    rows = csv.reader(io.StringIO(places.purge_left.read_text("utf-8-sig"), newline=""))
    return {storage.restored(row[0]): row[1] for row in rows if len(row) == 2}


def leave(places: Places, files: Iterable[Path]) -> None:
    """Note that these files were looked at and stay: they are not named again while their bytes are the same."""
    known = read_left(places)
    for file in files:
        path = next((path for path in (file, places.folder / file) if path.exists()), None)
        if path is None:
            raise InputError("does not exist", file=file, remedy="Name a file that `covmis purge` has named")
        if not path.resolve().is_relative_to(places.folder.resolve()):
            raise InputError("is not in the study", file=file, remedy="Only the study's folder is searched")
        called = path.resolve().relative_to(places.folder.resolve()).as_posix()
        known[called] = _state(path)
    storage.write_bytes(places.purge_left, storage.csv_bytes(["file", "sha256"], sorted(known.items())))


def _state(path: Path) -> str:
    return storage.sha256_of(path) if path.is_file() else "a folder"
