"""Counts of the values of columns, without a database: to load one takes longer than to count."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from covmis_build import checked_parquet, tables
from covmis_build.errors import MADE_AGAIN, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Coded:
    """A column: its distinct values, and the place of each row's value among them."""

    dictionary: pa.Array
    codes: NDArray[np.int64]

    @cached_property
    def values(self) -> list[str]:
        """Return the distinct values."""
        return list(self.dictionary.to_pylist())

    def rows(self, *values: str) -> NDArray[np.bool_]:
        """Return which rows have one of these values."""
        return np.array([value in values for value in self.values], bool)[self.codes]

    def places_in(self, among: Coded) -> NDArray[np.int64]:
        """Return the place of each row's value among the distinct values of another column; -1 if it has none there."""
        import pyarrow.compute as pc

        known, places = pc.is_in(self.dictionary, among.dictionary), np.full(len(self.dictionary), -1)
        found_at = pc.index_in(self.dictionary.filter(known), among.dictionary)
        places[tables.numbers(known)] = tables.numbers(found_at)
        return places[self.codes]


def coded(path: Path, *columns: str) -> list[Coded]:
    """Read columns of texts."""
    if not path.exists():  # a purge deletes tables
        raise InputError("is missing", file=path, remedy="Make it with `covmis run`")
    with checked_parquet.reading(path, dictionaries=columns) as file:
        missing = [name for name in columns if name not in file.schema_arrow.names]
        if missing:
            raise InputError(f"lacks the columns {', '.join(missing)}", file=path, remedy=MADE_AGAIN)
        table = file.read(list(columns)).unify_dictionaries()
    arrays = [table.column(name).combine_chunks() for name in columns]
    return [Coded(array.dictionary, tables.numbers(array.indices).astype(np.int64)) for array in arrays]


def together(columns: Sequence[Coded]) -> NDArray[np.int64]:
    """Return one number per row: the same for rows with the same values."""
    numbers = np.zeros(len(columns[0].codes), np.int64)
    for column in columns:
        numbers = numbers * len(column.dictionary) + column.codes
    return numbers


def counts(path: Path, *columns: str) -> dict[tuple[str, ...], int]:
    """Return how many rows have each combination of these columns' values, in the order of the values."""
    parts = coded(path, *columns)
    _, first, sizes = np.unique(together(parts), return_index=True, return_counts=True)
    rows = {
        tuple(part.values[part.codes[at]] for part in parts): int(size)
        for at, size in zip(first.tolist(), sizes.tolist(), strict=True)
    }
    return dict(sorted(rows.items()))


def distinct(path: Path, *columns: str) -> int:
    """Return the number of different combinations of these columns' values."""
    return len(np.unique(together(coded(path, *columns))))
