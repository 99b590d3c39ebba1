"""Render expressions for a platform's search: within its length limit, and matching at least everything."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from covmis_build.errors import InputError, nearest
from covmis_build.text.nodes import (
    COUNTED,
    MOST,
    Address,
    And,
    AtLeast,
    Node,
    Not,
    Or,
    Term,
    TooManySearches,
    broadened,
    conjunction_count,
    conjunctions,
    demands,
    joined,
    written_out,
)
from covmis_build.text.urls import spellings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Platform = Literal["x", "bluesky", "mastodon"]

LIMITS = {"x": 512, "bluesky": 512, "mastodon": 512}
"""Maximum characters of a search: X's recent search (its full archive allows 1024); others publish no limit."""

_POST = re.compile(r"x\.com/status/(\d+)")


def render(node: Node, platform: str, limit: int | None, *, broaden: bool) -> list[str]:
    """Return the searches for a platform: OR groups are split if necessary, long conjunctions shortened.

    A conjunction above the limit loses terms from its end and then matches more; covmis matches results again locally. A query
    with more than `MOST` searches loses its largest groups. Without `broaden` either is an InputError.
    """
    if platform not in LIMITS:
        raise InputError(f"no platform is called '{platform}'", remedy=nearest(platform, LIMITS))
    most = limit if limit is not None else LIMITS[platform]
    if most < 20:
        raise InputError(f"a limit of {most} characters is too short for any query")
    write = _WRITERS[platform]
    if platform == "x":
        return _for_packing(node, write, most, broaden=broaden)
    plain = conjunctions(broadened(node, MOST) if broaden else node)
    asked = (search for part in plain for search in _each_spelling(part))
    return list(dict.fromkeys(_fitting(search, write, most, broaden=broaden) for search in asked))


def _for_packing(node: Node, write: Callable[[Node], str], most: int, *, broaden: bool) -> list[str]:
    """Return X's searches. The query is broadened in steps of ten until they are few enough, if possible."""
    size = conjunction_count(node)
    while True:
        try:
            plain = written_out(node)
            return _packed(_allowed(plain) or plain, write, most, broaden=broaden, many=size <= 1)
        except TooManySearches:
            if not broaden:
                raise
            size = min(size, COUNTED) // 10
            node = broadened(node, max(1, size))


def _allowed(node: Node) -> Node | None:
    """Return what X can search for; None for no condition.

    X does not allow a minus among alternatives. URLs below an excluded URL begin like it but are other pages.
    """
    match node:
        case Not(Address()):
            return None
        case And(parts):
            kept = [allowed for part in parts if (allowed := _allowed(part)) is not None]
            return joined(And, kept) if kept else None
        case Or(parts):
            asked = [
                allowed for part in parts if (allowed := _allowed(part)) is not None and demands(allowed)
            ]
            return joined(Or, asked) if len(asked) == len(parts) else None
        case _:
            return node


def _each_spelling(node: Node) -> Iterator[Node]:
    """Return a conjunction for each spelling of its URLs in posts."""
    parts = node.parts if isinstance(node, And) else (node,)
    ways = [
        [replace(part, surface=spelling) for spelling in _spelt(part)]
        if isinstance(part, Address)
        else [part]
        for part in parts
    ]
    return (joined(And, spelling) for spelling in itertools.product(*ways))


def _packed(node: Node, write: Callable[[Node], str], most: int, *, broaden: bool, many: bool) -> list[str]:
    """Combine the largest group's alternatives from left to right; halve it if other groups leave no space."""
    if len(write(node)) <= most:
        return [write(node)]
    group = _widest(node)
    if group is None:
        return [_fitting(node, write, most, broaden=broaden)]
    searches: list[str] = []
    held: list[Node] = []
    others = _widest(_with(node, group, [group.parts[0]])) is not None
    crowded = others and len(write(_with(node, group, [group.parts[0]]))) > most // 2
    half = (len(group.parts) + 1) // 2
    for part in group.parts:
        full = len(held) == half if crowded else len(write(_with(node, group, [*held, part]))) > most
        if held and full:
            searches += _packed(_with(node, group, held), write, most, broaden=broaden, many=many)
            held = []
            if len(searches) > MOST and not many:
                raise TooManySearches(
                    f"the query stands for more than {MOST} searches: {node}", remedy="Use fewer OR groups"
                )
        held.append(part)
    searches += _packed(_with(node, group, held), write, most, broaden=broaden, many=many)
    return list(dict.fromkeys(searches))


def _widest(node: Node) -> Or | None:
    """Return the largest OR group that can be split."""
    groups: list[Or] = [node] if isinstance(node, Or) else []
    if isinstance(node, And):
        groups = [part for part in node.parts if isinstance(part, Or)]
    return max(groups, key=lambda group: len(str(group)), default=None)


def _with(node: Node, group: Or, parts: list[Node]) -> Node:
    smaller = joined(Or, parts)
    if node is group or not isinstance(node, And):
        return smaller
    return joined(And, [smaller if part is group else part for part in node.parts])


def _fitting(node: Node, write: Callable[[Node], str], most: int, *, broaden: bool) -> str:
    """Shorten a conjunction to the limit: drop terms from its end, then tokens from the end of a phrase."""
    text = write(node)
    if len(text) <= most:
        return text
    if not broaden:
        raise InputError(
            f"the query has {len(text)} characters, the platform takes {most}: {node}", remedy="Shorten it"
        )
    if isinstance(node, And):
        wanted = [part for part in node.parts if not isinstance(part, Not)]
        kept = [part for part in wanted if _can_be_asked(part, write, most)] or wanted
        while len(kept) > 1 and len(write(joined(And, kept))) > most:
            kept.pop()
        return _fitting(joined(And, kept), write, most, broaden=broaden)
    if isinstance(node, Term) and len(node.tokens) > 1:
        kept_tokens = list(node.tokens)
        while len(kept_tokens) > 1 and len(write(Term(tuple(kept_tokens)))) > most:
            kept_tokens.pop()
        return _fitting(Term(tuple(kept_tokens)), write, most, broaden=False)
    if isinstance(node, Address):
        return text if write is _plain else _shortened(node, most)
    raise InputError(
        f"a term is longer than the {most} characters that the platform takes: {node}", remedy="Shorten it"
    )


def _can_be_asked(part: Node, write: Callable[[Node], str], most: int) -> bool:
    """True if a part of a conjunction can be cut to the limit; a longer single word cannot."""
    try:
        return bool(_fitting(part, write, most, broaden=True))
    except InputError:
        return False


def _term(term: Term) -> str:
    """Write a plain word unchanged; quote everything else, such as words with punctuation."""
    surface = term.surface.replace('"', " ") or " ".join(term.tokens)
    word = "".join(character for character in surface if character.isalnum())
    return surface if word == surface and surface not in {"OR", "AND"} else f'"{surface}"'


def _hashtag(term: Term) -> str:
    """Return a hashtag's word, which our expressions match with and without #; empty if it is no hashtag."""
    match = re.fullmatch(r"#(\w+)", term.surface)
    return match[1] if match else ""


def _for_x(node: Node) -> str:
    match node:
        case Address(key):
            post = _POST.fullmatch(key)
            return (
                f"quotes_of_tweet_id:{post[1]}"
                if post
                else _either([f'url:"{spelling}"' for spelling in _spelt(node)])
            )
        case Not(part):
            # the hashtag's word may occur
            return f"-#{_hashtag(part)}" if isinstance(part, Term) and _hashtag(part) else f"-{_for_x(part)}"
        case And(parts):
            return " ".join(f"({_for_x(part)})" if isinstance(part, Or) else _for_x(part) for part in parts)
        case Or(parts):
            written = [_for_x(part) for part in parts]
            return " OR ".join(
                f"({text})" if isinstance(part, And) else text
                for part, text in zip(parts, written, strict=True)
            )
        case AtLeast():
            return _for_x(written_out(node))
        case Term():
            tag = _hashtag(node)
            return _either([f"#{tag}", _term(Term(node.tokens, tag))]) if tag else _term(node)


def _either(searches: list[str]) -> str:
    return f"({' OR '.join(searches)})" if len(searches) > 1 else searches[0]


def _spelt(node: Address) -> tuple[str, ...]:
    return spellings(node.surface or node.key) or (node.key,)


def _shortened(node: Address, most: int) -> str:
    """Return the beginnings of a URL, cut between words; X finds them anywhere in a URL."""
    room = most // len(_spelt(node)) - len(' OR url:""')
    cut = [
        re.sub(r"[^\W_]*$", "", address[:room]).rstrip("/-_.?=&%") if len(address) > room else address
        for address in _spelt(node)
    ]
    if not all("/" in address for address in cut):
        raise InputError(f"an address is too long for {most} characters: {node}", remedy="Shorten it")
    return _either([f'url:"{address}"' for address in dict.fromkeys(cut)])


def _plain(node: Node) -> str:
    """Return AND and phrases only; exclusions are left to the local matching."""
    match node:
        case Address():
            return f"https://{_spelt(node)[0]}"
        case And(parts):
            return " ".join(_plain(part) for part in parts if not isinstance(part, Not))
        case Term():
            return _term(Term(node.tokens, _hashtag(node) or node.surface))
        case _:
            raise InputError(f"the platform has no search for: {node}")


_WRITERS: dict[str, Callable[[Node], str]] = {"x": _for_x, "bluesky": _plain, "mastodon": _plain}
