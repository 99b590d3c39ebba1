"""Match thousands of queries with a stream of posts: the queries are indexed, not the posts.

Each query is registered under its rarest required token. A post is tested only against the queries registered under its
tokens. The choice of the token does not change what a query matches. URLs are compared by their canonical keys, which are
computed only for sites in some query.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.archive.ids import post_at
from covmis_build.text import turkish
from covmis_build.text.expression import as_written, parse
from covmis_build.text.nodes import (
    Address,
    And,
    AtLeast,
    Node,
    Or,
    Seen,
    Term,
    all_leaves,
    has_letters,
    holds,
    leaves,
    spaced,
)
from covmis_build.text.sites import REWRITTEN, names_of
from covmis_build.text.tokens import tokens
from covmis_build.text.urls import addresses, canonical_url, telling_piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from covmis_build.archive.post import Post
    from covmis_build.text.scan import Cut, Sought

REMEMBERED = 1 << 12
"""Number of cached URL keys; the same URLs occur repeatedly."""


class Query(NamedTuple):
    """A query prepared for matching."""

    query_id: str
    claim_id: str
    kind: str
    node: Node


_NOTHING: dict[str, None] = {}


class Match(NamedTuple):
    """A query that a post matches, with the matching terms or URL keys."""

    query: Query
    found: list[str]


class Matcher:
    """Returns the queries that a post matches.

    `counts` is the number of posts per word in a sample: queries are registered under rare words and tested less often.
    """

    def __init__(self, queries: Iterable[Query], counts: Mapping[str, int] = MappingProxyType({})) -> None:
        self.queries = list(queries)
        asked = {
            leaf.key for query in self.queries for leaf in all_leaves(query.node) if isinstance(leaf, Address)
        }
        self.posts = {post_at(key): key for key in asked if post_at(key)}
        self.asked = bool(asked)
        self.cores: dict[str, frozenset[str]] = {}
        whole = set[str]()
        for key in asked:
            core, host = telling_piece(key), key.partition("/")[0].partition(":")[0]
            if core:
                self.cores[core] = self.cores.get(core, frozenset()) | names_of(host)
            else:
                whole.add(host)
        self.hosts = [host.partition(".")[0] for host in sorted(whole)]
        self.every = any(_site(host) in REWRITTEN or "xn--" in host for host in whole)
        self.parts = [_parts(query.node) for query in self.queries]
        self._key = lru_cache(REMEMBERED)(self._key_of)
        self.required = [frozenset(_required(query.node)) for query in self.queries]
        self._index(counts)

    def _index(self, counts: Mapping[str, int]) -> None:
        """Register every query under its rarest required tokens."""
        self.by_word: dict[str, list[int]] = {}
        self.by_title: dict[str, list[int]] = {}
        self.by_key: dict[str, list[int]] = {}
        common = Counter(token for query in self.queries for token in _words(query.node))
        for number, query in enumerate(self.queries):
            _, anchors = _anchors(query.node, counts, common)
            for kind, value in anchors:
                (self.by_word if kind == "word" else self.by_key).setdefault(value, []).append(number)
                if query.kind == "title" and kind == "word":
                    self.by_title.setdefault(value, []).append(number)
        self.words = frozenset(self.by_word)

    def sought(self) -> Sought:
        """Return the search terms for compiled code, once the queries are registered."""
        from covmis_build.text.scan import Sought

        words = {
            word: {number: self.required[number] for number in waiting}
            for word, waiting in self.by_word.items()
        }
        names = sorted(set().union(*self.cores.values()))
        return Sought.of(words, self.cores, self.hosts, names, links=self.asked, every=self.every)

    def match(self, post: Post, *, linked: bool = True, cut: Cut | None = None) -> list[Match]:
        """Return every query that the post matches, in query order; `linked` if a URL may match.

        `cut` is the compiled pass's result for the post's text, if certain.
        """
        keys = self._keys(post) if linked and self.asked else _NOTHING
        waiting = set(self._woken(post.text) if cut is None else cut.waiting)
        if keys:
            waiting.update(number for key in keys if key in self.by_key for number in self.by_key[key])
        words_of = self._found(waiting, post.text, "" if cut is None else cut.spaced, keys) if waiting else {}
        if post.cards and self.by_title:
            self._titles(post, words_of)
        return (
            [Match(self.queries[number], words_of[number]) for number in sorted(words_of)] if words_of else []
        )

    def _woken(self, text: str) -> Iterable[int]:
        """Return the queries registered under a word of the text whose required words are all present."""
        words = set(tokens(text))
        waiting = (number for word in self.words & words for number in self.by_word[word])
        return (number for number in waiting if self.required[number] <= words)

    def _found(
        self, waiting: Iterable[int], text: str, tokens_of_text: str, keys: dict[str, None]
    ) -> dict[int, list[str]]:
        """Return the matching queries among `waiting`, with their matching parts."""
        words_of: dict[int, list[str]] = {}
        seen = Seen(tokens_of_text, keys, text)
        for number in waiting:
            node = self.queries[number].node
            if isinstance(node, Address):
                words_of[number] = [node.key]  # it is registered under nothing else
                continue
            if not seen.spaced:
                seen = Seen(spaced(text), keys, text)
            if holds(node, seen):
                words_of[number] = _present(self.parts[number], seen)
        return words_of

    def _titles(self, post: Post, words_of: dict[int, list[str]]) -> None:
        """Search titles also in the cards of the post's links."""
        for _, title, _ in post.cards:
            words, text = set(tokens(title)), Seen(spaced(title), (), title)
            for word in self.by_title.keys() & words:
                for number in self.by_title[word]:
                    if number not in words_of and holds(self.queries[number].node, text):
                        words_of[number] = _present(self.parts[number], text)

    def _keys(self, post: Post) -> dict[str, None]:
        """Return the keys of the post itself, its links and its quotation, as far as queries need them."""
        keys: dict[str, None] = {}
        if post.urls or post.cards or "/" in post.text:
            for address in (*post.urls, *(card[0] for card in post.cards), *addresses(post.text)):
                key = self._key(address)
                if key:
                    keys[key] = None
        if self.posts:
            for post_id in (post.post_id, post.quote_of, post.repost_of):
                if post_id in self.posts:
                    keys[self.posts[post_id]] = None
        return keys

    def _key_of(self, address: str) -> str:
        """Return a URL's key if a query may search for it; the test is much faster than computing the key."""
        if not self.every and _LITERAL.fullmatch(address):
            lowered = address.lower()
            names = (name for run in _RUNS.findall(address) for name in self.cores.get(run, ()))
            if not any(name in lowered for name in (*names, *self.hosts)):
                return ""
        return canonical_url(address)


class Row(NamedTuple):
    """A row of the table `queries`, as needed for matching."""

    query_id: str
    claim_id: str
    kind: str
    expression: str
    text: str = ""
    language: str = ""


def read_queries(rows: Iterable[Row | tuple[str, ...]]) -> list[Query]:
    """Parse rows as queries, ordered by id."""
    return [
        Query(row.query_id, row.claim_id, row.kind, _node(row)) for row in (Row(*row) for row in sorted(rows))
    ]


def _node(row: Row) -> Node:
    """Return a query's expression; with the author's letters in languages that need them."""
    if turkish.is_one(row.language) and row.kind in {"keywords", "title"}:
        return turkish.in_language(as_written(row.kind, row.text, row.expression).node, row.language)
    return parse(row.expression).node


_RUNS = re.compile("[A-Za-z0-9_-]+")
_LITERAL = re.compile(r"[!-$&-~]+")
"""Printable ASCII without escapes: such a part of a URL is in its key unchanged, or not at all."""


def _site(host: str) -> str:
    return ".".join(host.split(".")[-2:])


def _words(node: Node) -> set[str]:
    return {token for leaf in leaves(node) if isinstance(leaf, Term) for token in leaf.tokens}


def _conjuncts(node: Node) -> Iterable[Node]:
    return node.parts if isinstance(node, And) else (node,)


def _required(node: Node) -> Iterable[str]:
    """Return some tokens that every match must contain, which are quick to test."""
    return (token for part in _conjuncts(node) if isinstance(part, Term) for token in part.tokens)


Anchors = tuple[float, list[tuple[str, str]]]
_NEVER = (float("inf"), list[tuple[str, str]]())


def _anchors(node: Node, counts: Mapping[str, int], common: Counter[str]) -> Anchors:
    """Return a set of parts of which every match contains at least one, chosen to be rare, with its frequency."""
    match node:
        case Address(key):
            return 0.0, [("key", key)]
        case Term(cut):
            costs = [
                (counts.get(token, 0) + common[token] / 1000 + 1 / (1 + len(token)), token) for token in cut
            ]
            cost, token = min(costs)
            return cost, [("word", token)]
        case And(parts):
            return min((_anchors(part, counts, common) for part in parts), key=lambda found: found[0])
        case Or(parts):
            each = [_anchors(part, counts, common) for part in parts]
            return _combined(each)
        case AtLeast(least, parts):
            # every match contains one of any len(parts) - least + 1 of them
            each = sorted((_anchors(part, counts, common) for part in parts), key=lambda found: found[0])
            return _combined(each[: len(parts) - least + 1])
        case _:
            return _NEVER


def _combined(each: list[Anchors]) -> Anchors:
    return sum(cost for cost, _ in each), list(dict.fromkeys(word for _, many in each for word in many))


Part = tuple[str, bool, str, "re.Pattern[str] | None"]


def _parts(node: Node) -> list[Part]:
    """Return the terms and URLs of a query: name in a match, whether it is a URL, and the searched value."""
    parts: dict[Part, None] = {}
    for leaf in leaves(node):
        if isinstance(leaf, Address):
            parts[leaf.key, True, leaf.key, None] = None
        else:
            parts[" ".join(leaf.tokens), False, leaf.spaced, leaf.letters] = None
    return list(parts)


def _present(parts: list[Part], seen: Seen) -> list[str]:
    """Return the query's terms and URLs that the text contains."""
    keys, tokens_of_text = seen.keys, seen.spaced
    present = [
        name
        for name, is_key, what, letters in parts
        if what in (keys if is_key else tokens_of_text)
        and (letters is None or has_letters(letters, seen.text))
    ]
    return list(dict.fromkeys(present))
