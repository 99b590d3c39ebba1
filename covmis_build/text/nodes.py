"""What a query is made of: terms and addresses, joined by And, Or and Not; and whether a text satisfies it."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.errors import InputError
from covmis_build.text.tokens import UNSPACED, tokens
from covmis_build.text.urls import addresses, canonical_url

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Term:
    """A word, or a phrase of several tokens; `surface` is how its author wrote it."""

    tokens: tuple[str, ...]
    surface: str = field(default="", compare=False)
    letters: re.Pattern[str] | None = field(default=None, repr=False)
    """What the text itself must have, in languages whose letters tokens do not tell apart (text/turkish.py)."""
    spaced: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Write it as it is in a text that is its tokens, one blank around each."""
        object.__setattr__(self, "spaced", f" {' '.join(self.tokens)} ")

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


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A quorum: so many of these, whichever."""

    least: int
    parts: tuple[Node, ...]

    def __str__(self) -> str:
        parts = (f"({part})" if isinstance(part, Or) else str(part) for part in self.parts)
        return f"{self.least} of ({', '.join(parts)})"


Node = Term | Address | Not | And | Or | AtLeast


class Seen(NamedTuple):
    """A text as expressions see it: its tokens with a blank around each, the keys of its addresses, and itself."""

    spaced: str
    keys: Collection[str]
    text: str = ""


def seen(text: str, keys: Iterable[str] = ()) -> Seen:
    """A text, and the pages it is known to link to next to those written in it."""
    return Seen(spaced(text), {*keys, *map(canonical_url, addresses(text))}, text)


def spaced(text: str) -> str:
    """A text's tokens with a blank around each."""
    return f" {' '.join(tokens(text))} "


def holds(node: Node, text: Seen) -> bool:
    """Whether the text satisfies the node."""
    if isinstance(node, Term):
        return node.spaced in text.spaced and (node.letters is None or has_letters(node.letters, text.text))
    if isinstance(node, Address):
        return node.key in text.keys
    if isinstance(node, Not):
        return not holds(node.part, text)
    if isinstance(node, AtLeast):
        holding = (True for part in node.parts if holds(part, text))
        return sum(itertools.islice(holding, node.least)) == node.least
    wanted = isinstance(node, Or)  # the first part of which this is true decides
    for part in node.parts:
        if holds(part, text) is wanted:
            return wanted
    return not wanted


def has_letters(letters: re.Pattern[str], text: str) -> bool:
    """Whether a text has a term in the letters of its language."""
    return letters.search(unicodedata.normalize("NFC", text)) is not None


def leaves(node: Node) -> Iterator[Term | Address]:
    """Every term and address that asks for presence, in the order written."""
    if isinstance(node, Term | Address):
        yield node
    elif isinstance(node, And | Or | AtLeast):
        for part in node.parts:
            yield from leaves(part)


def all_leaves(node: Node) -> Iterator[Term | Address]:
    """Every term and address, also those that must be absent."""
    if isinstance(node, Not):
        yield node.part
    elif isinstance(node, And | Or | AtLeast):
        for part in node.parts:
            yield from all_leaves(part)
    else:
        yield node


def joined(kind: Callable[[tuple[Node, ...]], And | Or], parts: Iterable[Node]) -> Node:
    """Flat, without repetition; a single part represents itself."""
    flat: dict[Node, None] = {}
    for part in parts:
        inner = part.parts if isinstance(part, And | Or) and type(part) is kind else (part,)
        flat.update(dict.fromkeys(inner))
    return kind(tuple(flat)) if len(flat) > 1 else next(iter(flat))


def demands(node: Node) -> bool:
    """Whether every match must contain something: otherwise a query would find nearly everything."""
    match node:
        case Not():
            return False
        case And(parts):
            return any(map(demands, parts))
        case Or(parts):
            return all(map(demands, parts))
        case AtLeast(least, parts):
            return sum(not demands(part) for part in parts) < least
        case _:
            return True


MOST = 500
"""Searches that one expression should become on a platform; what needs more is broadened until it does not."""

COUNTED = 1_000_000
"""Combinations of a quorum beyond which nobody asks how many searches they are."""


class TooManySearches(InputError):
    """An expression represents more searches than anybody sends."""


def at_least(least: int, parts: Iterable[Node]) -> Node:
    """A quorum of different parts; of one it is OR, of all of them AND."""
    different = tuple(dict.fromkeys(parts))
    if not 1 <= least <= len(different):
        raise InputError(
            f"a quorum asks for {least} of {len(different)} different things",
            remedy=f"Ask for 1 to {len(different)}",
        )
    if least in {1, len(different)}:
        return joined(Or if least == 1 else And, different)
    return AtLeast(least, different)


def conjunctions(node: Node) -> list[Node]:
    """The expression as alternatives without OR or a quorum inside (disjunctive normal form)."""
    match node:
        case Or(parts):
            parts_found = [conjunction for part in parts for conjunction in conjunctions(part)]
        case And(parts):
            parts_found = _products([conjunctions(part) for part in parts], node)
        case AtLeast(least, parts):
            groups = [conjunctions(part) for part in parts]
            parts_found = []
            for chosen in itertools.combinations(groups, least):
                parts_found += _products(chosen, node)
                _refuse_too_many(len(parts_found), node)
        case _:
            parts_found = [node]
    return list(dict.fromkeys(parts_found))


def _products(groups: Sequence[list[Node]], node: Node) -> list[Node]:
    _refuse_too_many(math.prod(map(len, groups)), node)
    return [joined(And, combination) for combination in itertools.product(*groups)]


def _refuse_too_many(size: int, node: Node) -> None:
    if size > MOST:
        raise TooManySearches(
            f"the query stands for more than {MOST} searches: {node}", remedy="Use fewer OR groups"
        )


def conjunction_count(node: Node) -> int:
    """How many plain searches a query represents, without making them; of very many, `COUNTED` or more."""
    match node:
        case Or(parts):
            return sum(map(conjunction_count, parts))
        case And(parts):
            return math.prod(map(conjunction_count, parts))
        case AtLeast(least, parts):
            if math.comb(len(parts), least) > COUNTED:
                return COUNTED
            ways = [1] + [0] * least  # of choosing so many parts, from those looked at so far
            for left, part in zip(reversed(range(len(parts))), parts, strict=True):
                size = conjunction_count(part)
                for chosen in range(least, max(1, least - left) - 1, -1):
                    ways[chosen] += ways[chosen - 1] * size
            return ways[least]
        case Term() | Address() | Not():
            return 1


def broadened(node: Node, most: int) -> Node:
    """A query that finds at least as much and represents `most` searches, or one for each of its alternatives.

    The widest groups go first; of a quorum a part goes and one fewer is requested.
    """
    if conjunction_count(node) <= most:
        return node
    match node:
        case And(parts):
            kept = [part for part in parts if demands(part)]
            while len(kept) > 1 and math.prod(map(conjunction_count, kept)) > most:
                kept.remove(max(reversed(kept), key=conjunction_count))
            absent = [part for part in parts if isinstance(part, Not)]
            return joined(And, [*(kept if len(kept) > 1 else [broadened(kept[0], most)]), *absent])
        case Or(parts):
            searches, room = dict[Node, Node](), most
            for left, part in zip(
                range(len(parts), 0, -1), sorted(parts, key=conjunction_count), strict=True
            ):
                searches[part] = broadened(part, max(1, room // left))
                room -= conjunction_count(searches[part])
            return joined(Or, [searches[part] for part in parts])
        case AtLeast(least, parts):
            asked = sorted((part for part in parts if demands(part)), key=conjunction_count)
            at_most = least - (len(parts) - len(asked))  # as if all that must be absent were
            fewer = len(asked) - at_most
            wider = joined(Or, asked[: fewer + 1])
            for fewer_asked in range(2, at_most + 1):
                narrower = at_least(fewer_asked, asked[: fewer + fewer_asked])
                if conjunction_count(narrower) > most:
                    break
                wider = narrower
            return broadened(wider, most)
        case _:
            return node


def written_out(node: Node) -> Node:
    """The expression in AND and OR alone, for who knows no quorum: for 2 of (a, b, c), a (b OR c) OR b c."""
    match node:
        case AtLeast(least, parts):
            parts = tuple(map(written_out, parts))
            alternatives = []
            for chosen in itertools.combinations(range(len(parts) - 1), least - 1):
                rest = joined(Or, parts[chosen[-1] + 1 :])
                alternatives.append(joined(And, [*(parts[at] for at in chosen), rest]))
                _refuse_too_many(len(alternatives), node)
            return joined(Or, alternatives)
        case And(parts):
            return joined(And, map(written_out, parts))
        case Or(parts):
            return joined(Or, map(written_out, parts))
        case _:
            return node
