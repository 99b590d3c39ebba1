"""What can go wrong, as a tree. Every message is one line for a person: where, what, and what to do.

CovmisError
├── CheckFailed      a check ran and failed                     exit code 1
├── InputError       the input is wrong                         exit code 2
│   └── MissingExtra an optional part is not installed
└── ServiceError     an outside service failed                  exit code 3
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class CovmisError(Exception):
    """Anything that a user can cause or cure; the command line prints it as one line."""

    exit_code = 1


class CheckFailed(CovmisError):
    """A check ran and its answer is no."""


class InputError(CovmisError):
    """A file, a setting or an argument is wrong: names the place and the remedy."""

    exit_code = 2

    def __init__(self, problem: str, *, file: Path | str = "", row: int | str = "", remedy: str = "") -> None:
        place = (
            f"{file}" + (f", row {row}" if row != "" else "") if file else (f"row {row}" if row != "" else "")
        )
        text = f"{place}: {problem}" if place else problem
        if remedy:
            text = f"{text.rstrip('.')}. {remedy}"
        super().__init__(" ".join(text.split()))


class MissingExtra(InputError):
    """An optional part of covmis is needed and not installed."""

    def __init__(self, extra: str, what: str) -> None:
        super().__init__(
            f"{what} needs the extra '{extra}'", remedy=f'Install it: pip install "covmis[{extra}]"'
        )


class ServiceError(CovmisError):
    """A server or platform failed or refused."""

    exit_code = 3


def nearest(word: str, known: Iterable[str]) -> str:
    """A remedy that names the nearest known word, or all of them if none is near.

    >>> nearest("minimum_word", ["minimum_words", "languages"])
    "Did you mean 'minimum_words'?"
    """
    choices = list(known)
    close = [one for one in choices if one.casefold() == word.casefold()]
    close = close or difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    return f"Did you mean '{close[0]}'?" if close else "Allowed: " + ", ".join(choices)
