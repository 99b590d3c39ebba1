"""The raw pages of one search, one zstd frame a page, and the checkpoint that each page carries in itself.

A store cannot add to a file: there each page is a file of its own while its search continues, and then they are joined.

A line is the platform's answer as it came, with one key more: `__covmis`, a stamp that says which query asked,
when, with which versions, and where the next page begins. Page and checkpoint are one write: there is no moment at
which one is on disk without the other. A kill can tear only the last frame; `resume` cuts it off.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import msgspec
import zstandard

from covmis_build import storage
from covmis_build.addresses import Address
from covmis_build.credentials import scrubbed
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

STAMP = "__covmis"
ENDING = ".jsonl.zst"
MAGIC = b"\x28\xb5\x2f\xfd"
BLOCK = 1 << 20


class Stamp(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a page comes from, and what remains to be asked after it (`next` is empty when nothing does)."""

    job: str
    source: str
    query_id: str
    claim_id: str
    kind: str
    expression: str
    search: str
    since: str
    until: str
    page: int
    next: str
    url: str
    version: str
    retrieved_at: str
    mode: str = ""
    posts: int = 0
    users: int = 0
    cost: float = 0.0
    requests: int = 1
    oldest: str = ""
    newest: str = ""
    notes: list[str] = []
    unread: str = ""
    """Why the answer could not be understood: it is no checkpoint, and its page is requested again."""


class _Line(msgspec.Struct):
    """Only the stamp of a line is decoded: pages are large."""

    stamp: Stamp | None = msgspec.field(default=None, name=STAMP)


_decoder = msgspec.json.Decoder(_Line)


def append(path: Path, payload: dict[str, Any], stamp: Stamp) -> None:
    """Add one page at the end of the file, in one write that is on disk when this returns."""
    # ours comes first, so that a page is known by its first bytes, and whatever they call so does not count
    line = {STAMP: msgspec.to_builtins(stamp), **{name: payload[name] for name in payload if name != STAMP}}
    line = _finite(line)
    try:
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        data = (scrubbed(text) + "\n").encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair: JSON can say it, UTF-8 cannot
        data = (scrubbed(json.dumps(line, separators=(",", ":"))) + "\n").encode("ascii")
    packed = zstandard.ZstdCompressor(write_checksum=True).compress(data)
    if isinstance(path, Address):
        storage.write_bytes(path.with_name(_own_name(path.name, stamp)), packed)
    else:
        storage.append_bytes(path, packed)


def _own_name(whole: str, stamp: Stamp) -> str:
    """The name of a page's own file: names sort as pages came, and one that was asked for again is not lost."""
    when = re.sub(r"\D", "", stamp.retrieved_at)
    return f"{whole.removesuffix(ENDING)}.{stamp.page:06d}-{when}{ENDING}"


_OWN = re.compile(r"\.\d{6,}-\d+(?=\.jsonl\.zst$)")


def _parts(path: Path) -> list[Path]:
    """The pages of a search that are files of their own, in order."""
    if not isinstance(path, Address):
        return []
    return sorted(part for part in path.parent.glob(f"*{ENDING}") if _whole_of(part) == path != part)


def _pieces(path: Path) -> list[Path]:
    """The files of a search in order."""
    return _once(path if path.exists() else None, _parts(path))


def _once(path: Path | None, parts: list[Path]) -> list[Path]:
    """What is whole (or was copied here half done), and the pages that are not in it."""
    if path is None:
        return parts
    whole = path.read_bytes() if parts else b""
    return [path, *(part for part in parts if part.read_bytes() not in whole)]


def searches(folder: Path, files: str = f"*{ENDING}") -> Iterator[list[Path]]:
    """The files of each search of a folder, in order; the folder is listed once."""
    there = sorted(folder.glob(files))
    parts: dict[Path, list[Path]] = {}
    for path in there:
        whole = _whole_of(path) if isinstance(path, Address) else path
        parts.setdefault(whole, []).extend([path] if path != whole else [])
    names = set(there)
    for whole, of_search in parts.items():
        yield _once(whole if whole in names else None, of_search)


def _whole_of(part: Path) -> Path:
    return part.with_name(_OWN.sub("", part.name))


def join(path: Path) -> None:
    """At the end of a search: its pages as one file; killed in between, both are there, and `join_ended` continues."""
    parts, pieces = _parts(path), _pieces(path)
    if parts and pieces != [path]:
        with storage.replacing(path) as whole, whole.open("wb") as file:
            file.writelines(piece.read_bytes() for piece in pieces)
    for part in parts:
        storage.remove(part)


def join_ended(folder: Path) -> None:
    """The same for every search that had ended when a kill came."""
    parts = sorted(folder.glob(f"*{ENDING}")) if isinstance(folder, Address) else []
    last = {_whole_of(part): part for part in parts if _whole_of(part) != part}
    for path, part in last.items():
        if any(not stamp.next and not stamp.unread for stamp in stamps(part)):
            join(path)


def _finite(value: Any) -> Any:
    """A payload as JSON can say it: NaN and infinities, which Python reads and JSON does not have, are null."""
    if isinstance(value, dict):
        return {str(name): _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def stamps(path: Path) -> Iterator[Stamp]:
    """The stamps of all whole pages of a file; a torn end is omitted."""
    for line, _ in _frames(path):
        stamp = _stamp(line, path)
        if stamp is not None:
            yield stamp


def _stamp(line: bytes, path: Path) -> Stamp | None:
    """A page's stamp, also next to halves of surrogate pairs, which msgspec does not take."""
    try:
        return _decoder.decode(line).stamp
    except msgspec.DecodeError:
        try:
            return msgspec.convert(json.loads(line), _Line).stamp
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"has a page that is not as it was written: {error}"[:200],
                file=path,
                remedy="Restore it from a copy, or move it away to fetch its pages again",
            ) from None


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """All whole pages of a search, decoded."""
    for line, _ in frames(path):
        yield json.loads(line)


def is_ours(path: Path) -> bool:
    """Whether a file begins with a page of `covmis collect`."""
    first = next(_frames(path), None)
    return first is not None and first[0].startswith(f'{{"{STAMP}"'.encode())


def resume(path: Path) -> Stamp | None:
    """Cut off what a kill has torn, and give the last whole page's stamp."""
    end, last = 0, None
    for line, reached in frames(path):
        end = reached
        stamp = _stamp(line, path)
        last = last if stamp is not None and stamp.unread else line
    if not isinstance(path, Address) and path.exists() and end < path.stat().st_size:
        _refuse_damage(path, end)
        storage.cut(path, end)
    return _stamp(last, path) if last is not None else None


def frames(path: Path) -> Iterator[tuple[bytes, int]]:
    """Each whole frame of a search, and the position behind it in its file."""
    for piece in _pieces(path):
        yield from _frames(piece)


def _frames(path: Path) -> Iterator[tuple[bytes, int]]:
    reached = 0
    with path.open("rb") as file:
        rest = b""
        while True:
            machine, content = zstandard.ZstdDecompressor().decompressobj(), []
            used = 0
            while not machine.eof:
                block = rest or file.read(BLOCK)
                rest = b""
                if not block:
                    return
                used += len(block)
                try:
                    content.append(machine.decompress(block))
                except zstandard.ZstdError:
                    return
            rest = machine.unused_data
            reached += used - len(rest)
            yield b"".join(content), reached


def _refuse_damage(path: Path, end: int) -> None:
    """A kill tears the end. A whole frame behind the tear means damage of another kind: cutting would lose pages."""
    with path.open("rb") as file:
        file.seek(end)
        tail = file.read()
    at = tail.find(MAGIC, 1)
    while at >= 0:
        try:
            content = zstandard.ZstdDecompressor().stream_reader(memoryview(tail)[at:]).read(64)
        except zstandard.ZstdError:
            content = b""
        if STAMP.encode() in content:
            raise InputError(
                f"is damaged at byte {end:,}, with whole pages behind it",
                file=path,
                remedy="Restore it from a copy, or move it away to fetch its pages again",
            )
        at = tail.find(MAGIC, at + 1)
