"""Download corpus files that have a public URL and a checksum, and no others."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.bounds import Unbounded, bounded, is_public
from covmis_build.datasets.catalogue import find
from covmis_build.errors import InputError, ServiceError

if TYPE_CHECKING:
    import httpx

LARGEST, LONGEST = 64 * 2**20, 600.0
"""Maximum bytes of a file, and maximum seconds."""


def fetch(name: str, home: Path | str, *, client: httpx.Client | None = None) -> list[Path]:
    """Download the missing files of a corpus that may be downloaded, and verify their checksums.

    A corpus without such files is refused with instructions, because its licence or terms require that users get it themselves.
    """
    import httpx

    dataset = find(name, home)
    folder = Path(home) / dataset.folder
    wanted = [file for layout in dataset.layouts for file in layout.files if file.url and file.sha256]
    if not wanted:
        raise InputError(
            f"{dataset.title} is not ours to download ({dataset.licence})", remedy=dataset.instructions
        )
    missing = [file for file in wanted if not (folder / file.path).exists()]
    paths = []
    hooks = {"request": [_refuse_inner]}
    with client or httpx.Client(follow_redirects=True, timeout=60, event_hooks=hooks) as session:
        for file in missing:
            data = _download(session, file.url)
            if hashlib.sha256(data).hexdigest() != file.sha256:
                raise ServiceError(f"{file.url} is not the file that it was; nothing was written")
            storage.write_bytes(folder / file.path, data)
            paths.append(folder / file.path)
    return paths


def _refuse_inner(request: httpx.Request) -> None:
    """Prevent requests to this machine or its network through a corpus description or a redirect."""
    if request.url.scheme != "https" or not is_public(str(request.url)):
        raise ServiceError(f"{request.url} is no public address of the kind https://")


def _download(session: httpx.Client, url: str) -> bytes:
    import httpx

    try:
        with session.stream("GET", url) as answer:
            answer.raise_for_status()
            return b"".join(bounded(answer.iter_bytes(), LARGEST, LONGEST))
    except Unbounded as error:
        raise ServiceError(f"{url} is {error}") from None
    except httpx.HTTPError as error:
        raise ServiceError(f"{url} cannot be fetched: {type(error).__name__}: {error}") from error
