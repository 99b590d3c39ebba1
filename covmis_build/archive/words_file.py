"""The words of a store's part, in a memory-mapped file that is built on first use."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from covmis_build import checked_parquet, storage
from covmis_build.text.numbering import Numbered, Numbering

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

VERSION = f"5.{unicodedata.unidata_version}"
"""Increased manually when tokenisation or the file's content changes."""

FOLDER = "words"
"""The folder next to the parts with one word file per part."""

SEGMENT = 100_000
"""Posts whose words are numbered together, which limits memory."""

KINDS = {"words": pa.large_string(), "tokens": pa.uint32(), "texts": pa.uint32()}
SCHEMA = pa.schema([(name, pa.large_list(KINDS.get(name, pa.int64()))) for name in Numbered._fields])


def segments(part: Path, folder: Path) -> list[Numbered]:
    """Return the words of a part in segments of row groups. The word file is built if missing or broken."""
    path = file_of(part.stem, folder)
    try:
        return _mapped(path)
    except (FileNotFoundError, pa.ArrowInvalid):
        with storage.replacing(path) as beside, pa.ipc.new_file(str(beside), SCHEMA) as writer:
            for words in _numbered(part):
                writer.write_batch(_batch(words))
        return _mapped(path)


def file_of(part: str, folder: Path) -> Path:
    """Return the path of a part's word file."""
    return folder / f"{part}-{VERSION}.arrow"


def _mapped(path: Path) -> list[Numbered]:
    with pa.memory_map(str(path)) as source:
        file = pa.ipc.open_file(source)
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
