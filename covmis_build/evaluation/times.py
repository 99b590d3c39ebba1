"""Posting times of items: from a time column, or from post ids that contain a time."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError, UnknownName, nearest

if TYPE_CHECKING:
    import pandas as pd

TIMES = ("created_at", "time")
EPOCH_MS = 1288834974657
"""Time origin of X's ids in milliseconds (an id shifted right by 22 counts from it)."""
YEAR_FIRST = re.compile(r"\s*\d{4}(?!\d)")
YEAR_LAST = re.compile(r"(?<![\d:.])(\d{1,2})[./\s-]+(\d{1,2})[./\s-]+(\d{4}|\d\d)(?!\d)")
MONTHS = 12


def times(frame: pd.DataFrame, column: str = "", id_column: str = "") -> list[int]:
    """Return every row's time in milliseconds since 1970, from the time column or else from post ids."""
    names: tuple[str, ...] = (column,) if column else TIMES
    source = next((name for name in names if name in frame.columns), None)
    if source is not None:
        return milliseconds(list(frame[source]))
    if column:
        raise UnknownName(f"there is no column '{column}'", remedy=nearest(column, map(str, frame.columns)))
    names = (id_column,) if id_column else ("native_id", "tweet_id", "post_id", "id")
    source = next((name for name in names if name in frame.columns), None)
    if source is None:
        raise InputError("there are neither times nor post ids", remedy="Add a column created_at")
    return [_time_of_id(str(cell), row) for row, cell in enumerate(frame[source], 1)]


def moments(frame: pd.DataFrame, column: str = "", id_column: str = "") -> list[str]:
    """Return the times as text in UTC, to the second."""
    return [
        datetime.fromtimestamp(moment / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for moment in times(frame, column, id_column)
    ]


def days(frame: pd.DataFrame, column: str = "", id_column: str = "") -> list[str]:
    """Return every row's day (UTC)."""
    return [moment[:10] for moment in moments(frame, column, id_column)]


def _time_of_id(item: str, row: int) -> int:
    digits = item.rpartition(":")[2]
    if not digits.isdecimal() or int(digits) < 1 << 22:
        raise InputError(
            f"no time can be read from the id '{item}'", row=row, remedy="Add a column created_at"
        )
    if int(digits) < 30_000_000_000:
        raise InputError(
            f"the id '{item}' is older than ids that carry a time", row=row, remedy="Add a column created_at"
        )
    return (int(digits) >> 22) + EPOCH_MS


def milliseconds(values: list[Any]) -> list[int]:
    """Parse ISO text, seconds or milliseconds since 1970, or timestamps. Ambiguous dates are refused."""
    import pandas as pd

    try:
        numbers = [float(moment) for moment in values]
    except (TypeError, ValueError):
        for row, moment in enumerate(values, 1):
            if isinstance(moment, str) and _has_two_readings(moment):
                raise InputError(
                    f"'{moment}' may be day or month first", row=row, remedy="Write dates as 2020-01-09"
                ) from None
        parsed = pd.to_datetime(pd.Series(values), utc=True, format="mixed", errors="coerce")
        bad = np.flatnonzero(parsed.isna())
        if len(bad):
            raise InputError(
                f"'{values[bad[0]]}' is no time", row=int(bad[0]) + 1, remedy="Use 2020-04-22T12:34:56Z"
            ) from None
        return [int(moment.timestamp() * 1000) for moment in parsed]
    if not np.isfinite(numbers).all():
        raise InputError("some items have no time", remedy="Fill the column of times")
    scale = 1 if max(map(abs, numbers), default=0) > 1e11 else 1000
    return [int(moment * scale) for moment in numbers]


def _has_two_readings(text: str) -> bool:
    """True if a numeric date that does not begin with the year is ambiguous (day or month first)."""
    date = None if YEAR_FIRST.match(text) else YEAR_LAST.search(text)
    return date is not None and (max(int(date[1]), int(date[2])) <= MONTHS or len(date[3]) == len("yy"))
