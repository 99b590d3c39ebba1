"""What nothing costs to read, by the gigabyte: `python -m tests.bombs`.

The promise is 10 CPU s and 300 MB each; of Parquet and Arrow, what the child may take that reads them, here a gigabyte.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import resource
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

GIGABYTE, PIECE = 1 << 30, b"\0" * (1 << 20)
MOST_MEMORY = 300.0
PACKED = {
    "zst": lambda path: zstandard.ZstdCompressor().stream_writer(path.open("wb"), closefd=True), "gz": gzip.open,
    "bz2": bz2.open, "xz": lzma.open,
}  # fmt: skip
NAMES = (
    "zeros.jsonl.zst", "zeros.jsonl.gz", "zeros.jsonl.bz2", "zeros.jsonl.xz", "zeros.jsonl.zip", "zeros.tar.gz", "zeros.csv.gz",
    "strings.xlsx", "line.jsonl", "line.csv", "brackets.json", "brackets.jsonl", "rows.parquet", "texts.parquet",
    "lists.parquet", "beginnings.parquet", "padded.parquet", "zeros.arrow", "shared.arrow",
)  # fmt: skip


class Cost(NamedTuple):
    seconds: float
    megabytes: float
    told: str


FAR = (
    '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    '<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData></worksheet>'
)


def far_cell(path: Path) -> Path:
    """A small workbook whose last cell is the last one that a sheet can have."""
    openpyxl.Workbook().save(path)
    with zipfile.ZipFile(path) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as whole:
        for name, content in (parts | {"xl/worksheets/sheet1.xml": FAR.encode()}).items():
            whole.writestr(name, content)
    return path


def make(path: Path, size: int = GIGABYTE) -> None:
    """The bomb of this name, written a megabyte at a time."""
    pieces = size // len(PIECE)
    stem, _, ending = path.name.rpartition(".")
    if ending in {"parquet", "arrow"}:
        (_make_parquet if ending == "parquet" else _make_arrow)(path, size)
        return
    with ExitStack() as stack:
        if path.name.startswith("brackets"):
            path.write_bytes(b"[" * 1_000_000 + b"\n")
            return
        if path.name.startswith("line"):
            target, piece = stack.enter_context(path.open("wb")), b"x" * len(PIECE)
        elif ending in {"zip", "xlsx"}:
            archive = stack.enter_context(zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED))
            for name in ("xl/workbook.xml", "[Content_Types].xml") if ending == "xlsx" else ():
                archive.writestr(name, b"<a/>")
            inside = "xl/sharedStrings.xml" if ending == "xlsx" else stem
            target, piece = stack.enter_context(archive.open(inside, "w", force_zip64=True)), PIECE
        elif ".tar." in path.name:
            tar = stack.enter_context(tarfile.open(path, "w:gz"))
            member = tarfile.TarInfo("zeros.jsonl")
            member.size = pieces * len(PIECE)
            tar.addfile(member, _Zeros(member.size))
            return
        elif ending == "zst":
            target, piece = stack.enter_context(PACKED["zst"](path)), PIECE
        else:
            target, piece = stack.enter_context(PACKED[ending](path, "wb")), PIECE
        for _ in range(pieces):
            target.write(piece)


def _make_parquet(path: Path, size: int) -> None:
    """Rows of one word, twenty million of a gigabyte; or a hundred thousand, with one long text that all share; or a row's list of it."""
    if path.stem in {"beginnings", "padded"}:
        _make_few_long(path, size)
        return
    rows = size // 54 if path.stem == "rows" else 100_000
    word = "garlic" if path.stem == "rows" else "x" * (size >> 10)
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([word]))
    if path.stem == "lists":
        table = pa.table({"id": ["1252934402983700001"], "text": pa.ListArray.from_arrays([0, rows], shared)})
    else:
        ids = pa.DictionaryArray.from_arrays(
            pa.array([0] * rows, pa.int32()), pa.array(["1252934402983700001"])
        )
        table = pa.table({"id": ids, "text": shared})
    pq.write_table(table, path)


def _make_few_long(path: Path, size: int) -> None:
    """Sixty rows of one text, of a gigabyte 32 MB, stored once or by the beginning that each shares; or behind other rows."""
    texts = [
        "x" * (size >> 5),
        *(hashlib.sha256(str(row).encode()).hexdigest()[:20] for row in range(120_000)),
    ]
    at = pa.array([*range(1, len(texts)), *([0] * 60)] if path.stem == "padded" else [0] * 60, pa.int32())
    how = {"use_dictionary": False, "column_encoding": {"id": "PLAIN", "text": "DELTA_BYTE_ARRAY"}}
    schema = pa.schema({"id": pa.string(), "text": pa.dictionary(pa.int32(), pa.string())})
    with pq.ParquetWriter(
        path, schema, compression="zstd", dictionary_pagesize_limit=GIGABYTE, write_batch_size=4, store_schema=False,
        **({} if path.stem == "padded" else how),
    ) as writer:  # fmt: skip
        shared = pa.DictionaryArray.from_arrays(at, pa.array(texts))
        writer.write_table(pa.table({"id": list(map(str, range(len(at)))), "text": shared}, schema))


def _make_arrow(path: Path, size: int) -> None:
    """One text of zeros; or a hundred thousand rows that share one."""
    text = "\0" * (size if path.stem == "zeros" else size >> 10)
    rows = 1 if path.stem == "zeros" else 100_000
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))
    table = pa.table({"id": ["1252934402983700001"] * rows, "text": [text] if rows == 1 else texts})
    with pa.ipc.new_file(path, table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(table)


class _Zeros(io.RawIOBase):
    def __init__(self, left: int) -> None:
        self.left = left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        count = min(len(buffer), self.left)
        buffer[:count] = bytes(count)
        self.left -= count
        return count


def _here(path: Path, act: str) -> Cost:
    """Read, or search as a purge does, in a child process; what it took and how it ended."""
    from covmis_build import children
    from covmis_build.errors import InputError

    children.MOST = GIGABYTE
    try:
        problem, seconds, kilobytes = children.in_child(_told, path, act)
    except InputError as error:
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Cost(spent.ru_utime + spent.ru_stime, 0, error.problem)
    return Cost(seconds, kilobytes / 1024, problem)


def _told(path: Path, act: str) -> tuple[str, float, int]:
    from covmis_build.archive import reader, streams
    from covmis_build.archive.traces import Traces

    began, before = time.process_time(), _most_memory()
    problem = ""
    if act == "read":
        for job in streams.jobs([(path, path.name)]):
            for line in reader.read(job):
                problem = line.problem or problem
    else:
        seen = Traces(["x:1255000000000000003"]).of_file(path)
        problem = f"not searched: {seen.unread}" if seen.unread else str(seen.holds)
    return problem, time.process_time() - began, _most_memory() - before


def _most_memory() -> int:
    """Kilobytes; what `getrusage` says begins with those of the process that started this one."""
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def cost(path: Path, act: str = "read") -> Cost:
    """The same in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bombs", path, act], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[1],
    )  # fmt: skip
    return Cost(*json.loads(done.stdout))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(_here(Path(sys.argv[1]), sys.argv[2])))
        sys.exit()
    for name in NAMES:
        with tempfile.TemporaryDirectory() as scratch:
            bomb = Path(scratch) / name
            make(bomb)
            for act in ("read", "search"):
                spent = cost(bomb, act)
                print(
                    f"| {name} | {bomb.stat().st_size:,} | {act} | {spent.seconds:.1f} | {spent.megabytes:.0f} MB | {spent.told[:70]} |",
                    flush=True,
                )
