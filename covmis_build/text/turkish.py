"""Turkish and Azerbaijani letters in queries: AŞI is aşı, not the Spanish así.

Tokens have no case or accents, so ş equals s and ı equals i, as many people type them. If a query uses a Turkish letter, the
post must have this letter, or the plain letter that people type instead.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

from covmis_build.text.nodes import And, AtLeast, Not, Or, Term
from covmis_build.text.tokens import word_characters

if TYPE_CHECKING:
    from covmis_build.text.nodes import Node

LANGUAGES = frozenset({"tr", "az"})
OWN = {"ş": "şŞsS", "ı": "ıIiİ", "ç": "çÇcC", "ğ": "ğĞgG", "ö": "öÖoO", "ü": "üÜuU"}
"""Letters of these languages → characters that posts may have instead."""
ANY_MARK = "\u00c0-\u024f"
"""Latin letters with marks: a letter that is plain in the query may have any mark."""


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
    """Return the pattern that a term requires in a text; None if it has no special letter."""
    small = unicodedata.normalize("NFC", surface).replace("I", "ı").replace("İ", "i").lower()
    words = word_characters(small)
    if not any(letter in OWN for word in words for letter in word):
        return None
    inside = r"[\W_]+".join("".join(map(_letter, word)) for word in words)
    return re.compile(rf"(?<![^\W_]){inside}(?![^\W_])")


def _letter(letter: str) -> str:
    if letter in OWN:
        return f"[{OWN[letter]}]"
    if letter.isascii() and letter.isalpha():
        return f"[{letter}{letter.upper()}{ANY_MARK}]"
    return re.escape(letter) if letter.isdigit() else r"\w"
