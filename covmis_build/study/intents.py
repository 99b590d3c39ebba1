"""What a command is about to make, noted before it makes it: killed and called again, it recognises its own work.

Without a note nobody could tell a second call by a person who never saw the first one end from a person who wants a
second round. The note goes when the result has been told: on the command line when it was printed, in Python when the
method returns. So only a killed command leaves one.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from covmis_build import storage
from covmis_build.errors import CovmisError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from covmis_build.places import Places

_TO_TELL: ContextVar[list[Path] | None] = ContextVar("_TO_TELL", default=None)
"""Notes of finished work that is still to be told; None where returning tells it."""


class _Note(msgspec.Struct, frozen=True):
    """The content of a note."""

    command: str
    inputs: str
    """Hash of what the command was given and found."""
    makes: str
    """What it makes: a round's number, a file's name."""


@dataclass(frozen=True)
class Intent:
    """A call of a command, and what an earlier call with the same inputs has left undone or untold."""

    path: Path
    inputs: str
    begun: str
    """What the earlier, killed call was making; empty if there was none."""

    @contextmanager
    def making(self, makes: str, is_made: Callable[[], bool]) -> Iterator[None]:
        """Note what is made in this block; a refusal before it `is_made` leaves no note."""
        note = _Note(self.path.stem.replace("-", " "), self.inputs, makes)
        storage.write_bytes(self.path, msgspec.json.encode(note) + b"\n")
        try:
            yield
        except CovmisError:
            if not is_made():
                storage.remove(self.path)
            raise
        self.finish()

    def finish(self) -> None:
        """Let the note go as soon as the result has been told."""
        waiting = _TO_TELL.get()
        if waiting is None:
            _let_go(self.path)
        else:
            waiting.append(self.path)


def intent(places: Places, command: str, *inputs: Any) -> Intent:
    """Return what is known of this call: the same command with the same plain values as inputs."""
    path, key = places.intents / f"{command.replace(' ', '-')}.json", _key_of(inputs)
    try:
        note = msgspec.json.decode(path.read_bytes(), type=_Note)
    except (FileNotFoundError, msgspec.MsgspecError):
        return Intent(path, key, "")
    return Intent(path, key, note.makes if note.inputs == key else "")


def _key_of(inputs: Sequence[Any]) -> str:
    text = json.dumps(inputs, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


@contextmanager
def until_told() -> Iterator[None]:
    """Keep the notes of what is finished until this block, which prints the result, has ended."""
    waiting = list[Any]()
    token = _TO_TELL.set(waiting)
    try:
        yield
    finally:
        _TO_TELL.reset(token)
    for path in waiting:
        _let_go(path)


def _let_go(note: Path) -> None:
    """Remove a note. If the disk fails when it is gone, that is no error: nothing could recognise the work any more."""
    try:
        storage.remove(note)
    except (OSError, CovmisError):
        if note.exists():
            raise
