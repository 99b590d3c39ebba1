"""Files of lines, plain or compressed: split an archive into jobs, and read a job's lines with their offsets.

A job is a byte range of a plain file, a whole compressed file, or one member of a tar file. Offsets count decompressed
bytes. Compression is detected from the first bytes, not from the name.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zipfile
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

import msgspec

from covmis_build.addresses import Address, place
from covmis_build.files.packed import CHUNK, PACKED, Limits, bounded, kind, unpacked
from covmis_build.files.reading import NOT_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from covmis_build.options import PostForm

RANGE = 64 << 20
"""Bytes of a plain file per job."""

SLACK = 1 << 16
NEWLINE = 10
LONGEST_DOCUMENT = 512 << 20
"""Maximum bytes of a file that is one JSON document; it is decoded as a whole."""

LINES, TABLE = "lines", "table"
ZIP, _EMPTY_ZIP = b"PK\x03\x04", b"PK\x05\x06"
SCRIPT = b"window.YTD."
"""First bytes of the files in a user's own archive from X."""
TWEETS = re.compile(r"(?:tweets?|note-tweets?)(?:-part\d+)?\.js")
LINE_NAMES = re.compile(r"\.(?:jsonl?|ndjson)(?:\.\w+)?$", re.IGNORECASE)
"""Names of line files: they are never tables, even if the first line is damaged."""
MOST_MEMBERS = 100
"""Maximum number of zip members that are separate jobs: each of these reads the whole directory."""


class Job(NamedTuple):
    """A unit of reading. `member` is a file inside a tar or zip file; `end` is 0 for the end of the file."""

    path: str
    name: str
    member: str = ""
    start: int = 0
    end: int = 0
    kind: str = "lines"
    """`lines` (a document counts as one), or `table`: a file of rows, read as a whole."""


Line = tuple[str, int, bytes, str]
"""File, offset, line, and the problem if there is no line; a plain tuple for speed."""


class Block(NamedTuple):
    """Complete lines with the offset of the first, or the problem. `single`: the block is one line, whatever it contains.

    The next block may overwrite the data.
    """

    file: str
    offset: int
    data: bytes | memoryview
    problem: str = ""
    single: bool = False

    def lines(self) -> Iterator[Line]:
        """The lines without line ends."""
        if self.problem or self.single:
            yield self.file, self.offset, bytes(self.data), self.problem
            return
        offset = self.offset
        for content in self.contents():
            yield self.file, offset, content, ""
            offset += len(content) + 1

    def contents(self) -> list[bytes]:
        """All lines as bytes."""
        lines = bytes(self.data).split(b"\n")
        if len(lines) > 1 and not lines[-1]:
            lines.pop()
        return lines


def jobs(files: Sequence[tuple[Path, str]], forms: Sequence[PostForm] = ()) -> list[Job]:
    """Split files, given with their names in tables, into jobs. `forms` are the study's own."""
    listed = []
    for path, name in files:
        with path.open("rb") as file:
            head = file.read(CHUNK)
        packed = kind(head)
        if head.startswith(ZIP) and not head.startswith(_EMPTY_ZIP):
            listed += _zipped(path, name, forms)
        elif _is_tar(path, packed):
            listed += [Job(str(path), name)] if packed else _members(path, name, forms)
        elif packed:
            inner = _inner_head(path, packed)
            listed.append(Job(str(path), name, kind=kind_of(inner, path.name, forms)))
        elif kind_of(head, path.name, forms) == TABLE:
            listed.append(Job(str(path), name, kind=TABLE))
        elif is_document(head):
            listed.append(Job(str(path), name))
        else:
            size = path.stat().st_size
            listed += [
                Job(str(path), name, "", at, min(at + RANGE, size)) for at in range(0, max(size, 1), RANGE)
            ]
    return listed


def kind_of(head: bytes, name: str, forms: Sequence[PostForm] = ()) -> str:
    """Detect from the first bytes whether a file has lines of posts or is a table; the name matters only in doubt."""
    if head.startswith(NOT_TEXT):
        return TABLE
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return TABLE
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:1] in {b"{", b"["}:
        return TABLE if _is_frame(start, forms) else LINES
    if not start or start.startswith(SCRIPT) or LINE_NAMES.search(name):
        return LINES
    return TABLE


def _is_frame(start: bytes, forms: Sequence[PostForm]) -> bool:
    """True if JSON is the rows of a data frame: of no known form, and without lists of posts in its rows."""
    from covmis_build.archive import columns, formats
    from covmis_build.archive.formats import nested
    from covmis_build.files import json_rows

    if start[:1] == b"[":
        row = _first_element(start)
    else:
        row = formats.loads(start.split(b"\n", 1)[0])
        row = formats.loads(start) if row is None else row
        if json_rows.is_frame(row):
            return columns.looks_like_posts(json_rows.table_of(row).header)
    if not isinstance(row, dict) or formats.with_own(forms).form_of(row):
        return False
    return json_rows.is_row(row) and (columns.looks_like_posts(row) or not nested.key_of(row))


def _first_element(start: bytes) -> Any:
    """Return the first object of a JSON list, which may be incomplete."""
    import json

    text = start[1:].decode("utf-8", "replace").lstrip()
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def open_whole(job: Job, limits: Limits) -> IO[bytes]:
    """Open a job's whole content as one decompressed file."""
    path = place(job.path)
    if not job.member:
        with path.open("rb") as file:
            packed = kind(file.read(6))
        if not packed:
            return path.open("rb")
        here = packed == "gz" and not isinstance(path, Address)
        stream: Any = gzip.open(path) if here else unpacked(path.open("rb"), packed)  # noqa: SIM115 - closed by who asked
        return io.BufferedReader(bounded(stream, path.stat().st_size, limits), CHUNK)  # type: ignore[type-var]
    if job.start == job.end == 0:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive, archive.open(job.member) as member:
            size = archive.getinfo(job.member).compress_size
            content = _table_of(bounded(member, size, limits))
    else:
        with path.open("rb") as file:
            file.seek(job.start)
            content = _table_of(_Part(file, job.end - job.start))
    packed = kind(content)
    inside = io.BytesIO(content)
    return (
        inside
        if not packed
        else io.BytesIO(_table_of(bounded(unpacked(inside, packed), len(content), limits)))
    )


def _unpacked_head(head: bytes) -> bytes:
    """Return the decompressed beginning of a file, as far as these bytes allow."""
    try:
        return unpacked(io.BytesIO(head), packed).read(SLACK) if (packed := kind(head)) else head
    except PACKED:
        return b"{"


def _inner_head(path: Path, packed: str) -> bytes:
    with path.open("rb") as file:
        try:
            return unpacked(file, packed).read(CHUNK)
        except PACKED:
            return b"{"  # the reason is reported when the file is read


def _zipped(path: Path, name: str, forms: Sequence[PostForm]) -> list[Job]:
    """Return the jobs of a zip file: a spreadsheet is one table, other members are files. Other files of X's archives are skipped."""
    try:
        with path.open("rb") as whole, zipfile.ZipFile(whole) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            names = {member.filename for member in members}
            if "xl/workbook.xml" in names or {"content.xml", "mimetype"} <= names:
                return [Job(str(path), name, kind=TABLE)]
            if len(names) < len(members):
                return [Job(str(path), name, "\0it holds two files of one name")]
            listed = []
            for member in members:
                base = member.filename.rpartition("/")[2]
                if _is_no_file_of_posts(base):
                    continue
                with archive.open(member) as file:
                    head = _unpacked_head(file.read(CHUNK))
                listed.append(Job(str(path), name, member.filename, kind=kind_of(head, base, forms)))
            if len(listed) <= MOST_MEMBERS:
                return listed
            told = "more than 100 tables: unpack it"
            alone = [job for job in listed if job.kind == TABLE]
            together = [Job(str(path), name)] if len(alone) < len(listed) else []
            return [
                *together,
                *(alone if len(alone) <= MOST_MEMBERS else [Job(str(path), name, f"\0{told}")]),
            ]
    except PACKED as error:
        return [Job(str(path), name, f"\0{error}")]


def _is_no_file_of_posts(base: str) -> bool:
    return base.startswith(".") or (base.endswith(".js") and not TWEETS.fullmatch(base))


def _begins_with(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def lines(job: Job, limits: Limits = Limits(), forms: Sequence[PostForm] = ()) -> Iterator[Line]:  # noqa: B008 - never changes
    """Read the job's lines. If a stream ends early, the lines before are returned, and then the problem."""
    for block in blocks(job, limits, forms):
        yield from block.lines()


def blocks(job: Job, limits: Limits = Limits(), forms: Sequence[PostForm] = ()) -> Iterator[Block]:  # noqa: B008 - never changes
    """Read the job's lines in blocks. A line that is too long is a problem at its offset, and reading continues."""
    path = place(job.path)
    packed = _packing(path)
    try:
        if job.member.startswith("\0"):
            yield Block(job.name, 0, b"", f"the packed file is damaged: {job.member[1:]}"[:200])
        elif job.member and job.start == job.end == 0:
            yield from _zip_member(job, limits)
        elif not job.end and _begins_with(path, ZIP):
            yield from _zip_members(job, limits, forms)
        elif _is_tar(path, packed):
            yield from _tar_lines(job, packed, limits)
        elif packed:
            with path.open("rb") as file:
                stream = bounded(unpacked(file, packed), path.stat().st_size, limits)
                yield from _stream(stream, job.name, limits)
        elif job.end == 0:
            if path.stat().st_size > LONGEST_DOCUMENT:
                yield Block(job.name, 0, b"", TOO_LONG_DOCUMENT)
            else:
                yield from _document(path.read_bytes(), job.name)
        else:
            yield from _range(path, job, limits)
    except PACKED as error:
        yield Block(job.name, 0, b"", f"cannot be read: {error}"[:200])


def _packing(path: Path) -> str:
    with path.open("rb") as file:
        return kind(file.read(6))


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


def is_document(head: bytes) -> bool:
    """True if a file is one JSON document (a list, a multi-line object) or a script with a list."""
    head = head.lstrip(b"\xef\xbb\xbf \r\n\t")
    if head.startswith((b"[", SCRIPT)):
        return True
    first = head.split(b"\n", 1)[0].strip()
    return first in {b"{", b"{ "} or (first.startswith(b"{") and first.endswith((b"{", b"[", b",")))


class _Member(tarfile.TarInfo):
    """A tar member. A missing or invalid header is an error, which Python's class treats as the end."""

    @classmethod
    def fromtarfile(cls, tar: Any) -> Self:
        """Return the next header; none at the end mark."""
        try:
            return super().fromtarfile(tar)
        except tarfile.HeaderError as error:
            if isinstance(error, tarfile.EOFHeaderError):  # type: ignore[attr-defined]
                raise
            raise tarfile.ReadError("it is cut off before its end") from error


def _members(path: Path, name: str, forms: Sequence[PostForm]) -> list[Job]:
    """Return one job per member, by byte position. A damaged end stops the list and is reported when read."""
    listed: list[Job] = []
    try:
        with path.open("rb") as file, tarfile.open(fileobj=file, tarinfo=_Member) as tar:
            for member in tar:
                content = tar.extractfile(member) if member.isfile() else None
                if content is not None:
                    head = content.read(CHUNK)
                    inner = _unpacked_head(head)
                    end = member.offset_data + member.size
                    listed.append(
                        Job(
                            str(path),
                            name,
                            member.name,
                            member.offset_data,
                            end,
                            kind_of(inner, member.name, forms),
                        )
                    )
    except PACKED as error:
        listed.append(Job(str(path), name, f"\0{error}"))
    return listed


def _tar_lines(job: Job, packed: str, limits: Limits) -> Iterator[Block]:
    """Read the lines of one member, or of all members of a compressed tar file, which does not allow seeking."""
    if job.member.startswith("\0"):
        yield Block(job.name, 0, b"", f"the tar file is damaged: {job.member[1:]}"[:200])
        return
    path = place(job.path)
    with path.open("rb") as file:
        if not packed:
            file.seek(job.start)
            inner = io.BytesIO(file.read(job.end - job.start)) if job.end - job.start < CHUNK else file
            yield from _member(inner, f"{job.name}!{job.member}", job.end - job.start, limits)
            return
        whole = bounded(unpacked(file, packed), path.stat().st_size, limits)
        with tarfile.open(fileobj=whole, mode="r|", tarinfo=_Member) as tar:
            for member in tar:
                content = tar.extractfile(member) if member.isfile() else None
                if content is not None:
                    yield from _member(content, f"{job.name}!{member.name}", member.size, limits)


class _Part(io.RawIOBase):
    """The next `left` bytes of a file as a file."""

    def __init__(self, file: IO[bytes], left: int) -> None:
        self.file, self.left = file, left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.file.read(min(len(buffer), self.left))
        buffer[: len(data)] = data
        self.left -= len(data)
        return len(data)


def _member(file: IO[bytes], name: str, size: int, limits: Limits) -> Iterator[Block]:
    part = io.BufferedReader(_Part(file, size), CHUNK)
    packed = kind(part.peek(6)[:6])
    stream = bounded(unpacked(part, packed), size, limits) if packed else part
    yield from _stream(stream, name, limits)


class _Waiting:
    """An incomplete line, kept in parts because appending to bytes copies them, and limited in size."""

    def __init__(self) -> None:
        self.parts, self.length, self.longest = list[bytes](), 0, 0

    def add(self, part: bytes) -> None:
        self.length += len(part)
        if self.too_long:
            self.parts = []
        else:
            self.parts.append(part)

    def begin(self, part: bytes, longest: int) -> None:
        self.parts, self.length, self.longest = [part], len(part), longest

    @property
    def too_long(self) -> bool:
        return self.length > self.longest

    @property
    def data(self) -> bytes:
        return b"".join(self.parts)


def _stream(stream: IO[bytes], name: str, limits: Limits) -> Iterator[Block]:
    try:
        ahead = stream.read(CHUNK)
        document = ahead + _all_of(stream) if is_document(ahead) else None
    except PACKED as error:
        yield Block(name, 0, b"", f"the packed stream is damaged: {error}"[:200])
        return
    yield from (
        _stream_of_lines(ahead, stream, name, limits) if document is None else _document(document, name)
    )


def _stream_of_lines(ahead: bytes, stream: IO[bytes], name: str, limits: Limits) -> Iterator[Block]:
    """Read the lines of a stream whose first bytes were already read."""
    offset, waiting, problem = 0, _Waiting(), ""
    waiting.begin(b"", limits.longest_line)
    while True:
        try:
            chunk, ahead = ahead or stream.read(CHUNK), b""
        except PACKED as error:
            chunk, problem = b"", f"the packed stream is damaged: {error}"[:200]
        if not chunk:
            break
        end = chunk.rfind(b"\n") + 1
        if end:
            first = waiting.data
            if waiting.too_long:
                yield Block(name, offset, b"", too_long(waiting.longest))
                begin = chunk.index(b"\n") + 1
                offset, chunk, end = offset + waiting.length + begin, chunk[begin:], end - begin
            if data := first + chunk[:end]:
                yield Block(name, offset, data)
            offset += len(data)
            waiting.begin(chunk[end:], limits.longest_line)
        else:
            waiting.add(chunk)
    yield from _last(waiting, offset, name)
    if problem:
        yield Block(name, offset + waiting.length, b"", problem)


def _all_of(stream: IO[bytes] | io.RawIOBase) -> bytes:
    """Read the rest of a stream, up to a document's limit."""
    parts: list[bytes] = []
    while sum(map(len, parts)) <= LONGEST_DOCUMENT and (part := stream.read(CHUNK << 4)):
        parts.append(part)
    return b"".join(parts)


def _table_of(stream: IO[bytes] | io.RawIOBase) -> bytes:
    """Load a table from a compressed file into memory, because its readers need seeking."""
    content = _all_of(stream)
    if len(content) > LONGEST_DOCUMENT:
        raise OSError(f"a table of more than {LONGEST_DOCUMENT >> 20} MiB in a packed file: unpack it")
    return content


def _zip_member(job: Job, limits: Limits) -> Iterator[Block]:
    with (
        place(job.path).open("rb") as whole,
        zipfile.ZipFile(whole) as archive,
        archive.open(job.member) as file,
    ):
        inner = io.BufferedReader(file, CHUNK)  # type: ignore[type-var]
        stream = unpacked(inner, kind(inner.peek(6)[:6]))
        size = archive.getinfo(job.member).compress_size
        yield from _stream(bounded(stream, size, limits), f"{job.name}!{job.member}", limits)


def _zip_members(job: Job, limits: Limits, forms: Sequence[PostForm]) -> Iterator[Block]:
    """Read the lines of all members that are not tables, if these are many."""
    with zipfile.ZipFile(job.path) as archive:
        for member in archive.infolist():
            base = member.filename.rpartition("/")[2]
            if member.is_dir() or _is_no_file_of_posts(base):
                continue
            with archive.open(member) as file:
                inner = io.BufferedReader(file, CHUNK)  # type: ignore[type-var]
                head = inner.peek(CHUNK)
                if kind_of(_unpacked_head(head), base, forms) == LINES:
                    stream = bounded(unpacked(inner, kind(head)), member.compress_size, limits)
                    yield from _stream(stream, f"{job.name}!{member.filename}", limits)


def _last(waiting: _Waiting, offset: int, name: str) -> Iterator[Block]:
    """Return what follows the last line end."""
    rest = waiting.data
    if waiting.too_long:
        yield Block(name, offset, b"", too_long(waiting.longest))
    elif rest.strip():
        yield Block(name, offset, rest)


def too_long(longest: int) -> str:
    """Return the problem of a line with more bytes than this."""
    return f"a line of more than {longest / (1 << 20):g} MB ([retrieval] longest_line)"


def _range(path: Path, job: Job, limits: Limits) -> Iterator[Block]:
    """Read the lines that begin in the range; the last may end beyond it."""
    with path.open("rb") as file:
        file.seek(max(job.start - 1, 0))
        offset = job.start
        if job.start:
            offset = job.start - 1 + _rest_of_line(file, job.end - job.start + 1)
        room = memoryview(bytearray(CHUNK + SLACK))  # one for all: allocating memory costs more than reading
        while offset < job.end:
            size = file.readinto(room[: min(CHUNK, job.end - offset)])
            if not size:
                return  # the file became shorter
            rest = file.readline(limits.longest_line) if room[size - 1] != NEWLINE else b""
            if len(rest) == limits.longest_line and not rest.endswith(b"\n"):
                begin = bytes(room[:size]).rfind(b"\n") + 1
                if begin:
                    yield Block(job.name, offset, bytes(room[:begin]))
                yield Block(job.name, offset + begin, b"", too_long(limits.longest_line))
                offset += size + len(rest)
                offset += _rest_of_line(file, job.end - offset)
                continue
            end = size + len(rest)
            if len(rest) <= SLACK:
                room[size:end] = rest
                yield Block(job.name, offset, room[:end])
            else:
                yield Block(job.name, offset, bytes(room[:size]) + rest)
            offset += end


def _rest_of_line(file: IO[bytes], most: int) -> int:
    """Skip to the beginning of the next line or beyond `most` bytes, where the next job begins. Returns the skipped bytes."""
    count = 0
    while count < most:
        part = file.readline(CHUNK)
        count += len(part)
        if not part or part.endswith(b"\n"):
            break
    return count


TOO_LONG_DOCUMENT = "one JSON document of more than 512 MiB: write it as one post a line"
_any = msgspec.json.Decoder(msgspec.Raw)
_list = msgspec.json.Decoder(list[msgspec.Raw])


def _document(data: bytes, name: str) -> Iterator[Block]:
    """Return the elements of a JSON list, or a document as a single line. An element's offset is its index in the list."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if data.lstrip().startswith(SCRIPT):
        data = data.partition(b"=")[2].strip().removesuffix(b";")
    if not data.strip():
        return
    if len(data) > LONGEST_DOCUMENT:
        yield Block(name, 0, b"", TOO_LONG_DOCUMENT)
        return
    try:
        if data.lstrip()[:1] == b"[":
            for place, row in enumerate(_list.decode(data)):
                yield Block(name, place, bytes(row), single=True)
        else:
            _any.decode(data)
            yield Block(name, 0, data, single=True)
    except (msgspec.DecodeError, RecursionError) as error:
        yield Block(name, 0, b"", f"not JSON: {error}"[:200])
