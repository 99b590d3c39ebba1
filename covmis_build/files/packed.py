"""What is compressed (gzip, bzip2, xz, zstd), decompressed as it is read, and to no more than its size allows."""

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
"""Compressed files of less are allowed to decompress to as much as one of this size."""


class Limits(NamedTuple):
    """What is read at all: bytes of the longest line, and how many times its size a compressed file may decompress to."""

    longest_line: int = 64 << 20
    unpacked_ratio: int = 1000


PACKED = (*ODD, zstandard.ZstdError, tarfile.TarError)
"""What goes wrong when something is decompressed; of zip files also names that are no text, passwords, unknown packings."""

_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zst", b"\xfd7zXZ": "xz"}
_MAGIC |= {
    bytes([0x50 + number]) + b"\x2a\x4d\x18": "zst" for number in range(16)
}  # pzstd begins with a frame to skip


def kind(head: bytes) -> str:
    """How a file that begins so is compressed; empty if it is not."""
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")


STREAMS: dict[str, Callable[[], Any]] = {
    "bz2": bz2.BZ2Decompressor, "xz": lambda: lzma.LZMADecompressor(memlimit=MOST_MEMORY),
}  # fmt: skip
MOST_MEMORY = 512 << 20
"""Bytes that an xz file may ask for to be decompressed; `xz -9` asks for 65 MiB."""


def unpacked(file: IO[bytes], packed: str) -> IO[bytes]:
    """A stream without its packing; zstd with windows of up to 2 GiB, and all frames of a file."""
    if packed == "gz":
        return gzip.open(file)  # type: ignore[return-value]
    if packed in STREAMS:
        return _Streams(file, STREAMS[packed])  # type: ignore[return-value]
    if packed == "zst":
        machine = zstandard.ZstdDecompressor(max_window_size=1 << 31)
        return zstd_frames.whole(file, machine, CHUNK)
    return file


class _Bounded(io.RawIOBase):
    """A stream that gives no more than `left` bytes: a few kilobytes may decompress to terabytes."""

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
                self.problem = problem  # what stands before it is whole, and is given first
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
    """What bz2 and xz have compressed, in one stream or several; behind the last stands nothing, or it is said.

    Python's own readers take whatever is damaged at the beginning of a stream for the end of all.
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
    """What decompresses a file of this size, and refuses to give more than the limits allow."""
    room = limits.unpacked_ratio * max(size, SMALLEST_ROOM)
    return _Bounded(stream, room, limits.unpacked_ratio)  # type: ignore[return-value]
