"""Read TOML files, limited in size because parsing a key takes quadratic time in its number of parts."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError
from covmis_build.files.contents import bytes_of

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 256 << 10
MOST_DOTS = 1000
"""Maximum dots in one line: a key with 30,000 parts takes half a minute."""


def read(path: Path) -> dict[str, Any]:
    """Read a TOML file."""
    return parsed(bytes_of(path, most=LARGEST), path)


def parsed(data: bytes, path: Path) -> dict[str, Any]:
    """Parse the bytes of a TOML file."""
    if len(data) > LARGEST:
        raise InputError(f"is larger than {LARGEST >> 10} KiB", file=path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("is not UTF-8", file=path, remedy="Save it as UTF-8 text") from None
    for row, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MOST_DOTS:
            raise InputError(f"a line with more than {MOST_DOTS:,} dots", file=path, row=row)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also for a number with thousands of digits
        raise InputError(
            f"is not TOML: {error}", file=path, remedy="Put text in quotes and lists in brackets"
        ) from None
