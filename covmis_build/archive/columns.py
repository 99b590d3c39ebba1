"""Detect the content of a table's columns: by the study's settings, by a known tool's header, or by names and values.

An index column is never an id or a claim. A column is a claim only by its name and values. A bare number is a post of X
only with further evidence. If something remains unclear, it is a question, and the file is not imported.
"""

from __future__ import annotations

import fnmatch
import hashlib
import html
import re
from collections import Counter
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from covmis_build.archive import dates, ids
from covmis_build.archive.cells import LOOKED_AT, TOGETHER, addresses, bare_cell, cell_of, column_in
from covmis_build.archive.post import NONE, RETWEET, Claimed, Post, unescaped
from covmis_build.archive.whose import (
    DAY,
    ENOUGH,
    IN_SETTINGS,
    addresses_of_posts,
    in_addresses,
    platform_of_ids,
    rounded_addresses,
)
from covmis_build.errors import InputError, counted, nearest
from covmis_build.files.columns import POSTS, column_of, columns_of
from covmis_build.files.ids import BROKEN, NOTHING, check_ids, check_rounded, is_broken
from covmis_build.files.table import is_no_header
from covmis_build.options import KINDS, Columns
from covmis_build.settings import toml
from covmis_build.storage import DANGEROUS, restored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from covmis_build.files.table import Table

COMPARED, QUARTER = 20, 900
"""Rows that suffice to compare times with ids; seconds by which time zones differ."""
ROW = "row"
"""Value of the setting `id`: number the posts by row. A column of this name takes precedence."""
HASHED = 12
"""Digits of the file's hash in the ids of its rows."""
YES = frozenset({"true", "t", "1", "1.0", "yes", "y"})
"""Values (lower case) that mark a row as a repost."""
YES_OR_NO = YES | {"", "false", "f", "0", "0.0", "no", "n", *map(str.lower, NOTHING)}
TITLES = ("title", "subject", "headline")
FEWEST_REPEATS, MANY_REPEATS = 2, 0.05
"""Number and share of rows with an earlier row's id and another text above which the column of ids is a question."""
MANY_EMPTY = 0.05
"""Minimum share of rows without text that is reported."""
HYDRATED = ("x", "bsky", "masto")
"""Platforms from which covmis can fetch posts by id."""
ID_ONLY = "id only"
"""Availability of a post of which a file contains only the id."""
LONG_ID = re.compile(r"\d{15,20}")
ESCAPES = re.compile(r"&(?:amp|lt|gt|quot|#\d+);")
OF_HTML = re.compile(r"&(?:quot|#\d+);")
MARKED = frozenset(("'", *DANGEROUS))
PROTECTED = frozenset(f"'{mark}" for mark in MARKED)
"""First characters of a cell protected by `storage.harmless`. Unprotected columns have no cell that begins with MARKED."""
PLAIN = frozenset({dates.Form.NONE, dates.Form.ISO, dates.Form.LETTERS, dates.Form.GIVEN})
"""Time formats that need no note: ISO 8601, and those explained by a note on time zones or by the settings."""


SHORT = 6
"""Digits below which a number is hardly an id of a known platform."""
FEW_BROKEN = 0.01
"""A share of ids in scientific notation that costs only their rows; the other ids are checked for rounding."""


@dataclass(slots=True)
class Understood:
    """The detected meaning of a table. `questions` must be answered before it can be imported."""

    form: str
    by: str
    header: list[str]
    taken: dict[str, list[str]] = field(default_factory=dict)
    platform: str = ""
    times: dates.TimeForm = field(default_factory=dates.TimeForm)
    zone: str = ""
    """The time zone inferred from ids if the times have none."""
    rule: Columns = field(default_factory=Columns)
    harmless: bool = False
    """True if apostrophes protect its texts from spreadsheets, as in covmis's own files."""
    escapes: str = ""
    """The setting that turns the escapes of its texts into characters; empty if there are few."""
    file_hash: str = ""
    """The first digits of the content's SHA-256 if rows are numbered."""
    rows: int = 0
    notes: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)

    @property
    def left_over(self) -> list[str]:
        """The unused columns."""
        used = {name for names in self.taken.values() for name in names}
        return [name for name in self.header if name not in used]


def rule_of(name: str, rules: Sequence[Columns]) -> Columns | None:
    """Return the first rule whose `files` matches, relative to the archive's folder or any folder below it."""
    below = name.partition("/")[2] or name
    return next(
        (rule for rule in rules if any(fnmatch.fnmatch(place, rule.files) for place in (name, below))), None
    )


def looks_like_posts(header: Iterable[str]) -> bool:
    """True if rows with these columns can be posts: an id or a time, and a text."""
    names = list(header)
    return bool(column_of(names, POSTS["text"])) and bool(
        column_of(names, POSTS["id"]) or column_of(names, POSTS["created_at"])
    )


def understand(
    table: Table,
    path: Path | str,
    rule: Columns | None = None,
    claims: AbstractSet[str] = frozenset(),
    content_hash: Callable[[], str] = str,
) -> Understood:
    """Detect an unknown table: by the rule, then by names, then by values. Broken ids are an error."""
    rule = rule or Columns()
    understood = Understood("table", table.form, table.header, rule=rule)
    if rule.id == ROW and ROW not in table.header:
        understood.file_hash = content_hash()
        understood.notes.append("posts are numbered by their rows")
    _name_columns(understood, path)
    if understood.questions and (name := addresses_of_posts(table)):
        understood.questions = [
            f'no column of post ids, but links to posts in {name}.{IN_SETTINGS}id = "{name}"'
        ]
        understood.taken["id"] = [name]
    if understood.questions and not rule.claim:
        understood.taken.pop("claim", None)  # whether its values are claims is not known yet
    if not understood.questions:
        _prefer_whole_ids(understood, table)
        _choose_times(understood, table)
        _look_at_values(understood, table, path, claims)
    return understood


def _name_columns(understood: Understood, path: Path | str) -> None:
    rule, header = understood.rule, understood.header
    told = {
        "id": [] if understood.file_hash else _several(rule.id),
        "text": _several(rule.text),
        "created_at": _several(rule.created_at),
        "language": _several(rule.language),
        "author": _several(rule.author),
        "urls": _several(rule.urls),
        "claim": _several(rule.claim),
        "repost": _several(rule.repost.get("column", "")),
        "reply_to": [],
        "quote_of": [],
        "repost_of": [],
    }
    for what, names in told.items():
        for name in names:
            if name not in header:
                raise InputError(
                    f"[[retrieval.columns]] {what}: the file has no column '{name}'",
                    file=path,
                    remedy=f"{nearest(name, header)} (it has: {', '.join(header)})"[:300],
                )
        guessed = not (what == "id" and rule.id is not None)
        understood.taken[what] = names or ([column_of(header, POSTS[what])] if guessed else [])
    understood.taken = {what: names for what, names in understood.taken.items() if any(names)}
    for what, same in (("urls", "text"), ("claim", "id")):
        if understood.taken.get(what) == understood.taken.get(same):
            understood.taken.pop(what, None)
    if "id" not in understood.taken and rule.id is None:
        number = _id_in_first_line(header)
        hint = (
            f'if the first line is no header, header = false, id = "{number or "row"}"'
            if is_no_header(header)
            else (
                'id = "COLUMN", and their platform, e.g. platform = "x" or "reddit"; for numbers of your own, any new name. '
                'If there is none: id = "row" (the row\'s number) or id = "" (made of text, time and author, so equal rows are one post), and a platform, e.g. "forum"'
            )
        )
        all_names = " ".join(", ".join(filter(None, header)).split())[:120]
        understood.questions.append(f"no column of post ids among: {all_names}.{IN_SETTINGS}{hint}")


def _prefer_whole_ids(understood: Understood, table: Table) -> None:
    """Read ids from the rows' own URLs if a program has rounded those in the column of ids."""
    named = understood.taken.get("id", [])
    if understood.rule.id is None and len(named) == 1:
        name = rounded_addresses(table, table.header.index(named[0]))
        if name:
            understood.taken["id"] = [name]
            understood.notes.append(
                f"ids are read from the URLs in {name}: those in {named[0]} are the same, but rounded"
            )
            if understood.taken.get("urls") == [name]:
                understood.taken.pop("urls")


def _choose_times(understood: Understood, table: Table) -> None:
    """Of several time columns, choose the most exact one whose days match those of the first."""
    named = columns_of(table.header, POSTS["created_at"])
    if understood.rule.created_at or len(named) < 2:
        return
    rows = [cells for _, cells, problem in islice(table.rows(), TOGETHER) if not problem]
    cells = {name: column_in(rows, [table.header.index(name)]) for name in named}
    exact = {name: dates.detail(cells[name]) for name in named}
    first, best = named[0], max(named, key=exact.__getitem__)
    if exact[best] > exact[first] and _same_days(cells[first], cells[best]):
        understood.taken["created_at"] = [best]
        understood.notes.append(f"times are read from {best}, which is more exact than {first}")


def _same_days(cells: Sequence[str], others: Sequence[str]) -> bool:
    """True if nearly all rows have the same day in both, up to time zones. A column of unknown format has no days."""
    form, other = (dates.settle(column) for column in (cells, others))
    pairs = [(form.read(mine), other.read(its)) for mine, its in zip(cells, others, strict=True)]
    apart = [abs(ids.seconds(mine) - ids.seconds(its)) for mine, its in pairs if mine and its]
    return sum(seconds <= 2 * DAY for seconds in apart) >= ENOUGH * len(apart)


def _id_in_first_line(header: Sequence[str]) -> str:
    """Return the column number of a long id in the first line, which is then no header; otherwise empty."""
    return next((str(at) for at, cell in enumerate(header, 1) if LONG_ID.fullmatch(bare_cell(cell))), "")


def to_paste(understood: Understood, name: str) -> str:
    """Return the settings that describe what was detected, with gaps to fill in."""
    rule, values = understood.rule, dict[str, object]()
    for what in ("id", "text", "created_at", "language", "author", "urls", "claim"):
        names = understood.taken.get(what, [])
        values[what] = names[0] if len(names) == 1 else names
    if not values["id"] and (number := _id_in_first_line(understood.header)):
        rule, values = replace(rule, header=False), {"id": number}
    values["id"] = rule.id if understood.file_hash and rule.id else values["id"]
    said = {field.name: getattr(rule, field.name) for field in fields(Columns)}
    values = {name: value for name, value in said.items() if value != getattr(Columns(), name)} | values
    values |= {"files": name, "platform": understood.platform}
    values |= {"escapes": understood.escapes} if understood.escapes else {}
    if understood.zone:
        values["timezone"] = understood.zone
    needed = {"files", "platform", "id", "text", *(["date_format"] if understood.times.problem else [])}
    values = {
        **dict.fromkeys(needed, ""),
        **{name: value for name, value in values.items() if value not in ("", [])},
    }
    lines = (
        f"{field.name} = {toml(values[field.name])}" for field in fields(Columns) if field.name in values
    )
    return "\n".join(["[[retrieval.columns]]", *lines])


def _several(names: str | Sequence[str] | None) -> list[str]:
    return [] if not names else [names] if isinstance(names, str) else list(names)


@dataclass(slots=True)
class _Texts:
    """Counts of a table's texts with escapes or marks that matter for parsing."""

    escaped: int = 0
    of_html: bool = False
    nothing: int = 0
    protected: int = 0
    unprotected: int = 0
    empty: int = 0

    def see(self, block: Sequence[Sequence[str]], at: Sequence[int]) -> None:
        """Count the texts of some rows."""
        texts, beginnings = column_in(block, at), [cells[place][:2] for cells in block for place in at]
        self.protected += sum(map(PROTECTED.__contains__, beginnings))
        self.unprotected += sum(begin[:1] in MARKED and begin not in PROTECTED for begin in beginnings)
        escaped = [text for text in texts if text.find("&", 0, LOOKED_AT) >= 0 and ESCAPES.search(text)]
        self.escaped += len(escaped)
        self.of_html = self.of_html or any(map(OF_HTML.search, escaped))
        self.empty += sum(not text or text.isspace() for text in texts)
        self.nothing += sum(len(text) <= LOOKED_AT and text in NOTHING for text in texts)


@dataclass(slots=True)
class _Repeats:
    """Rows with the id of an earlier row, but another text: the column may hold ids of something else, like videos."""

    texts: dict[str, int] = field(default_factory=dict)
    count: int = 0
    example: str = ""

    def see(self, numbers: Sequence[int], native_ids: Sequence[str], texts: Sequence[str]) -> None:
        """Compare the texts of some rows with those of earlier rows of the same id."""
        for number, native, text in zip(numbers, native_ids, texts, strict=True):
            content = hash(text)
            if native and text and self.texts.setdefault(native, content) != content:
                self.count += 1
                self.example = self.example or f"row {number:,} with the id {native[:60]}"


def _ask_for_ids(understood: Understood, repeats: _Repeats, given: int) -> None:
    """Ask whether a column holds the posts' ids if several rows share one but have different texts; the settings can confirm it."""
    if repeats.count < FEWEST_REPEATS or repeats.count <= MANY_REPEATS * given:
        return
    names = ", ".join(understood.taken["id"])
    repeated = f"{repeats.count:,} of {given:,} rows have the {names} of an earlier row and another text, as {repeats.example}"
    if understood.rule.id is None:
        understood.questions.append(
            f"{repeated}: these rows would be left out.{IN_SETTINGS}"
            f'id = "COLUMN" that differs by post, id = "row" (the row\'s number), or id = "{names}" if they are'
        )
    else:
        understood.notes.append(f"{repeated}: the first row of each id counts")


def _look_at_values(understood: Understood, table: Table, path: Path | str, claims: AbstractSet[str]) -> None:
    """Check ids, times, claims and escapes in one pass over the rows."""
    taken, rule = understood.taken, understood.rule
    at = {what: [table.header.index(name) for name in names] for what, names in taken.items()}
    numbers: list[int] = []
    native_ids: list[str] = []
    moments: list[str] = []
    named_claims: Counter[str] = Counter()
    marks, repeats = set[str](), _Repeats()
    counts, of_no_language = _Texts(), 0
    rows = table.rows()
    while numbered := list(islice(rows, TOGETHER)):
        block = [cells for _, cells, problem in numbered if not problem]
        understood.rows += len(block)
        numbers += [number for number, _, problem in numbered if not problem]
        native_ids += column_in(block, at.get("id", []))
        moments += column_in(block, at.get("created_at", []), " ")
        named_claims.update(column_in(block, at["claim"]) if "claim" in at else ())
        if marks <= YES_OR_NO:
            marks.update(map(str.lower, column_in(block, at.get("repost", []))))
        if "text" in at:
            counts.see(block, at["text"])
            repeats.see(numbers[-len(block) :], native_ids[-len(block) :], column_in(block, at["text"]))
        if "language" in at:
            of_no_language += sum(cell in NOTHING for cell in column_in(block, at["language"]))
    understood.notes += table.notes
    understood.notes += [
        f"NA, NULL or the like as a {what}: {counted(count, 'posts')} of {meant}"
        for what, meant, count in (
            ("text", "that word", counts.nothing),
            ("language", "none", of_no_language),
        )
        if count
    ]
    understood.notes += [*_without_times(understood), *_without_text(understood, counts.empty)]
    understood.harmless = table.is_marked and bool(counts.protected) and not counts.unprotected
    if understood.harmless:
        understood.notes.append(
            f"{counted(counts.protected, 'texts')}: the apostrophe in front only protects from spreadsheets, and is left out"
        )
    given = list(filter(None, native_ids))
    if repeated := len(given) - len(set(given)):
        understood.notes.append(f"rows with the id of another row, which count once with it: {repeated:,}")
    _ask_for_ids(understood, repeats, len(given))
    check_rounded(path, table.rounded, taken.get("id", []))
    rows_of_bare = {
        number: native
        for number, native in zip(numbers, native_ids, strict=False)
        if native and ":" not in native
    }
    bare = list(rows_of_bare.values())
    addressed = partial(in_addresses, table, at["id"][0]) if "id" in at else None
    check_ids(path, bare, rows=rows_of_bare, left_out=FEW_BROKEN, addressed=addressed)
    _settle_times(understood, native_ids, moments)
    _leave_out(understood, named_claims, claims, marks)
    if not rule.escapes and counts.escaped > 0.005 * understood.rows:
        understood.escapes = "html" if counts.of_html else "x"
        understood.notes.append(
            f"{counts.escaped:,} texts have {'&quot;' if counts.of_html else '&amp;'} or the like, which annotators would see: "
            f'escapes = "{understood.escapes}" in [[retrieval.columns]] turns these into characters'
        )
    short = [native for native in bare if native.isdecimal() and len(native) < SHORT]
    if rule.platform in {*ids.KNOWN} - {"telegram"} and short and len(short) >= ENOUGH * len(bare):
        understood.notes.append(
            f"ids such as {short[0]} are short for {rule.platform}: if they are your own numbers, invent a platform name"
        )
    understood.platform = rule.platform or platform_of_ids(understood, table, bare, native_ids, moments)
    if (understood.file_hash or rule.id == "") and understood.platform in {"", *HYDRATED}:
        understood.questions.append(
            f'ids that covmis makes need a new platform name.{IN_SETTINGS}platform = "forum", for example'
        )


def _leave_out(
    understood: Understood, named_claims: Counter[str], claims: AbstractSet[str], marks: AbstractSet[str]
) -> None:
    """Ignore columns whose names, but not values, mean claims or reposts."""
    taken, rule, notes = understood.taken, understood.rule, understood.notes
    values = named_claims.total() - named_claims[""]
    named = sum(count for claim, count in named_claims.items() if claim in claims)
    if "claim" in taken and not rule.claim and not (values and named >= ENOUGH * values):
        name = taken.pop("claim")[0]
        notes.append(
            f"the column {name} is not used as claims: {named:,} of its {values:,} values are the study's claims"
        )
    elif "claim" in taken and claims and named < values:
        ignored = (
            f"{values - named:,} of {values:,} values of {taken['claim'][0]} are no ids of the study's claims"
        )
        notes.append(f"{ignored}, and are ignored")
    if not rule.repost and not marks <= YES_OR_NO:
        name = taken.pop("repost")[0]
        notes.append(f"the column {name} is not used for reposts: it has other values than yes and no")


def _without_times(understood: Understood) -> list[str]:
    """Return the note that a file has no time column, which few steps need; empty if it has one."""
    timed = "created_at" in understood.taken or understood.rule.time_from_id
    return (
        []
        if timed
        else ["no column of times: only the settings since and until, and estimates by month, need one"]
    )


def _without_text(understood: Understood, count: int) -> list[str]:
    """Return the note how many rows have no text, and whether titles would help; empty for few rows."""
    names = understood.taken.get("text", [])
    if not names and understood.rows:
        return ['no column is read as the text, so no post has one: name it, like text = "COLUMN"']
    if count <= MANY_EMPTY * understood.rows:
        return []
    title = column_of(understood.left_over, TITLES)
    joined = ", ".join(f'"{name}"' for name in (title, *names))
    more = f"; text = [{joined}] adds the title" if title else ""
    return [f"rows without text in the column {', '.join(names)}: {count:,} of {understood.rows:,}{more}"]


def _settle_times(understood: Understood, native_ids: Sequence[str], moments: Sequence[str]) -> None:
    """Detect the time format: a question if ambiguous, a note if it is not ISO 8601."""
    rule = understood.rule
    times = understood.times = dates.settle(moments, date_format=rule.date_format, zone=rule.timezone)
    if times.problem:
        understood.questions.append(f"{understood.taken['created_at'][0]}: {times.problem}")
    elif times.note:
        _compare_with_ids(understood, native_ids, moments)
    if len(moments) > 1 and all(times.read(moment).endswith("T00:00:00Z") for moment in moments[:TOGETHER]):
        understood.notes.append(
            'times have no time of day; if another column has it: created_at = ["DATE", "TIME"]'
        )
    if times.form not in PLAIN and not times.problem:
        understood.notes.append(f"{understood.taken['created_at'][0]}: read as {times.form}")


def _compare_with_ids(understood: Understood, native_ids: Sequence[str], moments: Sequence[str]) -> None:
    """Treat times without a zone as UTC, unless ids of X show that nearly all differ by the same hours."""
    offsets = Counter[int]()
    for native, moment in zip(native_ids, moments, strict=True):
        own = ids.snowflake_time(ids.post_id(native).removeprefix("x:"))
        if own and (when := understood.times.read(moment)):
            offsets[round((ids.seconds(when) - ids.seconds(own)) / QUARTER)] += 1
    common = [offset for offset, count in offsets.most_common(2) if count >= 0.1 * offsets.total()]
    if (
        offsets.total() < COMPARED
        or sum(offsets[offset] for offset in common) < ENOUGH * offsets.total()
        or not any(common)
    ):
        understood.notes.append(understood.times.note)
        return
    hours = [f"{offset * QUARTER / 3600:+g}" for offset in sorted(common)]
    column = understood.taken["created_at"][0]
    if len(common) == 1:
        understood.zone = (
            f"{'-' if common[0] < 0 else '+'}{abs(common[0]) // 4:02}:{abs(common[0]) % 4 * 15:02}"
        )
        remedy = f'timezone = "{understood.zone}", or the name of the zone'
    else:
        remedy = 'timezone = "Europe/Berlin" or the like'
    understood.questions.append(
        f"{column}: times have no zone, and differ from the times in the ids by {' and '.join(hours)} hours.{IN_SETTINGS}{remedy}"
    )


class NotAPost(ValueError):
    """A row that is not a post, with the reason."""


class Reading:
    """Settings with which a file's rows become posts."""

    def __init__(self, table: Table, understood: Understood) -> None:
        self.rule, self.platform, self.times = understood.rule, understood.platform, understood.times
        self.harmless, self.file_hash = understood.harmless, understood.file_hash
        at = {what: [table.header.index(name) for name in names] for what, names in understood.taken.items()}
        self.has_id, self.has_repost, self.texts = "id" in at, "repost" in at, at.get("text", [])
        said = self.rule.repost.get("is", "")
        self.is_repost = said.__eq__ if self.rule.repost else lambda cell: cell.lower() in YES
        self.native, self.urls, self.claim, self.language, self.author, self.repost = (
            cell_of(at.get(what, ())) for what in ("id", "urls", "claim", "language", "author", "repost")
        )
        self.time = cell_of(at.get("created_at", ()), " ")
        self.reply_to, self.quote_of, self.repost_of = (
            cell_of(at.get(what, ())) for what in ("reply_to", "quote_of", "repost_of")
        )
        self.kinds = [table.header.index(name) for name in ("kind", "source") if name in table.header]

    def post(self, number: int, cells: Sequence[str]) -> Post:
        """Return the post of this row number. Raises NotAPost."""
        rule, text, linked, time = self.rule, self._text(cells), self.urls(cells), self.time(cells)
        known = False
        if self.file_hash:
            post_id = f"{self.platform}:{ROW}:{self.file_hash}:{number}"
        elif not self.has_id:
            parts = (text, time, self.author(cells), linked)
            native = hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]
            post_id = f"{self.platform}:{ROW}:{native}"
        else:
            native = self.native(cells)
            if is_broken(native):
                raise NotAPost(f"the id {native[:60]} {BROKEN}")
            known = (
                self.platform == "x" and len(native) <= LONGEST_X and native.isdecimal() and native.isascii()
            )
            post_id = f"x:{native}" if known else ids.post_id(native, self.platform)
            if not post_id:
                raise NotAPost(f"not a post id: {native[:60]}" if native else "no id")
        claim, language = self.claim(cells), self.language(cells)
        repost_of = self._post_of(self.repost_of(cells))
        if not repost_of:
            old = RETWEET.match(text) and post_id.partition(":")[0] not in ids.KNOWN[1:]
            is_repost = old or (self.has_repost and self.is_repost(self.repost(cells)))
            repost_of = "?" if is_repost else ""
        claimed: tuple[Claimed, ...] = ()
        if claim:
            kind = next((cells[place] for place in self.kinds if cells[place] in KINDS), "title")
            claimed = (Claimed(claim, kind=kind),)
        return Post(
            post_id,
            native if known else post_id.partition(":")[2],
            "x" if known else ids.platform_of(post_id),
            text,
            self.times.read(time),
            "" if language in NOTHING else language,
            addresses(linked, rule.urls_separator) if linked else NONE,
            NONE,
            NONE,
            reply_to=self._post_of(self.reply_to(cells)),
            quote_of=self._post_of(self.quote_of(cells)),
            repost_of=repost_of,
            availability="available" if text or not (claim or not self.texts) else ID_ONLY,
            claimed=claimed,
        )

    def _post_of(self, cell: str) -> str:
        """Return the answered, quoted or reposted post; "?" if its id was rounded or is invalid."""
        if not cell or cell in NOTHING or cell in {"0", "-1", "[]", "{}"}:
            return ""
        return ids.post_id(cell, self.platform) or "?"

    def _text(self, cells: Sequence[str]) -> str:
        texts = [restored(cells[place]) if self.harmless else cells[place] for place in self.texts]
        text = "\n\n".join(filter(str.strip, texts))
        return ESCAPED[self.rule.escapes](text) if self.rule.escapes in ESCAPED else text


ESCAPED = {"x": unescaped, "html": html.unescape}
"""Function that removes each kind of escape that a rule can name."""


LONGEST_X = 20


def timeless(post: Post) -> bool:
    """True if an available post has no readable time."""
    return post.availability == "available" and not post.created_at
