"""Write the files of a release again, from its own tables and facts, and compare them.

Of this version's releases every byte is compared. Files of earlier versions were written otherwise: of theirs, rows and numbers.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import checked_parquet
from covmis_build.anchors import OF_ROOT
from covmis_build.corpus import people_labels
from covmis_build.corpus.convert import read_corpus
from covmis_build.corpus.design import in_order, read_design
from covmis_build.corpus.publish import BUNDLE, STATISTICS, Content, write_files
from covmis_build.corpus.resources import (
    CLAIMS,
    DIVIDED,
    PAIRED,
    PEOPLE,
    soft_resource,
    weights_of_release,
)
from covmis_build.corpus.signature import SIGNATURE
from covmis_build.corpus.statistics import SHARES, statistics
from covmis_build.errors import doubted
from covmis_build.places import CHECKSUMS, DESIGN

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.parquet as pq

    from covmis_build.corpus.release_facts import ReleaseFacts

CLOSE = 1e-9
NOT_MADE_AGAIN = {BUNDLE, CHECKSUMS, SIGNATURE, OF_ROOT}
"""Files that have checks of their own."""
LIBRARY = re.compile(r"parquet-cpp-arrow version \d+\.\d+\.\d+")


def content_of(folder: Path, facts: ReleaseFacts, corpus: pd.DataFrame) -> Content:
    """Read what the files of a release are made of."""
    import pandas as pd

    with doubted(folder / STATISTICS):
        told = json.loads((folder / STATISTICS).read_bytes())
        shares = pd.DataFrame(told["shares"], columns=SHARES).fillna({"why": ""})
        numbers = statistics(corpus, facts.labels.values, shares=shares)
        lengths = pd.DataFrame(told["lengths"], columns=None if told["lengths"] else numbers.lengths.columns)
    numbers = replace(numbers, lengths=lengths)
    corpus = corpus.sort_values("item_id", kind="stable", ignore_index=True)
    people, soft = PEOPLE.read(folder), soft_resource(numbers.labels).read(folder)
    if people is not None:
        people = people_labels.beside_corpus(people, corpus)
        said = people_labels.in_corpus_labels(people, facts.label_sets)
        soft = people_labels.soft_labels(said, corpus, numbers.labels)
    drawn = read_design(folder / DESIGN)
    return Content(
        corpus,
        numbers,
        people=people,
        soft=soft,
        claims=CLAIMS.read(folder),
        splits=DIVIDED.read(folder),
        weights=weights_of_release(folder).read(folder),
        pairs=PAIRED.read(folder),
        design=drawn and in_order(drawn),
    )


def differing(folder: Path, facts: ReleaseFacts, content: Content, *, exactly: bool) -> list[str]:
    """Return the files of a release that are not what covmis writes from its tables and facts, also those more or less."""
    with tempfile.TemporaryDirectory() as scratch:
        again = Path(scratch)
        write_files(again, facts, content)
        made, there = (_files(each) for each in (again, folder))
        if not exactly:
            made = {name for name in made if name.endswith((".csv", ".jsonl", ".parquet", STATISTICS))}
            there &= made
        alike = is_written_alike if exactly else _tells_the_same
        return sorted(
            name for name in made | there
            if name not in made or name not in there or not alike(folder / name, again / name)
        )  # fmt: skip


def _files(folder: Path) -> set[str]:
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return names - NOT_MADE_AGAIN


def is_written_alike(told: Path, again: Path) -> bool:
    """True if both files have the same bytes, or are Parquet files that differ as two versions of their library do."""
    if told.read_bytes() == again.read_bytes():
        return True
    if told.suffix != ".parquet":
        return False
    with checked_parquet.reading(told) as one, checked_parquet.reading(again) as other:
        libraries = {one.metadata.created_by, other.metadata.created_by}
        return (
            len(libraries) > 1
            and all(LIBRARY.fullmatch(library) for library in libraries)
            and _size(one.metadata) == told.stat().st_size
            and _described(one) == _described(other)
            and one.read().equals(other.read())
        )


def _size(footer: pq.FileMetaData) -> int:
    """Return how large a Parquet file is that holds what its footer names, and nothing else."""
    columns = (
        footer.row_group(group).column(at)
        for group in range(footer.num_row_groups)
        for at in range(footer.num_columns)
    )
    marks = 2 * len(b"PAR1") + 4
    return marks + int(footer.serialized_size) + sum(int(column.total_compressed_size) for column in columns)


def _described(file: pq.ParquetFile) -> Any:
    """Return what a Parquet file says of itself besides its rows, sizes and library."""
    groups = file.metadata.to_dict()["row_groups"]
    kept = ("path_in_schema", "compression", "physical_type", "num_values", "statistics")
    return (
        file.schema_arrow.remove_metadata(),
        sorted(file.metadata.metadata or {}),
        [
            (group["num_rows"], [{name: column[name] for name in kept} for column in group["columns"]])
            for group in groups
        ],
    )


def _tells_the_same(told: Path, again: Path) -> bool:
    """True if both files have the same rows or numbers, in the columns that the first has."""
    import pandas as pd

    if told.name == STATISTICS:
        one, other = (json.loads(path.read_bytes()) for path in (told, again))
        return all(same(one.get(name), value) for name, value in other.items())
    if told.stem == "corpus" or (told.parent.name and told.stem in {"train", "dev", "test"}):
        return read_corpus(told).equals(read_corpus(again))
    read = pd.read_parquet if told.suffix == ".parquet" else _cells
    rows, wanted = read(told), read(again)
    return set(rows) <= set(wanted) and same(rows.to_numpy().tolist(), wanted[[*rows]].to_numpy().tolist())


def _cells(path: Path) -> pd.DataFrame:
    import pandas as pd

    return pd.read_csv(path, keep_default_na=False, encoding="utf-8-sig")


def same(first: Any, second: Any) -> bool:
    """True if equal, numbers to nine digits."""
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[name], second[name]) for name in first)
    if isinstance(first, float) and isinstance(second, int | float):
        return math.isclose(first, second, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(first == second)
