"""Requests to servers named by other people: which servers are allowed, and limits of responses."""

from __future__ import annotations

import ipaddress
import re
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import httpx


def is_public(address: str) -> bool:
    """True if a server's name or number belongs to the public internet, not to this machine or its network.

    >>> is_public("https://mastodon.social"), is_public("http://127.0.0.1:80"), is_public("http://printer.local")
    (True, False, False)

    Systems read 127.1 and 0x7f.0.0.1 as numbers, too, and a full stop at the end as nothing:

    >>> is_public("https://127.1"), is_public("https://0x7f.0.0.1"), is_public("https://127.0.0.1.")
    (False, False, False)
    """
    host = (urlsplit(address).hostname or "").removesuffix(".")
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        _, dot, last = host.rpartition(".")
        a_name = bool(dot) and not re.fullmatch(r"[0-9]+|0x[0-9a-f]*", last)
        return a_name and not host.endswith((".local", ".internal", ".localhost"))


class Unbounded(Exception):
    """A response is too long or takes too long."""


def bounded(blocks: Iterable[bytes], most: int, seconds: float) -> Iterator[bytes]:
    """Yield the same blocks, up to this total of bytes and seconds.

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


def bounding(most: int, seconds: float) -> Callable[[httpx.Response], None]:
    """Return a hook for an httpx client that limits length and time of responses and refuses compressed ones."""

    def bound(response: httpx.Response) -> None:
        import httpx

        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx.DecodingError("is packed, which nobody asked for")
        blocks = response.stream

        class Bounded(httpx.SyncByteStream):
            def __iter__(self) -> Iterator[bytes]:
                assert isinstance(blocks, httpx.SyncByteStream)
                try:
                    yield from bounded(blocks, most, seconds)
                except Unbounded as error:
                    raise httpx.ReadError(f"the answer is {error}") from None

            def close(self) -> None:
                if isinstance(blocks, httpx.SyncByteStream):
                    blocks.close()

        response.stream = Bounded()

    return bound
