"""Follow the frames of a zstd file: the decompressor does not report a truncated last one."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Generator

MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPED, WITH_FIRST = b"\x2a\x4d\x18", range(0x50, 0x60)
"""First bytes of a frame without data: one of these, followed by the others."""
CHECKSUM = 4
REPEATED = 1
"""The type of a block that stores one repeated byte."""


def whole(file: IO[bytes], machine: Any, size: int) -> IO[bytes]:
    """Decompress this file, reading `size` bytes at a time. Truncation is an error after all available content."""
    return _Whole(file, machine, size)  # type: ignore[return-value]


class _Whole(io.RawIOBase):
    def __init__(self, file: IO[bytes], machine: Any, size: int) -> None:
        self.frames = _Followed(file)
        self.stream = machine.stream_reader(self.frames, read_size=size, read_across_frames=True)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        if not self.closed:
            self.stream.close()
        super().close()

    def read1(self, most: int) -> bytes:
        data: bytes = self.stream.read1(most)
        self._look(data)
        return data

    def readinto(self, buffer: Any) -> int:
        count: int = self.stream.readinto(buffer)
        self._look(count)
        return count

    def _look(self, given: bytes | int) -> None:
        if not given and self.frames.is_torn:
            raise EOFError("it is cut off before its end")


class Piece(NamedTuple):
    """The next bytes of a frame: how many, and whether they are parsed or skipped."""

    size: int
    looked_at: bool = False


class _Followed:
    """Follows a file's frames and blocks while it is read (RFC 8878, 3.1)."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.is_torn = file, False
        self.walk = self._walk()
        self.left, self.looked_at = next(self.walk)
        self.head = b""

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        at = 0
        while at < len(data):
            taken = min(self.left, len(data) - at)
            if self.looked_at:
                self.head += data[at : at + taken]
            self.left, at = self.left - taken, at + taken
            self.is_torn = True
            while not self.left:
                head, self.head = self.head, b""
                self.left, self.looked_at = self.walk.send(head)
        return data

    def close(self) -> None:
        self.file.close()

    def _walk(self) -> Generator[Piece, bytes]:
        """Yield the next piece to read; receives its bytes if it is parsed."""
        while True:
            self.is_torn = False
            magic = yield Piece(len(MAGIC), looked_at=True)
            if magic[1:] == SKIPPED and magic[0] in WITH_FIRST:
                yield Piece(int.from_bytes((yield Piece(4, looked_at=True)), "little"))
                continue
            while magic != MAGIC:  # other data, which is ignored
                self.is_torn = False
                yield Piece(1 << 40)
            (flags,) = yield Piece(1, looked_at=True)
            alone = flags >> 5 & 1
            yield Piece((not alone) + (0, 1, 2, 4)[flags & 3] + (alone, 2, 4, 8)[flags >> 6])
            last = False
            while not last:
                block = int.from_bytes((yield Piece(3, looked_at=True)), "little")
                last = bool(block & 1)
                yield Piece(1 if block >> 1 & 3 == REPEATED else block >> 3)
            yield Piece(CHECKSUM * (flags >> 2 & 1))
