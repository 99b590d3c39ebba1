"""Search the bytes of files for purged data, decompressed if covmis knows the format, whatever wrote them."""

from __future__ import annotations

import codecs
import io
import json
import re
import shutil
import sqlite3
import tarfile
import tempfile
import zipfile
from contextlib import closing
from typing import IO, TYPE_CHECKING, Any

from covmis_build.archive.forgetting import SHORT, account_names
from covmis_build.errors import InputError
from covmis_build.files.frames import ARROW, PARQUET, batches
from covmis_build.files.packed import PACKED, Limits, bounded, kind, unpacked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    import pyarrow as pa

PIECE = 1 << 20
"""Bytes that are searched at a time."""

BLOCK, DEEPEST = 4096, 5
"""Bytes for detecting a file's format; maximum nesting of compression."""

OVERLAP = 512
"""Bytes of the previous piece that are searched again; no search term is longer."""

SHORTEST_WORDS, LONGEST_WORDS = 16, 120
"""Length of the text pieces that are searched for; shorter ones occur in many posts."""

NAMES_A_PERSON = 9
"""Minimum digits of an author number to search for; shorter ones could be counts of followers or likes."""

FEW = 16
_TOKEN = re.compile(rb"[0-9A-Za-z_]{%d,}" % SHORT)
_PLAIN = re.compile(r"[\w ]+")
UNREADABLE = (*PACKED, sqlite3.Error)


def words_of(texts: Iterable[str]) -> set[str]:
    """Return each text's longest piece that is the same in all files: without characters that HTML, JSON or CSV escape."""
    pieces = {max(_PLAIN.findall(text), key=len, default="").strip()[:LONGEST_WORDS] for text in texts}
    return {piece for piece in pieces if len(piece) >= SHORTEST_WORDS}


class Traces:
    """The search terms: ids as whole tokens, names and text pieces anywhere."""

    def __init__(self, keys: Iterable[str], words: Iterable[str] = ()) -> None:
        self.tokens: set[bytes] = set()
        needles: set[str] = set()
        short: set[str] = set()
        for key in keys:
            platform, _, name = key.removeprefix("author:").partition(":")
            native = name.rpartition("/")[2].encode()
            if key.startswith("author:"):
                if platform == "x" and len(name) >= NAMES_A_PERSON:
                    self.tokens.add(native)
                elif platform == "masto":
                    needles |= set(account_names(name))
                elif platform == "bsky":
                    needles.add(name)
            elif _TOKEN.fullmatch(native):
                self.tokens.add(native)
            else:
                short.add(key)
        self._needles = _any_of(name.encode() for name in needles)
        self._short = _any_of((key.encode() for key in short), whole=True)
        self._words = _any_of(form for piece in words for form in (piece.encode(), _escaped(piece)))

    def ids_in(self, data: bytes) -> bool:
        """True if the bytes name a purged post or author."""
        for wanted in (self._needles, self._short):
            if wanted is not None and wanted.search(data) is not None:
                return True
        if len(self.tokens) <= FEW and not any(token in data for token in self.tokens):
            return False  # searching for a few ids is much faster than splitting the bytes into tokens
        return not self.tokens.isdisjoint(_TOKEN.findall(data))

    def texts_in(self, data: bytes) -> bool:
        """True if the bytes contain a piece of a purged text."""
        return self._words is not None and self._words.search(data) is not None

    def in_file(self, path: Path, *, ids: bool = True, texts: bool = True) -> bool:
        """True if a file contains any term. Raises one of UNREADABLE if the file cannot be read to its end."""
        return any((ids and self.ids_in(piece)) or (texts and self.texts_in(piece)) for piece in pieces(path))


def _any_of(needles: Iterable[bytes], *, whole: bool = False) -> re.Pattern[bytes] | None:
    """Find any term. `whole`: only without a letter or digit before or after (forum:1 is not part of forum:17)."""
    alternatives = b"|".join(map(re.escape, sorted(set(needles))))
    if not alternatives:
        return None
    return re.compile(rb"(?<!\w)(?:%s)(?!\w)" % alternatives if whole else alternatives)


def _escaped(text: str) -> bytes:
    """Return a text as escaped in ASCII JSON."""
    return json.dumps(text)[1:-1].encode()


def pieces(path: Path) -> Iterator[bytes]:
    """Read a file's decompressed content in overlapping pieces."""
    with path.open("rb") as file:
        if file.peek(16).startswith(b"SQLite format 3\0"):
            yield from _of_sqlite(path)
        yield from _inside(file, path.stat().st_size)


def _inside(stream: io.BufferedReader, size: int, depth: int = 0) -> Iterator[bytes]:
    """Read the bytes, and recursively the content of compressed ones, within the limits."""
    head = stream.peek(BLOCK)[:BLOCK]
    if depth < DEEPEST and (packed := kind(head)):
        content = bounded(unpacked(stream, packed), size, Limits())
        yield from _inside(io.BufferedReader(content, PIECE), size, depth + 1)  # type: ignore[arg-type]
    elif depth < DEEPEST and head[257:262] == b"ustar":
        with tarfile.open(fileobj=stream, mode="r|") as tar:
            for member in tar:
                if member.isfile() and (inside := tar.extractfile(member)):
                    yield from _inside(io.BufferedReader(inside, BLOCK), size, depth + 1)  # type: ignore[arg-type]
    elif depth < DEEPEST and head.startswith((b"PK\x03\x04", PARQUET, ARROW)):
        with tempfile.TemporaryFile() as whole:  # zip and Parquet files are read from their end
            shutil.copyfileobj(stream, whole, PIECE)
            whole.seek(0)
            if head.startswith(b"PK\x03\x04"):
                yield from _of_zip(whole, size, depth)
                return
            yield from _of_table(batches(whole))
            whole.seek(0)
            yield from _overlapping(whole)
    elif head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        decode = codecs.getincrementaldecoder("utf-16")("replace").decode
        yield from (decode(piece).encode() for piece in _overlapping(stream, overlap=0))
    else:
        yield from _overlapping(stream)


def _overlapping(stream: IO[bytes], overlap: int = OVERLAP) -> Iterator[bytes]:
    tail = b""
    while piece := stream.read(PIECE):
        yield tail + piece
        tail = (tail + piece)[-overlap:] if overlap else b""


def _of_zip(file: IO[bytes], size: int, depth: int) -> Iterator[bytes]:
    """Read the members of a zip file (also spreadsheets and packages), including compressed ones."""
    with zipfile.ZipFile(file) as whole:
        for member in whole.infolist():
            with whole.open(member) as content:
                limited = bounded(content, member.compress_size, Limits())
                yield from _inside(io.BufferedReader(limited, PIECE), size, depth + 1)  # type: ignore[arg-type]


def _of_table(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    """Read every text of every column, because a table's pages are compressed."""
    import pyarrow as pa

    try:
        for batch in batches:
            for column in batch.columns:
                values: list[Any] = column.to_pylist()
                texts = (
                    value if isinstance(value, str) else str(value) for value in values if value is not None
                )
                yield "\n".join(texts).encode("utf-8", "surrogatepass")
    except (pa.ArrowException, InputError) as error:
        raise ValueError(str(error)) from error


def _of_sqlite(path: Path) -> Iterator[bytes]:
    """Read every text of every table. The raw bytes are searched as well, because deleted rows stay in them."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
        base.text_factory = bytes
        names = [
            row[0].decode() for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for name in names:
            for row in base.execute(f'SELECT * FROM "{name}"'):
                yield b"\n".join(cell if isinstance(cell, bytes) else str(cell).encode() for cell in row)
