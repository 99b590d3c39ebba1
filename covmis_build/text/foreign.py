"""What of other search languages is in a query, and means something else here, or nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from covmis_build.text.expression import LEXEME, QUOTES
from covmis_build.text.tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

OPERATORS = {
    "after", "before", "context", "conversation_id", "did", "domain", "entity", "filter", "from", "geocode",
    "has", "in", "intitle", "inurl", "is",
    "lang", "language", "list", "mentions", "min_faves", "min_replies", "min_retweets",
    "near", "place", "retweets_of", "since", "site", "to", "until", "within",
}  # fmt: skip
"""What stands before a colon in the searches of X, Bluesky, Mastodon and Google."""

MEANT = {"not": "write -word for what must be absent", "or": "write OR", "and": "leave it out, or write AND"}


def foreign(text: str) -> Iterator[str]:
    """A sentence for each.

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
