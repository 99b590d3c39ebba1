"""The words of a store's part, in a memory-mapped file that is built on first use and has the SHA-256 of itself at its end."""

from __future__ import annotations

import hashlib
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from covmis_build import checked_parquet, storage
from covmis_build.text.numbering import Numbered, Numbering

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

VERSION = f"6.{unicodedata.unidata_version}"
"""Increased manually when tokenisation or the file's content changes."""

FOLDER = "words"
"""The folder next to the parts with one word file per part."""

HASH = 32
"""Bytes of the hash at a file's end."""

SEGMENT = 100_000
"""Posts whose words are numbered together, which limits memory."""

KINDS = {"words": pa.large_string(), "tokens": pa.uint32(), "texts": pa.uint32()}
SCHEMA = pa.schema([(name, pa.large_list(KINDS.get(name, pa.int64()))) for name in Numbered._fields])


def segments(part: Path, folder: Path) -> list[Numbered]:
    """Return the words of a part in segments of row groups. The word file is built if missing or damaged."""
    path = file_of(part.stem, folder)
    if not is_whole(path):
        with storage.replacing(path) as beside:
            with pa.ipc.new_file(str(beside), SCHEMA) as writer:
                for words in _numbered(part):
                    writer.write_batch(_batch(words))
            with beside.open("r+b") as file:
                digest = hashlib.file_digest(file, "sha256").digest()
                file.write(digest)
    return _mapped(path)


def is_whole(path: Path) -> bool:
    """True if a word file is what was written; compared once per process and state of the file."""
    return path.exists() and _has_its_hash(path, storage.state_of(path))


@lru_cache(1 << 10)
def _has_its_hash(path: Path, state: tuple[int, ...]) -> bool:  # noqa: ARG001 - part of the key
    if path.stat().st_size <= HASH:
        return False
    content, digest = _content(path)
    return hashlib.sha256(content).digest() == digest


def in_folder(folder: Path) -> list[Path]:
    """Return the word files of this version."""
    return sorted(folder.glob(f"*-{VERSION}.arrow"))


def _content(path: Path) -> tuple[pa.Buffer, bytes]:
    """Return what a word file has before its hash, without reading it yet, and the hash."""
    with pa.memory_map(str(path)) as source:
        whole = source.read_buffer()
    return whole.slice(0, whole.size - HASH), whole.slice(whole.size - HASH).to_pybytes()


def file_of(part: str, folder: Path) -> Path:
    """Return the path of a part's word file."""
    return folder / f"{part}-{VERSION}.arrow"


def _mapped(path: Path) -> list[Numbered]:
    file = pa.ipc.open_file(_content(path)[0])
    batches = [file.get_batch(number) for number in range(file.num_record_batches)]
    return [
        Numbered(words.values, *(column.values.to_numpy() for column in rest))
        for words, *rest in (batch.columns for batch in batches)
    ]


def _batch(words: Numbered) -> pa.RecordBatch:
    """Return a row in which each field is a list."""
    values: Iterable[tuple[Any, pa.Field]] = zip(words, SCHEMA, strict=True)
    columns = [
        pa.LargeListArray.from_arrays(
            pa.array([0, len(value)], pa.int64()), pa.array(value, field.type.value_type)
        )
        for value, field in values
    ]
    return pa.record_batch(columns, schema=SCHEMA)


def _numbered(part: Path) -> Iterator[Numbered]:
    with checked_parquet.reading(part) as file:
        numbering, rows = Numbering(), 0
        for group in range(file.num_row_groups):
            texts = file.read_row_group(group, ["text"], use_threads=False)["text"].combine_chunks()
            numbering.add(texts)
            rows += len(texts)
            if rows >= SEGMENT or group == file.num_row_groups - 1:
                yield numbering.done()
                numbering, rows = Numbering(), 0


def sweep(folder: Path, parts: Iterable[str]) -> None:
    """Delete the word files of parts that no longer exist."""
    kept = {file_of(part, folder).name for part in parts}
    for path in folder.glob("*.arrow"):
        if path.name not in kept:
            storage.remove(path)
