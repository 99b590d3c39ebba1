"""Studies with which many tests begin: each is made once in a process, and copied for every test."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def once(make: Callable[[Path], object]) -> Callable[[Path], Path]:
    """Make a folder's content the first time, and copy it into each folder that asks."""

    @functools.cache
    def made() -> Path:
        folder = Path(tempfile.mkdtemp())
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        make(folder)
        return folder

    @functools.wraps(make)
    def copied(folder: Path) -> Path:
        return Path(shutil.copytree(made(), folder, dirs_exist_ok=True))

    return copied
