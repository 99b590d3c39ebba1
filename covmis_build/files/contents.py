"""Read bytes and text of files from others, with a limit of size and a detected encoding."""

from __future__ import annotations

import codecs
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Callable
from functools import partial
from typing import IO, TYPE_CHECKING

from covmis_build.errors import InputError, counted, doubted

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Open = Callable[[], IO[bytes]]
"""Opens a file at its beginning, any number of times."""
LARGEST = 512 << 20
"""Maximum bytes of a file that is read as a whole: a list of claims, ids or labels."""
PIECE = 1 << 16
NOT_UTF8 = "not UTF-8"
"""Beginning of a note on a file's encoding."""
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def bytes_of(path: Path, *, packed: bool = False, most: int = 0) -> bytes:
    """Read the whole file, decompressed if gzipped, up to `most` bytes (default: LARGEST)."""
    most = most or LARGEST
    if path.is_dir():
        raise InputError("is a folder, not a file", file=path, remedy="Name the file inside it")
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            data = file.read(most + 1)  # regardless of its stated size, because it may be a pipe
    except FileNotFoundError:
        raise InputError("is missing", file=path) from None
    except (OSError, EOFError, zlib.error) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"cannot be read: {why}", file=path) from error
    if len(data) > most:
        size = f"{most >> 20} MiB" if most >> 20 else f"{most >> 10} KiB"
        raise InputError(f"is larger than {size}", file=path, remedy="Divide it")
    return data


def text_of(path: Path, *, own: bool = False) -> str:
    """Read the file's text: UTF-8 with or without byte order mark, otherwise Western European as spreadsheets save it.

    A study's `own` file must be UTF-8.
    """
    data = bytes_of(path)
    if own:
        return _utf8(data, path)
    with doubted(path):
        encoding, _ = encoding_of(lambda: io.BytesIO(data))
    return data.decode(encoding, "replace")


def _utf8(data: bytes, path: Path) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise InputError("is not UTF-8", file=path, row=row, remedy="Save it as CSV UTF-8") from None
    if "\0" in text:
        raise InputError("is not a text file", file=path, row=text.count("\n", 0, text.index("\0")) + 1)
    return text


def encoding_of(opened: Open) -> tuple[str, str]:
    """Return a text file's encoding, and a note if it is an assumption.

    UTF-8 with or without byte order mark, UTF-16, or Western European as spreadsheets save it: one for the whole file.
    """
    with opened() as file:
        head = file.read(4096)
    if head.startswith(UTF_16):
        return "utf-16", ""
    if b"\0" in head:
        raise InputError("is not a text file", remedy="Save it as CSV, Excel or Parquet")
    mark = "-sig" if head.startswith(codecs.BOM_UTF8) else ""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with opened() as file:
        try:
            while block := file.read(PIECE):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            pass
        else:
            return f"utf-8{mark}", ""
    with opened() as file:
        encoding, note = _legacy_encoding(iter(partial(file.read, PIECE), b""))
    return (f"utf-8{mark}" if encoding == "utf-8" else encoding), note


def _legacy_encoding(pieces: Iterable[bytes]) -> tuple[str, str]:
    """Detect the encoding of text that is not entirely UTF-8, with a note. A single truncated character is still UTF-8.

    In Western European texts non-ASCII letters occur singly or in pairs (`ção`); words made of them belong to another alphabet.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    broken = whole = beyond = together = size = 0
    example = None
    for piece in itertools.chain(pieces, [b""]):
        text = decoder.decode(piece, final=not piece)
        odd = text.count("\ufffd") - piece.count(REPLACED)
        broken, whole = broken + odd, whole + len(text) - len(text.encode("ascii", "ignore")) - odd
        beyond += len(piece) - len(piece.translate(None, BEYOND_ASCII))
        together += sum(map(len, WORDS_BEYOND.findall(piece)))
        size += len(piece)
        example = example or WORD_BEYOND.search(piece)
    if broken <= whole:
        return "utf-8", f"{NOT_UTF8} in {counted(broken, 'places')}, shown as \ufffd"
    if together > max(FEW, beyond / 3, size / RARE):
        raise InputError(
            "is neither UTF-8 nor Western European: its letters may be Chinese, Cyrillic, Greek …",
            remedy="Save it as UTF-8; Excel calls that 'CSV UTF-8'",
        )
    word = example[0].decode("cp1252", "replace") if example else ""
    return "cp1252", f"{NOT_UTF8}: read as Western European (Windows-1252), as in '{word}'"


REPLACED = "\ufffd".encode()
BEYOND_ASCII = bytes(range(0x80, 0x100))
WORDS_BEYOND = re.compile(rb"[\x80-\xff]{4,}")
WORD_BEYOND = re.compile(rb"[A-Za-z]{0,20}[\x80-\xff][A-Za-z\x80-\xff]{0,20}")
FEW, RARE = 8, 10_000
"""Maximum run of non-ASCII letters in Western European text; maximum frequency of longer runs (one in RARE bytes)."""
