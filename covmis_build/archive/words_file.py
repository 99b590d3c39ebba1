"""The words of a part of the store, in a file of its own that is mapped into memory, made when first asked for.

A segment is some row groups of the part. It has its texts and its cards' titles as numbers of words, for each word the
texts and titles that have it; and for each piece of an address the rows that link to such an address.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from covmis_build import storage
from covmis_build.text.numbering import RUNS, Numbering
from covmis_build.text.urls import addresses, canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

VERSION = f"2.{unicodedata.unidata_version}"
"""Raised by hand when texts are cut otherwise, or when what is in a file changes."""

FOLDER = "words"
"""The folder next to the parts with a file of words for each."""

SEGMENT = 100_000
"""Posts of a segment: what is in memory while its words are numbered."""

CONTENT, REPOST = 1, 2
"""What `flags` says of a row: it has a text or link; it is a repost."""

COLUMNS = ["post_id", "created_at", "text", "urls", "cards", "repost_of", "has_content"]


class Segment(NamedTuple):
    """Rows of a part: number t of a text is its row; behind the texts come titles, each of the row that `titled` says.

    `tokens`, `start`, `texts` and `first` are as in `text.numbering`. The rows that link to an address with a piece
    `links[p]` are `linking[link_first[p] : link_first[p + 1]]`.
    """

    post_id: pa.LargeStringArray
    created_at: pa.LargeStringArray
    flags: NDArray[np.uint8]
    words: pa.LargeStringArray
    tokens: NDArray[np.uint32]
    start: NDArray[np.int64]
    texts: NDArray[np.uint32]
    first: NDArray[np.int64]
    titled: NDArray[np.int64]
    links: pa.LargeStringArray
    linking: NDArray[np.int64]
    link_first: NDArray[np.int64]


KINDS = {"flags": pa.uint8(), "tokens": pa.uint32(), "texts": pa.uint32()}
KINDS |= dict.fromkeys(("post_id", "created_at", "words", "links"), pa.large_string())
SCHEMA = pa.schema([(name, pa.large_list(KINDS.get(name, pa.int64()))) for name in Segment._fields])


def segments(part: Path, folder: Path) -> list[Segment]:
    """The segments of a part; its file of words is made first if it is missing or broken."""
    path = file_of(part.stem, folder)
    try:
        return _mapped(path)
    except (FileNotFoundError, pa.ArrowInvalid):
        with storage.replacing(path) as beside, pa.ipc.new_file(str(beside), SCHEMA) as writer:
            for segment in _made(part):
                writer.write_batch(_batch(segment))
        return _mapped(path)


def file_of(part: str, folder: Path) -> Path:
    """Where the words of a part are."""
    return folder / f"{part}-{VERSION}.arrow"


def _mapped(path: Path) -> list[Segment]:
    with pa.memory_map(str(path)) as source:
        file = pa.ipc.open_file(source)
        return [_segment(file.get_batch(number)) for number in range(file.num_record_batches)]


def _segment(batch: pa.RecordBatch) -> Segment:
    values: list[Any] = [column.values for column in batch.columns]
    return Segment(*(some if pa.types.is_large_string(some.type) else some.to_numpy() for some in values))


def _batch(segment: Segment) -> pa.RecordBatch:
    columns = [
        pa.LargeListArray.from_arrays(
            pa.array([0, len(values)], pa.int64()), pa.array(values, field.type.value_type)
        )
        for values, field in zip(segment, SCHEMA, strict=True)
    ]
    return pa.record_batch(columns, schema=SCHEMA)


def _made(part: Path) -> Iterator[Segment]:
    with pq.ParquetFile(part) as file:
        waiting, rows = list[int](), 0
        for group in range(file.num_row_groups):
            waiting.append(group)
            rows += file.metadata.row_group(group).num_rows
            if rows >= SEGMENT or group == file.num_row_groups - 1:
                yield _segment_of(file.read_row_group(group, COLUMNS, use_threads=False) for group in waiting)
                waiting, rows = [], 0


def _segment_of(blocks: Iterator[pa.Table]) -> Segment:
    words, links = Numbering(), Numbering(RUNS)
    shown, flags, titles, titled, linking, row = [], [], [], [], [], 0
    for block in blocks:
        texts, cards = (block[name].combine_chunks() for name in ("text", "cards"))
        words.add(texts)
        shown.append(block.select(["post_id", "created_at"]))
        is_repost = np.asarray(pc.not_equal(block["repost_of"], ""))
        flags.append(np.asarray(block["has_content"]) * np.uint8(CONTENT) | is_repost * np.uint8(REPOST))
        card, carded = pc.list_flatten(cards), np.asarray(pc.list_parent_indices(cards), np.int64)
        titles.append(pc.struct_field(card, "title"))
        titled.append(carded + row)
        urls = block["urls"].combine_chunks()
        written = _written(texts)
        for links_of_rows, of in (
            (pc.list_flatten(urls), np.asarray(pc.list_parent_indices(urls), np.int64)),
            (pc.struct_field(card, "url"), carded), written,
        ):  # fmt: skip
            links.add(_with_keys(links_of_rows))
            linking.append(of + row)
        row += len(block)
    for title in titles:
        words.add(title)
    numbered, pieces = words.done(), links.done()
    strings = pa.concat_tables(shown).combine_chunks().columns
    post_id, created_at = (column.chunk(0).cast(pa.large_string()) for column in strings)
    return Segment(
        post_id, created_at, np.concatenate(flags), *numbered, np.concatenate(titled), pieces.words,
        np.concatenate(linking)[pieces.texts], pieces.first,
    )  # fmt: skip


def _written(text: pa.StringArray) -> tuple[pa.StringArray, NDArray[np.int64]]:
    """The addresses written in texts, and the numbers of the texts."""
    told = text
    for shortened in ("https://t.co/", "http://t.co/"):
        told = pc.replace_substring(told, shortened, "")
    rows = np.flatnonzero(np.asarray(pc.match_substring(told, "/")))
    found = [list(addresses(one)) for one in text.take(pa.array(rows)).to_pylist()]
    flat = pa.array([address for some in found for address in some], pa.string())
    return flat, np.repeat(rows, [len(some) for some in found])


def _with_keys(links: pa.StringArray) -> pa.StringArray:
    """Addresses; in place of those that have escapes or letters beyond ASCII, the plain parts of their keys."""
    odd = pc.match_substring_regex(links, "[^!-$&-~]")
    if not pc.any(odd).as_py():
        return links
    keys = [re.sub("%[0-9A-F]{2}", " ", canonical_url(link)) for link in links.filter(odd).to_pylist()]
    return pc.replace_with_mask(links, odd, pa.array(keys, pa.string()))


def sweep(folder: Path, parts: Iterable[str]) -> None:
    """Remove the words of parts that are there no more."""
    kept = {file_of(part, folder).name for part in parts}
    for path in folder.glob("*.arrow"):
        if path.name not in kept:
            storage.remove(path)
