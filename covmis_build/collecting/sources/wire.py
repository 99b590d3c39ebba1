"""Shared by the platforms' clients: versions, and complete responses within limits of length and time."""

from __future__ import annotations

from importlib import metadata
from typing import Any

from covmis_build.bounds import Unbounded, bounded

LARGEST, LONGEST = 32 << 20, 300.0
"""Maximum bytes of a response (decompressed), and maximum seconds."""


def version(client: str) -> str:
    """Return the versions of covmis and of a platform's client, for the stamp of a page."""
    try:
        return f"covmis {metadata.version('covmis')}, {client} {metadata.version(client)}"
    except metadata.PackageNotFoundError:
        return "covmis"


def whole(answer: Any) -> Any:
    """Read a response requested with `stream=True` to its end."""
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
