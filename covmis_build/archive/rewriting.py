"""Remove posts from the files of an archive. Compression is kept, and each file is replaced as a whole or not at all."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import tarfile
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import zstandard

from covmis_build import storage
from covmis_build.archive import formats, pages, streams
from covmis_build.archive.formats import neutral
from covmis_build.children import got_on
from covmis_build.errors import InputError, doubted
from covmis_build.files import quotation_marks
from covmis_build.files.delimited import separator_of
from covmis_build.files.packed import Limits, kind, unpacked
from covmis_build.files.reading import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from covmis_build.archive.forgetting import Forget
    from covmis_build.archive.post import Post
    from covmis_build.options import PostForm

STAMPED = b'{"__covmis"'
SHEETS = (".csv", ".tsv", ".tab", ".ids", ".txt")
CHUNK = 4096
GETS_ON = 1000
"""Lines after which a child process says that it gets on."""
MEND = "Mend or remove it, then purge again"


def posts_of_authors(path: Path, forget: Forget, own: Sequence[PostForm] = ()) -> set[str]:
    """Return the posts of purged authors in a file of an archive."""
    with doubted(path, remedy=MEND):
        return {
            post_id
            for line in _lines(path, own)
            if forget.touches(line)
            for post_id in forget.posts_of(_decoded(line))
        }


def names_no_authors(path: Path, own: Sequence[PostForm] = ()) -> bool:
    """True if a file was written by `covmis posts add --convert`, whose format contains no authors."""
    with doubted(path, remedy=MEND):
        return next(_lines(path, own), b"").startswith(f'{{"{neutral.KEY}"'.encode())


def rewrite(path: Path, forget: Forget, own: Sequence[PostForm] = ()) -> int:
    """Remove purged data from one file, and return how many lines changed. A file without any stays unchanged."""
    with doubted(path, remedy=MEND):
        if not is_touched(path, forget, own):
            return 0
        with storage.replacing(path) as beside:
            return write_without(path, beside, forget, own)


def is_touched(path: Path, forget: Forget, own: Sequence[PostForm] = ()) -> bool:
    """Return whether the file must be rewritten. A table that must be rewritten and cannot be is an error."""
    tables = [job for job in streams.jobs([(path, path.name)], own) if job.kind == streams.TABLE]
    if tables and path.suffix.lower() not in SHEETS and not _is_json(path):
        _refuse_table(path, tables, forget)
        return False
    if path.suffix.lower() in SHEETS:
        return _sheet(path.read_bytes(), forget)[1] > 0
    if _head(path).startswith(streams.ZIP):
        return False
    return any(forget.touches(line) for line in _lines(path, own))


def write_without(path: Path, beside: Path, forget: Forget, own: Sequence[PostForm] = ()) -> int:
    """Write the file without purged data, and return how many lines changed."""
    if path.suffix.lower() in SHEETS:
        text, changed = _sheet(path.read_bytes(), forget)
        beside.write_bytes(text)
        return changed
    packed = kind(_head(path))
    if streams._is_tar(path, packed):  # noqa: SLF001 - likewise
        return _write_tar(path, beside, packed, forget, own)
    if packed == "zst" and pages.is_ours(path):
        pages.resume(path)
    with path.open("rb") as source, beside.open("wb") as target:
        return _copy(unpacked(source, packed), target, packed, forget, formats.with_own(own))


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(6)


def _is_json(path: Path) -> bool:
    """True if a file is rows of JSON, which are rewritten line by line."""
    with path.open("rb") as file:
        return file.read(CHUNK).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in {b"{", b"["}


def _refuse_table(path: Path, tables: list[streams.Job], forget: Forget) -> None:
    """Refuse other kinds of tables that contain a purged post, because they cannot be rewritten unchanged otherwise."""
    for job in tables:
        with doubted(path, remedy=MEND):
            for number, cells, problem in open_table(partial(streams.open_whole, job, Limits())).rows():
                if not forget.names.isdisjoint(
                    storage.restored(cell.strip()) for cell in (*cells, *problem.split())
                ):
                    raise InputError(
                        "names posts to be purged, and cannot be rewritten",
                        file=path,
                        row=number,
                        remedy="Take the row out with the program that wrote the file, or bring it in with "
                        "`covmis posts add --convert` and remove it; then purge again",
                    )


def _lines(path: Path, own: Sequence[PostForm]) -> Iterator[bytes]:
    for job in streams.jobs([(path, path.name)], own):
        for number, line in enumerate(streams.lines(job, forms=own)):
            if number % GETS_ON == 0:
                got_on()
            _, _, content, problem = line
            if problem and not content:
                raise InputError(problem, file=path, remedy=MEND)
            yield content


def _copy(stream: IO[bytes], target: IO[bytes], packed: str, forget: Forget, forms: formats.Forms) -> int:
    """Copy lines from one file to the other. Pages of `covmis collect` stay one frame each, as `resume` requires."""
    first = stream.read(CHUNK)
    if streams.is_document(first) and not first.lstrip().startswith(streams.SCRIPT):
        data, changed = _document(first + stream.read(), forget)
        _pack(target, packed, data)
        return changed
    changed = 0
    reader = io.BufferedReader(_After(first, stream), 1 << 20)
    out: IO[bytes] | None = None
    for number, line in enumerate(reader):
        if number % GETS_ON == 0:
            got_on()
        kept, differs = line_without(line, forget, forms)
        changed += differs
        if packed == "zst" and line.startswith(STAMPED):
            _pack(target, packed, kept)
            continue
        out = out or _packing(target, packed)
        out.write(kept)
    if out is not None and out is not target:
        out.close()
    return changed


def line_without(line: bytes, forget: Forget, forms: formats.Forms) -> tuple[bytes, int]:
    """Return the line without purged data, and whether it changed. A line without other content becomes empty."""
    if not line.strip() or not forget.touches(line):
        return line, 0
    form = forms.detect(line)
    if forms.is_whole(form):
        return _whole_line(line, forms.reader(form), forget)
    before = _decoded(line)
    if not isinstance(before, dict | list):
        return (b"", 1) if before is None or forget.without({"value": before})["value"] is None else (line, 0)
    whole = {"": before} if isinstance(before, list) else before
    left = forget.without(whole)
    after = left.get("") if isinstance(before, list) else left
    if after == before:
        return line, 0
    return (json.dumps(after, ensure_ascii=True).encode() + b"\n" if _holds(after) else b""), 1


def _holds(value: Any) -> bool:
    """True if there is any content besides brackets."""
    if isinstance(value, dict | list):
        return any(map(_holds, value.values() if isinstance(value, dict) else value))
    return True


def _whole_line(line: bytes, read: Callable[[bytes], list[Post]], forget: Forget) -> tuple[bytes, int]:
    """Keep or remove a line as a whole, for formats that need it."""
    try:
        posts = read(line)
    except formats.UNREADABLE:
        return line, 0
    kept = [post for post in posts if post.post_id not in forget.posts and post.repost_of not in forget.posts]
    if len(kept) == len(posts):
        return line, 0
    if kept:
        raise InputError(
            f"contains posts to be purged next to {len(kept):,} other posts, and cannot be rewritten",
            remedy="Bring it in with `covmis posts add --convert`, remove it, then purge again",
        )
    return b"", 1


def _decoded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _document(data: bytes, forget: Forget) -> tuple[bytes, int]:
    before = json.loads(data.removeprefix(b"\xef\xbb\xbf"))
    after = forget.without({"": before})[""]
    return json.dumps(after, ensure_ascii=True, indent=0).encode(), int(after != before)


def _sheet(data: bytes, forget: Forget) -> tuple[bytes, int]:
    """Remove rows of a table that name a purged post or author in any cell, and make URLs of them invalid."""
    text = data.decode("utf-8-sig", "surrogateescape")
    separator = separator_of(text)
    quotes_are_literal = quotation_marks.are_literal(lambda: io.StringIO(text, newline=""), separator)
    # a rough check is enough: the result is verified again
    reader = partial(csv.reader, io.StringIO(text, newline=""), delimiter=separator)
    rows = list(reader(quoting=csv.QUOTE_NONE) if quotes_are_literal else reader())
    kept = [row for row in rows if forget.names.isdisjoint(storage.restored(cell.strip()) for cell in row)]
    left = [[forget.without_addresses(cell) for cell in row] for row in kept]
    changed = len(rows) - len(kept) + sum(before != after for before, after in zip(kept, left, strict=True))
    out = io.StringIO(newline="")
    if quotes_are_literal:
        csv.writer(out, delimiter=separator, quoting=csv.QUOTE_NONE, quotechar=None).writerows(left)
    else:
        csv.writer(out, delimiter=separator).writerows(left)
    mark = "utf-8-sig" if data.startswith(b"\xef\xbb\xbf") else "utf-8"
    return out.getvalue().encode(mark, "surrogateescape"), changed


def _write_tar(path: Path, beside: Path, packed: str, forget: Forget, own: Sequence[PostForm]) -> int:
    """Write a tar file again, member by member, with the same compression."""
    changed = 0
    with path.open("rb") as source, beside.open("wb") as raw:
        out = _packing(raw, packed)
        with (
            tarfile.open(fileobj=unpacked(source, packed), mode="r|") as before,
            tarfile.open(fileobj=out, mode="w|") as after,
        ):
            for member in before:
                changed += _copy_member(before, member, after, forget, formats.with_own(own))
        if out is not raw:
            out.close()
    return changed


def _copy_member(
    before: tarfile.TarFile,
    member: tarfile.TarInfo,
    after: tarfile.TarFile,
    forget: Forget,
    forms: formats.Forms,
) -> int:
    content = before.extractfile(member) if member.isfile() else None
    if content is None:
        after.addfile(member)
        return 0
    data = content.read()
    inner = kind(data[:6])
    rewritten = io.BytesIO()
    changed = _copy(unpacked(io.BytesIO(data), inner), rewritten, inner, forget, forms)
    member.size = rewritten.tell()
    rewritten.seek(0)
    after.addfile(member, rewritten)
    return changed


def _packing(target: IO[bytes], packed: str) -> IO[bytes]:
    """Return a writer with the file's compression that leaves the target open."""
    if packed == "gz":
        return gzip.GzipFile(fileobj=target, mode="wb", mtime=0)  # type: ignore[return-value]
    if packed == "bz2":
        return bz2.BZ2File(target, "wb")
    if packed == "xz":
        return lzma.LZMAFile(target, "wb")
    if packed == "zst":
        return zstandard.ZstdCompressor(write_checksum=True).stream_writer(target, closefd=False)
    return target


def _pack(target: IO[bytes], packed: str, data: bytes) -> None:
    out = _packing(target, packed)
    out.write(data)
    if out is not target:
        out.close()


class _After(io.RawIOBase):
    """A stream whose first bytes were already read."""

    def __init__(self, first: bytes, stream: IO[bytes]) -> None:
        self.first, self.stream = first, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.first[: len(buffer)] or self.stream.read(len(buffer))
        self.first = self.first[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)
