"""The raw pages of a search: one zstd frame per page, each with its own checkpoint.

Object stores cannot append to files. There each page is a separate file during the search, and they are joined at its end.

A line is the platform's unchanged response with an additional key `__covmis`: a stamp with the query, the time, the
versions, and where the next page begins. Page and checkpoint are one write, so neither exists without the other. An
interruption can damage only the last frame; `resume` removes it.
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
    """The origin of a page, and the next request (`next` is empty at the end)."""

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
    """Why the response could not be parsed. Such a page is no checkpoint, and is requested again."""


class _Line(msgspec.Struct):
    """A line of which only the stamp is decoded, because pages are large."""

    stamp: Stamp | None = msgspec.field(default=None, name=STAMP)


_decoder = msgspec.json.Decoder(_Line)


def append(path: Path, payload: dict[str, Any], stamp: Stamp) -> None:
    """Append one page to the file in a single write, which is on disk when this returns."""
    # Our key comes first: it marks our pages, and a key of the same name in the response has no effect.
    line = {STAMP: msgspec.to_builtins(stamp), **{name: payload[name] for name in payload if name != STAMP}}
    line = _finite(line)
    try:
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        data = (scrubbed(text) + "\n").encode("utf-8")
    except UnicodeEncodeError:  # an unpaired surrogate: valid in JSON, not in UTF-8
        data = (scrubbed(json.dumps(line, separators=(",", ":"))) + "\n").encode("ascii")
    packed = zstandard.ZstdCompressor(write_checksum=True).compress(data)
    if isinstance(path, Address):
        storage.write_bytes(path.with_name(_own_name(path.name, stamp)), packed)
    else:
        storage.append_bytes(path, packed)


def _own_name(whole: str, stamp: Stamp) -> str:
    """Return a page's own file name. Names sort in order of arrival, and a repeated page keeps both files."""
    when = re.sub(r"\D", "", stamp.retrieved_at)
    return f"{whole.removesuffix(ENDING)}.{stamp.page:06d}-{when}{ENDING}"


_OWN = re.compile(r"\.\d{6,}-\d+(?=\.jsonl\.zst$)")


def _parts(path: Path) -> list[Path]:
    """Return the page files of a search, in order."""
    if not isinstance(path, Address):
        return []
    return sorted(part for part in path.parent.glob(f"*{ENDING}") if _whole_of(part) == path != part)


def _pieces(path: Path) -> list[Path]:
    """Return the files of a search in order."""
    return _once(path if path.exists() else None, _parts(path))


def _once(path: Path | None, parts: list[Path]) -> list[Path]:
    """Return the joined file (or its partial copy) and the pages missing in it."""
    if path is None:
        return parts
    whole = path.read_bytes() if parts else b""
    return [path, *(part for part in parts if part.read_bytes() not in whole)]


def searches(folder: Path, files: str = f"*{ENDING}") -> Iterator[list[Path]]:
    """Return the files of each search in a folder, in order. The folder is listed once."""
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
    """Join the pages of a finished search to one file. After an interruption `join_ended` continues."""
    parts, pieces = _parts(path), _pieces(path)
    if parts and pieces != [path]:
        with storage.replacing(path) as whole, whole.open("wb") as file:
            file.writelines(piece.read_bytes() for piece in pieces)
    for part in parts:
        storage.remove(part)


def join_ended(folder: Path) -> None:
    """Join the pages of every search that had ended at an interruption."""
    parts = sorted(folder.glob(f"*{ENDING}")) if isinstance(folder, Address) else []
    last = {_whole_of(part): part for part in parts if _whole_of(part) != part}
    for path, part in last.items():
        if any(not stamp.next and not stamp.unread for stamp in stamps(part)):
            join(path)


def _finite(value: Any) -> Any:
    """Replace NaN and infinities, which JSON does not have, by null."""
    if isinstance(value, dict):
        return {str(name): _finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def stamps(path: Path) -> Iterator[Stamp]:
    """Return the stamps of all complete pages of a file, without a damaged end."""
    for line, _ in _frames(path):
        stamp = _stamp(line, path)
        if stamp is not None:
            yield stamp


def _stamp(line: bytes, path: Path) -> Stamp | None:
    """Return a page's stamp, also if the page has unpaired surrogates, which msgspec refuses."""
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
    """Return all complete pages of a search, decoded."""
    for line, _ in frames(path):
        yield json.loads(line)


def is_ours(path: Path) -> bool:
    """True if a file begins with a page of `covmis collect`."""
    first = next(_frames(path), None)
    return first is not None and first[0].startswith(f'{{"{STAMP}"'.encode())


def resume(path: Path) -> Stamp | None:
    """Remove a damaged end after an interruption. Returns the last complete page's stamp."""
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
    """Return each complete frame of a search, and its end position in the file."""
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
    """Refuse a file with a complete frame after the damaged one: not an interruption, and cutting would lose pages."""
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
