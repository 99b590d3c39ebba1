"""The one language of queries: words are joined by AND, OR binds later, "phrases", -minus, (parentheses), addresses.

A text is a row of tokens: maximal runs of letters and digits, without regard to case, diacritics, width or curly
quotes; scripts written without spaces give one token a character, so that their words are found as phrases. A word
with punctuation inside (`covid-19`, `don't`) is the phrase of its tokens. `https://…` and `url:"…"` stand for a page
under any of its addresses.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from covmis_build.errors import InputError
from covmis_build.text.urls import addresses, canonical_url

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""

_PLAIN = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))
"""What becomes of an ASCII character: letters and digits in lower case, everything else ends a token."""

_SIMPLE = re.compile(
    "[\x00-\x7f\xa0-\xa9\xab\xac\xae-\xb1\xb4\xb6-\xb8\xbb\xbf\xd7\xf7\u2000-\u200b\u200e\u200f\u2010-\u205f"
    "\u20ac\u2190-\u21ff\u2600-\u2775\u2794-\u27bf\ufe0f\ufffd\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff]*"
)
"""Text whose tokens are plain: ASCII with typographic signs and pictures; the rule for all scripts gives the same."""

_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u0640\u064b-\u0655\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
_DROPPED = re.compile(f"[{_MARKS}\u00ad\u200c\u200d\u2060\ufe00-\ufe0f]")
"""Accents and points, and what is invisible inside a word."""


@functools.cache
def _any_script() -> re.Pattern[str]:
    """Runs of letters, digits and vowel signs; unspaced scripts a character at a time."""
    signs = "".join(
        re.escape(chr(code))
        for code in range(min(sys.maxunicode, 0xFFFF))
        if unicodedata.category(chr(code)) in {"Mn", "Mc"} and not re.match(f"[{UNSPACED}]", chr(code))
    )
    return re.compile(f"[{UNSPACED}]|(?:[^\\W_{UNSPACED}]|[{signs}])+")


def tokens(text: str) -> list[str]:
    """The text's tokens; queries and posts are cut by this function alone.

    >>> tokens("Don’t panic: COVID-19 à Paris")
    ['don', 't', 'panic', 'covid', '19', 'a', 'paris']
    >>> tokens("新冠病毒 2020年")
    ['新', '冠', '病', '毒', '2020', '年']
    """
    if text.isascii():
        return text.translate(_PLAIN).split()
    if _SIMPLE.fullmatch(text):
        return text.replace("\ufe0f", "").encode("ascii", "replace").decode("ascii").translate(_PLAIN).split()
    return _of_any_script(text)


def _of_any_script(text: str) -> list[str]:
    return word_characters(folded(text))


def folded(text: str) -> str:
    """The text without regard to case, diacritics and width."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", dropped(plain))


def dropped(text: str) -> str:
    """The text without its accents and points."""
    return _DROPPED.sub("", text)


def word_characters(text: str) -> list[str]:
    """Runs of what tokens are made of."""
    return _any_script().findall(text)


@dataclass(frozen=True, slots=True)
class Term:
    """A word, or a phrase of several tokens; `surface` is how its author wrote it."""

    tokens: tuple[str, ...]
    surface: str = field(default="", compare=False)

    def __str__(self) -> str:
        parts = [self.tokens[0]]
        for before, token in zip(self.tokens, self.tokens[1:], strict=False):
            unspaced = re.fullmatch(f"[{UNSPACED}]", token) or re.fullmatch(f"[{UNSPACED}]", before)
            parts.append(token if unspaced else " " + token)
        text = "".join(parts)
        return f'"{text}"' if " " in text else text


@dataclass(frozen=True, slots=True)
class Address:
    """A page under any of its addresses, by its canonical key."""

    key: str
    surface: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f'url:"{self.key}"'


@dataclass(frozen=True, slots=True)
class Not:
    """What must be absent; a single term, since groups are turned inside out when read."""

    part: Term | Address

    def __str__(self) -> str:
        return f"-{self.part}"


@dataclass(frozen=True, slots=True)
class And:
    """All of these."""

    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return " ".join(f"({part})" if isinstance(part, Or) else str(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of these."""

    parts: tuple[Node, ...]

    def __str__(self) -> str:
        return " OR ".join(map(str, self.parts))


Node = Term | Address | Not | And | Or


class Seen(NamedTuple):
    """A text as expressions see it: its tokens, the same as one spaced string, and the keys of its addresses."""

    words: Collection[str]
    spaced: str
    keys: Collection[str]


def seen(text: str, keys: Iterable[str] = ()) -> Seen:
    """A text, and the pages it is known to link to beside those written in it."""
    found = tokens(text)
    return Seen(set(found), f" {' '.join(found)} ", {*keys, *map(canonical_url, addresses(text))})


def holds(node: Node, text: Seen) -> bool:
    """Whether the text satisfies the node."""
    if isinstance(node, Term):
        found = node.tokens
        return found[0] in text.words if len(found) == 1 else f" {' '.join(found)} " in text.spaced
    if isinstance(node, Address):
        return node.key in text.keys
    if isinstance(node, Not):
        return not holds(node.part, text)
    wanted = isinstance(node, Or)  # the first part of which this is true decides
    for part in node.parts:
        if holds(part, text) is wanted:
            return wanted
    return not wanted


def leaves(node: Node) -> Iterator[Term | Address]:
    """Every term and address that asks for presence, in the order written."""
    if isinstance(node, Term | Address):
        yield node
    elif isinstance(node, And | Or):
        for part in node.parts:
            yield from leaves(part)


@dataclass(frozen=True, slots=True)
class Expression:
    """A query, read: ask it whether a text matches, print it canonically, or render it for a platform."""

    node: Node

    def __str__(self) -> str:
        return str(self.node)

    def matches(self, post_text: str) -> bool:
        """Whether a post's text satisfies this expression.

        >>> parse("flu (vaccine OR shot) -cat").matches("A FLU shot, please")
        True
        """
        return holds(self.node, seen(post_text))

    def render(
        self, platform: Literal["x", "bluesky", "mastodon"], limit: int | None = None, *, broaden: bool = True
    ) -> list[str]:
        r"""The searches that together find at least everything this expression matches on the platform.

        >>> parse("don’t (covid-19 OR flu)").render("x")
        ['"don\'t" ("covid-19" OR flu)']
        >>> parse("mask (covid-19 OR flu)").render("bluesky")
        ['mask "covid-19"', 'mask flu']
        """
        from covmis_build.text.rendering import render

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
"""Quotation marks and parentheses as word processors and Asian keyboards write them."""

_Lexeme = tuple[str, Node | None]


def _lexemes(text: str) -> list[_Lexeme]:
    """Operators and terms; words without a letter or digit say nothing and are left out."""
    found: list[_Lexeme] = []
    at = 0
    while at < len(text):
        match = LEXEME.match(text, at)
        assert match
        at, kind = match.end(), match.lastgroup
        written = match[0]
        if kind == "unclosed":
            raise InputError(f"a quotation mark is not closed in the query: {text}", remedy='Close it with "')
        if kind == "address":
            while written.endswith(")") and written.count(")") > written.count("("):
                written, at = written[:-1], at - 1
        if kind in {"address", "quoted"}:
            surface = match["quoted"] if kind == "quoted" else re.sub("(?i)^url:", "", written)
            key = canonical_url(surface)
            found += [("term", Address(key, surface))] if key else []
        elif kind == "word" and written in {"OR", "AND"}:
            found.append((written, None))
        elif kind in {"word", "phrase"}:
            surface = match[kind]
            cut = tuple(tokens(surface))
            found += [("term", Term(cut, " ".join(surface.split())))] if cut else []
        elif kind:
            found.append((kind, None))
    return found


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> Expression:
    """Read a query; what cannot be read is an InputError that says why.

    >>> str(parse("Trump (ship OR sent) “medical supplies”"))
    'trump (ship OR sent) "medical supplies"'
    """
    reader = _Reader(_lexemes(text.translate(QUOTES)), text)
    node = reader.alternatives()
    if reader.rest:
        raise InputError(f"a parenthesis is closed that was not opened in the query: {text}")
    if not _demands(node):
        raise InputError(f"the query only says what must be absent: {text}", remedy="Add a word to look for")
    return Expression(node)


DEEPEST = 50
"""Parentheses in one another: no person writes more, and deeper ones would exhaust the reader."""


class _Reader:
    """Recursive descent over lexemes: alternatives > conjunctions > negations > terms."""

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
        while self.ahead() in {"AND", "term", "minus", "open"}:
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
        if node is None:
            where = f"before '{kind}'" if kind in {"OR", "AND"} else "inside or after an operator"
            raise InputError(
                f"a word is missing {where} in the query: {self.text}" if self.text.strip() else "empty query"
            )
        return node


def joined(kind: Callable[[tuple[Node, ...]], And | Or], parts: Iterable[Node]) -> Node:
    """Flat, without repetition; a single part stands for itself."""
    flat: dict[Node, None] = {}
    for part in parts:
        inner = part.parts if isinstance(part, And | Or) and type(part) is kind else (part,)
        flat.update(dict.fromkeys(inner))
    return kind(tuple(flat)) if len(flat) > 1 else next(iter(flat))


def _opposite(node: Node) -> Node:
    match node:
        case Not(part):
            return part
        case And(parts):
            return joined(Or, map(_opposite, parts))
        case Or(parts):
            return joined(And, map(_opposite, parts))
        case _:
            return Not(node)


def _demands(node: Node) -> bool:
    """Whether every match must contain something: otherwise a query would find nearly everything."""
    match node:
        case Not():
            return False
        case And(parts):
            return any(map(_demands, parts))
        case Or(parts):
            return all(map(_demands, parts))
        case _:
            return True
