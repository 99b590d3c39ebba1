"""Servers that another person names: which ones are asked, and how much of what they answer is read."""

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
    """Whether a server's name or number is one of the internet, and none of this machine or its network.

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


def bounding(most: int, seconds: float) -> Callable[[httpx.Response], None]:
    """A hook of an httpx client: no answer is longer, slower or packed; it asks for none that is."""

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
