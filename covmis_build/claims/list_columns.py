"""Detect the columns of other people's lists: by the user's choice, a known list's structure, or names.

Names are compared by letters and digits, ignoring case. Unused columns are reported.
"""

from __future__ import annotations

import re
from statistics import median
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from covmis_build.errors import InputError, nearest
from covmis_build.files.columns import CLAIMS, folded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from covmis_build.files.reading import Sheet

FORBIDDEN_ID = re.compile(r"[|:\s]")
_FACT_CHECKER = re.compile(
    r"politifact|snopes|fact-?check|fullfact|leadstories|healthfeedback|climatefeedback|science\.?feedback|boomlive|altnews"
    r"|hoax|chequeado|maldita|newtral|correctiv|mimikama|africacheck|aosfatos|lupa\.|truthorfiction|verafiles|vishvasnews"
    r"|factly|newschecker|newsmobile|checamos|bufale|facta\.|pagellapolitica|teyit|dogrula|stopfake|fatabyyano|misbar|rumorscanner"
)


class Shape(NamedTuple):
    """A published list with known columns: its name, the columns that identify it, and their content."""

    name: str
    told_by: frozenset[str]
    columns: dict[str, str]


SHAPES = (
    Shape("covidlies", frozenset({"canonical_sentence", "pos_variations"}), {"claim_id": "id", "text": "pos_variations", "verdict": ""}),
    Shape("covidlies", frozenset({"misconception_id", "misconception"}),
          {"claim_id": "misconception_id", "text": "misconception", "posts": "tweet_id", "verdict": ""}),
    Shape("multiclaim", frozenset({"fact_check_id", "claim", "instances"}),
          {"claim_id": "fact_check_id", "text": "claim", "titles": "title", "fact_check_urls": "instances"}),
    Shape("fakenewsnet", frozenset({"id", "news_url", "title", "tweet_ids"}),
          {"claim_id": "id", "text": "title", "titles": "title", "news_urls": "news_url", "posts": "tweet_ids"}),
    Shape("checkthat", frozenset({"vclaim"}), {"text": "vclaim", "titles": "title"}),
    Shape("checkthat", frozenset({"normalized claim"}), {"text": "normalized claim"}),
    Shape("checkthat", frozenset({"sentence_id"}), {"claim_id": "sentence_id", "verdict": ""}),  # worth checking or not
    Shape("politifact", frozenset({"claim", "veracity", "url"}), {"text": "claim", "verdict": "veracity"}),
    Shape("snopes", frozenset({"fact", "title"}), {"text": "fact", "titles": "title"}),
)  # fmt: skip

LIAR_COLUMNS = (
    "id", "label", "statement", "subject", "speaker", "job", "state", "party", "barely_true", "false", "half_true", "mostly_true",
    "pants_on_fire", "context",
)  # fmt: skip
"""LIAR has no header; its cells are in this order."""

PRESETS = ("liar", *dict.fromkeys(shape.name for shape in SHAPES), "table")


class Mapped(NamedTuple):
    """Field → its column; `left_over` columns are not used."""

    form: str
    columns: dict[str, str]
    left_over: list[str]


def map_columns(sheet: Sheet, path: Path, form: str, named: Mapping[str, str]) -> Mapped:
    """What the columns hold: first as the user says, then as the list's shape has it, then by their names.

    A field that is `named` with an empty column has none.
    """
    for field, column in named.items():
        if field not in CLAIMS:
            raise InputError(f"no field of a claim is called '{field}'", remedy=nearest(field, CLAIMS))
        if column and column not in sheet.header:
            raise InputError(
                f"has no column '{column}'", file=path, row=1, remedy=nearest(column, sheet.header)
            )
    header = {name.lower() for name in sheet.header}
    shape = next(
        (shape for shape in SHAPES if shape.told_by <= header and form in {"", shape.name}),
        Shape(form or "table", frozenset(), {}),
    )
    known = {name.lower(): name for name in sheet.header}
    columns = {field: known[name] for field, name in shape.columns.items() if name in known} | dict(named)
    for field, names in CLAIMS.items():
        if field not in columns and shape.columns.get(field) != "":
            taken = set(columns.values())
            column = next((name for name in _by_name(sheet.header, names) if name not in taken), "")
            if column and _fits(field, sheet, column):
                columns[field] = column
            elif column.lower() == "claim_id":
                raise _no_ids(sheet, path, column)
    columns = {field: column for field, column in columns.items() if column}
    guessed = columns.keys() - named.keys() - shape.columns.keys()
    _ask_about({field: column for field, column in columns.items() if field in guessed}, sheet, path)
    _settle_text(columns, sheet, path)
    _settle_url(columns, sheet)
    if "claim_id" not in {*columns, *named} and (index := _index_column(sheet)) is not None:
        columns["claim_id"] = index
    left_over = [name for name in sheet.header if name and name not in columns.values()]
    return Mapped(shape.name, columns, left_over)


def _by_name(header: Sequence[str], names: Sequence[str]) -> list[str]:
    """Return the columns with these names, in the order of names."""
    plain = {folded(name): name for name in header}
    return [plain[name] for name in names if name in plain]


def _no_ids(sheet: Sheet, path: Path, column: str) -> InputError:
    """Report an empty or invalid claim id, which numbering would hide."""
    at = next(at for at, row in enumerate(sheet.rows) if not _is_id(row[column].strip()))
    cell = sheet.rows[at][column].strip()
    return InputError(
        f"'{cell}' is no claim id" if cell else f"has no {column}",
        file=path,
        row=sheet.numbers[at],
        remedy="Give every claim an id, or remove the column",
    )


def _is_id(value: str) -> bool:
    return bool(value) and not FORBIDDEN_ID.search(value)


def _fits(field: str, sheet: Sheet, column: str) -> bool:
    """True if the values are compatible with the column's name."""
    values = [row[column].strip() for row in sheet.rows]
    if field == "claim_id":
        return all(map(_is_id, values))
    if field == "text":
        return _holds_sentences(values)
    if field == "posts":
        return any(re.search(r"\d{5}", value) for value in values)
    return any(values)


MANY_ROWS = 10
_OF_EXPRESSIONS = re.compile(r"\\[bBdDsSwW]|\(\?[:=!<i]|[.\])][*+]")
"""Signs that only regular expressions have."""


def _ask_about(columns: Mapping[str, str], sheet: Sheet, path: Path) -> None:
    """Refuse columns that became queries by their names alone if their values look like something else, with both ways to go on."""
    for field, column in columns.items():
        values = [value for row in sheet.rows if (value := row[column].strip())]
        if problem := _unlike(field, values):
            raise InputError(
                f"is {column} the column of {field}? {problem}, as '{values[0][:40]}'",
                file=path,
                remedy=f"If not: --column {field}= (in Python columns = {{'{field}': ''}}). If it is: --column {field}={column}",
            )


def _unlike(field: str, values: Sequence[str]) -> str:
    """Return why values are hardly the titles, keywords or links of claims; empty if they can be."""
    if field in {"titles", "keywords", "news_urls", "fact_check_urls"} and len(values) >= MANY_ROWS:
        distinct = len(set(values))
        if 2 * distinct < len(values):
            return f"{len(values):,} cells have only {distinct:,} different values"
        if field == "titles" and not _holds_sentences(values):
            return "most have one or two words"
    if field == "keywords" and any(map(_OF_EXPRESSIONS.search, values)):
        return "it has regular expressions, which no query can be"
    return ""


def _holds_sentences(values: Sequence[str]) -> bool:
    """True if most values are sentences, not names or verdicts."""
    given = [value for value in values if value]
    words = [
        len(value.split()) if value.isascii() else max(len(value.split()), len(value) // 4) for value in given
    ]
    return bool(given) and median(words) >= 3


def _settle_text(columns: dict[str, str], sheet: Sheet, path: Path) -> None:
    """Use titles as claims in a list without claims. Refuse a list without sentences."""
    if "text" not in columns and "titles" in columns and _fits("text", sheet, columns["titles"]):
        columns["text"] = columns["titles"]
    if "text" not in columns:
        looked_at = ", ".join(
            f"{name or 'a column without a name'} (as '{_example(sheet, name)}')"
            for name in dict.fromkeys(sheet.header)
        )
        raise InputError(
            f"no column holds the claims' sentences; there are {looked_at}"[:400],
            file=path,
            remedy="If one does, name it: --text COLUMN, in Python columns = {text: COLUMN}; if the first line is no header: --header 0 --text 2",
        )


def _example(sheet: Sheet, column: str) -> str:
    return next((" ".join(row[column].split())[:30] for row in sheet.rows if row[column].strip()), "")


def _settle_url(columns: dict[str, str], sheet: Sheet) -> None:
    """Treat URLs of an ambiguous column as fact-checks if most of their hosts are fact-checkers."""
    column = columns.pop("url", "")
    if column and "fact_check_urls" not in columns:
        urls = [row[column].strip() for row in sheet.rows if row[column].strip()]
        if urls and 2 * sum(_is_fact_check(url) for url in urls) >= len(urls):
            columns["fact_check_urls"] = column


def _is_fact_check(url: str) -> bool:
    """True if a URL is known to be a fact-checker's, by its host or its section's name."""
    parts = urlsplit(url if "//" in url else f"//{url}")
    return bool(
        _FACT_CHECKER.search(parts.netloc.lower()) or re.search(r"/[\w-]*fact-?check", parts.path.lower())
    )


NAMELESS = {"", "index", "unnamed: 0"}
"""Names of an unnamed index column."""


def _index_column(sheet: Sheet) -> str | None:
    """Return an unnamed first column with unique values: a published list's index is its ids."""
    first = sheet.header[0]
    values = [row[first].strip() for row in sheet.rows]
    distinct = all(values) and len(set(values)) == len(values) and not any(map(FORBIDDEN_ID.search, values))
    return first if first.lower() in NAMELESS and distinct else None
