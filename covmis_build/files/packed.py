"""Decompress gzip, bzip2, xz and zstd streams, limited in relation to the compressed size."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import zstandard

from covmis_build.errors import ODD
from covmis_build.files import zstd_frames

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 1 << 18
SMALLEST_ROOM = 64 << 10
"""Smaller compressed files may decompress to as much as one of this size."""


class Limits(NamedTuple):
    """Limits of reading: bytes of a line, and decompression ratio."""

    longest_line: int = 64 << 20
    unpacked_ratio: int = 1000


PACKED = (*ODD, zstandard.ZstdError, tarfile.TarError)
"""Errors of decompression; for zip files also invalid names, passwords, and unknown methods."""

_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zst", b"\xfd7zXZ": "xz"}
_MAGIC |= {
    bytes([0x50 + number]) + b"\x2a\x4d\x18": "zst" for number in range(16)
}  # pzstd begins with a frame to skip


def kind(head: bytes) -> str:
    """Return a file's compression from its first bytes; empty if uncompressed."""
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")


STREAMS: dict[str, Callable[[], Any]] = {
    "bz2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(memlimit=MOST_MEMORY),
}
MOST_MEMORY = 512 << 20
"""Maximum memory that an xz file may require; `xz -9` requires 65 MiB."""


def unpacked(file: IO[bytes], packed: str) -> IO[bytes]:
    """Return the decompressed stream; zstd with windows of up to 2 GiB, and all frames of a file."""
    if packed == "gz":
        return gzip.open(file)  # type: ignore[return-value]
    if packed in STREAMS:
        return _Streams(file, STREAMS[packed])  # type: ignore[return-value]
    if packed == "zst":
        machine = zstandard.ZstdDecompressor(max_window_size=1 << 31)
        return zstd_frames.whole(file, machine, CHUNK)
    return file


class _Bounded(io.RawIOBase):
    """A stream limited to `left` bytes, because a few kilobytes may decompress to terabytes."""

    def __init__(self, stream: IO[bytes], left: int, ratio: int) -> None:
        self.stream, self.left, self.ratio = stream, left, ratio
        self.problem: Exception | None = None

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self.stream.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        if self.problem:
            raise self.problem
        count = 0
        while count < len(buffer):
            try:
                content = self._more(len(buffer) - count)
            except PACKED as problem:
                if not count:
                    raise
                self.problem = problem  # the content before it is complete, and returned first
                break
            if not content:
                break
            buffer[count : count + len(content)] = content
            count += len(content)
        return count

    def _more(self, most: int) -> bytes:
        content: bytes = self.stream.read1(most)  # type: ignore[attr-defined]
        self.left -= len(content)
        if self.left < 0:
            raise OSError(
                f"it unpacks to more than {self.ratio:,} times its size ([retrieval] unpacked_ratio)"
            )
        return content


class _Streams(io.RawIOBase):
    """One or several bz2 or xz streams; anything after the last is reported.

    Python's own readers treat a damaged beginning of a stream as the end of the file.
    """

    def __init__(self, file: IO[bytes], machine: Callable[[], Any]) -> None:
        self.file, self.begin, self.machine = file, machine, machine()

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self.file.close()
        super().close()

    def read1(self, most: int) -> bytes:
        while True:
            given = b""
            if self.machine.eof:
                given = self.machine.unused_data.lstrip(b"\0")
                while not given and (block := self.file.read(CHUNK)):
                    given = block.lstrip(b"\0")
                if not given:
                    return b""
                self.machine = self.begin()
            elif self.machine.needs_input and not (given := self.file.read(CHUNK)):
                raise EOFError("it is cut off before its end")
            if data := self.machine.decompress(given, most):
                return bytes(data)

    def readinto(self, buffer: Any) -> int:
        data = self.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def bounded(stream: IO[bytes], size: int, limits: Limits) -> IO[bytes]:
    """Limit the decompressed stream of a file of this size."""
    room = limits.unpacked_ratio * max(size, SMALLEST_ROOM)
    return _Bounded(stream, room, limits.unpacked_ratio)  # type: ignore[return-value]
