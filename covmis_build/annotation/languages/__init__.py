"""What annotators read, in their language: a catalogue of messages for each language, beside this file.

A message is looked up by its English words, which stay where they are used: `t("All posts")`. What a catalogue lacks stays
English. Labels and texts are the study's own and are never translated.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from covmis_build.errors import InputError, nearest
from covmis_build.files.toml_file import read

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACES = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Language:
    """A language, with its messages by their English words."""

    code: str = "en"
    """As browsers know it: for dates and hyphens."""
    direction: Literal["ltr", "rtl"] = "ltr"
    messages: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, message: str, **values: object) -> str:
        """Return the message in this language, with the values in place of its {names}."""
        return self.messages.get(message, message).format(**values)

    def words_of(self, script: str) -> dict[str, str]:
        """Return the messages that this script uses."""
        return {
            message: translated
            for message, translated in self.messages.items()
            if json.dumps(message, ensure_ascii=False) in script
        }


ENGLISH = Language()


def language_of(name: str, folder: Path) -> Language:
    """Return a language by its code, or from the file at this path in the study's folder."""
    return _own(folder / name) if name.endswith(".toml") else built_in(name)


@cache
def built_in(code: str) -> Language:
    """Return a language of covmis."""
    return ENGLISH if code == "en" else _language(tomllib.loads(_beside(f"{code}.toml")))


def guideline_in(code: str) -> str:
    """Return the guideline of a new study in a language other than English."""
    return _beside(f"{code}.md")


def _beside(name: str) -> str:
    return (Path(__file__).parent / name).read_text("utf-8")


def _own(path: Path) -> Language:
    """Read a language of the study; a message that covmis does not have is refused, as are other {names} in it."""
    if not path.is_file():
        remedy = "[annotation] language names a file in the study's folder"
        raise InputError("is not there", file=path, remedy=remedy)
    data = read(path)
    try:
        language = _language(data)
    except (KeyError, TypeError, AttributeError):
        remedy = 'It needs [language] with code = "nl", and [messages] with "English" = "translation"'
        raise InputError("is no catalogue of messages", file=path, remedy=remedy) from None
    known = built_in("es").messages
    for message, translated in language.messages.items():
        if message not in known:
            raise InputError(f"no message is '{message}'", file=path, remedy=nearest(message, known))
        if places(message) != places(translated):
            raise InputError(
                f"'{translated}' has other {{names}} than '{message}'",
                file=path,
                remedy="Keep the {names} of the English message",
            )
    return language


def places(message: str) -> set[str]:
    """Return the {names} in a message. Other braces are no text that can be filled."""
    rest = _PLACES.sub("", message)
    return set(_PLACES.findall(message)) | ({rest} if {"{", "}"} & set(rest) else set())


def _language(data: Mapping[str, Any]) -> Language:
    about, messages = data["language"], data.get("messages", {})
    direction = about.get("direction", "ltr")
    texts = [about["code"], *messages.values()]
    if direction not in {"ltr", "rtl"} or not all(isinstance(text, str) for text in texts):
        raise TypeError
    return Language(about["code"], direction, messages)
