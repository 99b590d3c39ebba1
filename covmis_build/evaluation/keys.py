"""What posts can have in common besides their words: claim, author, thread, address, event, day."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from covmis_build.errors import InputError, UnknownName, nearest
from covmis_build.evaluation.times import days
from covmis_build.files.columns import KEYS, column_of
from covmis_build.text.urls import addresses, canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    Values = Sequence[Sequence[str]]
    """The values of each item: none, one, or several addresses."""

DAY = "day"
"""The key that is no column: the day (UTC) of the item's time."""


def keys_of(
    frame: pd.DataFrame, columns: Iterable[str], *, time: str = "", id_column: str = ""
) -> dict[str, Values]:
    """The values of each of these columns; `day` is computed where no column has this name."""
    keys: dict[str, Values] = {}
    for name in columns:
        if name in frame.columns:
            keys[name] = values_of(frame[name])
        elif name == DAY:
            keys[name] = [(day,) for day in days(frame, time, id_column)]
        else:
            near = nearest(name, map(str, frame.columns))
            raise UnknownName(f"there is no column '{name}'", remedy=near)
    return keys


def known_keys(header: Sequence[str]) -> list[str]:
    """The columns that are called like a claim, an author, a thread, an address or an event.

    >>> known_keys(["text", "claim_id", "Author", "label"])
    ['claim_id', 'Author']
    """
    return list(dict.fromkeys(filter(None, (column_of(header, names) for names in KEYS.values()))))


def words_of(cells: Iterable[Any]) -> list[str]:
    """The texts of these cells; an empty cell has no words."""
    return ["" if cell is None or cell != cell else str(cell) for cell in cells]  # noqa: PLR0124 - NaN


def check_texts(words: Sequence[str]) -> None:
    """Refuse texts that are all empty, as those of a release of ids alone: nothing can be seen in them."""
    if words and not any(text.strip() for text in words):
        raise InputError(f"all {len(words):,} texts are empty", remedy="Fetch them with `covmis hydrate`")


def values_of(cells: Iterable[Any]) -> list[tuple[str, ...]]:
    """The values of each cell. Addresses are compared by the page that they lead to; an empty cell has no value.

    >>> values_of(["anna", "", "https://m.example.org/a?utm_source=x https://example.org/b"])
    [('anna',), (), ('example.org/a', 'example.org/b')]
    """
    return [_values(cell) for cell in cells]


def _values(cell: Any) -> tuple[str, ...]:
    if isinstance(cell, str) and cell.startswith("["):
        with suppress(ValueError):
            cell = json.loads(cell)
    if not isinstance(cell, str) and hasattr(cell, "__iter__"):
        return tuple(dict.fromkeys(value for part in cell for value in _values(part)))
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN
        return ()
    text = str(cell).strip()
    if "://" in text:
        pages = (canonical_url(address) for address in addresses(text.replace("|", " ")))
        # an address without a canonical form, such as one of t.co, is compared as it is written
        return tuple(dict.fromkeys(filter(None, pages))) or (text,)
    return (text,) if text else ()
