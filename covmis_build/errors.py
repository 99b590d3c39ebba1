"""What can go wrong, as a tree. Every message is one line for a person: where, what, and what to do.

CovmisError
├── CheckFailed      a check ran and failed                     exit code 1
│   └── BrokenSeal   a sealed round is not what it was
├── InputError       the input is wrong                         exit code 2
│   ├── BrokenIds    platform ids that a spreadsheet has rewritten
│   ├── StaleTables  tables of other settings or files than today's
│   ├── DamagedTable a table that is not what was written
│   ├── UnfinishedPurge  a purge has begun and not ended
│   ├── InUse        another process changes the same files now
│   ├── UnknownName  a name that nothing has
│   └── MissingExtra an optional part is not installed
└── ServiceError     an outside service failed                  exit code 3
"""

from __future__ import annotations

import csv
import difflib
import lzma
import struct
import zipfile
import zlib
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


class Code(StrEnum):
    """The kind of an error, for programs."""

    CHECK_FAILED = "check_failed"
    BROKEN_SEAL = "broken_seal"
    WRONG_INPUT = "wrong_input"
    BROKEN_IDS = "broken_ids"
    STALE_TABLES = "stale_tables"
    DAMAGED_TABLE = "damaged_table"
    IN_USE = "in_use"
    UNKNOWN_NAME = "unknown_name"
    MISSING_EXTRA = "missing_extra"
    SERVICE_FAILED = "service_failed"
    UNFINISHED_PURGE = "unfinished_purge"


MADE_AGAIN = "Remove it and run `covmis run` again"


class CovmisError(Exception):
    """Any error that a user can cause or fix. `.code` is for programs, str() for users: place, problem, remedy."""

    exit_code: ClassVar[int] = 1
    code: ClassVar[Code] = Code.CHECK_FAILED

    def __init__(self, problem: str, *, file: Path | str = "", row: int | str = "", remedy: str = "") -> None:
        super().__init__(problem)  # one positional argument in every subclass, so that errors can be pickled
        self.problem, self.file, self.row, self.remedy = problem, file, row, remedy

    def __str__(self) -> str:
        place = ", ".join(
            part for part in (f"{self.file}", f"row {self.row}" if self.row != "" else "") if part
        )
        text = f"{place}: {self.problem}" if place else self.problem
        if self.remedy:
            text = f"{text.rstrip('.')}. {self.remedy}"
        return " ".join(text.split())

    def at(self, file: Path | str) -> Self:
        """Return this error with the file that it concerns, if it does not name one."""
        self.file = self.file or file
        return self


class CheckFailed(CovmisError):
    """A check ran and failed."""


class BrokenSeal(CheckFailed):
    """A sealed round was changed after sealing."""

    code = Code.BROKEN_SEAL


class InputError(CovmisError):
    """A file, a setting or an argument is wrong: names the place and the remedy."""

    exit_code = 2
    code = Code.WRONG_INPUT


class BrokenIds(InputError):
    """Platform ids rewritten by a spreadsheet."""

    code = Code.BROKEN_IDS


class StaleTables(InputError):
    """Tables of data/build that do not match the current settings or files."""

    code = Code.STALE_TABLES


class InUse(InputError):
    """Another process changes the same files now: the same may work a moment later."""

    code = Code.IN_USE


class DamagedTable(InputError):
    """A table of covmis that is not what was written: a failing disk, or a careless copy."""

    code = Code.DAMAGED_TABLE


class UnfinishedPurge(InputError):
    """A purge is unfinished: a part of the study still contains purged data."""

    code = Code.UNFINISHED_PURGE


class UnknownName(InputError):
    """An unknown name of a measure, scheme, dataset or stage."""

    code = Code.UNKNOWN_NAME


def pip_install(extra: str) -> str:
    """Return how to install an extra: from the checkout, because others could take covmis's name on PyPI."""
    return f'pip install ".[{extra}]" in the folder of covmis'


class NoClaim(UnknownName):
    """The list has no claim with this id."""

    @classmethod
    def of(cls, claim_id: str, known: Iterable[str]) -> Self:
        """Return the error for this id, with the existing ids."""
        return cls(f"no claim has the id {claim_id}", remedy=nearest(claim_id, known)[:200])


class MissingExtra(InputError):
    """An optional part of covmis is required and not installed."""

    code = Code.MISSING_EXTRA

    @classmethod
    def of(cls, extra: str, what: str) -> Self:
        """Return the error for a missing extra, with its purpose and how to install it."""
        return cls(f"{what} needs the extra '{extra}'", remedy=f"Install it: {pip_install(extra)}")


class ServiceError(CovmisError):
    """A server or platform failed or refused."""

    exit_code = 3
    code = Code.SERVICE_FAILED


def nearest(word: str, known: Iterable[str]) -> str:
    """Suggest the most similar known word, or list all if none is similar.

    >>> nearest("minimum_word", ["minimum_words", "languages"])
    "Did you mean 'minimum_words'?"
    """
    choices = list(known)
    close = [choice for choice in choices if choice.casefold() == word.casefold()]
    close = close or difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    return f"Did you mean '{close[0]}'?" if close else "Allowed: " + ", ".join(choices)


def counted(number: int, nouns: str) -> str:
    """Format a number with its noun, given in plural.

    >>> counted(1, "queries"), counted(1200, "posts"), counted(1, "new answers")
    ('1 query', '1,200 posts', '1 new answer')
    """
    if number == 1:
        nouns = nouns[:-3] + "y" if nouns.endswith("ies") else nouns.removesuffix("s")
    return f"{number:,} {nouns}"


ODD = (
    ArithmeticError, AttributeError, csv.Error, EOFError, LookupError, MemoryError, NotImplementedError, OSError, RuntimeError,
    SyntaxError, TypeError, ValueError, lzma.LZMAError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""Errors of third-party readers for invalid files (broken XML is a SyntaxError). Our own bugs raise the same errors, and
tests with valid files find them.
"""


@contextmanager
def doubted(path: Path | str, what: str = "cannot be read", remedy: str = "") -> Iterator[None]:
    """Report any error in this block as a problem of someone else's file, in one line."""
    import pyarrow as pa

    try:
        yield
    except CovmisError as error:
        raise error.at(path) from None
    except MemoryError:
        raise InputError("it needs more memory than this machine has", file=path) from None
    except (*ODD, pa.ArrowException) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(
            f"{what}: {reason}", file=path, remedy=remedy or "It is damaged, or not what covmis writes"
        ) from error
