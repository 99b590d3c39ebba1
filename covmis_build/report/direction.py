"""Writing direction of a text: that of most letters, whatever it begins with."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

APART = re.compile(r"(?:https?://|www\.)\S+|(?<!\w)@\w+|(?<!\w)#[0-9A-Za-z_\u00c0-\u024f]+\b", re.IGNORECASE)
"""URLs, names and Latin tags, which occur in texts of any language."""


def direction(text: str) -> str:
    r"""Return the value of HTML's `dir`: `rtl`, `ltr`, or `auto` without letters or with equally many of both.

    >>> arabic = "\N{ARABIC LETTER MEEM}\N{ARABIC LETTER NOON}"
    >>> [direction(text) for text in (f"@who covid {arabic} {arabic} {arabic}", f"a test of {arabic}", "12 https://a.b")]
    ['rtl', 'ltr', 'auto']
    """
    letters = Counter(unicodedata.bidirectional(sign) for sign in APART.sub(" ", text) if sign.isalpha())
    right, left = letters["R"] + letters["AL"], letters["L"]
    if right == left:
        return "auto"
    return "rtl" if right > left else "ltr"
