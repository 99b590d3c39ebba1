"""Links for annotators: a secret a person, of which only the hash is kept.

links.json    the address of the server, whose links there are, when they were made and closed
visits.jsonl  who opened a link, when and from where
.gitignore    keeps the folder out of git: addresses of people stay on this computer
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from covmis_build import storage
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from covmis_build.places import Places

FILE, VISITS = "links.json", "visits.jsonl"
RANDOM_BYTES = 24
SECRET = re.compile(r"[A-Za-z0-9_-]{32}")


class Link(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A person's link. Closed ones stay, so that their page can say that they are closed."""

    annotator: str
    sha256: str
    made_at: str
    closed_at: str = ""


class Book(Struct, frozen=True, forbid_unknown_fields=True):
    """All links of a study, and the address under which the server was last reached."""

    address: str = ""
    links: tuple[Link, ...] = ()

    def whose(self, secret: str) -> Link | None:
        """Return the link with this secret, open or closed. Looking up a hash tells nothing by the time that it takes."""
        digest = _digest(secret)
        return next((link for link in self.links if link.sha256 == digest), None)

    @property
    def open(self) -> dict[str, Link]:
        """The links that work, by person."""
        return {link.annotator: link for link in self.links if not link.closed_at}


class Visit(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A line of visits.jsonl: a link was opened, or an address was locked out after wrong links. It never has the secret."""

    at: str
    annotator: str
    """Empty if the link is not known."""
    address: str
    what: str = "opened"


def place(places: Places) -> Path:
    """Return the folder of links."""
    return places.rounds.with_name("links")


def read(folder: Path) -> Book:
    """Return all links."""
    path = folder / FILE
    if not path.exists():
        return Book()
    try:
        return msgspec.json.decode(path.read_bytes(), type=Book)
    except (ValueError, OSError) as error:
        raise InputError(
            f"cannot be read: {error}",
            file=path,
            remedy="Delete it: all links are closed then, and `covmis open --team` makes new ones",
        ) from None


def make(folder: Path, people: Iterable[str], *, now: str) -> dict[str, str]:
    """Make a link for each of these people; earlier ones of theirs are closed. Returns the secrets, which are written nowhere."""
    new = {code: secrets.token_urlsafe(RANDOM_BYTES) for code in people}
    links = _closed(read(folder).links, new, now)
    links += [Link(annotator=code, sha256=_digest(secret), made_at=now) for code, secret in new.items()]
    _write(folder, msgspec.structs.replace(read(folder), links=tuple(links)))
    return new


def close(folder: Path, people: Collection[str], *, now: str) -> None:
    """Close the links of these people."""
    book = read(folder)
    _write(folder, msgspec.structs.replace(book, links=tuple(_closed(book.links, people, now))))


def keep_address(folder: Path, address: str) -> None:
    """Note under which address people reach the server, for links that are made elsewhere."""
    book = read(folder)
    if book.address != address:
        _write(folder, msgspec.structs.replace(book, address=address))


def url(address: str, secret: str) -> str:
    """Return a link. Browsers send nothing behind # to servers, so the secret is in no log, also of a proxy."""
    return f"{address}/#{secret}"


def note(folder: Path, visit: Visit) -> None:
    """Add a line about a visit."""
    storage.append_line(folder / VISITS, msgspec.json.encode(visit))


def visits(folder: Path) -> list[Visit]:
    """Return the visits, in order. Unreadable lines are left out: nothing is computed from them."""
    path = folder / VISITS
    rows: list[Visit] = []
    for raw in path.read_bytes().splitlines() if path.exists() else ():
        try:
            rows.append(msgspec.json.decode(raw, type=Visit))
        except ValueError:
            continue
    return rows


def _closed(links: Sequence[Link], people: Collection[str], now: str) -> list[Link]:
    return [
        msgspec.structs.replace(link, closed_at=now)
        if link.annotator in people and not link.closed_at
        else link
        for link in links
    ]


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _write(folder: Path, book: Book) -> None:
    storage.make_closed(folder)
    if not (folder / ".gitignore").exists():
        storage.write_text(folder / ".gitignore", "*\n")
    storage.write_text(folder / FILE, json.dumps(msgspec.to_builtins(book), indent=1) + "\n")
