"""Preprocess posts as for COVID-Twitter-BERT: replace names and links, emoji as words, plain punctuation, single spaces.

Each step is an option. The model's tokens are `twitteruser` and `twitterurl`; several in a row become a count and one
token, "2 twitteruser". Emoji names are Unicode's own, between colons.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

USER = re.compile("(?<![\\w@\N{FULLWIDTH COMMERCIAL AT}])[@\N{FULLWIDTH COMMERCIAL AT}]\\w{1,30}")
URL = re.compile(r"(?:https?://|www\.)[^\s<>\"\N{IDEOGRAPHIC FULL STOP}]+", re.IGNORECASE)
PLACEHOLDERS = re.compile(r"(?<!\w)(?:@USER|HTTPURL|@user|http)(?!\w|:)")
"""Placeholders for names and links in other corpora (TweetEval, BERTweet)."""
PUNCTUATION = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4`", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    "\u2026": "...",
    "\u2022": "*",
}
JOINERS = frozenset("\u200d\ufe0f\ufe0e")


@dataclass(frozen=True, slots=True)
class Preprocessing:
    """The preprocessing steps, in this order."""

    user: str = "twitteruser"
    """Replacement of mentions; empty: unchanged."""
    url: str = "twitterurl"
    """Replacement of links; empty: unchanged."""
    count_repeats: bool = True
    """`twitteruser twitteruser` becomes `2 twitteruser`."""
    emoji_names: bool = True
    """Replace an emoji by its name between colons, `:face with medical mask:`."""
    punctuation: bool = True
    """Replace curly quotes, dashes and ellipses by plain ones."""
    whitespace: bool = True
    """First remove invisible characters; replace control characters and runs of white space by one space."""
    lower: bool = True
    """Convert to lower case: COVID-Twitter-BERT is uncased."""


def preprocess(text: str, options: Preprocessing | None = None) -> str:
    """Preprocess a post with these options.

    >>> preprocess("@WHO @CDCgov Wear a mask \N{FACE WITH MEDICAL MASK} \u2014 \u201cnow\u201d https://t.co/a")
    '2 twitteruser wear a mask :face with medical mask: - "now" twitterurl'
    """
    chosen = options or Preprocessing()
    if chosen.whitespace:  # before names and links are detected, which invisible characters could split
        text = "".join(character for character in text if not _unseen(character))
    if chosen.url:
        text = URL.sub(f" {chosen.url} ", text)
    if chosen.user:
        text = USER.sub(f" {chosen.user} ", text)
    text = PLACEHOLDERS.sub(lambda found: _placeholder(found[0], chosen), text)
    if chosen.emoji_names:
        text = "".join(_named(character) for character in text)
    if chosen.punctuation:
        text = "".join(PUNCTUATION.get(character, character) for character in text)
    if chosen.whitespace:
        text = " ".join("".join(_or_blank(character) for character in text).split())
    if chosen.lower:
        text = text.lower()
    if chosen.count_repeats:
        for token in filter(None, (chosen.user, chosen.url)):
            text = _counted(text, token)
    return text


def _placeholder(word: str, options: Preprocessing) -> str:
    wanted = options.user if word.lower() == "@user" else options.url
    return f" {wanted} " if wanted else word


def _counted(text: str, token: str) -> str:
    """Replace runs of a token by their number and one token."""
    run = re.compile(rf"(?<!\w){re.escape(token)}(?:\s+{re.escape(token)})+(?!\w)")
    return run.sub(lambda found: f"{len(found[0].split())} {token}", text)


@cache
def _named(sign: str) -> str:
    """Return an emoji's name; joiners and skin tones are removed, other characters unchanged."""
    if sign in JOINERS or "\U0001f3fb" <= sign <= "\U0001f3ff":
        return ""
    if unicodedata.category(sign) == "So" and ord(sign) > 0x2000:
        name = unicodedata.name(sign, "")
        return f" :{name.lower()}: " if name else " "
    return sign


@cache
def _unseen(sign: str) -> bool:
    return unicodedata.category(sign) in {"Cf", "Cs", "Cn"}


@cache
def _or_blank(sign: str) -> str:
    return " " if unicodedata.category(sign) in {"Cc", "Zl", "Zp", "Zs"} else sign
