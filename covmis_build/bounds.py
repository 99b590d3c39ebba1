"""What a server answers, read up to a length and a time: it may be packed a thousandfold, drip, or never end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Unbounded(Exception):
    """An answer that is too long, or takes too long."""


def bounded(blocks: Iterable[bytes], most: int, seconds: float) -> Iterator[bytes]:
    """The same blocks, up to so many bytes and seconds in all.

    >>> b"".join(bounded([b"ab", b"c"], 3, 60.0))
    b'abc'
    """
    until, length = time.monotonic() + seconds, 0
    for block in blocks:
        length += len(block)
        if length > most:
            raise Unbounded(f"longer than {most >> 20} MiB")
        if time.monotonic() > until:
            raise Unbounded(f"not whole after {seconds:.0f} s")
        yield block
