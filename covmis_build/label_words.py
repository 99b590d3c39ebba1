"""What people, spreadsheets and models write for a label. Sheets, pages, Label Studio, imports and models' answers use this."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARKS = " \t\r\n*_`'\"“”‘’«»„.,;:!()[]<>#-–—•✅✔️👉\u3002\uff01\uff0c\uff1a\uff1b」「』『"
"""Characters around a label that have no meaning."""
SKIP = "skip"
"""The answer of an annotator who cannot judge an item."""
UNCLEAR = "unclear claim"
"""The answer of an annotator who cannot judge an item because the claim is unclear: skipped, with this reason."""
NOT_LABELS = {SKIP: SKIP, "skipped": SKIP, UNCLEAR: UNCLEAR}
"""What people may write instead of a label, and what it means."""
NO_ALIASES: Mapping[str, Sequence[str]] = {}


def bare(text: str) -> str:
    """Reduce a text to its words: ignore case, width and marks around it, `_` and `-` are spaces, and favour is favor.

    >>> bare("**No_Stance**."), bare("Favour")
    ('no stance', 'favor')
    """
    words = unicodedata.normalize("NFKC", text).strip(MARKS).casefold()
    return re.sub(r"\bfavour(?=\b|able|s\b)", "favor", " ".join(re.split(r"[\s_\-]+", words)))


def spellings(labels: Sequence[str], aliases: Mapping[str, Sequence[str]] = NO_ALIASES) -> dict[str, str]:
    """Return the labels by each bare form of their names and aliases. Labels with the same bare form are refused."""
    known: dict[str, str] = {}
    for label in labels:
        same = known.setdefault(bare(label), label)
        if same != label or not bare(label):
            twin = f"'{same}'" if same != label else "punctuation"
            raise InputError(
                f"answers cannot tell the label '{label}' from {twin}",
                remedy="Name labels by different words",
            )
    for label, names in aliases.items():
        for name in names:
            if label in labels and bare(name):
                known.setdefault(bare(name), label)
    return known


def label_meant(
    text: str,
    labels: Sequence[str],
    aliases: Mapping[str, Sequence[str]] = NO_ALIASES,
    keys: Sequence[str] = (),
) -> str:
    """Return the label that a cell means: its name, an alias, or its key. Empty if there is none, or more than one.

    Names count before keys, and exact names before bare ones; a number is never cut.

    >>> labels, aliases = ("favor", "against"), {"favor": ["für", "a favor"]}
    >>> [label_meant(text, labels, aliases, ("1", "2")) for text in ("Favour.", "FÜR", "A-Favor", "2.0", "1)", "-1", "pro")]
    ['favor', 'favor', 'favor', 'against', 'favor', '', '']
    """
    word = text.strip()
    if word in labels:
        return word
    names = [(name, label) for label in labels for name in aliases.get(label, ())]
    names += [(label, label) for label in labels]
    named = {_same(name): label for name, label in names}
    by_key = dict(zip(keys, labels, strict=False))
    by_key = {_number(key): label for key, label in by_key.items()} | by_key
    number = _number(word)
    for said in (word, number, re.sub(r"(?<=\d)[.):]$", "", number)):
        if label := named.get(_same(said)) or by_key.get(said):
            return label
    words = bare(word)
    if not any(map(str.isalpha, words)):
        return ""
    near = {label for name, label in names if bare(name) == words}
    return near.pop() if len(near) == 1 else ""


def _same(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _number(text: str) -> str:
    """Convert digits of any script to 0–9, and a number that a spreadsheet gave decimals (`3.0`) back to a whole one."""
    return re.sub(r"^(\d+)[.,]0+$", r"\1", "".join(str(unicodedata.decimal(sign, sign)) for sign in text))
