"""When a round was sent out, and with which guideline: lines of text, which merge.

Two people who share a study may both send a round. What opening a round wrote in round.json stays as it is; sent.jsonl
gets a line for the first time that a copy of the study sent it, and one for each other guideline since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from covmis_build import storage
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

SENT = "sent.jsonl"


class Sending(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """Since when a version of the guideline is in use."""

    since: str
    version: str


def read(folder: Path) -> tuple[Sending, ...]:
    """Return how a round was sent out, in order; empty if it was not, or by a version before 0.3.0."""
    path = folder / SENT
    if not path.exists():
        return ()
    lines = enumerate(path.read_bytes().splitlines(), start=1)
    return tuple(sorted({_parsed(path, number, raw) for number, raw in lines if raw.strip()}))


def add(folder: Path, sendings: Iterable[Sending]) -> None:
    """Add these lines to a round; those that it has change nothing."""
    before = read(folder)
    together = tuple(sorted({*before, *sendings}))
    if together != before:
        storage.write_bytes(
            folder / SENT, b"".join(msgspec.json.encode(sending) + b"\n" for sending in together)
        )


def _parsed(path: Path, number: int, raw: bytes) -> Sending:
    try:
        return msgspec.json.decode(raw, type=Sending)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors, too
        raise InputError(
            f"does not say when a round was sent out: {error}",
            file=path,
            row=number,
            remedy="Delete the line; of several, the first says since when people had the round",
        ) from None
