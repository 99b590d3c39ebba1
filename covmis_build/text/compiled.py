"""Text routines as machine code: numba compiles them once, and it is kept in the user's cache folder.

numba is loaded when a routine is first called. Machine code that is kept is loaded without the parts of numba that
only compiling needs, and only if nobody else can have put it there.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import importlib
import logging
import os
import pickle
import platform
import shutil
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

log = logging.getLogger("covmis")

ONCE = "Compiling covmis's text routines (once per machine, about 10 seconds)"
SOURCES = (
    "bags", "compiled", "edits", "folding", "join", "langdetect_replay", "near_duplicates", "scan", "tokens", "weights"
)  # fmt: skip
"""The files whose text decides the machine code, and the tables that are kept beside it."""
EVERY = "covmis_build.text.every_routine"
"""What calls every routine; it imports them, as they import this module."""
COMPLETE = "complete"
"""The file that says that everything is compiled in a folder."""
VERSIONS = 4
"""So many folders stay, of other versions of covmis, Python or numba."""
OTHERS_WRITE = 0o022


class Routine:
    """A function that runs as machine code, which is loaded or compiled when it is first called."""

    def __init__(self, function: Callable[..., Any], *, helper: bool = False) -> None:
        self.function, self.helper = function, helper
        functools.update_wrapper(self, function)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """What numba makes of the function."""
        import numba

        dispatcher = numba.njit(
            nogil=True, error_model="numpy", no_cfunc_wrapper=True, no_cpython_wrapper=self.helper
        )(self.function)
        if not self.helper:
            dispatcher._cache = _cache_of(self.function)  # noqa: SLF001 - numba has no word for it
        return dispatcher

    @property
    def _numba_type_(self) -> Any:
        """How numba asks what this is where one routine calls another."""
        return self.dispatcher._numba_type_

    def __call__(self, *given: Any) -> Any:
        """Run it; the very first call of any routine compiles all, if that has not been done on this machine."""
        global _called  # noqa: PLW0603
        if not _called:
            _called = True  # before compiling, which calls routines, too
            everything()
        return self.dispatcher(*given)


_called = False


def njit(function: Any = None, /, *, helper: bool = False) -> Any:
    """Run the function as machine code; a `helper` is called by other routines only, and becomes a part of them."""
    return Routine(function) if function else functools.partial(Routine, helper=helper)


def everything() -> None:
    """Compile every routine, and say so in one line; nothing is done where that has been done, or cannot be kept."""
    global _called  # noqa: PLW0603
    place = folder()
    if place is None or (place / COMPLETE).exists():
        return
    log.warning(ONCE)
    _called = True
    with _alone(place):
        if not (place / COMPLETE).exists():
            with _uncollected():
                importlib.import_module(EVERY).use()
            with suppress(OSError):
                (place / COMPLETE).touch()
                _forget_others(place)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Leave garbage until the end: to look for it among all that a compiler makes takes a sixth of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


# Where machine code is kept


@functools.cache
def folder() -> Path | None:
    """The folder of machine code of these sources, for this Python, numba and processor; None without one of our own.

    It is below `NUMBA_CACHE_DIR` if that is set, otherwise below covmis's folder in the user's cache folder.
    """
    import numba
    from numba.core.registry import cpu_target

    own = Path(__file__)
    key = hashlib.sha256()
    for name in SOURCES:
        key.update(own.with_name(f"{name}.py").read_bytes())
    processor = cpu_target.target_context.codegen().magic_tuple()
    key.update(repr((sys.version, numba.__version__, processor)).encode())
    try:
        home = Path(os.environ.get("NUMBA_CACHE_DIR") or _user_cache())
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = home / key.hexdigest()[:16]
        place.mkdir(mode=0o700, exist_ok=True)
        return place if _is_ours(place) else None
    except (OSError, RuntimeError):  # nothing can be written there, or there is no home
        return None


def kept(name: str, make: Callable[[], Mapping[str, NDArray[Any]]]) -> Mapping[str, NDArray[Any]]:
    """Tables that take long to make: read from the folder of machine code, or made and put there."""
    import numpy as np

    place = folder()
    if place is None:
        return make()
    file = place / f"{name}.npz"
    with suppress(OSError, EOFError, ValueError, BadZipFile), file.open("rb") as opened:
        return dict(np.load(opened, allow_pickle=False))
    tables = make()
    beside = place / f"{name}.{os.getpid()}.npz"
    with suppress(OSError):
        np.savez(beside, allow_pickle=False, **tables)
        beside.replace(file)
    return tables


def _forget_others(place: Path) -> None:
    """Remove the folders of versions that were compiled before the last few."""
    ours = sorted(place.parent.glob(f"{'[0-9a-f]' * 16}/{COMPLETE}"), key=lambda file: file.stat().st_mtime)
    for complete in ours[:-VERSIONS]:
        shutil.rmtree(complete.parent, ignore_errors=True)


def _user_cache() -> Path:
    """The part of the user's cache folder that is covmis's, by the customs of the system."""
    if platform.system() == "Windows":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "covmis" / "cache"
    if platform.system() == "Darwin":
        return Path.home() / "Library" / "Caches" / "covmis"
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".cache") / "covmis"


def _is_ours(place: Path) -> bool:
    """Whether a folder, the one above, and its files belong to us or to the system, and nobody else can write there."""
    if not hasattr(os, "getuid"):
        return True
    trusted = {0, os.getuid()}
    places = [place, place.parent, *place.iterdir()]
    return all(
        status.st_uid in trusted and (not status.st_mode & OTHERS_WRITE or status.st_mode & 0o1000)
        for status in (path.stat() for path in places)
    )


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Let processes that would compile the same do it one after the other: the second finds it done."""
    try:
        import fcntl
    except ImportError:  # Windows: both compile, and keep the same
        yield
        return
    with (place / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _cache_of(function: Callable[..., Any]) -> Any:
    """Where numba's compiler looks for this function's machine code, and puts it: a file for each list of types."""
    from numba.core.caching import NullCache
    from numba.core.compiler import CompileResult
    from numba.core.runtime import rtsys
    from numba.core.serialize import dumps

    kept_in = folder()
    if kept_in is None:
        return NullCache()
    start = str(kept_in / f"{function.__module__}.{function.__name__}.")

    class Kept(NullCache):  # type: ignore[misc, unused-ignore]
        """A file holds what numba's own cache would."""

        def file(self, types: Any) -> Path:
            return Path(start + hashlib.sha256(repr(types).encode()).hexdigest()[:16])

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            with suppress(OSError, EOFError, pickle.UnpicklingError):
                kept = pickle.loads(self.file(sig).read_bytes())  # noqa: S301 - the folder is ours alone
                rtsys.initialize(target_context)  # numba would load all that it compiles with
                return CompileResult._rebuild(target_context, *kept)  # noqa: SLF001
            return None

        def save_overload(self, sig: Any, cres: Any) -> None:
            beside = self.file(sig).with_suffix(f".{os.getpid()}")
            with suppress(OSError):  # no room, or the folder is only to be read
                beside.write_bytes(dumps(cres._reduce()))  # noqa: SLF001
                beside.replace(self.file(sig))

    return Kept()
