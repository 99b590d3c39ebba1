"""Days as lists of claims write them: ISO, English words, a spreadsheet's slashes settled for the whole column."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<month>{'|'.join(MONTHS)})[a-z]*\.?"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"\s*(?P<year>\d{4})-(?P<number>\d\d?)-(?P<day>\d\d?)(?:[T\s].*)?\s*",
        rf"(?:.*\b)?{_MONTH}\s+(?P<day>\d\d?)(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})\b.*",
        rf"(?:.*\b)?(?P<day>\d\d?)(?:st|nd|rd|th)?[\s-]+{_MONTH},?[\s-]+(?P<year>\d{{4}}|\d\d)\b.*",
    )
)
_SLASHES = re.compile(r"\s*(\d\d?)[/.](\d\d?)[/.](\d{4}|\d\d)\b.*")


def days_of(values: Sequence[str]) -> list[str]:
    """Each value as an ISO day, empty where it is none; day and month are told apart by a value above 12.

    >>> days_of([" June 15th  2018", "on Wednesday, October 30th, 2019", "2020-03-01T10:00:00Z", "soon"])
    ['2018-06-15', '2019-10-30', '2020-03-01', '']
    >>> days_of(["03/04/2020", "25/04/2020"]), days_of(["03/04/2020"])
    (['2020-04-03', '2020-04-25'], [''])
    """
    slashes = [match for value in values if (match := _SLASHES.fullmatch(value))]
    day_first = any(int(match[1]) > 12 for match in slashes)
    month_first = any(int(match[2]) > 12 for match in slashes)
    short = [match for match in slashes if len(match[3]) == len("yy") and "/" in match[0]]
    before, behind = ({int(match[at]) for match in short} for at in (1, 3))
    if short and max(behind) <= 31 and len(before) <= len(behind):  # 20/04/21 may begin with the year
        day_first = day_first and month_first
    return [_day(value, day_first=day_first, month_first=month_first) for value in values]


def _day(value: str, *, day_first: bool, month_first: bool) -> str:
    if match := _SLASHES.fullmatch(value):
        if day_first == month_first:  # nothing tells them apart, or they contradict one another
            return ""
        day, month = (match[1], match[2]) if day_first else (match[2], match[1])
        return _iso(match[3], int(month), int(day))
    for form in _FORMS:
        if match := form.fullmatch(value):
            named = match.groupdict()
            month = named.get("number") or MONTHS.index(named["month"].lower()) + 1
            return _iso(named["year"], int(month), int(named["day"]))
    return ""


def _iso(year: str, month: int, day: int) -> str:
    whole = int(year) + (2000 if len(year) == 2 else 0)
    return f"{whole}-{month:02}-{day:02}" if 1 <= month <= 12 and 1 <= day <= 31 else ""
