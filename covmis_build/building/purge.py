"""The purge list of posts and authors, and the journal of an unfinished purge.

A purge searches the archive for an author's posts and then deletes them; the findings must survive an interruption.
Everything to delete is therefore in queries/purge-journal.jsonl before the first file is changed. The journal is deleted at the
end; until then no other command works on the study.
"""

from __future__ import annotations

import csv
import io
import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from covmis_build import storage
from covmis_build.archive.forgetting import Forget
from covmis_build.archive.ids import post_id
from covmis_build.archive.stretches import Stretches, stretches_of
from covmis_build.errors import InputError, UnfinishedPurge, counted
from covmis_build.files.contents import bytes_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from covmis_build.places import Places

AUTHOR = re.compile(r"author:(?:x:\d+|bsky:did:[\w:.%-]+|masto:[^/\s]+/[^/\s]+|[0-9a-f]{32})")
LIKE_A_KEY = re.compile(r"(?!https?:)[a-z]+:\S|\d{5}\S*$")
"""Beginning of a post id or an author key, as opposed to notes and column names."""
HEADER = "id"


def read_list(path: Path) -> Forget:
    """Read queries/purge.csv: post ids and author keys in any column; a missing file is an empty list."""
    if not path.exists():
        return Forget()
    try:
        rows = list(csv.reader(io.StringIO(bytes_of(path).decode("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"is not CSV in UTF-8: {error}", file=path, remedy="Save it as 'CSV UTF-8'"
        ) from None
    posts, authors = set(), set()
    for number, row in enumerate(rows, start=1):
        for cell in (storage.restored(cell.strip()) for cell in row):
            if AUTHOR.fullmatch(cell):
                authors.add(cell)
            elif post_id(cell):
                posts.add(post_id(cell))
            elif LIKE_A_KEY.match(cell) or (cell and number > 1 and cell == storage.restored(row[0].strip())):
                raise _not_a_key(cell, file=path, row=number)
    return Forget(frozenset(posts), frozenset(authors))


def read_keys(keys: Iterable[str]) -> Forget:
    """Parse post ids and author keys from the command line."""
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
    """Add these to the list, so that nothing imports them again. Returns the whole list."""
    known = read_list(path)
    fresh = [*sorted(more.posts - known.posts), *sorted(more.authors - known.authors)]
    if fresh:
        old = path.read_text("utf-8-sig") if path.exists() else f"{HEADER}\r\n"
        old += "" if old.endswith("\n") else "\r\n"
        storage.write_text(path, old + "".join(f"{key}\r\n" for key in fresh))
    return Forget(known.posts | more.posts, known.authors | more.authors)


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the journal: findings of a purge to delete, or that show deleted content."""

    at: str
    posts: list[str] = []
    authors: list[str] = []
    quoting: list[str] = []
    """Posts that quote a purged one."""
    answering: list[str] = []
    """Posts that answer a purged one."""
    words: list[str] = []
    """Pieces of the texts for the final search, as versions before 0.3 wrote them."""
    long: bytes = b""
    short: list[tuple[int, int]] = []
    """Numbers of stretches of the texts for the final search (`archive/stretches.py`)."""
    only_named: bool = False
    """True if the study's own places hold nothing any more: what is left stands in files that are the user's."""


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An unfinished purge: the whole content of its journal."""

    since: str
    forget: Forget
    quoting: frozenset[str]
    answering: frozenset[str]
    words: Stretches
    only_named: bool = False

    def __str__(self) -> str:
        count = (
            f"{counted(len(self.forget.posts), 'posts')} and {counted(len(self.forget.authors), 'authors')}"
        )
        if self.only_named:
            return (
                f"after the purge of {count}, begun at {self.since}, files of your own held something of it"
            )
        return f"the purge of {count}, begun at {self.since}, has not ended"


def note(places: Places, entry: Entry) -> None:
    """Record what to delete; it is on disk when this returns."""
    storage.append_line(places.purge_journal, msgspec.json.encode(entry))


def unfinished(places: Places) -> Unfinished | None:
    """Return the unfinished purge, if any."""
    if not places.purge_journal.exists():
        return None
    entries = []
    for line in places.purge_journal.read_bytes().splitlines():
        try:
            entries.append(msgspec.json.decode(line, type=Entry))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # cut off by an interruption: nothing was changed before the line was complete
    return Unfinished(
        entries[0].at if entries else "an unknown time",
        Forget(
            frozenset(post for entry in entries for post in entry.posts),
            frozenset(author for entry in entries for author in entry.authors),
        ),
        frozenset(post for entry in entries for post in entry.quoting),
        frozenset(post for entry in entries for post in entry.answering),
        _stretches(entries),
        only_named=bool(entries) and entries[-1].only_named,
    )


def _stretches(entries: list[Entry]) -> Stretches:
    old = stretches_of(piece for entry in entries for piece in entry.words)
    long = {number for entry in entries for (number,) in struct.iter_unpack("<Q", entry.long)}
    return old | Stretches(tuple(sorted(long)), tuple(pair for entry in entries for pair in entry.short))


def packed(words: Stretches) -> bytes:
    """Return the numbers of long texts as the journal has them."""
    return struct.pack(f"<{len(words.long)}Q", *words.long)


def keep_for_named(places: Places, begun: Unfinished) -> None:
    """Note that only files of the user's own are left: other commands work, and the next purge looks at these files again."""
    entry = Entry(
        at=begun.since,
        posts=sorted(begun.forget.posts),
        authors=sorted(begun.forget.authors),
        quoting=sorted(begun.quoting),
        answering=sorted(begun.answering),
        long=packed(begun.words),
        short=list(begun.words.short),
        only_named=True,
    )
    storage.write_bytes(places.purge_journal, msgspec.json.encode(entry) + b"\n")


def refuse_unfinished(places: Places) -> None:
    """Refuse all commands on a study with an unfinished purge."""
    begun = unfinished(places)
    if begun is not None and not begun.only_named:
        raise UnfinishedPurge(
            str(begun), file=places.relative(places.purge_journal), remedy="End it: `covmis purge`"
        )
