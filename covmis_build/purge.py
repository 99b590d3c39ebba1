"""Forget posts and authors: one list, and every place of a study that may hold something of them.

Raw pages and other archives are rewritten; frozen items lose their texts, and seals still verify; tables of the
build, the search index and a release that contains such posts are removed, since commands make them anew; tasks go
from Label Studio. What cannot be reached is said, and the rest is done nevertheless.
"""

from __future__ import annotations

import csv
import io
import json
import re
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from covmis_build import storage
from covmis_build.engine import silent
from covmis_build.errors import CovmisError, InputError
from covmis_build.retrieval.forgetting import Forget
from covmis_build.retrieval.sources.ids import post_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from covmis_build.engine import Progress
    from covmis_build.study import Study

AUTHOR = re.compile(r"author:(?:x:\d+|bsky:did:[\w:.%-]+|masto:[^/\s]+/[^/\s]+|[0-9a-f]{32})")
HEADER = "id"
T = TypeVar("T")


@dataclass(slots=True)
class Purged:
    """What was done where, and what could not be done."""

    posts: int = 0
    places: list[tuple[str, int, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_list(path: Path) -> Forget:
    """queries/purge.csv: post ids and author keys in any column; a missing file is an empty list."""
    if not path.exists():
        return Forget()
    try:
        rows = list(csv.reader(io.StringIO(path.read_text("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"is not CSV in UTF-8: {error}", file=path, remedy="Save it as 'CSV UTF-8'"
        ) from None
    posts, authors = set(), set()
    for number, row in enumerate(rows, start=1):
        for cell in (storage.restored(one.strip()) for one in row):
            if AUTHOR.fullmatch(cell):
                authors.add(cell)
            elif post_id(cell):
                posts.add(post_id(cell))
            elif cell and number > 1 and cell == storage.restored(row[0].strip()):
                raise _not_a_key(cell, file=path, row=number)
    return Forget(frozenset(posts), frozenset(authors))


def read_keys(keys: Iterable[str]) -> Forget:
    """Post ids and author keys as they are given to the command."""
    posts, authors = set(), set()
    for key in keys:
        if AUTHOR.fullmatch(key):
            authors.add(key)
        elif post_id(key):
            posts.add(post_id(key))
        else:
            raise _not_a_key(key)
    return Forget(frozenset(posts), frozenset(authors))


def _not_a_key(cell: str, *, file: Path | str = "", row: int | str = "") -> InputError:
    return InputError(
        f"'{cell[:60]}' is neither a post id nor an author key",
        file=file,
        row=row,
        remedy="Like x:1255000000000000000, author:x:12, author:bsky:did:plc:…, author:masto:server/name",
    )


def add_to_list(path: Path, more: Forget) -> Forget:
    """Put these on the list, so that nothing brings them back; the whole list."""
    known = read_list(path)
    fresh = [*sorted(more.posts - known.posts), *sorted(more.authors - known.authors)]
    if fresh:
        old = path.read_text("utf-8-sig") if path.exists() else f"{HEADER}\r\n"
        old += "" if old.endswith("\n") else "\r\n"
        storage.write_text(path, old + "".join(f"{one}\r\n" for one in fresh))
    return Forget(known.posts | more.posts, known.authors | more.authors)


def purge(
    study: Study, forget: Forget, label_studio: Callable[[list[str]], int], progress: Progress = silent
) -> Purged:
    """Take what is to be forgotten out of every place of the study."""
    from covmis_build.annotation import record
    from covmis_build.annotation.forgetting import forget_context
    from covmis_build.retrieval import rewriting

    done = Purged()
    files = _archive_files(study)
    notes = study.folder / "data" / "collect"
    with ExitStack() as locks:
        for lock in (
            study.build / ".lock",
            study.build / ".rounds.lock",
            *(one / ".lock" for one in (notes, *_folders(notes))),
        ):
            locks.enter_context(storage.locked(lock, "covmis purge"))
        found: set[str] = set()
        for path in files if forget.authors else []:
            act = partial(rewriting.posts_of_authors, [path], forget)
            found |= _try(done, study.relative(path), act, set())
        whole = Forget(forget.posts | found, forget.authors)
        done.posts = len(whole.posts)
        lines = changed = 0
        for number, path in enumerate(files):
            progress("archive", number, len(files))
            made = _try(done, study.relative(path), partial(rewriting.rewrite, path, whole), None)
            count = made.lines if made else 0
            lines, changed = lines + count, changed + bool(count)
        progress("archive", len(files), len(files))
        done.places.append(
            ("archive", lines, f"lines or pages changed, in {changed:,} of {len(files):,} files")
        )
        posts = sorted(whole.posts)
        nobody: list[str] = []
        in_context = partial(forget_context, study.rounds, posts, _context(study, whole))
        quoting = _try(done, "annotation", in_context, nobody)
        blank = _try(done, "annotation", partial(record.forget, study.rounds, posts), 0)
        done.places.append(("frozen items", blank, "texts emptied; seals still verify"))
        done.places.append(
            ("their quotations", len(quoting), "other posts' items, which keep their own texts")
        )
        done.places.append(
            ("build", _build(study, whole), "tables and indexes removed; `covmis run` makes them anew")
        )
        done.places.append(("collect", _notes(notes, whole), "notes of collecting changed"))
        tasks = _try(done, "Label Studio", partial(label_studio, [*posts, *quoting]), 0)
        done.places.append(("Label Studio", tasks, "tasks removed"))
        done.places.append(
            ("release", _release(study, whole), "files removed; `covmis release` makes them anew")
        )
    return done


def _try(done: Purged, place: str, act: Callable[[], T], otherwise: T) -> T:
    """What the act gives; a failure is noted, and the other places are still reached."""
    try:
        return act()
    except CovmisError as error:
        done.problems.append(f"{place}: {error}")
    except (OSError, ValueError) as error:
        done.problems.append(f"{place}: cannot be changed ({type(error).__name__})")
    return otherwise


def _folders(place: Path) -> list[Path]:
    return sorted(one for one in place.glob("*") if one.is_dir())


def _archive_files(study: Study) -> list[Path]:
    """Every file of the archives, hidden ones too; what a killed write has left goes at once."""
    found: set[Path] = set()
    for place in study.archives:
        found |= {place} if place.is_file() else {one for one in place.rglob("*") if one.is_file()}
    for one in [one for one in found if one.suffix == ".part" and one.name.startswith(".")]:
        found.remove(one)
        one.unlink()  # a write that was killed: the file itself is whole
    return sorted(one for one in found if one.name != "README.md")


def _context(study: Study, forget: Forget) -> dict[str, set[str]]:
    """The posts that quote or answer one that is to be forgotten, as far as the build knows."""
    import pyarrow.parquet as pq

    path = study.table("posts")
    if not path.exists():
        return {}
    names = {"quoted": "quote_of", "parent": "reply_to"}
    table = pq.read_table(path, columns=["post_id", *names.values()], partitioning=None)
    columns = {name: table.column(name).to_pylist() for name in table.column_names}
    return {
        place: {
            post for post, of in zip(columns["post_id"], columns[name], strict=True) if of in forget.posts
        }
        for place, name in names.items()
    }


def _build(study: Study, forget: Forget) -> int:
    """Remove every table that holds such a post, pages and indexes of these, and what a killed run has left."""
    holds = [path for path in study.build.rglob("*.parquet") if _in_table(path, forget)]
    indexes = [path for path in study.build.rglob("*.sqlite*") if path.is_file()]
    if holds:  # the flow's page names posts of these tables
        holds += study.build.glob("*.html")
    holds += indexes if holds or any(_in_index(path, forget) for path in indexes) else []
    holds += [path for path in study.build.rglob(".*") if path.suffix in {".new", ".part"} and path.is_file()]
    for path in holds:
        path.unlink()
    return len(holds)


def _in_table(path: Path, forget: Forget) -> bool:
    """Whether any text of a table is one of the post ids."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    wanted = pa.array(sorted(forget.posts), pa.string())
    with pq.ParquetFile(path) as file:
        names = [field.name for field in file.schema_arrow if pa.types.is_string(field.type)]
        for batch in file.iter_batches(columns=names):
            for column in batch.columns:
                if pc.any(pc.is_in(column, value_set=wanted)).as_py():
                    return True
    return False


def _in_index(path: Path, forget: Forget) -> bool:
    """Whether an index of the archive holds such a post, also one that no query finds; what cannot be read may."""
    import sqlite3
    from contextlib import closing

    try:
        with closing(sqlite3.connect(path)) as index:
            ask = "SELECT 1 FROM posts WHERE post_id = ?"
            return any(index.execute(ask, (one,)).fetchone() for one in forget.posts)
    except sqlite3.Error:
        return True


def _notes(folder: Path, forget: Forget) -> int:
    """Outcomes, gaps, plans and lists of ids, without these posts."""
    from covmis_build.retrieval import rewriting

    changed = 0
    for path in sorted(folder.rglob("*.csv")):
        changed += bool(rewriting.rewrite(path, forget).lines)
    natives = {one.partition(":")[2] for one in forget.posts}
    for path in sorted(folder.rglob("*.json")):
        before = json.loads(path.read_text("utf-8"))
        after = forget.without(before)
        if isinstance(before.get("jobs"), list):
            after = {**before, "jobs": [job for job in before["jobs"] if job["search"] not in natives]}
        if after != before:
            storage.write_text(path, json.dumps(after, ensure_ascii=False, indent=1) + "\n")
            changed += 1
    return changed


def _release(study: Study, forget: Forget) -> int:
    """Remove a release that contains such a post: what stands here is the next one's place."""
    folder = study.release_folder
    files = [path for path in folder.rglob("*") if path.is_file()]
    tables = [path for path in files if path.suffix == ".parquet"]
    others = [path for path in files if path.suffix in {".csv", ".jsonl"}]
    if not any(_in_table(path, forget) for path in tables) and not any(
        _mentioned(path, forget) for path in others
    ):
        return 0
    for path in files:
        path.unlink()
    return len(files)


def _mentioned(path: Path, forget: Forget) -> bool:
    text = path.read_text("utf-8-sig", "replace")
    return any(one in text for one in forget.posts)
