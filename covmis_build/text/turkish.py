"""Turkish and Azerbaijani letters in queries: AŞI is aşı, not the Spanish así.

Tokens have no case or accents, so ş equals s and ı equals i, as many people type them. If a query uses a Turkish letter, the
post must have this letter, or the plain letter that people type instead. Words are those of `tokens`: here they only keep more
of their letters.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from covmis_build.text.nodes import And, AtLeast, Not, Or, Term
from covmis_build.text.tokens import BARE, OTHER_ACCENT, lettered

if TYPE_CHECKING:
    from covmis_build.text.nodes import Node

LANGUAGES = frozenset({"tr", "az"})


def is_one(language: str) -> bool:
    """True for Turkish and Azerbaijani, such as `tr` or `az-Latn`."""
    return language.partition("-")[0].lower() in LANGUAGES


def in_language(node: Node, language: str) -> Node:
    """Return a query in this language. In Turkish and Azerbaijani its terms test their special letters."""
    return _with_letters(node) if is_one(language) else node


def _with_letters(node: Node) -> Node:
    if isinstance(node, Term):
        return replace(node, letters=_pattern(node.surface))
    if isinstance(node, Not):
        part = _with_letters(node.part)
        return replace(node, part=part)  # type: ignore[arg-type]
    if isinstance(node, And | Or | AtLeast):
        return replace(node, parts=tuple(map(_with_letters, node.parts)))
    return node


def _pattern(surface: str) -> re.Pattern[str] | None:
    """Return the pattern that a term requires in a text's `lettered` words; None if it has no special letter."""
    words = lettered(surface.replace("I", "ı").replace("İ", "i"))
    if not any(letter in BARE for word in words for letter in word):
        return None
    inside = " ".join("".join(map(_letter, word)) for word in words)
    return re.compile(f" {inside} ")


def _letter(letter: str) -> str:
    """Return the pattern of one letter of a query: a special letter has no other accent, a plain one may have any."""
    if letter in BARE:
        return f"[{letter}{BARE[letter]}]"
    if letter == OTHER_ACCENT:
        return ""
    own = next((own for own, bare in BARE.items() if bare == letter), "")
    return f"[{letter}{own}]{OTHER_ACCENT}?" if letter.isascii() and letter.isalpha() else re.escape(letter)
