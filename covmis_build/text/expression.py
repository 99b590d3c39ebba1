"""The query language: words are combined with AND, OR has lower precedence, "phrases", -minus, (parentheses), URLs.

A quorum requires at least k of several comma-separated parts: `2 of (garlic, (cure OR cures), covid-19)`.

A word with punctuation inside (`covid-19`, `don't`) is the phrase of its tokens. `https://…` and `url:"…"` mean a page
under any of its URLs.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from covmis_build.errors import InputError
from covmis_build.text.nodes import (
    Address,
    And,
    AtLeast,
    Node,
    Not,
    Or,
    Term,
    at_least,
    demands,
    holds,
    joined,
    seen,
)
from covmis_build.text.rendering import Platform, render
from covmis_build.text.tokens import tokens
from covmis_build.text.urls import canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed query: match it with a text, print it in canonical form, or render it for a platform."""

    node: Node

    def __str__(self) -> str:
        return str(self.node)

    def matches(self, post_text: str) -> bool:
        """True if a post's text matches this expression.

        >>> parse("flu (vaccine OR shot) -cat").matches("A FLU shot, please")
        True
        """
        return holds(self.node, seen(post_text))

    def render(self, platform: Platform, limit: int | None = None, *, broaden: bool = True) -> list[str]:
        r"""Return searches for the platform that together match at least everything that this expression matches.

        >>> parse("don’t (covid-19 OR flu)").render("x")
        ['"don\'t" ("covid-19" OR flu)']
        >>> parse("mask (covid-19 OR flu)").render("bluesky")
        ['mask "covid-19"', 'mask flu']
        """
        return render(self.node, platform, limit, broaden=broaden)


LEXEME = re.compile(
    r"""(?P<minus>(?<![^\s(])[-\u2212](?=[^\s)]))|(?P<open>\()|(?P<close>\))|(?i:url):"(?P<quoted>[^"]*)"
    |(?P<address>(?i:url:(?=[^\s"])|(?=https?://))[^\s"]+)|"(?P<phrase>[^"]*)"|(?P<unclosed>")
    |(?P<word>[^\s()"]+)|\s+""",
    re.VERBOSE,
)
QUOTES = str.maketrans(
    {
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\uff02", '"'),
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        "\uff08": "(",
        "\uff09": ")",
    }
)
"""Quotation marks and parentheses of word processors and Asian keyboards."""

_Lexeme = tuple[str, Node | None]


QUORUM = re.compile(r"(?<![^\s(,\-\u2212\uff0c\u3001\u060c])(\d+)\s+of\s*(?=\()")
_COMMA = re.compile(r"(?<!\d),|,(?!\d)|[\uff0c\u3001\u060c]")
"""Separator of the parts of a quorum; a comma inside a number is not one."""
_ENDS_ADDRESS = re.compile(r"[\uff0c\u3001\u060c]|,+(?=\(|$)")
"""End of a URL in a quorum; URLs can contain commas, too."""


def _lexemes(text: str) -> list[_Lexeme]:
    """Return operators and terms. Words without a letter or digit are omitted."""
    lexemes: list[_Lexeme] = []
    lists: list[bool] = []  # for each open parenthesis: whether commas separate its parts
    at = 0
    while at < len(text):
        quorum = QUORUM.match(text, at)
        if quorum and _has_comma(text, quorum.end()):
            lexemes.append((f"{quorum[1]} of", None))
            lists.append(True)
            at = quorum.end() + 1
            continue
        match = LEXEME.match(text, at)
        assert match
        kind = match.lastgroup or ""
        if kind == "unclosed":
            raise InputError(f"a quotation mark is not closed in the query: {text}", remedy='Close it with "')
        if kind == "open":
            lists.append(False)
        elif kind == "close" and lists:
            lists.pop()
        listed = bool(lists) and lists[-1]
        written = _up_to_its_end(match[0], kind, listed=listed)
        at += len(written)
        if listed and _COMMA.fullmatch(written):
            lexemes.append(("comma", None))
        elif lexeme := _lexeme(kind, written, match):
            lexemes.append(lexeme)
    return lexemes


def _up_to_its_end(written: str, kind: str, *, listed: bool) -> str:
    """Cut a URL at the parenthesis that closes after it; in a list, cut a word or URL at the comma."""
    if kind == "address":
        depth = 0
        for at, sign in enumerate(written):
            depth += (sign == "(") - (sign == ")")
            if depth < 0 or (listed and _ENDS_ADDRESS.match(written, at)):
                return written[:at]
        return written
    comma = _COMMA.search(written) if listed and kind == "word" else None
    return written if comma is None else written[: comma.start() or 1]


def _lexeme(kind: str, written: str, match: re.Match[str]) -> _Lexeme | None:
    if kind in {"address", "quoted"}:
        surface = match["quoted"] if kind == "quoted" else re.sub("(?i)^url:", "", written)
        key = canonical_url(surface)
        return ("term", Address(key, surface)) if key else None
    if kind == "word" and written in {"OR", "AND"}:
        return (written, None)
    if kind in {"word", "phrase"}:
        surface = written if kind == "word" else match["phrase"]
        cut = tuple(tokens(surface))
        return ("term", Term(cut, " ".join(surface.split()))) if cut else None
    return (kind, None) if kind else None


def _has_comma(text: str, at: int) -> bool:
    """True if the group that opens here is a list: it has a comma outside its inner groups and phrases."""
    depth = 0
    quoted = False
    for place in range(at, len(text)):
        sign = text[place]
        if sign == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif sign in "()":
            depth += 1 if sign == "(" else -1
            if depth == 0:
                return False
        elif depth == 1 and _COMMA.match(text, place):
            return True
    return False


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Parse a query. An invalid query raises an InputError with the reason.

    >>> str(parse("Trump (ship OR sent) “medical supplies”"))
    'trump (ship OR sent) "medical supplies"'
    """
    reader = _Reader(_lexemes(text.translate(QUOTES)), text)
    node = reader.alternatives()
    if reader.rest:
        raise InputError(f"a parenthesis is closed that was not opened in the query: {text}")
    if not demands(node):
        raise InputError(f"the query only says what must be absent: {text}", remedy="Add a word to look for")
    return Expression(node)


DEEPEST = 50
"""Maximum nesting of parentheses; deeper ones would exhaust the parser."""


class _Reader:
    """Recursive-descent parser of lexemes: alternatives > conjunctions > negations > terms."""

    def __init__(self, rest: list[_Lexeme], text: str) -> None:
        self.rest, self.text, self.depth = rest[::-1], text, 0

    def ahead(self) -> str:
        return self.rest[-1][0] if self.rest else ""

    def alternatives(self) -> Node:
        parts = [self.conjunction()]
        while self.ahead() == "OR":
            self.rest.pop()
            parts.append(self.conjunction())
        return joined(Or, parts)

    def conjunction(self) -> Node:
        parts = [self.negation()]
        while self.ahead() in {"AND", "term", "minus", "open"} or self.ahead().endswith(" of"):
            if self.ahead() == "AND":
                self.rest.pop()
            parts.append(self.negation())
        return joined(And, parts)

    def negation(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise InputError("the query has too many parentheses in one another", remedy="Write it flatter")
        try:
            return self.negated()
        finally:
            self.depth -= 1

    def negated(self) -> Node:
        if self.ahead() == "minus":
            self.rest.pop()
            return _opposite(self.negation())
        kind, node = self.rest.pop() if self.rest else ("", None)
        if kind == "open":
            node = self.alternatives()
            if self.ahead() != "close":
                raise InputError(f"a parenthesis is not closed in the query: {self.text}")
            self.rest.pop()
        elif kind.endswith(" of"):
            node = self.quorum(int(kind.removesuffix(" of")))
        if node is None:
            where = f"before '{kind}'" if kind in {"OR", "AND"} else "inside or after an operator"
            raise InputError(
                f"a word is missing {where} in the query: {self.text}" if self.text.strip() else "empty query"
            )
        return node

    def quorum(self, least: int) -> Node:
        parts = [self.alternatives()]
        while self.ahead() == "comma":
            self.rest.pop()
            parts.append(self.alternatives())
        if self.ahead() != "close":
            raise InputError(f"a parenthesis is not closed in the query: {self.text}")
        self.rest.pop()
        return at_least(least, parts)


def _opposite(node: Node) -> Node:
    match node:
        case Not(part):
            return part
        case And(parts):
            return joined(Or, map(_opposite, parts))
        case Or(parts):
            return joined(And, map(_opposite, parts))
        case AtLeast(least, parts):
            return at_least(len(parts) - least + 1, map(_opposite, parts))
        case _:
            return Not(node)


def as_written(kind: str, text: str, expression: str) -> Expression:
    r"""Return a query in the author's spelling with the site's own URL: platforms do not know our keys and tokens.

    >>> as_written("title", "Don’t “panic”", '"don t panic"').render("bluesky")
    ['"Don\'t panic"']
    >>> as_written("news_url", "https://hoax-alert.leadstories.com/a.html", 'url:"leadstories.com/hoax-alert/a.html"').render("x")
    ['(url:"hoax-alert.leadstories.com/a.html" OR url:"leadstories.com/hoax-alert/a.html")']
    """
    if kind == "keywords":
        return parse(text)
    if kind == "title":
        return parse('"' + text.translate(QUOTES).replace('"', " ") + '"')
    node = parse(expression).node
    return Expression(replace(node, surface=text)) if isinstance(node, Address) else Expression(node)


OPERATORS = {
    "after", "before", "context", "conversation_id", "did", "domain", "entity", "filter", "from", "geocode",
    "has", "in", "intitle", "inurl", "is",
    "lang", "language", "list", "mentions", "min_faves", "min_replies", "min_retweets",
    "near", "place", "retweets_of", "since", "site", "to", "until", "within",
}  # fmt: skip
"""Search operators of X, Bluesky, Mastodon and Google."""

MEANT = {"not": "write -word for what must be absent", "or": "write OR", "and": "leave it out, or write AND"}


def foreign(text: str) -> Iterator[str]:
    """Return a sentence for each syntax element of other search languages.

    >>> list(foreign("mask* lang:en"))
    ["'mask*' finds only 'mask': there are no wildcards", "'lang:en' is looked for as the words 'lang en'"]
    >>> list(foreign('garlic or "or" covid-19 10:30'))
    ["'or' is looked for as a word: write OR"]
    """
    for match in LEXEME.finditer(text.translate(QUOTES)):
        word = match["word"] or ""
        cut = " ".join(tokens(word))
        if word in {"OR", "AND"} or not word:
            continue
        if word.lower() in MEANT or word == "NEAR":
            yield f"'{word}' is looked for as a word: {MEANT.get(word.lower(), 'there is no such operator')}"
        elif not cut and re.fullmatch(r"[|&+!~*]+", word):
            yield f"'{word}' means nothing: {'write OR' if '|' in word else 'leave it out'}"
        elif cut and re.search(r"\w\*$|^\*\w|^\w+~\d?$", word):
            yield f"'{word}' finds only '{cut}': there are no wildcards"
        elif word.partition(":")[0].lower() in OPERATORS and not word.endswith(":") and ":" in word:
            yield f"'{word}' is looked for as the words '{cut}'"
