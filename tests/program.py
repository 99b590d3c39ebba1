"""`covmis` as a terminal starts it, in this process: a start takes half a second, and a hundred tests need one."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import sys
from typing import TYPE_CHECKING
from unittest import mock

from covmis_build.cli import main

if TYPE_CHECKING:
    from pathlib import Path
    from typing import TextIO


def run(words: tuple[object, ...], out: TextIO, err: TextIO) -> int:
    """The exit code of a command that writes to these streams."""
    with (
        mock.patch.object(sys, "argv", ["covmis", *map(str, words)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as stop:
            return int(stop.code or 0)
        finally:
            logging.getLogger("covmis").setLevel(logging.NOTSET)  # `--quiet` is for one command
    return 0


def covmis(*words: object) -> tuple[int, str, str]:
    """Exit code, what it printed, what it complained of."""
    out, err = io.StringIO(), io.StringIO()
    return run(words, out, err), out.getvalue(), err.getvalue()


def shown(folder: Path, *words: str, errors: bool = True) -> str:
    """What a person sees in this folder, where no terminal is: both streams."""
    out = io.StringIO()
    with contextlib.chdir(folder), mock.patch.dict(os.environ, COLUMNS="100", NO_COLOR="1"):
        run(words, out, out if errors else io.StringIO())
    return out.getvalue()
