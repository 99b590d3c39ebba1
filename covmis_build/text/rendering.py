"""Expressions in the words of a platform's search: never too long, and never finding less than the expression."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from covmis_build.errors import InputError, nearest
from covmis_build.text.expression import Address, And, Node, Not, Or, Term, joined
from covmis_build.text.urls import plain_address

if TYPE_CHECKING:
    from collections.abc import Callable

LIMITS = {"x": 512, "bluesky": 512, "mastodon": 512}
"""Characters a search: X's recent search (its full archive takes 1024); the others publish none, so the same."""

MOST = 500
"""Searches that one expression may become; more is a mistake in the expression, not a plan."""

_POST = re.compile(r"x\.com/status/(\d+)")


def render(node: Node, platform: str, limit: int | None, *, broaden: bool) -> list[str]:
    """The searches for a platform: OR groups split where they must be, long conjunctions shortened.

    A conjunction that is longer than the limit loses terms from its end, which finds more, not less: results are
    matched again locally. With `broaden` false that is an InputError instead.
    """
    if platform not in LIMITS:
        raise InputError(f"no platform is called '{platform}'", remedy=nearest(platform, LIMITS))
    most = limit if limit is not None else LIMITS[platform]
    if most < 20:
        raise InputError(f"a limit of {most} characters is too short for any query")
    write = _WRITERS[platform]
    if platform == "x":
        return _packed(node, write, most, broaden=broaden)
    return list(dict.fromkeys(_fitting(part, write, most, broaden=broaden) for part in conjunctions(node)))


def conjunctions(node: Node) -> list[Node]:
    """The expression as alternatives without OR inside (disjunctive normal form)."""
    match node:
        case Or(parts):
            found = [one for part in parts for one in conjunctions(part)]
        case And(parts):
            groups = [conjunctions(part) for part in parts]
            size = 1
            for group in groups:
                size *= len(group)
                if size > MOST:
                    raise InputError(
                        f"the query stands for more than {MOST} searches: {node}",
                        remedy="Use fewer OR groups",
                    )
            found = [joined(And, one) for one in itertools.product(*groups)]
        case _:
            found = [node]
    return list(dict.fromkeys(found))


def _packed(node: Node, write: Callable[[Node], str], most: int, *, broaden: bool) -> list[str]:
    """As few searches as a left-to-right packing of the alternatives gives."""
    if len(write(node)) <= most:
        return [write(node)]
    group = _widest(node)
    if group is None:
        return [_fitting(node, write, most, broaden=broaden)]
    found: list[str] = []
    held: list[Node] = []
    for part in group.parts:
        if held and len(write(_with(node, group, [*held, part]))) > most:
            found += _packed(_with(node, group, held), write, most, broaden=broaden)
            held = []
        held.append(part)
    return list(dict.fromkeys([*found, *_packed(_with(node, group, held), write, most, broaden=broaden)]))


def _widest(node: Node) -> Or | None:
    """The longest OR group that can be split."""
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
    """A conjunction within the limit: terms go from its end, then tokens from the end of a phrase."""
    text = write(node)
    if len(text) <= most:
        return text
    if not broaden:
        raise InputError(
            f"the query has {len(text)} characters, the platform takes {most}: {node}", remedy="Shorten it"
        )
    if isinstance(node, And):
        kept = [part for part in node.parts if not isinstance(part, Not)]
        while len(kept) > 1 and len(write(joined(And, kept))) > most:
            kept.pop()
        return _fitting(joined(And, kept), write, most, broaden=broaden)
    if isinstance(node, Term) and len(node.tokens) > 1:
        kept_tokens = list(node.tokens)
        while len(kept_tokens) > 1 and len(write(Term(tuple(kept_tokens)))) > most:
            kept_tokens.pop()
        return _fitting(Term(tuple(kept_tokens)), write, most, broaden=False)
    raise InputError(f"a term is longer than the {most} characters that the platform takes: {node}")


def _term(term: Term) -> str:
    """A word as it is; quoted as soon as there is punctuation in it, or anything but a plain word."""
    surface = term.surface.replace('"', " ") or " ".join(term.tokens)
    if re.fullmatch(r"#\w+", surface):
        return surface
    word = "".join(character for character in surface if character.isalnum())
    return surface if word == surface and surface not in {"OR", "AND"} else f'"{surface}"'


def _for_x(node: Node) -> str:
    match node:
        case Address(key):
            post = _POST.fullmatch(key)
            return f"quotes_of_tweet_id:{post[1]}" if post else _address_for_x(node)
        case Not(part):
            return f'-url:"{part.key}"' if isinstance(part, Address) else f"-{_term(part)}"
        case And(parts):
            return " ".join(f"({_for_x(part)})" if isinstance(part, Or) else _for_x(part) for part in parts)
        case Or(parts):
            written = [_for_x(part) for part in parts]
            return " OR ".join(
                f"({one})" if isinstance(part, And) else one for part, one in zip(parts, written, strict=True)
            )
        case Term():
            return _term(node)


def _address_for_x(node: Address) -> str:
    """The page's address as its site writes it; videos of YouTube also under their short address."""
    video = re.fullmatch(r"youtube\.com/watch\?v=([\w-]+)", node.key)
    if video:
        return f'(url:"{node.key}" OR url:"youtu.be/{video[1]}")'
    return f'url:"{plain_address(node.surface) or node.key}"'


def _plain(node: Node) -> str:
    """AND and phrases only; what must be absent is left to the local match."""
    match node:
        case Address(key):
            return f"https://{plain_address(node.surface) or key}"
        case And(parts):
            return " ".join(_plain(part) for part in parts if not isinstance(part, Not))
        case Term():
            return _term(node)
        case _:
            raise InputError(f"the platform has no search for: {node}")


_WRITERS: dict[str, Callable[[Node], str]] = {"x": _for_x, "bluesky": _plain, "mastodon": _plain}
