"""Files of lines, plain or packed: what is in an archive, cut into jobs, and the lines of a job with their offsets.

A job is a byte range of a plain file, a whole packed file, or one member of a tar file. Offsets count unpacked bytes.
What is packed how is seen from the first bytes, not from the name.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zlib
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import msgspec
import zstandard

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RANGE = 64 << 20
"""Bytes of a plain file that make a job."""

CHUNK, SLACK = 1 << 18, 1 << 16
NEWLINE = 10
LONGEST_DOCUMENT = 512 << 20
"""Bytes of a file that is one JSON document; it is decoded whole."""

PACKED = (OSError, EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, tarfile.TarError)
_MAGIC = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zst", b"\xfd7zXZ": "xz"}


class Job(NamedTuple):
    """Where to read: `member` is a file inside a tar file; `end` is 0 where there is no end but the file's."""

    path: str
    name: str
    member: str = ""
    start: int = 0
    end: int = 0


Line = tuple[str, int, bytes, str]
"""The file, the offset, the line, and why there is none at this offset: plain tuples, since there are very many."""


class Block(NamedTuple):
    """Whole lines with the offset of the first, or why there are none; `single` if it is one, whatever is in it.

    The data may be overwritten by those of the next block.
    """

    file: str
    offset: int
    data: bytes | memoryview
    problem: str = ""
    single: bool = False

    def lines(self) -> Iterator[Line]:
        """The lines, without their ends."""
        if self.problem or self.single:
            yield self.file, self.offset, bytes(self.data), self.problem
            return
        offset = self.offset
        for content in bytes(self.data).removesuffix(b"\n").split(b"\n"):
            yield self.file, offset, content, ""
            offset += len(content) + 1


def jobs(files: Sequence[tuple[Path, str]]) -> list[Job]:
    """Cut files, given with the names that they shall have in tables, into jobs."""
    found = []
    for path, name in files:
        packed = _packing(path)
        if _is_tar(path, packed):
            found += [Job(str(path), name)] if packed else _members(path, name)
        elif packed or _is_document(path):
            found.append(Job(str(path), name))
        else:
            size = path.stat().st_size
            found += [
                Job(str(path), name, "", at, min(at + RANGE, size)) for at in range(0, max(size, 1), RANGE)
            ]
    return found


def lines(job: Job) -> Iterator[Line]:
    """The job's lines; a stream that ends early gives what it has, and then the reason."""
    for block in blocks(job):
        yield from block.lines()


def blocks(job: Job) -> Iterator[Block]:
    """The job's lines, many at a time."""
    path = Path(job.path)
    packed = _packing(path)
    try:
        if _is_tar(path, packed):
            yield from _tar_lines(job, packed)
        elif packed:
            with path.open("rb") as file:
                yield from _stream(unpacked(file, packed), job.name)
        elif _is_document(path):
            yield from _document(path.read_bytes(), job.name)
        else:
            yield from _range(path, job)
    except PACKED as error:
        yield Block(job.name, 0, b"", f"cannot be read: {error}"[:200])


def _packing(path: Path) -> str:
    with path.open("rb") as file:
        return _kind(file.read(6))


def _kind(head: bytes) -> str:
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")


def unpacked(file: IO[bytes], packed: str) -> IO[bytes]:
    """A stream without its packing; zstd with windows of up to 2 GiB, and all frames of a file."""
    if packed == "gz":
        return gzip.open(file)  # type: ignore[return-value]
    if packed == "bz2":
        return bz2.BZ2File(file)
    if packed == "xz":
        return lzma.LZMAFile(file)
    if packed == "zst":
        machine = zstandard.ZstdDecompressor(max_window_size=1 << 31)
        return machine.stream_reader(file, read_size=CHUNK, read_across_frames=True)
    return file


def _is_tar(path: Path, packed: str) -> bool:
    name = path.name.lower()
    if packed and not name.endswith((".tar." + packed, ".tgz", ".tbz2", ".txz", ".tzst")):
        return False
    with path.open("rb") as file:
        try:
            head = unpacked(file, packed).read(262)
        except PACKED:
            return False
    return head[257:262] == b"ustar"


def _is_document(path: Path) -> bool:
    """Whether a plain file is one JSON document: a list, or an object over several lines."""
    with path.open("rb") as file:
        head = file.read(CHUNK).lstrip(b"\xef\xbb\xbf \r\n\t")
    if head.startswith(b"["):
        return True
    first = head.split(b"\n", 1)[0].strip()
    return first in {b"{", b"{ "} or (first.startswith(b"{") and first.endswith((b"{", b"[", b",")))


def _members(path: Path, name: str) -> list[Job]:
    """A job for each file inside, by the place of its bytes; a torn end ends the list and is reported when read."""
    found: list[Job] = []
    try:
        with tarfile.open(path) as tar:
            found.extend(
                Job(str(path), name, one.name, one.offset_data, one.offset_data + one.size)
                for one in tar
                if one.isfile()
            )
    except PACKED as error:
        found.append(Job(str(path), name, f"\0{error}"))
    return found


def _tar_lines(job: Job, packed: str) -> Iterator[Block]:
    """The lines of one member, or of all members of a packed tar file, which cannot be jumped in."""
    if job.member.startswith("\0"):
        yield Block(job.name, 0, b"", f"the tar file is damaged: {job.member[1:]}"[:200])
        return
    with Path(job.path).open("rb") as file:
        if not packed:
            file.seek(job.start)
            inner = io.BytesIO(file.read(job.end - job.start)) if job.end - job.start < CHUNK else file
            yield from _member(inner, f"{job.name}!{job.member}", job.end - job.start)
            return
        with tarfile.open(fileobj=unpacked(file, packed), mode="r|") as tar:
            for one in tar:
                content = tar.extractfile(one) if one.isfile() else None
                if content is not None:
                    yield from _member(content, f"{job.name}!{one.name}", one.size)


class _Part(io.RawIOBase):
    """The next `left` bytes of a file, as a file of their own."""

    def __init__(self, file: IO[bytes], left: int) -> None:
        self.file, self.left = file, left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self.file.read(min(len(buffer), self.left))
        buffer[: len(found)] = found
        self.left -= len(found)
        return len(found)


def _member(file: IO[bytes], name: str, size: int) -> Iterator[Block]:
    part = io.BufferedReader(_Part(file, size), CHUNK)
    yield from _stream(unpacked(part, _kind(part.peek(6)[:6])), name)


def _stream(stream: IO[bytes], name: str) -> Iterator[Block]:
    offset, rest = 0, b""
    while True:
        try:
            chunk = stream.read(CHUNK)
        except PACKED as error:
            yield from _last(rest, offset, name)
            yield Block(name, offset + len(rest), b"", f"the packed stream is damaged: {error}"[:200])
            return
        if not chunk:
            break
        end = chunk.rfind(b"\n") + 1
        if end:
            data = rest + chunk[:end]
            yield Block(name, offset, data)
            offset, rest = offset + len(data), chunk[end:]
        else:
            rest += chunk
    if offset == 0 and rest.lstrip()[:1] == b"[":
        yield from _document(rest, name)
    else:
        yield from _last(rest, offset, name)


def _last(rest: bytes, offset: int, name: str) -> Iterator[Block]:
    if rest.strip():
        yield Block(name, offset, rest)


def _range(path: Path, job: Job) -> Iterator[Block]:
    """Lines that begin in the range; the last may end beyond it."""
    with path.open("rb") as file:
        file.seek(max(job.start - 1, 0))
        offset = job.start
        if job.start:
            offset = job.start - 1 + len(file.readline())
        room = memoryview(bytearray(CHUNK + SLACK))  # one for all, since fresh memory costs more than reading
        while offset < job.end:
            size = file.readinto(room[: min(CHUNK, job.end - offset)])
            if not size:
                return  # shorter than it was
            rest = file.readline() if room[size - 1] != NEWLINE else b""
            end = size + len(rest)
            if len(rest) <= SLACK:
                room[size:end] = rest
                yield Block(job.name, offset, room[:end])
            else:
                yield Block(job.name, offset, bytes(room[:size]) + rest)
            offset += end


_any = msgspec.json.Decoder(msgspec.Raw)
_list = msgspec.json.Decoder(list[msgspec.Raw])


def _document(data: bytes, name: str) -> Iterator[Block]:
    """The elements of a JSON list, or a document as a single line; an element's offset is its place in the list."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if len(data) > LONGEST_DOCUMENT:
        yield Block(name, 0, b"", "one JSON document of more than 512 MiB: write it as one post a line")
        return
    try:
        if data.lstrip()[:1] == b"[":
            for place, one in enumerate(_list.decode(data)):
                yield Block(name, place, bytes(one), single=True)
        else:
            _any.decode(data)
            yield Block(name, 0, data, single=True)
    except msgspec.DecodeError as error:
        yield Block(name, 0, b"", f"not JSON: {error}"[:200])
