"""Killing a command before its n-th change of a folder, with SIGKILL, in a process forked for it.

Python tells of every file that is opened for writing, renamed, removed or cut before it happens (`sys.audit`); the
process ends itself there, so that nothing runs that a killed process would not have run. A file that was being
written can be left half-written as well, as by a kill within the write or a power cut.
"""

# ruff: noqa: PTH110, PTH113, PTH115, PTH116, PTH117, PTH118 - a hook sees paths as the system gets them
from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import json
import os
import re
import secrets
import shutil
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
from types import SimpleNamespace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from covmis_build import keyed
from covmis_build.building import run
from covmis_build.errors import CovmisError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")
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
    fails_at: int = 0
    """The call of this number fails with this error; the command goes on as it can."""
    error: int = 0
    syncs: bool = False
    """Whether calls of fsync count, too."""
    synced: Synced | None = None
    last: str = ""
    size: int = 0
    process: int = 0
    """The command's own: what it has started dies with it."""

    def __call__(self, event, arguments):
        if event == "open":
            if not (isinstance(arguments[2], int) and arguments[2] & WRITING):
                return
        elif event not in CHANGES:
            return
        path = _path(event, arguments)
        if not path.startswith(self.folder + os.sep) or path.endswith(".lock"):
            return  # the system lets go of a killed process's locks
        if self.synced:
            self.synced.keep(event, path, arguments)
        if (event == "os.mkdir" and os.path.exists(path)) or (
            event == "os.remove" and not os.path.exists(path)
        ):
            return
        self.change(event, path)

    def change(self, event, path):
        self.count += 1
        if self.kill and self.count >= self.kill.number:
            self.end()
        if self.count == self.fails_at:
            raise OSError(self.error, os.strerror(self.error), path)
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
        for process in (self.process, os.getpid()):
            os.kill(process, signal.SIGKILL)
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
        watch.process = os.getpid()
        _watch_sending(watch)
        if watch.syncs:
            _watch_syncing(watch)
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


def _watch_syncing(watch):
    """A sync may fail, and what was synced outlives a power cut."""
    real = os.fsync
    run.time = SimpleNamespace(monotonic=lambda: 0.0)  # how long a stage took stands in the ledger

    def fsync(descriptor):
        path = _folder(descriptor)
        if (path + os.sep).startswith(watch.folder + os.sep) and not path.endswith(".lock"):
            watch.change("os.fsync", path)
            if watch.synced:
                watch.synced.sync(descriptor)
        real(descriptor)

    os.fsync = fsync


class Synced:
    """What of a folder is on disk: contents that were synced, and names whose folder was."""

    def __init__(self, folder: Path, shadow: Path) -> None:
        self.folder, self.shadow = folder, shadow
        (shadow / "kept").mkdir(parents=True)
        for path in [folder, *folder.rglob("*")]:
            self._note(path)

    def sync(self, descriptor: int) -> None:
        """A sync of this file or folder."""
        self._note(Path(_folder(descriptor)))

    def _note(self, path: Path) -> None:
        number = path.stat().st_ino
        if path.is_dir():
            names = {one.name: [one.inode(), one.is_dir()] for one in os.scandir(path)}
            (self.shadow / f"{number}.folder").write_text(json.dumps(names))
        else:
            shutil.copy2(path, self.shadow / f"{number}.file")

    def keep(self, event, path, arguments) -> None:
        """Let no other file get the number of one that goes."""
        target = os.fspath(arguments[1]) if event == "os.rename" else path if event == "os.remove" else ""
        if isinstance(target, str) and target and os.path.isfile(target):
            with contextlib.suppress(FileExistsError):
                os.link(target, self.shadow / "kept" / str(os.stat(target).st_ino))

    def cut(self) -> None:
        """Let the power fail: what the folder holds now is what was on disk."""
        root = self.folder.stat().st_ino
        shutil.rmtree(self.folder)
        self._restore(root, self.folder)

    def _restore(self, number: int, target: Path) -> None:
        target.mkdir()
        listing = self.shadow / f"{number}.folder"
        for name, (inside, is_folder) in json.loads(listing.read_text()).items() if listing.exists() else ():
            if is_folder:
                self._restore(inside, target / name)
            elif (content := self.shadow / f"{inside}.file").exists():
                shutil.copy2(content, target / name)
            else:
                (target / name).touch()


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


def changes(folder: Path, act: Callable[[], object], *, syncs: bool = False) -> list[Change]:
    """Do it, undisturbed, in a process of its own; the changes of the folder that it made."""
    with tempfile.TemporaryFile() as file:
        assert _forked(act, _Watch(str(folder), told=file.fileno(), syncs=syncs)) == 0
        file.seek(0)
        return [Change(*json.loads(line)) for line in file]


def killed(folder: Path, moment: Moment, act: Callable[[], object]) -> None:
    """Do it in a process of its own, up to this moment."""
    assert _forked(act, _Watch(str(folder), moment)) == -signal.SIGKILL


def failed(folder: Path, number: int, error: int, act: Callable[[], object]) -> None:
    """Do it in a process of its own, where the call of this number fails; it ends in a line for a person, or succeeds."""

    def tried():
        with contextlib.suppress(CovmisError, OSError):  # the program prints both in one line
            act()

    assert _forked(tried, _Watch(str(folder), fails_at=number, error=error, syncs=True)) == 0


def cut_off(folder: Path, number: int, act: Callable[[], object]) -> None:
    """Do it in a process of its own, where the power fails before the call of this number."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as shadow:
        synced = Synced(folder, Path(shadow) / "synced")
        watch = _Watch(str(folder), Moment(number), syncs=True, synced=synced)
        assert _forked(act, watch) == -signal.SIGKILL
        synced.cut()


def moments(made: list[Change], count: int, key: str) -> list[Moment]:
    """So many moments of all that there are, drawn by key: every kind of change has one, and others follow."""
    every = [Moment(number) for number in range(1, len(made) + 2)]
    every += [
        Moment(number + 1, within=True) for number, change in enumerate(made, 1) if change.what == "open"
    ]
    at = dict(enumerate(made, 2))  # what has just been done
    return _of_each_kind(every, lambda moment: at.get(moment.number), count, "kill", key)


def of_each_kind(made: list[Change], numbers: Iterable[int], count: int, key: str) -> list[int]:
    """So many of these calls, drawn by key: every kind of call has one, and others follow."""
    return _of_each_kind(list(numbers), lambda number: made[number - 1], count, "fault", key)


def _of_each_kind(every: list[T], change_of: Callable[[T], Change | None], count: int, *key: str) -> list[T]:
    every = sorted(every, key=lambda one: keyed.uniform(1, *key, str(one)))
    kinds: dict[Change, T] = {}
    for one in every:
        if change := change_of(one):
            where = "/".join(change.file.split("/")[:2]) if "/" in change.file else ""
            kinds.setdefault(Change(change.what, where + Path(change.file).suffix), one)
    return list(dict.fromkeys([*kinds.values(), *every]))[: max(count, len(kinds))]
