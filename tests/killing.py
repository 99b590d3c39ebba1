"""Killing a command before its n-th change of a folder, with SIGKILL, in a process forked for it.

Python tells of every file that is opened for writing, renamed, removed or cut before it happens (`sys.audit`); the
process ends itself there, so that nothing runs that a killed process would not have run. A file that was being
written can be left half-written as well, as by a kill within the write or a power cut.
"""

# ruff: noqa: PTH110, PTH113, PTH115, PTH116, PTH117, PTH118 - a hook sees paths as the system gets them
from __future__ import annotations

import datetime as dt
import fcntl
import json
import os
import re
import secrets
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from covmis_build import keyed

if TYPE_CHECKING:
    from collections.abc import Callable

CHANGES = {
    "os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate", "shutil.rmtree",
    "sqlite3.connect", "tempfile.mkdtemp", "tempfile.mkstemp",
}  # fmt: skip
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANCE_IN_NAMES = re.compile(r"(?<=\.covmis-)[a-z0-9_]{8}|(?<=engine-)[a-z0-9_]{8}")
NOW = dt.datetime(2026, 12, 1, 3, 4, 5, tzinfo=dt.UTC)


class Change(NamedTuple):
    """What is about to happen to which file of the folder."""

    what: str
    file: str


class Moment(NamedTuple):
    """Before the change of this number (1 is the first; one more than there are is after the last), or within the one
    before it: what that has written is cut in half."""

    number: int
    within: bool = False


class _Clock(dt.datetime):
    """Always the same moment: what two runs write can be compared byte by byte."""

    __slots__ = ()  # of the same size, for those who look from C

    @classmethod
    def now(cls, tz=None):
        return NOW if tz else NOW.replace(tzinfo=None)


@dataclass
class _Watch:
    folder: str
    kill: Moment | None = None
    count: int = 0
    told: int = -1
    last: str = ""
    size: int = 0

    def __call__(self, event, arguments):
        if event == "open":
            if not (isinstance(arguments[2], int) and arguments[2] & WRITING):
                return
        elif event not in CHANGES:
            return
        path = _path(event, arguments)
        if not path.startswith(self.folder + os.sep) or path.endswith(".lock"):
            return  # the system lets go of a killed process's locks
        if (event == "os.mkdir" and os.path.exists(path)) or (
            event == "os.remove" and not os.path.exists(path)
        ):
            return
        self.change(event, path)

    def change(self, event, path):
        self.count += 1
        if self.kill and self.count >= self.kill.number:
            self.end()
        name = CHANCE_IN_NAMES.sub("*", path[len(self.folder) + 1 :])
        if self.told >= 0:
            os.write(self.told, json.dumps([event, name]).encode() + b"\n")
        self.last, self.size = (path, _size(path)) if event == "open" else ("", 0)

    def end(self):
        kill, self.kill = self.kill, None
        if kill.within and self.last:
            size = _size(self.last)
            if size > self.size:
                os.truncate(self.last, self.size + (size - self.size) // 2)
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)


def _size(path):
    return os.stat(path).st_size if os.path.isfile(path) else 0


def _path(event, arguments):
    path = arguments[0]
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not isinstance(path, str | os.PathLike):
        return ""
    folder = arguments[-1] if event in {"os.remove", "os.rmdir", "os.mkdir"} else -1
    path = os.fspath(path)
    if isinstance(folder, int) and folder >= 0 and not os.path.isabs(path):
        path = os.path.join(_folder(folder), path)
    return path.removeprefix("file:").partition("?")[0] if event == "sqlite3.connect" else path


def _folder(descriptor: int) -> str:
    """Where an open folder stands."""
    if sys.platform == "darwin":
        told = fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024))
        return os.fsdecode(told.rstrip(b"\0"))
    return os.readlink(f"/proc/self/fd/{descriptor}")


def _in_child(act: Callable[[], object], watch: _Watch | None) -> None:
    """Do it in this forked process, which then ends; no time passes, and no chance is left."""
    dt.datetime = _Clock
    secrets.token_hex = lambda size=None: "5" * 2 * (size or 32)
    time.sleep = lambda seconds: None
    if watch:
        _watch_sending(watch)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    if watch:
        sys.addaudithook(watch)
    act()
    if watch and watch.kill:
        watch.end()


def _watch_sending(watch):
    """What is sent to a server changes something, too."""

    class Socket(socket.socket):
        def send(self, *arguments):
            watch.change("send", watch.folder + "/")
            return super().send(*arguments)

        def sendall(self, *arguments):
            watch.change("send", watch.folder + "/")
            return super().sendall(*arguments)

    socket.socket = Socket


def _forked(act: Callable[[], object], watch: _Watch | None = None) -> int:
    """How the process ended that did it: 0, or minus the signal; an error of its own is raised here."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer Pythons warn of forks beside threads
        child = os.fork()
    if not child:
        os.close(read)
        try:
            _in_child(act, watch)
        except BaseException:  # noqa: BLE001 - told to the parent
            os.write(write, traceback.format_exc().encode()[-20_000:])
            os._exit(1)
        os._exit(0)
    os.close(write)
    timer = threading.Timer(600, os.kill, (child, signal.SIGTERM))
    timer.start()
    with os.fdopen(read, "rb") as errors:
        problem = errors.read().decode()
    _, status = os.waitpid(child, 0)
    timer.cancel()
    assert not problem, problem
    return os.waitstatus_to_exitcode(status)


def done(act: Callable[[], object]) -> None:
    """Do it, undisturbed, in a process of its own."""
    assert _forked(act) == 0


def changes(folder: Path, act: Callable[[], object]) -> list[Change]:
    """Do it, undisturbed, in a process of its own; the changes of the folder that it made."""
    with tempfile.TemporaryFile() as file:
        assert _forked(act, _Watch(str(folder), told=file.fileno())) == 0
        file.seek(0)
        return [Change(*json.loads(line)) for line in file]


def killed(folder: Path, moment: Moment, act: Callable[[], object]) -> None:
    """Do it in a process of its own, up to this moment."""
    assert _forked(act, _Watch(str(folder), moment)) == -signal.SIGKILL


def moments(made: list[Change], count: int, key: str) -> list[Moment]:
    """So many moments of all that there are, drawn by key: every kind of change has one, and others follow."""
    every = [Moment(number) for number in range(1, len(made) + 2)]
    every += [
        Moment(number + 1, within=True) for number, change in enumerate(made, 1) if change.what == "open"
    ]
    every.sort(key=lambda one: keyed.uniform(1, "kill", key, str(one.number), str(one.within)))
    kinds: dict[Change, Moment] = {}
    for moment in every:
        if moment.number > 1:  # what has just been done
            change = made[moment.number - 2]
            where = "/".join(change.file.split("/")[:2]) if "/" in change.file else ""
            kinds.setdefault(Change(change.what, where + Path(change.file).suffix), moment)
    return list(dict.fromkeys([*kinds.values(), *every]))[: max(count, len(kinds))]
