"""How a text is cut into tokens: queries and posts are cut by `tokens` alone.

A text is a row of tokens: maximal runs of letters and digits, without regard to case, diacritics, width or curly
quotes; scripts written without spaces give one token a character, so that their words are found as phrases.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""

_PLAIN = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))
"""What becomes of an ASCII character: letters and digits in lower case, everything else ends a token."""

_SIMPLE = re.compile(
    "[\x00-\x7f\xa0-\xa9\xab\xac\xae-\xb1\xb4\xb6-\xb8\xbb\xbf\xd7\xf7\u2000-\u200b\u200e\u200f\u2010-\u205f"
    "\u20ac\u2190-\u21ff\u2600-\u2775\u2794-\u27bf\ufe0f\ufffd\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff]*"
)
"""Text whose tokens are plain: ASCII with typographic signs and pictures; the rule for all scripts gives the same."""

_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u0640\u064b-\u0655\u0670\u093c\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
_DROPPED = re.compile(f"[{_MARKS}\u00ad\u200c\u200d\u2060\ufe00-\ufe0f]")
"""Accents and points (of Hindi the nukta, which people leave out as they do accents), and what is invisible in a word."""


SAME = {
    "i": "\u0131",
    "\u0643": "\u06a9",
    "\u0647": "\u0629\u06c1\u06d5",
    "\u064a": "\u0649\u06cc\u06d2",
}
"""Letters that people write for one another: Turkish I is the capital of dotless i, English I of i; in Arabic, Persian and
Urdu kaf, heh and yeh have several forms, and heh stands for teh marbuta (as Lucene's ArabicNormalizer and PersianNormalizer)."""


@functools.cache
def _one_letter() -> dict[int, str]:
    """What becomes of these letters, and of the digits of any script."""
    letters = {ord(other): letter for letter, others in SAME.items() for other in others}
    digits = {
        code: str(unicodedata.decimal(chr(code))) for code in range(128, 0x20000) if chr(code).isdecimal()
    }
    return letters | digits


@functools.cache
def _any_script() -> re.Pattern[str]:
    """Runs of letters, digits and vowel signs; unspaced scripts a character at a time."""
    signs = "".join(
        re.escape(chr(code))
        for code in range(min(sys.maxunicode, 0xFFFF))
        if unicodedata.category(chr(code)) in {"Mn", "Mc"} and not re.match(f"[{UNSPACED}]", chr(code))
    )
    return re.compile(f"[{UNSPACED}]|(?:[^\\W_{UNSPACED}]|[{signs}])+")


def tokens(text: str) -> list[str]:
    """The text's tokens; queries and posts are cut by this function alone.

    >>> tokens("Don’t panic: COVID-19 à Paris")
    ['don', 't', 'panic', 'covid', '19', 'a', 'paris']
    >>> tokens("新冠病毒 2020年"), tokens("aşı AŞI")
    (['新', '冠', '病', '毒', '2020', '年'], ['asi', 'asi'])
    >>> tokens("المرأة ٢٠٣٠") == tokens("المراه 2030")
    True
    """
    if text.isascii():
        return text.translate(_PLAIN).split()
    if _SIMPLE.fullmatch(text):
        return text.replace("\ufe0f", "").encode("ascii", "replace").decode("ascii").translate(_PLAIN).split()
    return _of_any_script(text)


def _of_any_script(text: str) -> list[str]:
    return word_characters(folded(text))


def folded(text: str) -> str:
    """The text without regard to case, diacritics and width."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return unicodedata.normalize("NFC", dropped(plain)).translate(_one_letter())


def dropped(text: str) -> str:
    """The text without its accents and points."""
    return _DROPPED.sub("", text)


def word_characters(text: str) -> list[str]:
    """Runs of what tokens are made of."""
    return _any_script().findall(text)


def word_characters_at(text: str) -> list[tuple[str, int, int]]:
    """The same, each with where it begins and ends."""
    return [(match[0], match.start(), match.end()) for match in _any_script().finditer(text)]
