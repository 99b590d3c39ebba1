"""Shared functions of the table formats: rows by column name, and cell values."""

from __future__ import annotations

import re
from collections.abc import Mapping

from covmis_build.archive.dates import Form, TimeForm

Row = Mapping[str, str]
"""A row by column name. Columns missing in the file are missing here."""

ADDRESS = re.compile(r"https?://[^\s<>\"']+")
LONGEST_NUMBER = 40
"""Maximum number of digits of a count; a longer one is out of range anyway."""
ISO = TimeForm(Form.ISO)
SECONDS = TimeForm(Form.SECONDS)


def parted(cell: str, separator: str = "|") -> list[str]:
    """Split a cell into its values."""
    return [part for part in cell.split(separator) if part]


def in_text(text: str) -> list[str]:
    """Return the URLs in a text, without punctuation after them. A bracket is included if it was opened within the URL."""
    addresses = []
    for written in ADDRESS.findall(text):
        address = written.rstrip(".,;:!?…")
        while address.endswith(")") and address.count(")") > address.count("("):
            address = address[:-1].rstrip(".,;:!?…")
        addresses.append(address.rstrip("]}"))
    return list(dict.fromkeys(addresses))


def number(cell: object) -> int | None:
    """Return the cell's count, if any."""
    text = str(cell if cell is not None else "").strip()
    return int(text[:LONGEST_NUMBER]) if text.isdecimal() else None


def need(native: str) -> str:
    """Return an id without spreadsheet protection. A missing id is an error."""
    native = native.strip().lstrip("'")
    if not native:
        raise ValueError("no id")
    if "|" in native or any(ord(mark) < 32 for mark in native):
        raise ValueError(f"not a post id: {native[:60]}")
    return native


def digits(native: str) -> str:
    """Return an id that must be a number."""
    native = need(native)
    if not native.isdigit() or not native.isascii() or len(native) > 20:
        raise ValueError(f"not a post id: {native[:60]}")
    return native
