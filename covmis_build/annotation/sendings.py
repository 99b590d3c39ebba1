"""When a round was sent out, and with which guideline: lines of text, which merge.

Two people who share a study may both send a round. What opening a round wrote in round.json stays as it is; sent.jsonl
gets a line for the first time that a copy of the study sent it, and one for each other guideline since.
"""

from __future__ import annotations

import hashlib
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


class _Line(Sending, frozen=True, order=True, forbid_unknown_fields=True):
    """A line: with the hash of its content, since 0.3.0."""

    id: str = ""


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
        storage.write_bytes(folder / SENT, b"".join(map(_line, together)))


def _parsed(path: Path, number: int, raw: bytes) -> Sending:
    try:
        line = msgspec.json.decode(raw, type=_Line)
    except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors, too
        raise InputError(
            f"does not say when a round was sent out: {error}",
            file=path,
            row=number,
            remedy="Delete the line; of several, the first says since when people had the round",
        ) from None
    sending = Sending(line.since, line.version)
    if line.id not in {"", _id_of(sending)}:
        raise InputError(
            "was changed after it was written: the content does not have the hash in `id`",
            file=path,
            row=number,
            remedy="Restore the line from a copy or from git",
        )
    return sending


def _line(sending: Sending) -> bytes:
    return msgspec.json.encode(_Line(sending.since, sending.version, _id_of(sending))) + b"\n"


def _id_of(sending: Sending) -> str:
    return hashlib.sha256(f"{sending.since} {sending.version}".encode()).hexdigest()[:20]
