"""Tokenise texts. Queries and posts are tokenised by `tokens` only.

Tokens are maximal runs of letters and digits, ignoring case, diacritics, width and curly quotes. In scripts without
spaces each character is a token, so that words are found as phrases.
"""

from __future__ import annotations

import functools
import re
import unicodedata

UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""

_PLAIN = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))
"""Mapping of ASCII characters: letters and digits to lower case; all others end a token."""

_SIMPLE = re.compile(
    "[\x00-\x7f\xa0-\xa9\xab\xac\xae-\xb1\xb4\xb6-\xb8\xbb\xbf\xd7\xf7\u2000-\u200b\u200e\u200f\u2010-\u205f"
    "\u20ac\u2190-\u21ff\u2600-\u2775\u2794-\u27bf\ufe0f\ufffd\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff]*"
)
"""ASCII texts with typographic marks and pictographs; for these the general rule gives the same tokens."""

_MARKS = "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u0640\u064b-\u0655\u0670\u093c\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\ufe20-\ufe2f"
DROPPED = re.compile(f"[{_MARKS}\u00ad\u200c\u200d\u2060\ufe00-\ufe0f]")
"""Accents and dots (for Hindi the nukta, often omitted like accents), and invisible characters within words."""

_INVISIBLE = re.compile("[\u00ad\u200c\u200d\u2060\ufe00-\ufe0f]")

OWN = {
    "c\u0327": "C",
    "g\u0306": "G",
    "\u0131": "I",
    "i\u0307": "i",
    "o\u0308": "O",
    "s\u0327": "S",
    "u\u0308": "U",
}
"""Letters of Turkish and Azerbaijani, decomposed → a capital letter that stands for them; dotted i is plain."""
BARE = {"C": "c", "G": "g", "I": "i", "O": "o", "S": "s", "U": "u"}
"""These → the plain letter that people type instead."""
OTHER_ACCENT = "X"
"""Stands behind a Latin letter that has any other accent."""
_ACCENTED = re.compile("[a-z\u0131][\u0300-\u036f]*")


SAME = {
    "i": "\u0131",
    "\u0643": "\u06a9",
    "\u0647": "\u0629\u06c1\u06d5",
    "\u064a": "\u0649\u06cc\u06d2",
}
"""Interchangeable letters: Turkish I is the capital of dotless i, English I of i; in Arabic, Persian and Urdu kaf, heh and
yeh have several forms, and heh replaces teh marbuta (as in Lucene's ArabicNormalizer and PersianNormalizer).
"""


@functools.cache
def _one_letter() -> dict[int, str]:
    """Return the mapping of these letters, and of the digits of all scripts."""
    letters = {ord(other): letter for letter, others in SAME.items() for other in others}
    digits = {
        code: str(unicodedata.decimal(chr(code))) for code in range(128, 0x20000) if chr(code).isdecimal()
    }
    return letters | digits


@functools.cache
def signs() -> str:
    """Return the marks that are part of words, such as vowel signs."""
    return "".join(chr(code) for code in range(0xFFFF) if unicodedata.category(chr(code)) in {"Mn", "Mc"})


@functools.cache
def _any_script() -> re.Pattern[str]:
    """Return the pattern of runs of letters, digits and vowel signs; single characters in scripts without spaces."""
    spaced = re.escape(re.sub(f"[{UNSPACED}]", "", signs()))
    return re.compile(f"[{UNSPACED}]|(?:[^\\W_{UNSPACED}]|[{spaced}])+")


def tokens(text: str) -> list[str]:
    """Return the text's tokens, for both queries and posts.

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
    """Return the text without case, diacritics and width."""
    return _joined(_decomposed(text))


def _decomposed(text: str) -> str:
    """Return the text without case and width, its accents behind their letters."""
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())


def _joined(decomposed: str) -> str:
    """Return a decomposed text without accents, each of the remaining letters in one form."""
    return unicodedata.normalize("NFC", dropped(decomposed)).translate(_one_letter())


def lettered(text: str) -> list[str]:
    """Return the text's tokens with the letters of Turkish and Azerbaijani: capitals stand for these letters.

    Without the marks that tell these letters from others, they are exactly the text's `tokens`.

    >>> lettered("AŞI aşı así 报告aşı")
    ['aSi', 'aSI', 'asiX', '报', '告', 'aSI']
    """
    if text.isascii():
        return tokens(text)
    letters = _INVISIBLE.sub("", _decomposed(text))
    return word_characters(_joined(_ACCENTED.sub(_with_accent, letters)))


def _with_accent(letter: re.Match[str]) -> str:
    return OWN.get(letter[0]) or (letter[0] if len(letter[0]) == 1 else letter[0][0] + OTHER_ACCENT)


def dropped(text: str) -> str:
    """Return the text without accents and dots."""
    return DROPPED.sub("", text)


def word_characters(text: str) -> list[str]:
    """Return runs of token characters."""
    return _any_script().findall(text)


def word_characters_at(text: str) -> list[tuple[str, int, int]]:
    """Return runs of token characters with their beginning and end."""
    return [(match[0], match.start(), match.end()) for match in _any_script().finditer(text)]
