"""The parts of a query: terms and URLs, combined by And, Or and Not; and matching of texts."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.errors import InputError
from covmis_build.text.tokens import UNSPACED, lettered, tokens
from covmis_build.text.urls import addresses, canonical_url

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Term:
    """A word, or a phrase of several tokens; `surface` is the author's spelling."""

    tokens: tuple[str, ...]
    surface: str = field(default="", compare=False)
    letters: re.Pattern[str] | None = field(default=None, repr=False)
    """Pattern for the text's `lettered` words, in languages with letters that tokens merge (text/turkish.py)."""
    spaced: str = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Compute the term as it occurs in a text of tokens, each surrounded by blanks."""
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
    """A page under any of its URLs, by its canonical key."""

    key: str
    surface: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f'url:"{self.key}"'


@dataclass(frozen=True, slots=True)
class Not:
    """An excluded term; excluded groups are transformed to single terms when parsed."""

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
    """A quorum: at least k of these parts."""

    least: int
    parts: tuple[Node, ...]

    def __str__(self) -> str:
        parts = (f"({part})" if isinstance(part, Or) else str(part) for part in self.parts)
        return f"{self.least} of ({', '.join(parts)})"


Node = Term | Address | Not | And | Or | AtLeast


class Seen(NamedTuple):
    """A text prepared for matching: tokens separated by blanks, keys of its URLs, and the original text."""

    spaced: str
    keys: Collection[str]
    text: str = ""


def seen(text: str, keys: Iterable[str] = ()) -> Seen:
    """Prepare a text for matching, with additional known URL keys."""
    return Seen(spaced(text), {*keys, *map(canonical_url, addresses(text))}, text)


def spaced(text: str) -> str:
    """Return a text's tokens, each surrounded by blanks."""
    return f" {' '.join(tokens(text))} "


def holds(node: Node, text: Seen) -> bool:
    """True if the text matches the node."""
    if isinstance(node, Term):
        return node.spaced in text.spaced and (node.letters is None or has_letters(node.letters, text.text))
    if isinstance(node, Address):
        return node.key in text.keys
    if isinstance(node, Not):
        return not holds(node.part, text)
    if isinstance(node, AtLeast):
        holding = (True for part in node.parts if holds(part, text))
        return sum(itertools.islice(holding, node.least)) == node.least
    wanted = isinstance(node, Or)  # the first part with this value decides
    for part in node.parts:
        if holds(part, text) is wanted:
            return wanted
    return not wanted


def has_letters(letters: re.Pattern[str], text: str) -> bool:
    """True if a text has a term with the letters of its language."""
    return letters.search(f" {' '.join(lettered(text))} ") is not None


def leaves(node: Node) -> Iterator[Term | Address]:
    """Return every required term and URL, in order."""
    if isinstance(node, Term | Address):
        yield node
    elif isinstance(node, And | Or | AtLeast):
        for part in node.parts:
            yield from leaves(part)


def all_leaves(node: Node) -> Iterator[Term | Address]:
    """Return every term and URL, including excluded ones."""
    if isinstance(node, Not):
        yield node.part
    elif isinstance(node, And | Or | AtLeast):
        for part in node.parts:
            yield from all_leaves(part)
    else:
        yield node


def joined(kind: Callable[[tuple[Node, ...]], And | Or], parts: Iterable[Node]) -> Node:
    """Combine parts into a flat node without repetition; a single part is returned itself."""
    flat: dict[Node, None] = {}
    for part in parts:
        inner = part.parts if isinstance(part, And | Or) and type(part) is kind else (part,)
        flat.update(dict.fromkeys(inner))
    return kind(tuple(flat)) if len(flat) > 1 else next(iter(flat))


def demands(node: Node) -> bool:
    """True if every match must contain something. Otherwise a query would match nearly everything."""
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
"""Maximum number of searches for one expression; larger expressions are broadened."""

COUNTED = 1_000_000
"""Maximum number of a quorum's combinations that is counted."""


class TooManySearches(InputError):
    """An expression needs too many searches."""


def at_least(least: int, parts: Iterable[Node]) -> Node:
    """Return a quorum of different parts; with k = 1 it is OR, with all parts AND."""
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
    """Return the expression as alternatives without OR or quorum inside (disjunctive normal form)."""
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
    """Return the number of plain searches of a query without creating them; at most about `COUNTED`."""
    match node:
        case Or(parts):
            return sum(map(conjunction_count, parts))
        case And(parts):
            return math.prod(map(conjunction_count, parts))
        case AtLeast(least, parts):
            if math.comb(len(parts), least) > COUNTED:
                return COUNTED
            ways = [1] + [0] * least  # number of ways to choose k parts among those processed so far
            for left, part in zip(reversed(range(len(parts))), parts, strict=True):
                size = conjunction_count(part)
                for chosen in range(least, max(1, least - left) - 1, -1):
                    ways[chosen] += ways[chosen - 1] * size
            return ways[least]
        case Term() | Address() | Not():
            return 1


def broadened(node: Node, most: int) -> Node:
    """Return a query that matches at least as much and needs at most `most` searches, or one per alternative.

    The largest groups are removed first. Of a quorum one part is removed, and one fewer is required.
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
            at_most = least - (len(parts) - len(asked))  # as if all excluded parts were absent
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
    """Write a quorum with AND and OR only: 2 of (a, b, c) becomes a (b OR c) OR b c."""
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
