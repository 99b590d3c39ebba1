"""Text routines as machine code: numba compiles them once and stores them in the user's cache folder.

numba is loaded at the first call of a routine. Stored machine code is loaded without numba's compiler, and only if no
other user could have written it.
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
"""Source files that determine the machine code, and the tables stored with it."""
EVERY = "covmis_build.text.every_routine"
"""The module that calls every routine; it imports them, and they import this module."""
COMPLETE = "complete"
"""File that marks a folder in which everything is compiled."""
VERSIONS = 4
"""Number of folders kept for other versions of covmis, Python or numba."""
OTHERS_WRITE = 0o022


class Routine:
    """A function that runs as machine code, loaded or compiled at its first call."""

    def __init__(self, function: Callable[..., Any], *, helper: bool = False) -> None:
        self.function, self.helper = function, helper
        functools.update_wrapper(self, function)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """The function compiled by numba."""
        import numba

        dispatcher = numba.njit(
            nogil=True, error_model="numpy", no_cfunc_wrapper=True, no_cpython_wrapper=self.helper
        )(self.function)
        if not self.helper:
            dispatcher._cache = _cache_of(self.function)  # noqa: SLF001 - numba has no public way
        return dispatcher

    @property
    def _numba_type_(self) -> Any:
        """Return the type with which numba compiles a call from another routine."""
        return self.dispatcher._numba_type_

    def __call__(self, *given: Any) -> Any:
        """Run the routine. The first call of any routine compiles all if this has not been done on this machine."""
        global _called  # noqa: PLW0603
        if not _called:
            _called = True  # before compiling, which also calls routines
            everything()
        return self.dispatcher(*given)


_called = False


def njit(function: Any = None, /, *, helper: bool = False) -> Any:
    """Decorate a function to run as machine code. Only other routines call a `helper`, which is inlined."""
    return Routine(function) if function else functools.partial(Routine, helper=helper)


def everything() -> None:
    """Compile every routine and report it in one line. Does nothing if already done, or if it cannot be stored."""
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
    """Disable garbage collection, which takes a sixth of the time for the compiler's many objects."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


# Storage of machine code


@functools.cache
def folder() -> Path | None:
    """Return the folder of machine code for these sources, Python, numba and processor; None without a private folder.

    It is below `NUMBA_CACHE_DIR` if set, otherwise below covmis's folder in the user's cache folder.
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
    except (OSError, RuntimeError):  # not writable, or no home folder
        return None


def kept(name: str, make: Callable[[], Mapping[str, NDArray[Any]]]) -> Mapping[str, NDArray[Any]]:
    """Return tables that take long to build from the folder of machine code; build and store them if missing."""
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
    """Delete all but the last few folders of earlier versions."""
    ours = sorted(place.parent.glob(f"{'[0-9a-f]' * 16}/{COMPLETE}"), key=lambda file: file.stat().st_mtime)
    for complete in ours[:-VERSIONS]:
        shutil.rmtree(complete.parent, ignore_errors=True)


def _user_cache() -> Path:
    """Return covmis's folder within the user's cache folder, following the system's convention."""
    if platform.system() == "Windows":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "covmis" / "cache"
    if platform.system() == "Darwin":
        return Path.home() / "Library" / "Caches" / "covmis"
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".cache") / "covmis"


def _is_ours(place: Path) -> bool:
    """True if a folder, its parent and its files belong to us or the system, and no other user can write there."""
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
    """Serialise processes that would compile the same code: the second finds it done."""
    try:
        import fcntl
    except ImportError:  # Windows: both compile and store the same
        yield
        return
    with (place / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _cache_of(function: Callable[..., Any]) -> Any:
    """Return the cache for numba's compiler: one file of machine code per list of types."""
    from numba.core.caching import NullCache
    from numba.core.compiler import CompileResult
    from numba.core.runtime import rtsys
    from numba.core.serialize import dumps

    kept_in = folder()
    if kept_in is None:
        return NullCache()
    start = str(kept_in / f"{function.__module__}.{function.__name__}.")

    class Kept(NullCache):  # type: ignore[misc, unused-ignore]
        """Like numba's own cache, with another file name."""

        def file(self, types: Any) -> Path:
            return Path(start + hashlib.sha256(repr(types).encode()).hexdigest()[:16])

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            with suppress(OSError, EOFError, pickle.UnpicklingError):
                kept = pickle.loads(self.file(sig).read_bytes())  # noqa: S301 - only we can write to the folder
                rtsys.initialize(target_context)  # numba would load its whole compiler
                return CompileResult._rebuild(target_context, *kept)  # noqa: SLF001
            return None

        def save_overload(self, sig: Any, cres: Any) -> None:
            beside = self.file(sig).with_suffix(f".{os.getpid()}")
            with suppress(OSError):  # disk full, or read-only folder
                beside.write_bytes(dumps(cres._reduce()))  # noqa: SLF001
                beside.replace(self.file(sig))

    return Kept()
