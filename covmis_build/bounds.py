"""Servers that another person names: which ones are asked, and how much of what they answer is read."""

from __future__ import annotations

import ipaddress
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def is_public(address: str) -> bool:
    """Whether a server's name or number is one of the internet, and none of this machine or its network.

    >>> is_public("https://mastodon.social"), is_public("http://127.0.0.1:80"), is_public("http://printer.local")
    (True, False, False)
    """
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return "." in host and not host.endswith((".local", ".internal", ".localhost"))


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
            raise Unbounded(f"larger than {most >> 20} MiB")
        if time.monotonic() > until:
            raise Unbounded(f"not whole after {seconds:.0f} s")
        yield block
