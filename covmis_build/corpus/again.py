"""Write the files of a release again, from its own tables and facts, and compare them.

Of this version's releases every byte is compared. Files of earlier versions were written otherwise: of theirs, rows and numbers.
"""

from __future__ import annotations

import json
import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.anchors import OF_ROOT
from covmis_build.corpus import people_labels
from covmis_build.corpus.convert import read_corpus
from covmis_build.corpus.design import in_order, read_design
from covmis_build.corpus.parquet_form import is_alike
from covmis_build.corpus.publish import BUNDLE, STATISTICS, Content, write_tables, write_texts
from covmis_build.corpus.resources import (
    CLAIMS,
    DIVIDED,
    PAIRED,
    PARTS,
    PEOPLE,
    soft_resource,
    weights_of_release,
)
from covmis_build.corpus.signature import SIGNATURE
from covmis_build.corpus.statistics import SHARES, statistics
from covmis_build.errors import doubted
from covmis_build.places import CHECKSUMS, DESIGN
from covmis_build.report.terminal import plain

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.corpus.release_facts import ReleaseFacts

CLOSE = 1e-9
NOT_MADE_AGAIN = {BUNDLE, CHECKSUMS, SIGNATURE, OF_ROOT}
"""Files that have checks of their own."""


def content_of(folder: Path, facts: ReleaseFacts, corpus: pd.DataFrame) -> Content:
    """Read what the files of a release are made of."""
    import pandas as pd

    with doubted(folder / STATISTICS):
        told = json.loads((folder / STATISTICS).read_bytes())
        shares = pd.DataFrame(told["shares"], columns=SHARES).fillna({"why": ""})
        numbers = statistics(corpus, facts.labels.values, shares=shares)
        lengths = pd.DataFrame(told["lengths"], columns=None if told["lengths"] else numbers.lengths.columns)
    numbers = replace(
        numbers,
        lengths=lengths,
        claim_sizes=_as_released(numbers.claim_sizes, told["claim_sizes"]),
        weights=_as_released(numbers.weights, told["weights"]),
    )
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


def _as_released(ours: pd.DataFrame, told: Any) -> pd.DataFrame:
    """Return the released numbers if they are ours to nine digits: machines that add in another order have other last digits."""
    rows = plain(ours)
    if rows == told or not same(told, rows):
        return ours
    import pandas as pd

    return pd.DataFrame(told, columns=ours.columns).astype(ours.dtypes)


def differing(folder: Path, facts: ReleaseFacts, content: Content, *, exactly: bool) -> list[str]:
    """Return the files of a release that are not what covmis writes from its tables and facts, also those more or less."""
    with tempfile.TemporaryDirectory() as scratch:
        again = Path(scratch)
        write_tables(again, facts, content)
        for path in again.rglob(
            "*.parquet"
        ):  # texts have the hashes of these: of other bytes for the same rows, too
            released = folder / path.relative_to(again)
            if released.is_file() and _is_alike(released, path):
                storage.write_bytes(path, released.read_bytes())
        write_texts(again, facts, content)
        written, there = (_files(each) for each in (again, folder))
        if not exactly:
            written = {name for name in written if name.endswith((".csv", ".jsonl", ".parquet", STATISTICS))}
            there &= written
        alike = _is_alike if exactly else _tells_the_same
        return sorted(
            name for name in written | there
            if name not in written or name not in there or not alike(folder / name, again / name)
        )  # fmt: skip


def _files(folder: Path) -> set[str]:
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return names - NOT_MADE_AGAIN


def _is_alike(told: Path, again: Path) -> bool:
    if told.suffix == ".parquet":
        return is_alike(told.read_bytes(), again.read_bytes())
    return told.read_bytes() == again.read_bytes()


def _tells_the_same(told: Path, again: Path) -> bool:
    """True if both files have the same rows or numbers, in the columns that both have."""
    import pandas as pd

    if told.name == STATISTICS:
        one, other = (json.loads(path.read_bytes()) for path in (told, again))
        return all(same(one.get(name), value) for name, value in other.items())
    if told.stem in {"corpus", *PARTS}:
        return read_corpus(told).equals(read_corpus(again.with_suffix(".parquet")))
    read = pd.read_parquet if told.suffix == ".parquet" else _numbers
    rows, wanted = read(told), read(again)
    both = [name for name in rows if name in wanted]
    return same(rows[both].to_numpy().tolist(), wanted[both].to_numpy().tolist())


def _numbers(path: Path) -> pd.DataFrame:
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
