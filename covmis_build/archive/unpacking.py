"""Everything that a file holds, unpacked: members of archives and office documents, cells of tables and databases.

What cannot be read is said, with the reason, and the rest is read.
"""

from __future__ import annotations

import codecs
import io
import shutil
import sqlite3
import tarfile
import tempfile
import urllib.parse
import zipfile
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from covmis_build.addresses import Address
from covmis_build.anchors import CONTENT
from covmis_build.archive.readings import is_binary
from covmis_build.errors import InputError
from covmis_build.files.database import SQLITE
from covmis_build.files.frames import ARROW, PARQUET, STREAM, batches
from covmis_build.files.packed import PACKED, Limits, bounded, kind, unpacked
from covmis_build.files.spss import SPSS, open_spss

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

PIECE = 1 << 20
"""Bytes that are searched at a time."""
BLOCK, DEEPEST = 4096, 5
"""Bytes for detecting a file's format; maximum nesting of compression."""
OVERLAP = 4096
"""Bytes of the previous piece that are searched again."""
MOST_TIMES, MOST_ANYWAY = 200, 1 << 30
"""Maximum bytes of what a file holds: so many times its size, or so many if that is more."""
MOST_MEMBERS = 60_000
"""Maximum files in one zip or tar file."""
DAMAGED = (*PACKED, sqlite3.Error)

_ZIP, _OLE = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_CLOSED = {
    b"%PDF": "a PDF", b"\x89PNG": "a picture", b"\xff\xd8\xff": "a picture", b"GIF8": "a picture", b"II*\0": "a picture",
    b"MM\0*": "a picture", b"RIFF": "a picture or recording", b"OggS": "a recording", b"ID3": "a recording", b"fLaC": "a recording",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive", b"Rar!": "a RAR archive", _OLE: "an old or encrypted Office file",
    b"\x85\x01": "encrypted", b"\x85\x02": "encrypted", b"-----BEGIN PGP MESSAGE": "encrypted", b"Salted__": "encrypted",
}  # fmt: skip
"""Beginnings of files whose text stands in no bytes that could be compared."""


class Part(NamedTuple):
    """A piece of what a file holds, or what could not be read and why. `raw`: bytes that are no text."""

    data: bytes = b""
    raw: bool = False
    unread: str = ""
    damaged: bool = False
    """True if it is of a form that is read, but could not be."""


def parts(path: Path) -> Iterator[Part]:
    """Yield all that a file holds, in overlapping pieces."""
    size = path.stat().st_size
    left = max(MOST_TIMES * size, MOST_ANYWAY)
    try:
        with path.open("rb") as file:
            for part in _inside(file, size):
                left -= len(part.data)
                if left < 0:
                    yield Part(unread=f"holds more than {MOST_TIMES} times its size")
                    return
                yield part
    except DAMAGED as error:
        yield _damaged(error)


def _damaged(error: Exception) -> Part:
    encrypted = isinstance(error, RuntimeError) and "password" in str(error)
    return Part(unread="encrypted" if encrypted else f"damaged ({type(error).__name__})", damaged=True)


def _inside(stream: Any, size: int, depth: int = 0) -> Iterator[Part]:
    """Read the bytes, and recursively the content of packed ones, within the limits."""
    head = stream.peek(BLOCK)[:BLOCK]
    packed = kind(head)
    is_tar = head[257:262] == b"ustar"
    whole_form = head.startswith((_ZIP, PARQUET, ARROW, STREAM, SQLITE, *SPSS))
    if depth >= DEEPEST and (packed or is_tar or whole_form):
        yield Part(unread=f"packed more than {DEEPEST} times")
        yield from _plain(stream, raw=True)
    elif packed:
        content = bounded(unpacked(stream, packed), size, Limits())
        yield from _inside(io.BufferedReader(content, PIECE), size, depth + 1)
    elif is_tar:
        yield from _of_tar(stream, size, depth)
    elif whole_form:
        with _seekable(stream, depth) as whole:
            if head.startswith(_ZIP):
                yield from _of_zip(whole, size, depth)
                return
            if head.startswith(SQLITE):
                rows = _of_sqlite(Path(whole.name))
            elif head.startswith(SPSS):
                rows = _of_spss(whole.read())
            else:
                rows = _of_table(batches(whole))
            yield from _guarded(rows, size, depth)
            whole.seek(0)
            yield from _plain(whole, raw=True)
    else:
        yield from _of_unpacked(stream, head)


def _of_unpacked(stream: Any, head: bytes) -> Iterator[Part]:
    why = next((why for begin, why in _CLOSED.items() if head.startswith(begin)), "")
    if head[4:8] == b"ftyp":
        why = "a picture or recording"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not head.startswith(
        codecs.BOM_UTF32_LE
    ):
        decode = codecs.getincrementaldecoder("utf-16")("replace").decode
        yield from _overlapping(decode(piece).encode() for piece in iter(lambda: stream.read(PIECE), b""))
        return
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        decode = codecs.getincrementaldecoder("utf-32")("replace").decode
        yield from _overlapping(decode(piece).encode() for piece in iter(lambda: stream.read(PIECE), b""))
        return
    if (
        not why and is_binary(head) and CONTENT not in head[:256]
    ):  # words in a time stamp stand there as they are
        why = "of an unknown form, searched as bytes only"
    if why:
        yield Part(unread=why)
    yield from _plain(stream, raw=bool(why))


def _plain(stream: IO[bytes], *, raw: bool = False) -> Iterator[Part]:
    return _overlapping(iter(lambda: stream.read(PIECE), b""), raw=raw)


def _overlapping(pieces: Iterator[bytes], *, raw: bool = False) -> Iterator[Part]:
    tail = b""
    for piece in pieces:
        yield Part(tail + piece, raw)
        tail = (tail + piece)[-OVERLAP:]


def _seekable(stream: Any, depth: int) -> Any:
    """A file with a name, for what is read from its end: the file itself, or a temporary copy."""
    if (
        depth == 0
        and not isinstance(getattr(stream, "name", None), Address)
        and isinstance(stream.name, str | Path)
    ):
        return stream
    whole = tempfile.NamedTemporaryFile()  # noqa: SIM115 - closed by who asked
    shutil.copyfileobj(stream, whole, PIECE)
    whole.flush()
    whole.seek(0)
    return whole


def _of_tar(stream: IO[bytes], size: int, depth: int) -> Iterator[Part]:
    with tarfile.open(fileobj=stream, mode="r|") as tar:
        for number, member in enumerate(tar):
            if number == MOST_MEMBERS:
                yield Part(unread=f"holds more than {MOST_MEMBERS:,} files")
                return
            yield Part(f"{member.name}\n{member.linkname}\n".encode("utf-8", "ignore"))
            if member.isfile() and (inside := tar.extractfile(member)):
                yield from _of_member(io.BufferedReader(inside, BLOCK), member.name, size, depth)


def _of_zip(file: IO[bytes], size: int, depth: int) -> Iterator[Part]:
    """Read the members of a zip file (also office documents), including packed ones, and its comments."""
    with zipfile.ZipFile(file) as whole:
        members = whole.infolist()
        yield Part(whole.comment)
        for member in members[:MOST_MEMBERS]:
            yield Part(f"{member.filename}\n".encode("utf-8", "ignore") + member.comment)
            try:
                with whole.open(member) as content:
                    limited = bounded(content, member.compress_size, Limits())
                    inside = io.BufferedReader(limited, PIECE)  # type: ignore[type-var]
                    yield from _of_member(inside, member.filename, size, depth)
            except DAMAGED as error:
                yield _named(_damaged(error), member.filename)
        if len(members) > MOST_MEMBERS:
            yield Part(unread=f"holds more than {MOST_MEMBERS:,} files")


def _of_member(inside: Any, name: str, size: int, depth: int) -> Iterator[Part]:
    for part in _inside(inside, size, depth + 1):
        yield _named(part, name)


def _named(part: Part, name: str) -> Part:
    return part._replace(unread=f"{name}: {part.unread}") if part.unread else part


def _guarded(rows: Iterator[bytes], size: int, depth: int) -> Iterator[Part]:
    """Yield a table's texts; cells that are packed themselves are unpacked."""
    for cells in rows:
        if kind(cells) or cells.startswith((_ZIP, PARQUET, ARROW, STREAM)):
            try:
                yield from _inside(io.BufferedReader(io.BytesIO(cells)), size, depth + 1)
            except DAMAGED:
                yield Part(cells, raw=True)
        else:
            yield Part(cells)


def _of_table(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    """Read every text of every column, because a table's pages are compressed."""
    import pyarrow as pa

    try:
        for number, batch in enumerate(batches):
            if not number:
                yield batch.schema.to_string(show_schema_metadata=True).encode("utf-8", "ignore")
            for column in batch.columns:
                values: list[Any] = [value for value in column.to_pylist() if value is not None]
                yield from (value for value in values if isinstance(value, bytes))
                texts = (str(value) for value in values if not isinstance(value, bytes))
                yield "\n".join(texts).encode("utf-8", "ignore")
    except (pa.ArrowException, InputError) as error:
        raise ValueError(str(error)) from error


def _of_spss(content: bytes) -> Iterator[bytes]:
    """Read every cell, because the file's own compression cuts texts into pieces."""
    try:
        yield from ("\n".join(row.cells).encode("utf-8", "ignore") for row in open_spss(content).rows())
    except InputError as error:
        raise ValueError(str(error)) from error


def _of_sqlite(path: Path) -> Iterator[bytes]:
    """Read every text of every table. The raw bytes are searched as well, because deleted rows stay in them."""
    address = (
        f"file:{urllib.parse.quote(str(path.resolve()))}?mode=ro&immutable=1"  # makes no files beside it
    )
    with closing(sqlite3.connect(address, uri=True)) as base:
        base.text_factory = bytes
        names = base.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        for name, sql in names:
            yield sql or b""
            if b"VIRTUAL" in (sql or b"").upper():
                continue  # what it holds stands in other tables
            quoted = name.decode("utf-8", "ignore").replace('"', '""')
            waiting = bytearray()
            for row in base.execute(f'SELECT * FROM "{quoted}"'):
                yield from (cell for cell in row if isinstance(cell, bytes) and kind(cell))
                for cell in row:
                    waiting += (cell if isinstance(cell, bytes) else str(cell).encode()) + b"\n"
                if len(waiting) > PIECE:
                    yield bytes(waiting)
                    waiting.clear()
            yield bytes(waiting)
