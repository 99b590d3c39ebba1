"""Files in an object store or on a cluster's file system: `s3://bucket/folder` is read like a local folder.

It uses pyarrow's file systems (s3, gs, abfs, hdfs). They read their configuration from the environment, such as
AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL or GOOGLE_APPLICATION_CREDENTIALS, never from a URL.
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
"""Bytes requested at once: a request takes longer than the transfer of a megabyte."""


def place(text: Path | str, folder: Path | None = None) -> Path:
    """Return the local or remote file or folder that a user names; relative paths begin in `folder`.

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
    """A remote file or folder, with the methods of Path that the archive's readers need."""

    __slots__ = ()

    def __str__(self) -> str:
        whole = self.parts[:1] and self.parts[0].endswith(":")  # and no part of one
        return f"{self.parts[0]}//{'/'.join(self.parts[1:])}" if whole else "/".join(self.parts)

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    def __fspath__(self) -> str:
        return str(self)

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:  # noqa: ARG002 - a store has no links
        """Return size and modification time."""
        from pyarrow.fs import FileType

        with _reporting_failures(self):
            info = self._system.get_file_info(self._inside)
        if info.type is FileType.NotFound:
            raise FileNotFoundError(2, "there is no such file", str(self))
        mode = stat.S_IFREG if info.type is FileType.File else stat.S_IFDIR
        changed = info.mtime_ns or 0
        times = (changed // 10**9,) * 3
        return os.stat_result((mode, 0, 0, 1, 0, 0, info.size or 0, *times), {"st_mtime_ns": changed})

    def exists(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002 - a store has no links
        """True if it exists."""
        try:
            self.stat()
        except FileNotFoundError:
            return False
        return True

    def is_file(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002 - a store has no links
        """True if it is a file."""
        return self.exists() and stat.S_ISREG(self.stat().st_mode)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:  # noqa: ARG002 - a store has no links
        """True if names of files begin with it."""
        return self.exists() and stat.S_ISDIR(self.stat().st_mode)

    def is_symlink(self) -> bool:
        """Always false."""
        return False

    def resolve(self, strict: bool = False) -> Address:  # noqa: ARG002 - as a path has it
        """Return itself."""
        return self

    def rglob(self, pattern: str = "*", **_: Any) -> Iterator[Address]:  # type: ignore[override]
        """Yield all matching files below it."""
        from pyarrow.fs import FileSelector, FileType

        with _reporting_failures(self):
            below = self._system.get_file_info(FileSelector(self._inside, recursive=True))
        for info in below:
            path = self.joinpath(*info.path.removeprefix(self._inside).strip("/").split("/"))
            if info.type is FileType.File and path.match(pattern):
                yield path

    def glob(self, pattern: str, **_: Any) -> Iterator[Address]:  # type: ignore[override]
        """Yield files that match the pattern. Yield nothing if the folder does not exist."""
        depth = pattern.count("/") + 1
        for path in self.rglob() if self.exists() else ():
            below = path.relative_to(self)
            if len(below.parts) == depth and below.match(pattern):
                yield path

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Does nothing: a store has no folders, only names."""

    def open(self, mode: str = "r", *_: Any, **__: Any) -> IO[Any]:  # type: ignore[override]
        """Open for reading with random access."""
        if mode != "rb":
            raise InputError(f"cannot be opened to write ({mode})", file=self)
        with _reporting_failures(self):
            return io.BufferedReader(_Stream(self, self._system.open_input_file(self._inside)), AHEAD)

    def read_bytes(self) -> bytes:
        """Read the whole content."""
        with self.open("rb") as file:
            return bytes(file.read())

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete it."""
        if self.exists() or not missing_ok:
            with _reporting_failures(self):
                self._system.delete_file(self._inside)

    def remove(self) -> None:
        """Delete it with everything below it; a missing one is no error."""
        if self.is_dir():
            with _reporting_failures(self, "removed"):
                self._system.delete_dir(self._inside)
        else:
            self.unlink(missing_ok=True)

    def put(self, path: Path) -> None:
        """Replace its content by that of a local file, completely or not at all.

        A Python stream is unsuitable: an error or an interruption closes it, and the partial content becomes valid.
        """
        from pyarrow.fs import LocalFileSystem, copy_files

        with _reporting_failures(self, "written"):
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
    """Return the file system of a URL, and the path in it; one per process."""
    from pyarrow.fs import FileSystem

    with _reporting_failures(f"{scheme}//{host}"):
        system, root = FileSystem.from_uri(f"{scheme}//{host}/")
        return system, str(root)


@contextmanager
def _reporting_failures(address: Path | str, done: str = "read") -> Iterator[None]:
    """Report a store's refusal or a network failure in one line, never as a damaged file."""
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
    """A remote file with `io`'s reading interface."""

    def __init__(self, address: Address, file: Any) -> None:
        self.address, self.file = address, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _reporting_failures(self.address):
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
