"""Minimum text length by language, equivalent to a number of English words."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from covmis_build.errors import counted
from covmis_build.text.language import language_code, language_name
from covmis_build.text.words import default_unit

if TYPE_CHECKING:
    from covmis_build.options import Cleaning

PER_TEN_ENGLISH_WORDS = {
    "ar": 9, "az": 9, "bn": 9, "bo": 37, "bs": 9, "cs": 9, "de": 9, "dz": 37, "eo": 9, "et": 8, "eu": 8, "fi": 8, "gu": 9,
    "he": 7, "hr": 9, "hu": 9, "hy": 9, "id": 9, "is": 9, "ja": 22, "ka": 8, "kk": 8, "km": 38, "kn": 7, "ko": 7, "ky": 9,
    "la": 8, "lo": 45, "lt": 8, "lv": 8, "ml": 5, "mn": 9, "mr": 9, "ms": 9, "mt": 9, "my": 37, "ne": 8, "ny": 8, "pl": 9,
    "ru": 9, "rw": 8, "sk": 9, "sl": 9, "sn": 8, "sr": 9, "ta": 8, "tg": 9, "th": 41, "ti": 8, "tk": 9, "tr": 8, "tt": 8,
    "ug": 9, "uk": 9, "uz": 9, "xh": 7, "zh": 17, "zu": 6,
}  # fmt: skip
"""Words (or characters, in languages without spaces) equivalent to ten English words, if fewer.

Measured in translations: docs/decisions/0033. All other languages need ten.
"""


class LengthRule(NamedTuple):
    """The minimum length of a text in one language."""

    minimum: int
    unit: str
    without: tuple[str, ...]
    english_words: int = 0
    """The `minimum_words` of the settings, where that is another number than the minimum in this language."""

    def __str__(self) -> str:
        return f"{self.minimum} {self.unit}"

    @property
    def in_full(self) -> str:
        """The least length, and which setting it comes from if its number is another.

        >>> LengthRule(9, "words", (), 10).in_full
        '9 words (as much text as 10 English words)'
        """
        english = counted(self.english_words, "English words")
        return f"{self} (as much text as {english})" if self.english_words else str(self)


def length_rule(language: str, options: Cleaning) -> LengthRule:
    """Return the minimum length in this language, its unit, and what is not counted.

    `minimum_words` is a number of English words; other languages need an equivalent length.
    """
    rules = {language_code(tag): rule for tag, rule in options.words.items()}
    base, english = language.partition("-")[0], 0
    rule = rules.get(language) or rules.get(base)
    unit = (rule and rule.unit) or default_unit(language)
    if rule and rule.minimum is not None:
        minimum = rule.minimum
    elif (minimum := options.minimum_words) and unit == default_unit(language):
        minimum = max(1, (minimum * PER_TEN_ENGLISH_WORDS.get(base, 10) + 5) // 10)
        english = options.minimum_words if minimum != options.minimum_words else 0
    return LengthRule(minimum, unit, rule.without if rule else (), english)


def least_lengths(options: Cleaning) -> str:
    """Describe the minimum lengths of the study's languages; empty if there is no minimum.

    >>> from covmis_build.options import Cleaning
    >>> least_lengths(Cleaning()), least_lengths(Cleaning(languages=("en", "ja")))
    ('at least 10 words', 'at least 10 words (English) or 22 characters (Japanese)')
    """
    rules = {tag: str(length_rule(language_code(tag), options)) for tag in options.languages}
    if not rules:
        return (
            f"at least {options.minimum_words} words (English; in other languages as much text)"
            if options.minimum_words
            else ""
        )
    distinct = dict.fromkeys(rules.values())
    if len(distinct) == 1:
        only = next(iter(distinct))
        return "" if only.startswith("0 ") else f"at least {only}"
    each = (
        f"{rule} ({', '.join(language_name(tag) for tag in rules if rules[tag] == rule)})"
        for rule in distinct
    )
    return f"at least {' or '.join(each)}"
