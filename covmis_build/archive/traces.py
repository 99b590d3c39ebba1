"""Searching files byte by byte for what is to be forgotten: decompressed as far as covmis knows how, whatever made them."""

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
"""Bytes that are searched at once."""

BLOCK, DEEPEST = 4096, 5
"""Bytes by which a file's form is recognised; how often something may be compressed within something compressed."""

OVERLAP = 512
"""Bytes of the piece before that are searched again: no needle is longer."""

SHORTEST_WORDS, LONGEST_WORDS = 16, 120
"""Characters of a piece of text that is searched for: shorter ones are in many posts."""

NAMES_A_PERSON = 9
"""Digits of an author's number from which on it is searched for: shorter ones count likes and followers, too."""

FEW = 16
_TOKEN = re.compile(rb"[0-9A-Za-z_]{%d,}" % SHORT)
_PLAIN = re.compile(r"[\w ]+")
UNREADABLE = (*PACKED, sqlite3.Error)


def words_of(texts: Iterable[str]) -> set[str]:
    """For each text its longest piece that looks the same in every file: without marks that HTML, JSON and CSV write."""
    pieces = {max(_PLAIN.findall(text), key=len, default="").strip()[:LONGEST_WORDS] for text in texts}
    return {piece for piece in pieces if len(piece) >= SHORTEST_WORDS}


class Traces:
    """What to search for: ids as whole tokens, names and pieces of texts wherever they stand."""

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
        """Whether the bytes name a post or an author that is to be forgotten."""
        for wanted in (self._needles, self._short):
            if wanted is not None and wanted.search(data) is not None:
                return True
        if len(self.tokens) <= FEW and not any(token in data for token in self.tokens):
            return False  # a search for a few takes a fraction of the time of cutting the bytes into tokens
        return not self.tokens.isdisjoint(_TOKEN.findall(data))

    def texts_in(self, data: bytes) -> bool:
        """Whether the bytes hold a piece of a text that is to be forgotten."""
        return self._words is not None and self._words.search(data) is not None

    def in_file(self, path: Path, *, ids: bool = True, texts: bool = True) -> bool:
        """Whether a file holds any of it; raises one of UNREADABLE where the file cannot be read to its end."""
        return any((ids and self.ids_in(piece)) or (texts and self.texts_in(piece)) for piece in pieces(path))


def _any_of(needles: Iterable[bytes], *, whole: bool = False) -> re.Pattern[bytes] | None:
    """`whole`: only where neither a letter nor a digit stands before or behind (forum:1 is no part of forum:17)."""
    alternatives = b"|".join(map(re.escape, sorted(set(needles))))
    if not alternatives:
        return None
    return re.compile(rb"(?<!\w)(?:%s)(?!\w)" % alternatives if whole else alternatives)


def _escaped(text: str) -> bytes:
    """A text as JSON in ASCII has it."""
    return json.dumps(text)[1:-1].encode()


def pieces(path: Path) -> Iterator[bytes]:
    """What a file holds, decompressed, in pieces that overlap."""
    with path.open("rb") as file:
        if file.peek(16).startswith(b"SQLite format 3\0"):
            yield from _of_sqlite(path)
        yield from _inside(file, path.stat().st_size)


def _inside(stream: io.BufferedReader, size: int, depth: int = 0) -> Iterator[bytes]:
    """The bytes themselves; of what is compressed, however often, those inside, and in all no more than the limits allow."""
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
        with tempfile.TemporaryFile() as whole:  # they are read from their end
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
    """The members of a zip file, which spreadsheets and bundles are; what is compressed inside, too."""
    with zipfile.ZipFile(file) as whole:
        for member in whole.infolist():
            with whole.open(member) as content:
                limited = bounded(content, member.compress_size, Limits())
                yield from _inside(io.BufferedReader(limited, PIECE), size, depth + 1)  # type: ignore[arg-type]


def _of_table(batches: Iterator[pa.RecordBatch]) -> Iterator[bytes]:
    """Every text of every column, since pages of a table are compressed."""
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
    """Every text of every table; the pages themselves are searched as bytes as well, since deleted rows stay there."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
        base.text_factory = bytes
        names = [
            row[0].decode() for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for name in names:
            for row in base.execute(f'SELECT * FROM "{name}"'):
                yield b"\n".join(cell if isinstance(cell, bytes) else str(cell).encode() for cell in row)
