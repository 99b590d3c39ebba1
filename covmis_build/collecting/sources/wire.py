"""What platforms' clients share: their versions, and answers that are whole within a length and a time, or none."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from covmis_build.bounds import Unbounded, bounded

LARGEST, LONGEST = 32 << 20, 300.0
"""Bytes of an answer, unpacked, and seconds that it may take."""


def version(client: str) -> str:
    """The versions of covmis and of a platform's client, with which a page is stamped."""
    try:
        return f"covmis {metadata.version('covmis')}, {client} {metadata.version(client)}"
    except metadata.PackageNotFoundError:
        return "covmis"


def whole(answer: Any) -> Any:
    """An answer that was asked for with `stream=True`, read to its end."""
    import requests

    answer._content = b""  # noqa: SLF001 - requests knows no limits of its own
    try:
        answer._content = b"".join(bounded(answer.iter_content(1 << 16), LARGEST, LONGEST))  # noqa: SLF001
    except Unbounded as error:
        raise requests.ConnectionError(str(error)) from None
    finally:
        answer._content_consumed = True  # noqa: SLF001
        answer.close()
    return answer
