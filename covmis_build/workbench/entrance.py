"""How the lead's browser gets in: a code that works once and for a short time becomes a cookie of this process.

The browser is started with the path of a file that only its owner can read, because other accounts of the machine see its
command line. The file leads to an address with a code, and is removed when it was used.
"""

from __future__ import annotations

import hmac
import secrets
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build import storage

if TYPE_CHECKING:
    from collections.abc import Callable

LIFETIME = 600
"""Seconds in which a code must be used."""

_PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>covmis</title>
<meta http-equiv="refresh" content="0;url={address}">
<p><a href="{address}">Open the study</a></p></html>
"""
ENTERED = _PAGE.format(address="/")
"""The answer to a code: our own page leads on, because browsers send no strict cookie where another page led to."""


class Entrance:
    """The codes of a server at this address."""

    def __init__(self, address: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._address, self._clock = address, clock
        self._until: dict[str, float] = {}
        self._printed, self._folder = "", None  # type: str, Path | None
        self._one_at_a_time = threading.Lock()
        self.say: Callable[[str], object] = lambda _: None
        """Called with a new address when a used or expired one is opened."""

    def address(self) -> str:
        """Return an address that works once, to be printed."""
        self._printed = self._code()
        return f"{self._address}/?code={self._printed}"

    def page(self) -> Path:
        """Write a page that leads in once, which only its owner can read."""
        self._folder = Path(tempfile.mkdtemp(prefix="covmis-"))  # for its owner alone
        path = self._folder / "open.html"
        with storage.replacing(path, private=True) as beside:
            beside.write_text(_PAGE.format(address=f"{self._address}/?code={self._code()}"), "utf-8")
        removal = threading.Timer(LIFETIME, self.close)
        removal.daemon = True
        removal.start()
        return path

    def enter(self, given: str) -> bool:
        """True if this code is valid; it is used up then."""
        with self._one_at_a_time:
            known = [
                code
                for code in self._until
                if hmac.compare_digest(code.encode(), given.encode("utf-8", "replace"))
            ]
            entered = any(self._clock() < self._until.pop(code) for code in known)
        if entered and given != self._printed:
            self.close()
        return entered

    def renew(self) -> None:
        """Print a new address, unless the last one still works."""
        if self._clock() >= self._until.get(self._printed, 0):
            self.say(self.address())

    def close(self) -> None:
        """Remove the page."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _code(self) -> str:
        code = secrets.token_urlsafe(24)
        self._until[code] = self._clock() + LIFETIME
        return code
