"""CSV files as people have them: with a mark or without, in UTF-8 or not, with columns named their way.

Every problem is one line that names the file, the row and the remedy.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from covmis_build.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

SEPARATOR = re.compile(r"\s*sep=([,;\t|])[ \t]*\r?\n", re.IGNORECASE)
SMALLEST_LONG_ID = 16
KEPT_DIGITS = 15
"""Digits that a spreadsheet keeps of a number; the rest become zeros."""


def text_of(path: Path, *, strict: bool = False) -> str:
    """The file's text; UTF-8, with a mark or not, or else Western European as spreadsheets save it.

    Strict refuses what is not UTF-8: a study's own files must not be guessed at.
    """
    if path.is_dir():
        raise InputError("is a folder, not a file", file=path, remedy="Name the file inside it")
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError("is missing", file=path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from error
    if strict:
        return _utf8(data, path)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:4096]:
        raise InputError("is not a text file", file=path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _utf8(data: bytes, path: Path) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8", file=path, row=row, remedy="Save it as CSV UTF-8") from None
    if "\0" in text:
        raise InputError("is not a text file", file=path, row=text.count("\n", 0, text.index("\0")) + 1)
    return text


def read_rows(path: Path, *, strict: bool = False) -> tuple[list[str], list[dict[str, str]]]:
    """The header and the rows of a CSV (or tab- or semicolon-separated) file; missing cells are empty."""
    text = text_of(path, strict=strict)
    if not text.strip():
        raise InputError("is empty", file=path, remedy="A header and at least one row are expected")
    first = text.lstrip().splitlines()[0]
    separator = max(",;\t", key=first.count)
    if said := SEPARATOR.match(text):  # a first line by which spreadsheets tell each other
        separator, text = said[1], text[said.end() :]
    csv.field_size_limit(1 << 27)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise InputError(f"is not readable as CSV: {error}", file=path) from error
    header = [cell.strip() for cell in lines[0]]
    for name in header:
        if name and header.count(name) > 1:
            raise InputError(
                f"has two columns called '{name}'", file=path, row=1, remedy="Rename or remove one"
            )
    rows = []
    for number, cells in enumerate(lines[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) > len(header):
            raise InputError(
                f"has {len(cells)} cells where the header has {len(header)}",
                file=path,
                row=number,
                remedy="Put cells that contain a separator in quotation marks",
            )
        rows.append(dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=True)))
    return header, rows


def column(header: Sequence[str], names: Iterable[str]) -> str:
    """The first of these names that the header has, whatever its case; empty if none."""
    lowered = {name.lower().replace(" ", "_"): name for name in header}
    return next((lowered[name] for name in names if name in lowered), "")


def need(path: Path, header: Sequence[str], names: Sequence[str]) -> str:
    """Like `column`, but none is an InputError that names what comes nearest."""
    found = column(header, names)
    if not found:
        near = nearest(names[0], header)
        hint = near if near.startswith("Did") else f"The file has: {', '.join(header) or 'no columns'}"
        raise InputError(f"lacks the column '{names[0]}'", file=path, row=1, remedy=hint)
    return found


def check_ids(path: Path, ids: Sequence[str]) -> list[str]:
    """Refuse platform ids broken by a spreadsheet; the result lists those that are only suspicious.

    Scientific notation is always refused. Ids of 16 digits or more with nothing but zeros after the 15th are refused
    when they are more than 1% of at least 100 ids, or all of 3 to 99.
    """
    remedy = "Take the ids from the original file, and keep the column as text in the spreadsheet"
    for number, one in enumerate(ids, start=2):
        head, _, tail = one.strip().upper().partition("E")
        if tail and tail.lstrip("+-").isdigit() and head.replace(".", "").replace(",", "").isdigit():
            raise InputError(
                f"the id {one} was broken by a spreadsheet", file=path, row=number, remedy=remedy
            )
    cut = [
        one
        for one in ids
        if len(one) >= SMALLEST_LONG_ID and one.isdigit() and not one[KEPT_DIGITS:].strip("0")
    ]
    many, few = len(ids) >= 100 and len(cut) > len(ids) / 100, 3 <= len(ids) < 100 and len(cut) == len(ids)
    if many or few:
        raise InputError(
            f"{len(cut)} of {len(ids)} ids end in zeros after the 15th digit, as {cut[0]}: "
            "a spreadsheet has rounded them",
            file=path,
            remedy=remedy,
        )
    return cut
