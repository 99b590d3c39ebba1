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


RENAMED = {"iw": "he", "in": "id", "ji": "yi", "jw": "jv"}
"""Codes that X or a detector still uses and ISO 639 has renamed."""


UNDETERMINED = re.compile(r"und|zxx|mul|mis|art|q[a-z]{2}|unknown|undefined|undetermined", re.IGNORECASE)
"""Platforms' tags for undetermined languages (X: und, qme for media, qht for hashtags …)."""


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
        codes.append("" if code == "un" else language_code(code))
    return codes


DETECTORS: dict[str, Callable[[Sequence[str]], list[str]]] = {
    "langdetect": _langdetect,
    "py3langid": _py3langid,
    "pycld2": _pycld2,
}
"""Detectors allowed in [cleaning] detector."""


def _named(codes: str) -> frozenset[str]:
    return frozenset(codes.split())


LANGUAGES_OF = {
    "langdetect": _named(
        "af ar bg bn ca cs cy da de el en es et fa fi fr gu he hi hr hu id it ja kn ko lt lv mk ml mr ne nl no pa pl pt ro"
        " ru sk sl so sq sv sw ta te th tl tr uk ur vi zh"
    ),
    "py3langid": _named(
        "af am an ar as az ba be bg bn br bs ca cs cy da de dz el en eo es et eu fa fi fo fr fy ga gd gl gu ha he hi hr ht hu hy"
        " id ig is it ja jv ka kk km kn ko ku ky la lb lg ln lo lt lv mg mk ml mn mr ms mt my ne nl nn no oc om or pa pl"
        " ps pt qu ro ru rw sa se si sk sl sn so sq sr st sv sw ta te tg th tk tl tr tt ug uk ur uz vi vo wa xh yo zh zu"
    ),
    "pycld2": _named(
        "aa ab af ak am ar as ay az ba be bg bh bi bn bo br bs ca co cs cy da de dv dz el en eo es et eu fa fi fj fo fr fy ga"
        " gd gl gn gu gv ha he hi hr ht hu hy ia id ie ig ik is it iu ja jv ka kk kl km kn ko ks ku ky la lb lg ln lo lt lv mg"
        " mi mk ml mn mr ms mt my na ne nl nn no nr ny oc om or pa pl ps pt qu rm rn ro ru rw sa sd sg si sk sl sm sn so sq sr"
        " ss st su sv sw ta te tg th ti tk tl tn to tr ts tt ug uk ur uz ve vi vo war wo xh yi yo za zh zu"
    ),
}
"""The languages that each detector can name, without varieties and those without a code of two letters."""


def unknown_to(detector: str, languages: Sequence[str]) -> list[str]:
    """Return a note for each of these languages that a detector never names, with the detectors that do.

    >>> unknown_to("langdetect", ["en", "ha"])
    ['langdetect does not know Hausa: set `[cleaning] detector` to py3langid or pycld2 (extra: language)']
    """
    notes = []
    for language in languages:
        base = language_code(language).partition("-")[0]
        if base in LANGUAGES_OF[detector] or UNDETERMINED.fullmatch(base):
            continue
        others = [other for other, known in LANGUAGES_OF.items() if base in known]
        remedy = (
            f"set `[cleaning] detector` to {' or '.join(others)} (extra: language)"
            if others
            else "no detector does; only the platform's tags name it"
        )
        notes.append(f"{detector} does not know {language_name(base)}: {remedy}")
    return notes
