"""Places in an object store or on a cluster's file system: `s3://bucket/folder` is read as a folder on the disk is.

Pyarrow's file systems do it (s3, gs, abfs, hdfs); what they need to know they take from their own environment, such as
AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL or GOOGLE_APPLICATION_CREDENTIALS, never from an address.
"""

from __future__ import annotations

import functools
import io
import os
import stat
from contextlib import contextmanager
from pathlib import Path, PosixPath
from typing import IO, TYPE_CHECKING, Any

from covmis_build.errors import InputError, ServiceError

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMES = ("s3", "gs", "abfs", "abfss", "hdfs")
AHEAD = 4 << 20
"""Bytes asked for at once: a question takes a store longer than a megabyte does."""


def place(text: Path | str, folder: Path | None = None) -> Path:
    """The file or folder that a person names, here or elsewhere; relative ones begin in `folder`.

    >>> place("data/archive", Path("/study")), str(place("s3://bucket/posts/"))
    (PosixPath('/study/data/archive'), 's3://bucket/posts')
    """
    scheme, far, rest = str(text).partition("://")
    if isinstance(text, Path) or not far:
        return Path(text) if folder is None else folder / text
    if scheme not in SCHEMES:
        raise InputError(f"{text}: no such kind of place", remedy=f"Known: {', '.join(SCHEMES)}://")
    if set("@?#") & set(rest) or not rest.strip("/"):
        raise InputError(
            "an address is a bucket and what is in it",
            remedy=f"Like {scheme}://bucket/folder; who you are stands in the environment",
        )
    return Address(f"{scheme}:", *rest.strip("/").split("/"))


class Address(PosixPath):
    """A file or folder elsewhere. What reads archives asks a path for no more than this."""

    __slots__ = ()

    def __str__(self) -> str:
        whole = self.parts[:1] and self.parts[0].endswith(":")  # and no part of one
        return f"{self.parts[0]}//{'/'.join(self.parts[1:])}" if whole else "/".join(self.parts)

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    def __fspath__(self) -> str:
        return str(self)

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:  # noqa: ARG002 - a store has no links
        """Size and time of the last change."""
        from pyarrow.fs import FileType

        with _told(self):
            info = self._system.get_file_info(self._inside)
        if info.type is FileType.NotFound:
            raise FileNotFoundError(2, "there is no such file", str(self))
        mode = stat.S_IFREG if info.type is FileType.File else stat.S_IFDIR
        changed = info.mtime_ns or 0
        times = (changed // 10**9,) * 3
        return os.stat_result((mode, 0, 0, 1, 0, 0, info.size or 0, *times), {"st_mtime_ns": changed})

    def exists(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002 - a store has no links
        """Whether there is something."""
        try:
            self.stat()
        except FileNotFoundError:
            return False
        return True

    def is_file(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002 - a store has no links
        """Whether it is a file."""
        return self.exists() and stat.S_ISREG(self.stat().st_mode)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002 - a store has no links
        """Whether files have names that begin with it."""
        return self.exists() and stat.S_ISDIR(self.stat().st_mode)

    def is_symlink(self) -> bool:
        """Never."""
        return False

    def resolve(self, strict: bool = False) -> Address:  # noqa: ARG002 - as a path has it
        """Itself."""
        return self

    def rglob(self, pattern: str = "*", **_: Any) -> Iterator[Address]:  # type: ignore[override]
        """Every file below it of such a name."""
        from pyarrow.fs import FileSelector, FileType

        with _told(self):
            below = self._system.get_file_info(FileSelector(self._inside, recursive=True))
        for info in below:
            path = self.joinpath(*info.path.removeprefix(self._inside).strip("/").split("/"))
            if info.type is FileType.File and path.match(pattern):
                yield path

    def glob(self, pattern: str, **_: Any) -> Iterator[Address]:  # type: ignore[override]
        """What is below it, as deep as the pattern says, and has such a name; nothing where there is nothing."""
        depth = pattern.count("/") + 1
        for path in self.rglob() if self.exists() else ():
            below = path.relative_to(self)
            if len(below.parts) == depth and below.match(pattern):
                yield path

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Nothing: a store has no folders but names."""

    def open(self, mode: str = "r", *_: Any, **__: Any) -> IO[Any]:  # type: ignore[override]
        """Its bytes, to be read from any place on."""
        if mode != "rb":
            raise InputError(f"cannot be opened to write ({mode})", file=self)
        with _told(self):
            return io.BufferedReader(_Stream(self, self._system.open_input_file(self._inside)), AHEAD)

    def read_bytes(self) -> bytes:
        """All of it."""
        with self.open("rb") as file:
            return bytes(file.read())

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove it."""
        if self.exists() or not missing_ok:
            with _told(self):
                self._system.delete_file(self._inside)

    def remove(self) -> None:
        """Remove it, with all that is below it; missing is no error."""
        if self.is_dir():
            with _told(self, "removed"):
                self._system.delete_dir(self._inside)
        else:
            self.unlink(missing_ok=True)

    def put(self, path: Path) -> None:
        """Set the content of a file on this machine in its place: at once, or not at all.

        Not by a stream of Python: one that is left by an error or an interruption is closed, and what has been sent counts.
        """
        from pyarrow.fs import LocalFileSystem, copy_files

        with _told(self, "written"):
            here = LocalFileSystem()
            copy_files(str(path), self._inside, source_filesystem=here, destination_filesystem=self._system)

    @property
    def _system(self) -> Any:
        return _system(self.parts[0], self.parts[1], os.getpid())[0]

    @property
    def _inside(self) -> str:
        root = _system(self.parts[0], self.parts[1], os.getpid())[1]
        return "/".join([root.rstrip("/"), *self.parts[2:]])


@functools.cache
def _system(scheme: str, host: str, _process: int) -> tuple[Any, str]:
    """The file system behind an address, and where it begins there; each process has its own."""
    from pyarrow.fs import FileSystem

    with _told(f"{scheme}//{host}"):
        system, root = FileSystem.from_uri(f"{scheme}//{host}/")
        return system, str(root)


@contextmanager
def _told(address: Path | str, done: str = "read") -> Iterator[None]:
    """Whatever a store refuses, and a network that fails, is said in one line and never treated as a damaged file."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())[:200]
        raise ServiceError(
            f"{address} cannot be {done}: {reason}",
            remedy="Credentials and endpoint come from the environment",
        ) from None


class _Stream(io.RawIOBase):
    """A file elsewhere, as `io` reads files."""

    def __init__(self, address: Address, file: Any) -> None:
        self.address, self.file = address, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _told(self.address):
            content = self.file.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self.file.seek(offset, whence)
        return int(self.file.tell())

    def tell(self) -> int:
        return int(self.file.tell())

    def close(self) -> None:
        if not self.closed:
            self.file.close()
        super().close()
