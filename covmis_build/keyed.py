"""The only source of random numbers: each number depends on its key, not on when it is drawn.

`uniform(seed, "sampling", item_id)` is the same number on every machine, in every order, in every thread. New posts
therefore change a sample only as far as they change its probabilities.

The exact definition, for other languages: feed SHA-256 with the seed in decimal and then every part of the key, each as
UTF-8 (lone surrogates passed through), preceded by its length in bytes as 8 bytes, little-endian. The number is the
digest's first 8 bytes, read big-endian, shifted right by 11, times 2**-53.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def digest(seed: int, *key: str) -> bytes:
    """Return the 32 bytes behind `uniform`, for callers that need more than one number."""
    return hashlib.sha256(b"".join(map(_framed, (str(seed), *key)))).digest()


def uniform(seed: int, *key: str) -> float:
    """Return a permanent random number in [0, 1) for this key.

    >>> uniform(20220405, "sampling", "12|x:1255")
    0.3030431517356543
    >>> uniform(20220405, "a", "bc") == uniform(20220405, "ab", "c")
    False
    """
    return _number(digest(seed, *key))


def uniforms(seed: int, stage: str, ids: Iterable[str]) -> list[float]:
    """Return `uniform(seed, stage, id)` for many ids, in a third of the time.

    >>> uniforms(20220405, "sampling", ["12|x:1255"])
    [0.3030431517356543]
    """
    begun = hashlib.sha256(_framed(str(seed)) + _framed(stage))
    numbers = []
    for name in ids:
        hasher = begun.copy()
        hasher.update(_framed(name))
        numbers.append(_number(hasher.digest()))
    return numbers


def order(seed: int, stage: str, ids: Iterable[str]) -> list[str]:
    """Return the ids in a permanent random order, independent of their given order.

    >>> order(1, "demo", ["a", "b", "c"]) == order(1, "demo", ["c", "a", "b"])
    True
    """
    names = list(ids)
    return [name for _, name in sorted(zip(uniforms(seed, stage, names), names, strict=True))]


def _framed(part: str) -> bytes:
    data = part.encode("utf-8", "surrogatepass")
    return len(data).to_bytes(8, "little") + data


def _number(hashed: bytes) -> float:
    return (int.from_bytes(hashed[:8], "big") >> 11) * 2.0**-53
