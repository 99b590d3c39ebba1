"""Parse times. The format is determined once for a whole column, never guessed cell by cell."""

from __future__ import annotations

import re
from collections import Counter
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from email.utils import parsedate_to_datetime
from enum import IntEnum, StrEnum
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Form(StrEnum):
    """The time format of a column."""

    NONE = ""
    SECONDS = "epoch_s"
    MILLISECONDS = "epoch_ms"
    MICROSECONDS = "epoch_us"
    NANOSECONDS = "epoch_ns"
    EXCEL_DAYS = "days since 1899-12-30"
    ISO = "iso"
    RFC_2822 = "rfc_2822"
    LETTERS = "iso, zone by letters"
    DAY_FIRST = "day/month/year"
    MONTH_FIRST = "month/day/year"
    GIVEN = "as date_format says"
    DAY_OR_MONTH = "day/month/year or month/day/year"


ZONES = {
    "UTC": 0, "GMT": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    "BRT": -3, "CET": 1, "CEST": 2, "UT": 0,
}  # fmt: skip
"""Time zone abbreviations → hours from UTC. Ambiguous ones such as IST and BST are refused by name."""
HALVES = {"AM", "PM"}
"""AM and PM are not time zones. Times in words that contain them are not parsed."""

EARLIEST, LATEST = 10**8, 4_100_000_000
"""Range of a number as seconds since 1970: 1973 to 2099. The ranges for seconds to nanoseconds do not overlap."""
UNITS = ((Form.SECONDS, 1), (Form.MILLISECONDS, 10**3), (Form.MICROSECONDS, 10**6), (Form.NANOSECONDS, 10**9))
MONTHS = 12
EXCEL_EPOCH = datetime(1899, 12, 30, tzinfo=UTC)

_NUMBER = re.compile(r"(\d{9,19})(?:\.0*)?")
_DECIMALS = re.compile(r"(\d{9,10})\.\d+")
_EXCEL = re.compile(r"[3-5]\d{4}(?:\.\d+)?")
_ISO = re.compile(
    r"\d{4}[-/]\d{1,2}[-/]\d{1,2}(?:[T ]+\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?\s*(?:Z|[+-]\d{2}:?\d{2})?)?"
)
_PLAIN_ISO = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
"""Times that Python parses directly, with their zone."""
_SHORT_ISO = re.compile(
    r"(?:\d{8}T\d\d(?:\d\d(?:\d\d(?:[.,]\d{1,6})?)?)?|\d{4}-\d\d-\d\d[T ]\d\d)(Z|[+-]\d\d:?\d\d)?", re.ASCII
)
"""ISO 8601 without separators, or without minutes: Python parses them, too."""
_COMMON_ISO = re.compile(
    r"[12]\d{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])[T ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d"
    r"(?:\.\d{3}(?:\d{3})?)?(?:Z|\+00:00)?",
    re.ASCII,
)
"""The most frequent ISO 8601 format. Days that not every month has are left to the calendar."""
_ZONE = re.compile(r"(?:Z|[+-]\d{2}:?\d{2})$")
_LETTERS = re.compile(r"(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?)\s+([A-Z]{1,5})")
_WORDS = re.compile(r"[A-Za-z]{3},? .*\d{1,2}:\d{2}.*")
_BEHIND = re.compile(
    r"\d{1,2}:\d{2}(?::\d{2})?(?:\s*(?:GMT|UTC?)?([+-]\d{1,2}(?::?\d{2})?)|\s+([A-Za-z]{1,5}))?(?:\s+\d{4})?(?:\s*\([^)]*\))?$"
)
"""The part after the time of day: hours from UTC or an abbreviation, if any."""
LONGEST = 100
"""Maximum number of characters of a time."""
_SLASHED = re.compile(
    r"(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?:[ ,T]+(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([AaPp][Mm])?)?"
)


class TimeForm(NamedTuple):
    """A column's format, and notes on it."""

    form: Form = Form.NONE
    date_format: str = ""
    zone: str = ""
    note: str = ""
    problem: str = ""

    def read(self, cell: str) -> str:
        """Return the cell's time in UTC to the second; empty if it does not have this format."""
        text = cell.strip()
        if self.form is Form.ISO and not self.zone and (common := _common_iso(text)):
            return common
        return _utc(text, self.form, self.date_format, self.zone)

    def moment(self, cell: str) -> datetime | None:
        """Return the cell's time with its zone."""
        return _moment(cell.strip(), self.form, self.date_format, _zone_of(self.zone))


_OF_V1 = re.compile(
    r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) (0[1-9]|1\d|2[0-8]) ((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d) \+0000 ([12]\d{3})",
    re.ASCII,
)
"""The most frequent time format of X's API 1.1. Days that not every month has are left to the calendar."""
_MONTHS = {
    "Jan": "01", "Feb": "02", "Mar": "03", "Apr": "04", "May": "05", "Jun": "06",
    "Jul": "07", "Aug": "08", "Sep": "09", "Oct": "10", "Nov": "11", "Dec": "12",
}  # fmt: skip


def iso(text: str) -> str:
    """Convert a single time of a platform to UTC, to the second: as that of a column of one, where numbers are no days.

    Empty if it cannot be parsed, or may mean several times.

    >>> iso("Wed Jan 01 03:59:03 +0000 2014"), iso("2020-04-22T14:34:56.000+02:00"), iso("4/5/2020")
    ('2014-01-01T03:59:03Z', '2020-04-22T12:34:56Z', '')
    """
    if not text:
        return ""
    if text[0] <= "9":
        if common := _common_iso(text):
            return common
    elif parts := _OF_V1.fullmatch(text):
        month, day, clock, year = parts.groups()
        if month in _MONTHS:
            return f"{year}-{_MONTHS[month]}-{day}T{clock}Z"
    alone = settle([text])
    return "" if alone.problem or alone.form is Form.EXCEL_DAYS else alone.read(text)


def _common_iso(text: str) -> str:
    """Parse a frequent ISO 8601 time to UTC (the default zone), to the second. Empty for any other text."""
    return f"{text[:10]}T{text[11:19]}Z" if _COMMON_ISO.fullmatch(text) else ""


def utc(when: datetime) -> str:
    """Format a time for the tables."""
    try:
        return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError):
        return ""


def _zone_of(name: str) -> tzinfo | None:
    """Return a time zone by name (Europe/Berlin) or offset (+09:00); None if unknown."""
    if not name:
        return UTC
    if hours := re.fullmatch(r"([+-])(\d\d):(\d\d)", name):
        offset = timedelta(hours=int(hours[2]), minutes=int(hours[3]))
        return timezone(-offset if hours[1] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def zone_is_known(name: str) -> bool:
    """True if this is a time zone, by name or offset, or none is given."""
    return _zone_of(name) is not None


def format_is_known(written: str) -> bool:
    """True if a date can be written so, like %d.%m.%Y."""
    try:
        datetime.strptime(datetime(2020, 1, 31, tzinfo=UTC).strftime(written), written)  # noqa: DTZ007 - only tried
    except ValueError:
        return False
    return "%" in written


def settle(cells: Iterable[str], *, date_format: str = "", zone: str = "") -> TimeForm:
    """Determine the single format of a time column: that of most cells, or `date_format`."""
    if date_format:
        known = date_format in {"iso", Form.SECONDS.value, Form.MILLISECONDS.value}
        return TimeForm(Form(date_format), "", zone) if known else TimeForm(Form.GIVEN, date_format, zone)
    seen = _Seen()
    for cell, times in Counter(cells).items():
        seen.see(cell.strip(), times)
    form = seen.form
    if seen.letters and form in {Form.LETTERS, Form.RFC_2822}:
        return _by_letters(seen, form, zone)
    utc = "times without a zone are treated as UTC; to change this, add a timezone to the file's [[retrieval.columns]] in study.toml"
    note = utc if seen.without_zone and not zone else ""
    return _slashed(seen, zone, note) if form is Form.DAY_OR_MONTH else TimeForm(form, zone=zone, note=note)


class Detail(IntEnum):
    """The precision of a time."""

    NONE = 0
    DAY = 1
    CLOCK = 2
    ZONE = 3


def detail(cells: Iterable[str]) -> Detail:
    """Return the precision that at least half of these cells have."""
    details = sorted(_detail(cell.strip()) for cell in cells)
    return details[len(details) // 2] if details else Detail.NONE


def _detail(text: str) -> Detail:
    match _form(text):
        case Form.NONE:
            return Detail.NONE
        case Form.EXCEL_DAYS:
            return Detail.CLOCK if "." in text else Detail.DAY
        case Form.ISO if ":" in text:
            return Detail.ZONE if _ZONE.search(text[10:]) else Detail.CLOCK
        case Form.RFC_2822:
            return Detail.ZONE if any(_behind(text)) else Detail.CLOCK
        case Form.ISO | Form.DAY_OR_MONTH:
            return Detail.CLOCK if ":" in text else Detail.DAY
        case _:
            return Detail.ZONE


class _Seen:
    """Counts of the formats seen in a column."""

    def __init__(self) -> None:
        self.counts: Counter[Form] = Counter()
        self.without_zone = 0
        self.letters: set[str] = set()
        self.example, self.first_above, self.second_above = "", False, False
        """Of days and months: a cell, and whether its first or second number was ever above 12."""
        self.outer: tuple[set[str], set[str]] = set(), set()
        """What stands before and behind the month, where years have two digits."""

    def see(self, text: str, times: int) -> None:
        plain = _PLAIN_ISO.fullmatch(text)
        form = Form.ISO if plain else _form(text)
        if form is Form.NONE:
            return
        self.counts[form] += times
        if form is Form.DAY_OR_MONTH and (parts := _SLASHED.fullmatch(text)):
            self.example = self.example or text
            self.first_above, self.second_above = (
                self.first_above or int(parts[1]) > MONTHS,
                self.second_above or int(parts[3]) > MONTHS,
            )
            self.without_zone += 1
            if len(parts[4]) == len("yy") and parts[2] != ".":  # with dots the day comes first
                self.outer[0].add(parts[1])
                self.outer[1].add(parts[4])
        elif form is Form.LETTERS and (match := _LETTERS.fullmatch(text)):
            self.letters.add(match[2])
        elif form is Form.RFC_2822:
            offset, letters = _behind(text)
            self.without_zone += offset is None and not letters
            self.letters |= {letters} - HALVES if letters else set()
        elif form is Form.ISO:
            self.without_zone += not (plain[1] if plain else _ZONE.search(text[10:]))
        elif form is Form.EXCEL_DAYS:
            self.without_zone += 1

    @property
    def form(self) -> Form:
        return self.counts.most_common(1)[0][0] if self.counts else Form.NONE


def _by_letters(seen: _Seen, form: Form, zone: str) -> TimeForm:
    unknown = sorted(seen.letters - ZONES.keys())
    if unknown and not zone:
        return TimeForm(form, problem=f"the zone {unknown[0]} may mean several (timezone = …)")
    told = ", ".join(f"{name} {ZONES[name]:+d} h" for name in sorted(seen.letters & ZONES.keys()))
    return TimeForm(form, zone=zone, note=f"zones by letters: {told}" if told else "")


def _slashed(seen: _Seen, zone: str, note: str) -> TimeForm:
    """Decide whether day or month comes first by a number above 12 in the column; otherwise ask."""
    before, behind = seen.outer
    may_begin_with_years = (
        seen.first_above and behind and max(map(int, behind)) <= 31 and len(before) <= len(behind)
    )
    if may_begin_with_years and not seen.second_above:
        return TimeForm(
            Form.DAY_OR_MONTH,
            problem=f"day and year are ambiguous: '{seen.example}' may begin with either "
            '(date_format = "%d/%m/%y %H:%M" or "%y/%m/%d %H:%M")',
        )
    if seen.first_above != seen.second_above:
        return TimeForm(Form.DAY_FIRST if seen.first_above else Form.MONTH_FIRST, zone=zone, note=note)
    first, mark, second = re.findall(r"\d+|[./-]", seen.example)[:3]
    said = "some have the day first, some the month" if seen.first_above else "day and month are ambiguous"
    return TimeForm(
        Form.DAY_OR_MONTH,
        problem=f"{said}: '{seen.example}' is day {first} of month {second}, or day {second} of month {first} "
        f'(date_format = "%d{mark}%m{mark}%Y %H:%M" or "%m{mark}%d{mark}%Y %H:%M")',
    )


def _form(text: str) -> Form:
    """Return the possible format of a single cell."""
    if len(text) > LONGEST:
        return Form.NONE
    if _PLAIN_ISO.fullmatch(text) or _SHORT_ISO.fullmatch(text):
        return Form.ISO
    number = _NUMBER.fullmatch(text)
    if number or _DECIMALS.fullmatch(text):
        value = int(number[1]) if number else int(float(text))
        return next((form for form, unit in UNITS if EARLIEST <= value // unit <= LATEST), Form.NONE)
    return next((form for form, looks in LOOKS if looks.fullmatch(text)), Form.NONE)


LOOKS = (
    (Form.EXCEL_DAYS, _EXCEL), (Form.ISO, _ISO), (Form.LETTERS, _LETTERS), (Form.DAY_OR_MONTH, _SLASHED),
    (Form.RFC_2822, _WORDS),
)  # fmt: skip


@lru_cache(maxsize=4096)  # the same days occur often
def _utc(text: str, form: Form, date_format: str, zone: str) -> str:
    when = _moment(text, form, date_format, _zone_of(zone))
    return utc(when) if when else ""


def _moment(text: str, form: Form, date_format: str, zone: tzinfo | None) -> datetime | None:
    if not text or len(text) > LONGEST:
        return None
    try:
        if form is Form.GIVEN:
            when = datetime.strptime(text, date_format)  # noqa: DTZ007 - the zone comes next
            return when if when.tzinfo else when.replace(tzinfo=zone)
        return READERS[form](text, zone or UTC)
    except (ValueError, OverflowError, OSError, KeyError, TypeError):
        return None


def _epoch(form: Form, unit: int) -> Callable[[str, tzinfo], datetime]:
    def read(text: str, _zone: tzinfo) -> datetime:
        if _form(text) is not form:
            raise ValueError(text)
        seconds = float(text) if unit == 1 else int(text.partition(".")[0]) / unit
        return datetime.fromtimestamp(seconds, UTC)

    return read


def _excel(text: str, zone: tzinfo) -> datetime:
    if not _EXCEL.fullmatch(text):
        raise ValueError(text)
    return (EXCEL_EPOCH + timedelta(seconds=round(float(text) * 86_400))).replace(tzinfo=zone)


def _lettered(text: str, zone: tzinfo) -> datetime:
    match = _LETTERS.fullmatch(text)
    if not match:
        raise ValueError(text)
    hours = ZONES.get(match[2])
    own = zone if hours is None else timezone(timedelta(hours=hours))
    return datetime.fromisoformat(match[1]).replace(tzinfo=own)


def _day_first(text: str, zone: tzinfo, *, swapped: bool = False) -> datetime:
    parts = _SLASHED.fullmatch(text)
    if not parts:
        raise ValueError(text)
    day, month = (parts[3], parts[1]) if swapped else (parts[1], parts[3])
    year, hour = int(parts[4]) + (2000 if len(parts[4]) == 2 else 0), int(parts[5] or 0)
    if parts[8]:
        hour = hour % 12 + (12 if parts[8].lower() == "pm" else 0)
    return datetime(year, int(month), int(day), hour, int(parts[6] or 0), int(parts[7] or 0), tzinfo=zone)


def _iso(text: str, zone: tzinfo) -> datetime:
    if _PLAIN_ISO.fullmatch(text) or _SHORT_ISO.fullmatch(text):
        when = datetime.fromisoformat(text)
        return when if when.tzinfo else when.replace(tzinfo=zone)
    if not _ISO.fullmatch(text):
        raise ValueError(text)
    cleaned = re.sub(r"[T ]+", " ", text.replace("/", "-").replace(",", "."), count=1)
    cleaned = (
        re.sub(r"\.(\d{6})\d+", r".\1", cleaned).replace(" +", "+").replace(" -", "-").replace(" Z", "Z")
    )
    date, _, clock = cleaned.partition(" ")
    year, month, day = date.split("-")
    clock = clock.rjust(len(clock) + 1, "0") if re.match(r"\d:", clock) else clock
    when = datetime.fromisoformat(f"{year}-{month:0>2}-{day:0>2}" + (f" {clock}" if clock else ""))
    return when if when.tzinfo else when.replace(tzinfo=zone)


def _in_words(text: str, zone: tzinfo) -> datetime:
    """Parse `Wed Apr 22 10:00:00 +0000 2020`, as in X's API 1.1, and the e-mail format."""
    parts = text.split()
    if len(parts) == 6 and "," not in parts[0] and parts[5].isdigit():
        day, month, date, clock, own, year = parts
        text = f"{day}, {date} {month} {year} {clock} {own}"
    when = parsedate_to_datetime(text)
    offset, letters = _behind(text)
    if letters in HALVES:
        raise ValueError(text)
    if offset is None and letters in ZONES:
        offset = timedelta(hours=ZONES[letters])
    if offset is not None:
        return when.replace(tzinfo=timezone(offset))
    return when if when.tzinfo else when.replace(tzinfo=zone)


def _behind(text: str) -> tuple[timedelta | None, str]:
    """Return the UTC offset of a time in words, and the abbreviation of its zone."""
    behind = _BEHIND.search(text)
    if not behind or not behind[1]:
        return None, (behind[2] or "").upper() if behind else ""
    hours, minutes = re.fullmatch(r"(\d{1,2}):?(\d{2})?", behind[1][1:]).groups()  # type: ignore[union-attr]
    offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
    return (-offset if behind[1][0] == "-" else offset), ""


READERS: dict[Form, Callable[[str, tzinfo], datetime]] = {
    **{form: _epoch(form, unit) for form, unit in UNITS},
    Form.EXCEL_DAYS: _excel,
    Form.ISO: _iso,
    Form.RFC_2822: _in_words,
    Form.LETTERS: _lettered,
    Form.DAY_FIRST: _day_first,
    Form.MONTH_FIRST: partial(_day_first, swapped=True),
}
"""Format → function that parses a cell. A cell of another format raises an error."""
