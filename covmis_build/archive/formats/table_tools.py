"""What the readers of tools' tables share: a row by names of columns, and cells as they are meant."""

from __future__ import annotations

import re
from collections.abc import Mapping

from covmis_build.archive.dates import Form, TimeForm

Row = Mapping[str, str]
"""A row by the names of its columns; a column that a file lacks is not there."""

ADDRESS = re.compile(r"https?://[^\s<>\"']+")
LONGEST_NUMBER = 40
"""Digits of a count that are read: one of so many is out of range, whatever follows."""
ISO = TimeForm(Form.ISO)
SECONDS = TimeForm(Form.SECONDS)


def parted(cell: str, separator: str = "|") -> list[str]:
    """Several values in a cell."""
    return [part for part in cell.split(separator) if part]


def in_text(text: str) -> list[str]:
    """Addresses that are in a text, without the marks behind them; a bracket belongs to one if it opens there."""
    addresses = []
    for written in ADDRESS.findall(text):
        address = written.rstrip(".,;:!?…")
        while address.endswith(")") and address.count(")") > address.count("("):
            address = address[:-1].rstrip(".,;:!?…")
        addresses.append(address.rstrip("]}"))
    return list(dict.fromkeys(addresses))


def number(cell: object) -> int | None:
    """A count, where a cell has one."""
    text = str(cell if cell is not None else "").strip()
    return int(text[:LONGEST_NUMBER]) if text.isdecimal() else None


def need(native: str) -> str:
    """An id, without what protects it from spreadsheets; none is an error."""
    native = native.strip().lstrip("'")
    if not native:
        raise ValueError("no id")
    if "|" in native or any(ord(mark) < 32 for mark in native):
        raise ValueError(f"not a post id: {native[:60]}")
    return native


def digits(native: str) -> str:
    """An id that can only be a number."""
    native = need(native)
    if not native.isdigit() or not native.isascii() or len(native) > 20:
        raise ValueError(f"not a post id: {native[:60]}")
    return native
