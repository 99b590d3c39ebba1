"""Thousands of queries over a stream of posts: the queries are indexed, not the posts.

Each query waits under the token that it cannot do without and that is rarest; a post wakes only the queries that
wait under one of its tokens, and only these are looked at in full. Which token a query waits under never changes
what it matches. URLs are compared by their canonical keys; they are only made of URLs on sites that some
query asks for.
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

    from covmis_build.archive.formats.post import Post
    from covmis_build.text.scan import Cut, Sought

REMEMBERED = 1 << 12
"""URLs whose keys are at hand: what is requested comes again and again."""


class Query(NamedTuple):
    """A query as the matcher needs it."""

    query_id: str
    claim_id: str
    kind: str
    node: Node


_NOTHING: dict[str, None] = {}


class Match(NamedTuple):
    """A query that a post satisfies, and what of it was found: terms, or keys of URLs."""

    query: Query
    found: list[str]


class Matcher:
    """Ask it which queries a post satisfies.

    `counts` says in how many of some posts a word stands: queries wait under rare words, and are looked at less often.
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
        """Put every query under its rarest necessary tokens."""
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
        """The same for compiled code, once the tokens are settled under which the queries wait."""
        from covmis_build.text.scan import Sought

        words = {
            word: {number: self.required[number] for number in waiting}
            for word, waiting in self.by_word.items()
        }
        names = sorted(set().union(*self.cores.values()))
        return Sought.of(words, self.cores, self.hosts, names, links=self.asked, every=self.every)

    def match(self, post: Post, *, linked: bool = True, cut: Cut | None = None) -> list[Match]:
        """Every query that the post satisfies, in the order of the queries; `linked` if it may be by a URL.

        `cut` is what the compiled pass has seen in the post's text, if it is sure of it.
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
        """The queries that wait under a word of the text, and have all words that they require."""
        words = set(tokens(text))
        waiting = (number for word in self.words & words for number in self.by_word[word])
        return (number for number in waiting if self.required[number] <= words)

    def _found(
        self, waiting: Iterable[int], text: str, tokens_of_text: str, keys: dict[str, None]
    ) -> dict[int, list[str]]:
        """Those of the waiting queries that hold, with what of them is there."""
        words_of: dict[int, list[str]] = {}
        seen = Seen(tokens_of_text, keys, text)
        for number in waiting:
            node = self.queries[number].node
            if isinstance(node, Address):
                words_of[number] = [node.key]  # it waits under nothing else
                continue
            if not seen.spaced:
                seen = Seen(spaced(text), keys, text)
            if holds(node, seen):
                words_of[number] = _present(self.parts[number], seen)
        return words_of

    def _titles(self, post: Post, words_of: dict[int, list[str]]) -> None:
        """Titles are also looked for in the cards of what the post links to."""
        for _, title, _ in post.cards:
            words, text = set(tokens(title)), Seen(spaced(title), (), title)
            for word in self.by_title.keys() & words:
                for number in self.by_title[word]:
                    if number not in words_of and holds(self.queries[number].node, text):
                        words_of[number] = _present(self.parts[number], text)

    def _keys(self, post: Post) -> dict[str, None]:
        """The keys of what the post links to, quotes and is, as far as a query may ask for them."""
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
        """The key of a URL, if it can be one that is requested; finding that out is much less work."""
        if not self.every and _LITERAL.fullmatch(address):
            lowered = address.lower()
            names = (name for run in _RUNS.findall(address) for name in self.cores.get(run, ()))
            if not any(name in lowered for name in (*names, *self.hosts)):
                return ""
        return canonical_url(address)


class Row(NamedTuple):
    """A row of the table `queries`, as far as matching needs it."""

    query_id: str
    claim_id: str
    kind: str
    expression: str
    text: str = ""
    language: str = ""


def read_queries(rows: Iterable[Row | tuple[str, ...]]) -> list[Query]:
    """Rows as queries, in the order of their ids."""
    return [
        Query(row.query_id, row.claim_id, row.kind, _node(row)) for row in (Row(*row) for row in sorted(rows))
    ]


def _node(row: Row) -> Node:
    """What a query asks for; in languages that need it, with its letters as they were written."""
    if turkish.is_one(row.language) and row.kind in {"keywords", "title"}:
        return turkish.in_language(as_written(row.kind, row.text, row.expression).node, row.language)
    return parse(row.expression).node


_RUNS = re.compile("[A-Za-z0-9_-]+")
_LITERAL = re.compile(r"[!-$&-~]+")
"""Printable ASCII without escapes: what is in such a URL is in its key as it is, or not at all."""


def _site(host: str) -> str:
    return ".".join(host.split(".")[-2:])


def _words(node: Node) -> set[str]:
    return {token for leaf in leaves(node) if isinstance(leaf, Term) for token in leaf.tokens}


def _conjuncts(node: Node) -> Iterable[Node]:
    return node.parts if isinstance(node, And) else (node,)


def _required(node: Node) -> Iterable[str]:
    """Tokens without which the node never holds; not all of them, but cheap to look for."""
    return (token for part in _conjuncts(node) if isinstance(part, Term) for token in part.tokens)


Anchors = tuple[float, list[tuple[str, str]]]
_NEVER = (float("inf"), list[tuple[str, str]]())


def _anchors(node: Node, counts: Mapping[str, int], common: Counter[str]) -> Anchors:
    """What must be present for the node to hold, chosen to be present as rarely as possible, and how rare that is."""
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
            return _together(each)
        case AtLeast(least, parts):
            # whichever parts hold, one of any len(parts) - least + 1 of them does
            each = sorted((_anchors(part, counts, common) for part in parts), key=lambda found: found[0])
            return _together(each[: len(parts) - least + 1])
        case _:
            return _NEVER


def _together(each: list[Anchors]) -> Anchors:
    return sum(cost for cost, _ in each), list(dict.fromkeys(word for _, many in each for word in many))


Part = tuple[str, bool, str, "re.Pattern[str] | None"]


def _parts(node: Node) -> list[Part]:
    """The terms and URLs of a query: how each is named where it is found, whether it is a URL, what is looked for."""
    parts: dict[Part, None] = {}
    for leaf in leaves(node):
        if isinstance(leaf, Address):
            parts[leaf.key, True, leaf.key, None] = None
        else:
            parts[" ".join(leaf.tokens), False, leaf.spaced, leaf.letters] = None
    return list(parts)


def _present(parts: list[Part], seen: Seen) -> list[str]:
    """The terms and URLs of the query that the text has."""
    keys, tokens_of_text = seen.keys, seen.spaced
    present = [
        name
        for name, is_key, what, letters in parts
        if what in (keys if is_key else tokens_of_text)
        and (letters is None or has_letters(letters, seen.text))
    ]
    return list(dict.fromkeys(present))
