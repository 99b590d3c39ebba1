"""An archive in a full-text index (SQLite FTS5), so that a query's posts are counted at once while it is being tuned.

The index holds our own tokens, written in ASCII, so that it finds exactly what the matcher finds in the posts'
texts and links. It may hold a share of the posts; what is counted in it is then an estimate for all.
"""

from __future__ import annotations

import functools
import itertools
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from covmis_build import storage
from covmis_build.errors import InputError
from covmis_build.text.expression import parse
from covmis_build.text.nodes import Address, And, AtLeast, Node, Not, Or, Term
from covmis_build.text.tokens import tokens
from covmis_build.text.urls import addresses, canonical_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

VERSION = 4

Rows = NDArray[np.int64]

SPREAD = 2654435761
"""Knuth's multiplier: posts shown of a query are spread over the archive by it, without chance."""

HELD = 50_000_000
"""Numbers of posts that are kept from query to query, 8 bytes each."""


TOGETHER = 10_000
"""Posts that are written at once."""

Indexed = tuple[str, str, list[str], list[str], str]
"""A post as the index takes it: id, text, addresses, titles of its cards, time."""


class SamplePost(NamedTuple):
    """A post that a query finds."""

    post_id: str
    created_at: str
    text: str

    @property
    def line(self) -> str:
        """The post in one line."""
        return f"{self.post_id}  {' '.join(self.text.split())[:120]}"


class Index:
    """A full-text index of an archive; close it, or use it in a with statement."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.size = int(self.connection.execute("SELECT count(*) FROM posts").fetchone()[0])
        self.unread = [str(row[0]) for row in self.connection.execute("SELECT sentence FROM unread")]
        """What of the archive is not in it because it could not be read."""
        self.share = float(self.connection.execute("SELECT share FROM state").fetchone()[0])
        """Of the archive's posts, what is in it."""
        self._known: dict[str, Rows] = {}
        self._held = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()

    def count(self, expression: str, kind: str = "keywords") -> int:
        """How many posts an expression finds; titles are also looked for in link cards."""
        return len(self.rows(parse(expression).node, kind))

    def of_all(self, posts: int) -> int:
        """So many posts of the index, as an estimate for the archive."""
        return round(posts / self.share)

    def sample(self, expression: str, most: int = 5, kind: str = "keywords") -> list[SamplePost]:
        """Some of the posts, spread over the archive; always the same ones."""
        rows = self.rows(parse(expression).node, kind)
        chosen = rows[np.argsort((rows * SPREAD) % (1 << 32), kind="stable")[:most]]
        marks = ",".join("?" * len(chosen))
        query = f"SELECT post_id, created_at, text FROM posts WHERE number IN ({marks}) ORDER BY number"
        return [SamplePost(*row) for row in self.connection.execute(query, chosen.tolist())]

    def rows(self, node: Node, kind: str = "keywords") -> Rows:
        """The numbers of the posts that the node finds, ascending: sets are joined here, so no query is too wide."""
        match node:
            case Term() | Address():
                return self._leaf_rows(_leaf(node, kind))
            case Or(parts):
                return np.unique(np.concatenate([self.rows(part, kind) for part in parts]))
            case And(parts):
                wanted = [self.rows(part, kind) for part in parts if not isinstance(part, Not)]
                rows_found = functools.reduce(_common, sorted(wanted, key=len)) if wanted else self._every_row
                for part in parts:
                    if isinstance(part, Not):
                        rows_found = np.setdiff1d(rows_found, self.rows(part.part, kind), assume_unique=True)
                return rows_found
            case AtLeast(least, parts):
                every = np.concatenate([self.rows(part, kind) for part in parts])
                numbers, times = np.unique(every, return_counts=True)
                return numbers[times >= least]
            case Not(part):
                return np.setdiff1d(self._every_row, self.rows(part, kind), assume_unique=True)

    def nearest(
        self, terms: Iterable[Term], most: int, *, among: Rows | None = None, besides: Rows | None = None
    ) -> list[tuple[str, float]]:
        """The posts with the highest BM25 score for any of these terms, and the scores, best first.

        `most` of all, and `most` of those that are not `besides`: what queries find does not crowd out what they miss.
        `among` leaves all other posts out. Scores are rounded to six decimals, ties go by id: the order is the same on every machine.
        """
        asked = " OR ".join(dict.fromkeys(_leaf(term, "keywords") for term in terms))
        if not asked:
            return []
        query = "SELECT rowid, -bm25(words) FROM words WHERE words MATCH ?"
        rows = self.connection.execute(query, (asked,)).fetchall()
        numbers, scores = np.array([row[0] for row in rows]), np.array([row[1] for row in rows]).round(6)
        if among is not None:
            inside = np.isin(numbers, among)
            numbers, scores = numbers[inside], scores[inside]
        known = np.isin(numbers, besides if besides is not None else [])
        # with everybody who ties with the last
        first = (scores >= _least(scores, most)) | (~known & (scores >= _least(scores[~known], most)))
        posts = zip(
            map(self._id, numbers[first].tolist()), scores[first].tolist(), known[first].tolist(), strict=True
        )
        chosen, new = [], 0
        for at, (post_id, score, is_known) in enumerate(sorted(posts, key=lambda post: (-post[1], post[0]))):
            new += not is_known
            if at < most or (not is_known and new <= most):
                chosen.append((post_id, score))
        return chosen

    def between(self, since: str, until: str) -> Rows | None:
        """The numbers of the posts from one moment to before another, which may be empty; nothing where both are."""
        if not since and not until:
            return None
        query = "SELECT number FROM posts WHERE created_at <> '' AND created_at >= ? AND (? = '' OR created_at < ?)"
        return np.array(
            self.connection.execute(query, (since, until, until)).fetchall(), dtype=np.int64
        ).ravel()

    def _id(self, number: int) -> str:
        row = self.connection.execute("SELECT post_id FROM posts WHERE number = ?", (number,)).fetchone()
        return str(row[0])

    def numbers(self, post_ids: Iterable[str]) -> Rows:
        """The numbers of these posts, in their order; 0 of one that the archive does not have."""
        query = "SELECT number FROM posts WHERE post_id = ?"
        rows = (self.connection.execute(query, (post_id,)).fetchone() for post_id in post_ids)
        return np.array([row[0] if row else 0 for row in rows], dtype=np.int64)

    def addresses(self, post_ids: Iterable[str]) -> Iterator[set[str]]:
        """The pages that each of these posts links to."""
        query = "SELECT text, urls FROM posts WHERE post_id = ?"
        for post_id in post_ids:
            text, urls = self.connection.execute(query, (post_id,)).fetchone() or ("", "")
            yield {canonical_url(url) for url in (*urls.split("\n"), *addresses(text)) if url} - {""}

    def posts(self, post_ids: Iterable[str]) -> Iterator[SamplePost]:
        """These posts, as far as the archive has them."""
        query = "SELECT post_id, created_at, text FROM posts WHERE post_id = ?"
        for post_id in post_ids:
            row = self.connection.execute(query, (post_id,)).fetchone()
            if row:
                yield SamplePost(*row)

    def _leaf_rows(self, asked: str) -> Rows:
        if asked not in self._known:
            found = self.connection.execute(
                "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid", (asked,)
            )
            rows = np.fromiter((row[0] for row in found), np.int64)
            self._held += len(rows)
            if self._held > HELD:
                self._known.clear()
                self._held = len(rows)
            self._known[asked] = rows
        return self._known[asked]

    @functools.cached_property
    def _every_row(self) -> Rows:
        return np.arange(1, self.size + 1, dtype=np.int64)

    def frequency(self, token: str) -> int:
        """In how many posts a token occurs."""
        answer = self.connection.execute(
            "SELECT doc FROM vocabulary WHERE term = ? AND col = 'body'", (_ascii(token),)
        )
        row = answer.fetchone()
        return int(row[0]) if row else 0

    def beginning_with(self, prefix: str) -> dict[str, int]:
        """The tokens that begin like this, and in how many posts they occur."""
        coded = _ascii(prefix)
        rows = self.connection.execute(
            "SELECT term, doc FROM vocabulary WHERE term >= ? AND term < ? AND col = 'body'",
            (coded, coded + "\x7f"),
        )
        return {_plain(term): int(count) for term, count in rows}


def open_index(
    path: Path, state: str, posts: Callable[[list[str]], Iterable[Indexed]], share: float = 1.0
) -> Index:
    """The index at this path; `posts` are read and indexed first if it is missing or was made of another `state`.

    `matching.plain_posts` gives both for an archive, and tells in the list what it could not read.
    """
    state = f"{VERSION} {state}"
    if not path.exists() or _state(path) != state:
        with storage.replacing(path) as beside:
            unread = list[str]()
            build(beside, posts(unread), state, unread, share)
    return Index(path)


def build(
    path: Path, posts: Iterable[Indexed], state: str = "", unread: Sequence[str] = (), share: float = 1.0
) -> None:
    """Write an index of these posts, each given once; `unread` is looked at when all are taken."""
    try:
        _build(path, posts, state, unread, share)
    except sqlite3.Error as error:  # a full disk is not told as one elsewhere
        raise InputError(
            f"cannot write the index of the archive: {error}",
            file=path.parent,
            remedy="Make room on the disk",
        ) from error


def _build(path: Path, posts: Iterable[Indexed], state: str, unread: Sequence[str], share: float) -> None:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as to:
        to.executescript("""
            PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
            CREATE TABLE state (text TEXT, share REAL);
            CREATE TABLE unread (sentence TEXT);
            CREATE TABLE posts (number INTEGER PRIMARY KEY, post_id TEXT UNIQUE, created_at TEXT, text TEXT,
              urls TEXT, titles TEXT);
            CREATE VIRTUAL TABLE words USING fts5 (body, titles, links, content = '', tokenize = "ascii tokenchars '_'");
            CREATE VIRTUAL TABLE vocabulary USING fts5vocab (words, 'col');
        """)
        numbered = enumerate(posts, start=1)
        while batch := list(itertools.islice(numbered, TOGETHER)):
            rows = [
                (number, post_id, created_at, text, "\n".join(urls), "\n".join(titles))
                for number, (post_id, text, urls, titles, created_at) in batch
            ]
            to.executemany("INSERT INTO posts VALUES (?, ?, ?, ?, ?, ?)", rows)
            to.executemany(
                "INSERT INTO words (rowid, body, titles, links) VALUES (?, ?, ?, ?)", map(_coded, batch)
            )
        to.execute("INSERT INTO words (words) VALUES ('optimize')")
        to.executemany("INSERT INTO unread VALUES (?)", ((sentence,) for sentence in unread))
        to.execute("INSERT INTO state VALUES (?, ?)", (state, share))
        to.commit()


def _coded(numbered: tuple[int, Indexed]) -> tuple[int, str, str, str]:
    number, (_, text, urls, titles, _) = numbered
    keys = {canonical_url(url) for url in (*urls, *addresses(text)) if url}
    return (
        number,
        " ".join(map(_ascii, tokens(text))),
        " _ ".join(" ".join(map(_ascii, tokens(title))) for title in titles),
        " ".join("k" + key.encode().hex() for key in sorted(keys - {""})),
    )


def _ascii(token: str) -> str:
    return token if token.isascii() else "_" + token.encode("utf-8", "replace").hex()


def _plain(term: str) -> str:
    return (
        bytes.fromhex(term[1:]).decode("utf-8", "replace") if term.startswith("_") and len(term) > 1 else term
    )


def _state(path: Path) -> str:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return str(connection.execute("SELECT text FROM state").fetchone()[0])
    except (sqlite3.Error, TypeError):
        return ""


def _least(scores: NDArray[np.float64], most: int) -> float:
    """The score of the last that belongs to the `most` best."""
    return float(np.partition(scores, -most)[-most]) if len(scores) > most else -np.inf


def _common(first: Rows, second: Rows) -> Rows:
    return np.intersect1d(first, second, assume_unique=True)


def _leaf(node: Term | Address, kind: str) -> str:
    """A word, a phrase or an address in FTS5's language."""
    if isinstance(node, Address):
        return f'links : "k{node.key.encode().hex()}"'
    columns = "{body titles}" if kind == "title" else "body"
    return f'{columns} : "{" ".join(map(_ascii, node.tokens))}"'
