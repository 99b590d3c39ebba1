"""Lock out networks that try wrong secrets: for a while no further link can be opened from there."""

from __future__ import annotations

import ipaddress
import threading
import time
from dataclasses import dataclass, field

ALLOWED = 20
"""Wrong secrets from a network within the time of a lock."""
LOCKED = 600.0
"""Seconds that a network is locked out."""
REMEMBERED = 10_000
"""Networks at once; the one that was heard of first is forgotten first."""


@dataclass
class WrongSecrets:
    """Wrong secrets by network, since when. Safe for threads."""

    _counts: dict[str, tuple[int, float]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, address: str, now: float | None = None) -> float:
        """Seconds until this address may try again; 0 if it may.

        >>> wrong = WrongSecrets()
        >>> [wrong.count("10.0.0.1", now=5.0) for _ in range(ALLOWED)][-2:]
        [False, True]
        >>> wrong.wait("10.0.0.1", now=6.0), wrong.wait("10.0.0.2", now=6.0), wrong.wait("10.0.0.1", now=700.0)
        (599.0, 0.0, 0.0)
        """
        count, since = self._counts.get(_network(address), (0, 0.0))
        left = since + LOCKED - _now(now)
        return left if count >= ALLOWED and left > 0 else 0.0

    def count(self, address: str, now: float | None = None) -> bool:
        """Count a wrong secret. True if it locks the network out just now."""
        with self._lock:
            network, at = _network(address), _now(now)
            count, since = self._counts.pop(network, (0, at))
            if at - since >= LOCKED:
                count, since = 0, at
            locks = count + 1 == ALLOWED
            self._counts[network] = count + 1, at if locks else since
            while len(self._counts) > REMEMBERED:
                self._counts.pop(next(iter(self._counts)))
            return locks


def _network(address: str) -> str:
    """The address; of the many that one computer has under version 6, what they have in common.

    >>> _network("10.0.0.1"), _network("2001:db8::1") == _network("2001:db8::2")
    ('10.0.0.1', True)
    """
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(known) if known.version == 4 else str(ipaddress.ip_network((int(known), 64), strict=False))


def _now(now: float | None) -> float:
    return time.monotonic() if now is None else now
