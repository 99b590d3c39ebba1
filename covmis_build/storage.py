"""All writes of covmis: next to the target first, then renamed, so that an interruption never leaves a partial file.

When a function returns, its result is on disk: the file, its name, and the folders created for it.
"""

from __future__ import annotations

import csv
import datetime as dt
import errno
import hashlib
import io
import os
import re
import shutil
import socket
import sys
import tempfile
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from covmis_build.addresses import Address
from covmis_build.errors import MADE_AGAIN, InputError, InUse

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    import pandas as pd
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

STUDY, REGISTER = "study.toml", "data/outputs.txt"
COVMIS_PLACES = (
    "queries/", "annotation/", "data/archive/", "data/build/", "data/collect/", "data/intents/", "data/release/",
)  # fmt: skip
"""covmis's own files in a study, which a purge always searches."""

DANGEROUS = ("=", "+", "-", "@", "\t", "\r", "|", "%")
"""Characters that spreadsheets may interpret as the start of a formula."""


@contextmanager
def replacing(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Yield a path to write to; it replaces the target only if the block ends without an error.

    A private file is readable only by its owner from its first byte. A link stays a link: its target is replaced. Remote files are
    written locally first, and then uploaded at once.

    >>> target = Path(tempfile.mkdtemp()) / "corpus.csv"
    >>> with replacing(target) as beside:
    ...     _ = beside.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    if isinstance(path, Address):
        with tempfile.TemporaryDirectory() as folder:
            yield (whole := Path(folder, path.name))
            path.put(whole)
        return
    target = _target(path)
    with _reporting_failed_write(path), _temporary(target, _new_file) as beside:
        _register(path)
        yield beside
        _flush(beside)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        beside.chmod(0o600 if private else mode)
        beside.replace(target)
    _flush_folder(target.parent)


def _target(path: Path) -> Path:
    """Return the file, or the target of a link; in a study never one outside, because its files may come from someone else."""
    if not path.is_symlink():
        return path
    study = _study_of(path)
    return inside(study, path).resolve() if study else path.resolve()


@contextmanager
def _reporting_failed_write(path: Path) -> Iterator[None]:
    """Report a failed write in one line (the old file is unchanged)."""
    try:
        yield
    except OSError as error:
        raise _unwritten(error, path) from error


@contextmanager
def _temporary(target: Path, create: Callable[[Path], Path]) -> Iterator[Path]:
    """Create a file or folder next to the target, locked during its process's life, and deleted at the end if still there."""
    _make_folder(target.parent)
    _sweep(target.parent)
    for last in (False, False, True):  # another command's cleanup may delete it before it is locked
        beside = create(target)
        try:
            handle = os.open(beside, os.O_RDONLY)
        except OSError as error:
            _let_go_of(beside)
            if last or not isinstance(error, FileNotFoundError):
                raise
            continue
        if last or (_try_lock(handle) and beside.exists()):
            break
        os.close(handle)
    try:
        yield beside
    finally:
        os.close(handle)
        _let_go_of(beside)


def _new_file(target: Path) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{target.name}{OURS}", suffix=".part", dir=target.parent)
    os.close(handle)
    return Path(name)


def _new_folder(target: Path) -> Path:
    return Path(tempfile.mkdtemp(prefix=f".{target.name}{OURS}", suffix=".part", dir=target.parent))


def _let_go_of(beside: Path) -> None:
    if beside.is_dir():
        shutil.rmtree(beside, ignore_errors=True)
    else:
        beside.unlink(missing_ok=True)


_swept: set[Path] = set()


def _sweep(folder: Path) -> None:
    """Delete leftovers of interrupted commands in this folder; locked ones are in use.

    Once per process and folder: processes delete their own leftovers.
    """
    if folder in _swept:
        return
    for path in folder.glob(f".*{OURS}*.part"):
        with suppress(OSError):  # another command may do the same
            handle = os.open(path, os.O_RDONLY)
            try:
                if _try_lock(handle):
                    _let_go_of(path)
            finally:
                os.close(handle)
    _swept.add(folder)


def _make_folder(folder: Path) -> None:
    """Create a folder and its parents; each is on disk when this returns."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _flush_folder(folder.parent)


OURS = ".covmis-"
"""Part of the names of all temporary files: other programs write hidden `.part` files, too."""

_UNSIGNED = re.compile(r"\.(?P<target>.+)\.[a-z0-9_]{8}\.part")
"""Names of temporary files in covmis 0.1.0."""


def is_unfinished(path: Path) -> bool:
    """True if an interrupted write of covmis left this file next to its target."""
    if not (path.name.startswith(".") and path.suffix == ".part"):
        return False
    unsigned = _UNSIGNED.fullmatch(path.name)
    return OURS in path.name or (unsigned is not None and path.with_name(unsigned["target"]).exists())


def inside(folder: Path, path: Path) -> Path:
    """Return this path if its resolved target is in the folder; other files must not be published or changed."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(
            "leads out of the study's folder", file=path, remedy="Put the file itself into the study"
        )
    return path


def moment(at: float | None = None) -> str:
    """Format a time in seconds (default: now) as in tables and records: UTC, to the second."""
    when = dt.datetime.now(dt.UTC) if at is None else dt.datetime.fromtimestamp(at, dt.UTC)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def outputs_of(study: Path) -> list[Path]:
    """Return files of this study that commands wrote to places chosen by the user; a purge searches them, too."""
    register = study / REGISTER
    if not register.exists():
        return []
    lines = [study / line for line in whole_lines(register) if line]
    return [path for path in lines if path.resolve().is_relative_to(study.resolve())]


def _register(path: Path) -> None:
    """Record a file written into a study outside covmis's own places."""
    if study := _study_of(path):
        below = path.absolute().relative_to(study).as_posix()
        known = below.startswith(COVMIS_PLACES) or below == STUDY
        if not known and study / below not in outputs_of(study):
            append_line(study / REGISTER, below.encode())


def _study_of(path: Path) -> Path | None:
    """Return the folder of the study that contains this file, if any."""
    return next((folder for folder in path.absolute().parents if (folder / STUDY).is_file()), None)


def _unwritten(error: OSError, path: Path) -> InputError:
    """Return the error message for a failed write (the old file is unchanged)."""
    return InputError(
        f"cannot write: {error.strerror or error}", file=path, remedy="The previous state is untouched"
    )


@contextmanager
def filling(path: Path) -> Iterator[Path]:
    """Yield a folder to fill, which gets its name when it is complete; for names derived from content.

    An existing folder of this name has the same content and is kept.

    >>> target = Path(tempfile.mkdtemp()) / "weights-1f3a"
    >>> with filling(target) as beside:
    ...     _ = (beside / "head").write_text("whole")
    >>> [one.name for one in target.parent.iterdir()]
    ['weights-1f3a']
    """
    with _reporting_failed_write(path), _temporary(path, _new_folder) as beside:
        _register(path)
        yield beside
        for inside_it in [*beside.rglob("*"), beside]:
            _flush(inside_it)
        beside.chmod(0o777 & ~_umask())
        if not path.is_dir():
            beside.rename(path)
    _flush_folder(path.parent)


def make_closed(folder: Path) -> None:
    """Create a folder that accounts outside its group cannot open; one that is there is left as it is."""
    if not folder.exists():
        with _reporting_failed_write(folder):
            _make_folder(folder)
            folder.chmod(0o770 & ~_umask())


def put(path: Path, target: Path) -> None:
    """Replace a file by a finished one."""
    path.replace(target)
    _flush_folder(target.parent)


def move(path: Path, target: Path) -> None:
    """Move a file or folder within a study, at once; a target that is there is replaced only by a file."""
    with _reporting_failed_write(target):
        _make_folder(target.parent)
        path.rename(target)
    for folder in (target.parent, path.parent):
        _flush_folder(folder)
    _read.cache_clear()


def fetch(source: Path, target: Path, *, sha256: str = "") -> None:
    """Copy a remote file completely or not at all. Content with another hash (or beginning of it) is refused."""
    with replacing(target) as beside:
        with beside.open("wb") as file, source.open("rb") as far:
            shutil.copyfileobj(far, file, 1 << 22)
        if not sha256_of(beside).startswith(sha256):
            raise InputError("is not the file that was made", file=source, remedy=MADE_AGAIN)


def state_of(path: Path) -> tuple[int, ...]:
    """Return what tells that a file was changed: also if its size is the same and its time was set back."""
    at = path.stat()
    return (at.st_size, at.st_mtime_ns, at.st_ctime_ns, at.st_ino)


def sha256_of(path: Path) -> str:
    """Return the hash of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove(path: Path) -> None:
    """Delete a file or folder of covmis durably. A missing one is no error."""
    if isinstance(path, Address):
        path.remove()
        return
    if path.is_dir() and not path.is_symlink():
        with suppress(FileNotFoundError):  # another command may delete the same
            shutil.rmtree(path)
    elif path.exists() or path.is_symlink():
        path.unlink(missing_ok=True)
    else:
        return
    _flush_folder(path.parent)


@contextmanager
def locked(path: Path, what: str, of: str = "the study") -> Iterator[None]:
    """Hold a lock file during the block. A second holder is refused with the name of the first.

    The operating system releases the lock when its holder ends for any reason. Child processes do not keep it.
    """
    try:
        _make_folder(path.parent)
        opened = _target(path).open("a+")
    except OSError as error:
        raise _unwritten(error, path) from error
    with opened as file:
        if not _try_lock(file.fileno()):
            file.seek(0)
            holder = file.read().strip() or "another process"
            raise InUse(f"{of} is in use by {holder}", remedy="Wait for it to end, or end it")
        file.truncate(0)
        since = dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        file.write(f"`{what}` (process {os.getpid()} on {socket.gethostname()}, since {since})")
        file.flush()
        _held.append(file)
        try:
            yield
        finally:
            _held.remove(file)
            file.truncate(0)


_held: list[IO[str]] = []


def _let_go() -> None:
    """In a forked process: close the parent's locks, which would otherwise stay locked."""
    for file in _held:
        file.close()
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _wait_for_lock(handle: int) -> None:
    """Lock an open file, waiting for other processes that append to it. Where a file system knows no locks there is none."""
    with suppress(OSError):
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


FAILED = {errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""Errors of a disk or a machine at its limits; other errors mean that a folder cannot be synced there at all."""


def _flush_folder(path: Path) -> None:
    """Sync a folder, so that a new name is on disk; systems without this have their own guarantees."""
    try:
        _flush(path)
    except OSError as error:
        if error.errno in FAILED:
            raise InputError(
                f"it may not be on disk: {error.strerror}",
                file=path,
                remedy="Run the command again",
            ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8 with plain line ends."""
    write_bytes(path, text.encode("utf-8", "surrogatepass"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write these bytes."""
    with replacing(path) as beside:
        beside.write_bytes(data)


def write_table(path: Path, frame: pd.DataFrame, table: str) -> None:
    """Write a DataFrame as this table, in Parquet."""
    from covmis_build import checked_parquet, tables

    with replacing(path) as beside:
        checked_parquet.write(beside, tables.conform(frame, table))
    _read.cache_clear()  # a clock with a resolution of two seconds (USB stick) cannot distinguish two writes


def append_bytes(path: Path, data: bytes) -> None:
    """Append bytes to a file, on disk when this returns; for journals whose readers ignore an incomplete end."""
    with _reporting_failed_write(path):
        _make_folder(path.parent)
        _register(path)
        new = not path.exists()
        with _target(path).open("ab", buffering=0) as file:
            written = file.write(data)
            os.fsync(file.fileno())
    if new:
        _flush_folder(path.parent)
    if written != len(data):
        raise InputError("cannot write: the disk is full", file=path)


def append_line(path: Path, line: bytes) -> None:
    """Append one line to a journal, completely or not at all. An incomplete last line is removed first."""
    with _reporting_failed_write(path):
        _make_folder(path.parent)
        new = not path.exists()
        handle = os.open(_target(path), os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _wait_for_lock(handle)  # two processes may append at once; closing the file ends the lock
            end = _whole_lines(handle)
            os.ftruncate(handle, end)
            os.lseek(handle, end, os.SEEK_SET)
            written = os.write(handle, line + b"\n")
            os.fsync(handle)
        finally:
            os.close(handle)
    if new:
        _flush_folder(path.parent)
    if written != len(line) + 1:
        raise InputError("cannot write: the disk is full", file=path)


def whole_lines(path: Path) -> list[str]:
    """Return the lines of a journal that `append_line` writes, without what a killed command began to write."""
    return path.read_bytes().rpartition(b"\n")[0].decode("utf-8").split("\n")


def _whole_lines(handle: int) -> int:
    """Return the length of the file without an incomplete last line."""
    end = os.lseek(handle, 0, os.SEEK_END)
    while end > 0:
        begin = max(0, end - (1 << 20))
        os.lseek(handle, begin, os.SEEK_SET)
        last = os.read(handle, end - begin).rfind(b"\n")
        if last >= 0:
            return begin + last + 1
        end = begin
    return 0


def cut(path: Path, size: int) -> None:
    """Shorten a journal to its complete entries."""
    with path.open("r+b") as file:
        file.truncate(size)
        os.fsync(file.fileno())


RESTORED = "Restore it from a copy: it cannot be rebuilt"


def read_table(path: Path, table: str, *, among: tuple[str, Collection[str]] | None = None) -> pd.DataFrame:
    """Read a table from Parquet, or its rows with one of these values in a column; a missing file is empty."""
    from covmis_build import records, tables

    if not path.exists():
        return tables.empty(table)
    rows = read_parquet(path, records.needed(table), _remedy(table), among=among)
    return tables.frame(tables.with_later(rows, table))


def read_once(path: Path, table: str) -> pd.DataFrame:
    """Read a table, cached until its file changes; the cache has the last few tables."""
    if not path.exists():
        return read_table(path, table)
    kept = _read(path, table, state_of(path))
    return kept.copy(deep=False)  # pandas copies a column when it is modified


@lru_cache(maxsize=8)
def _read(path: Path, table: str, state: tuple[int, ...]) -> pd.DataFrame:  # noqa: ARG001 - part of the key
    return read_table(path, table)


def _remedy(table: str) -> str:
    return RESTORED if table in {"frozen", "labels", "gold"} else MADE_AGAIN


def read_rows(path: Path, table: str) -> list[dict[str, Any]]:
    """Read a small table as rows, without loading pandas; a missing file is empty."""
    from covmis_build import records, tables

    if not path.exists():
        return []
    names = tables.SCHEMAS[table].names
    kept = read_parquet(path, records.needed(table), _remedy(table), only=names)
    rows: list[dict[str, Any]] = tables.with_later(kept, table).select(names).to_pylist()
    return rows


def read_column(path: Path, column: str, remedy: str = MADE_AGAIN) -> list[Any]:
    """Read one column of a table."""
    return list(read_parquet(path, [column], remedy, only=[column]).column(column).to_pylist())


def read_columns(path: Path, columns: list[str]) -> pd.DataFrame:
    """Read some columns of a table."""
    frame: pd.DataFrame = read_parquet(path, columns, MADE_AGAIN, only=columns).to_pandas()
    return frame


def read_parquet(
    path: Path,
    needs: Sequence[str],
    remedy: str,
    only: list[str] | None = None,
    among: tuple[str, Collection[str]] | None = None,
) -> pa.Table:
    """Read a Parquet file that must have these columns; others are refused with this remedy."""
    from covmis_build import checked_parquet

    with checked_parquet.reading(path, remedy) as file:
        table = file.read(only) if among is None else _rows_among(file, only, *among)
    missing = [name for name in needs if name not in table.column_names]
    if missing:
        raise InputError(f"lacks the columns {', '.join(missing)}", file=path, remedy=remedy)
    return table


def _rows_among(file: ParquetFile, only: list[str] | None, column: str, wanted: Collection[str]) -> pa.Table:
    """Return the rows with one of these values in a column, reading one row group at a time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from covmis_build import tables

    values = tables.column(sorted(wanted), tables.STRING)
    groups = (file.read_row_group(number, only) for number in range(file.num_row_groups))
    kept = [group.filter(pc.is_in(group.column(column), values)) for group in groups]
    return pa.concat_tables(kept) if kept else file.read(only)


def csv_bytes(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    """Return CSV for spreadsheets: UTF-8 with byte order mark, and cells that look like formulas made harmless."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(header)
    writer.writerows([harmless(cell) for cell in row] for row in rows)
    return out.getvalue().encode("utf-8-sig", "surrogatepass")


def harmless(cell: Any) -> Any:
    """Prevent a cell from being a formula: an apostrophe precedes a possible formula or apostrophe.

    >>> harmless("=1+1"), harmless("'quoted'"), harmless("plain"), harmless(-3)
    ("'=1+1", "''quoted'", 'plain', -3)
    """
    if isinstance(cell, str) and cell.startswith(("'", *DANGEROUS)):
        return "'" + cell
    return cell


def restored(cell: str) -> str:
    """Return the cell before `harmless`.

    >>> restored(harmless("=1+1")), restored(harmless("'quoted'")), restored("'tis")
    ('=1+1', "'quoted'", "'tis")
    """
    return cell[1:] if cell[:1] == "'" and cell[1:2] in {"'", *DANGEROUS} else cell
