"""Positions of a query's words in a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.text.nodes import Node, Term, has_letters, leaves
from covmis_build.text.tokens import folded, tokens, word_characters_at

if TYPE_CHECKING:
    from collections.abc import Iterator


def spans(text: str, node: Node) -> list[tuple[int, int]]:
    r"""Return beginning and end of each matching word or phrase, in order and without overlap.

    >>> spans("No GARLIC, cafe\u0301 garlic", Term(("garlic",)))
    [(3, 9), (17, 23)]
    """
    words = list(_words(text))
    if [word for word, _, _ in words] != tokens(text):
        return []  # tokenised differently next to its neighbours: rather no mark than a wrong one
    asked = {(leaf.tokens, leaf.letters) for leaf in leaves(node) if isinstance(leaf, Term)}
    at = {
        (words[begin][1], words[begin + len(cut) - 1][2])
        for cut, letters in asked
        for begin in range(len(words) - len(cut) + 1)
        if all(words[begin + place][0] == token for place, token in enumerate(cut))
        and (letters is None or has_letters(letters, text[words[begin][1] : words[begin + len(cut) - 1][2]]))
    }
    chosen: list[tuple[int, int]] = []
    for begin, end in sorted(at, key=lambda span: (span[0], -span[1])):
        if not chosen or begin >= chosen[-1][1]:
            chosen.append((begin, end))
    return chosen


def _words(text: str) -> Iterator[tuple[str, int, int]]:
    """Return each token with its beginning and end in the text."""
    letters, places = list[str](), list[int]()
    for place, letter in enumerate(text):
        plain = folded(letter)
        letters.append(plain)
        places += [place] * len(plain)
    for word, begin, end in word_characters_at("".join(letters)):
        last = places[end - 1] + 1
        while last < len(text) and not letters[last]:  # its accents
            last += 1
        yield word, places[begin], last
