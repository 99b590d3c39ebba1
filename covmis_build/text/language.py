"""Detect the language of texts, with one of several detectors.

`langdetect` is the reference: its seeded label is a text's language. `py3langid` and `pycld2` come with the extra
`language`. A text whose language cannot be detected has the language "".
"""

from __future__ import annotations

import csv
import functools
import re
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build.errors import InputError, MissingExtra, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


RENAMED = {"iw": "he", "in": "id", "ji": "yi"}
"""Codes that X still uses and ISO 639 has renamed."""


def language_code(tag: str) -> str:
    """Normalise a tag, a language name, or a code from the settings.

    >>> [language_code(tag) for tag in ("EN", "pt_BR", "iw", "eng", "English", "Portuguese (Brazil)")]
    ['en', 'pt-br', 'he', 'en', 'en', 'pt']
    """
    spelled = tag.strip().lower().replace("_", "-")
    if re.fullmatch(r"[a-z]{2}(-[a-z0-9]+)*", spelled):
        return RENAMED.get(spelled, spelled)
    return _codes().get(spelled.partition(" (")[0], spelled)


def language_name(tag: str) -> str:
    """Return the English name of a language; without a name, its code.

    >>> [language_name(tag) for tag in ("ar", "iw", "pt_BR", "tlh")]
    ['Arabic', 'Hebrew', 'Portuguese (pt-br)', 'tlh']
    """
    code = language_code(tag)
    base, _, variety = code.partition("-")
    if base not in _names():
        return code
    name = _names()[base][0].title()
    return f"{name} ({code})" if variety else name


@functools.cache
def _names() -> dict[str, list[str]]:
    """Return language codes → names (English first) and three-letter codes, for all codes of the detectors and X."""
    rows = csv.DictReader(Path(__file__).with_name("language_names.csv").read_text("utf-8").splitlines())
    return {row["code"]: row["names"].split("|") for row in rows}


@functools.cache
def _codes() -> dict[str, str]:
    return {name: code for code, names in _names().items() for name in names}


def detect_languages(texts: Sequence[str], detector: str = "langdetect") -> list[str]:
    """Return the language code of each text, or "" if it cannot be detected.

    >>> detect_languages(["the cat sat on the mat and looked at the dog", "12345 !!"])
    ['en', '']
    """
    if detector not in DETECTORS:
        raise InputError(f"no language detector is called '{detector}'", remedy=nearest(detector, DETECTORS))
    return DETECTORS[detector](texts)


def _langdetect(texts: Sequence[str]) -> list[str]:
    from covmis_build.text.langdetect_replay import detect

    return detect(texts)


def _py3langid(texts: Sequence[str]) -> list[str]:
    try:
        from py3langid.langid import classify
    except ImportError as error:
        raise MissingExtra.of("language", "the language detector py3langid") from error
    return [classify(text)[0] if any(map(str.isalpha, text)) else "" for text in texts]


def _pycld2(texts: Sequence[str]) -> list[str]:
    try:
        import pycld2
    except ImportError as error:
        raise MissingExtra.of("language", "the language detector pycld2") from error
    codes = []
    for text in texts:
        # It refuses invisible characters and outdated line ends.
        seen = "".join(
            " " if character.isspace() else character
            for character in text
            if character.isprintable() or character.isspace()
        )
        code = pycld2.detect(seen.encode("utf-8", "ignore"))[2][0][1]
        codes.append("" if code == "un" else code.lower())
    return codes


DETECTORS: dict[str, Callable[[Sequence[str]], list[str]]] = {
    "langdetect": _langdetect,
    "py3langid": _py3langid,
    "pycld2": _pycld2,
}
"""Detectors allowed in [cleaning] detector."""
