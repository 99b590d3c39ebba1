"""Read claim lists in all supported formats as the table `claims`."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from covmis_build.claims import claim_review, coaid
from covmis_build.claims.claim import LISTS, Claim, check, checked
from covmis_build.claims.claim_review import Vocabulary, is_misinformation
from covmis_build.claims.list_columns import LIAR_COLUMNS, NAMELESS, PRESETS, Mapped, map_columns
from covmis_build.errors import InputError, counted, nearest
from covmis_build.files.columns import OWN_CLAIMS, column_of, folded, need
from covmis_build.files.contents import text_of
from covmis_build.files.ids import NOTHING, check_ids, check_rounded, not_of_x
from covmis_build.files.json_rows import documents
from covmis_build.files.reading import Sheet, read_table, sheet_of
from covmis_build.files.table import Switches, values_of
from covmis_build.files.workbook import SUFFIXES
from covmis_build.text.language import language_code

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from covmis_build.tables import Frame

FORMATS = ("csv", "coaid", "claim_review", "fact_check", *PRESETS)
"""Formats: our CSV (and the published COVMis list), CoAID, schema.org ClaimReview, Google's responses, others' tables."""

_NAMES = {
    **OWN_CLAIMS,
    **{name: (name,) for name in ("language", "first_seen", "selected", *LISTS, "verdict", "misinformation")},
}
JSON_SUFFIXES = {".json", ".jsonl", ".jsonld", ".ndjson"}
_DAY = re.compile(r"(\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])([T ]\S+)?)?)?)?")
"""A day, month or year in sortable form; merged claims have the first."""

_YES, _NO = {"true", "yes", "1", "y", "x", ""}, {"false", "no", "0", "n"}

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<month>{'|'.join(MONTHS)})[a-z]*\.?"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"\s*(?P<year>\d{4})([-/.])(?P<number>\d\d?)\2(?P<day>\d\d?)(?:[T\s].*)?\s*",
        rf"(?:.*\b)?{_MONTH}\s+(?P<day>\d\d?)(?:st|nd|rd|th)?,?\s+(?P<year>\d{{4}})\b.*",
        rf"(?:.*\b)?(?P<day>\d\d?)(?:st|nd|rd|th)?[\s-]+{_MONTH},?[\s-]+(?P<year>\d{{4}}|\d\d)\b.*",
    )
)
_SLASHES = re.compile(r"\s*(\d\d?)[/.](\d\d?)[/.](\d{4}|\d\d)\b.*")


class GivenPost(NamedTuple):
    """A post in a claim list, which becomes a hit of kind title without a query."""

    claim_id: str
    post_id: str
    kind: str = "title"


@dataclass(frozen=True, slots=True)
class ClaimList:
    """An imported claim list: its format, the content of its columns, and what was not used."""

    claims: pd.DataFrame
    form: str
    columns: dict[str, str] = field(default_factory=dict)
    left_over: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    posts: list[GivenPost] = field(default_factory=list)


def read_claims(path: Path, form: str = "") -> pd.DataFrame:
    """Read a study's own list, CoAID or fact-checks; an empty `form` is detected."""
    return _read(path, form or _detect(path))


def own_claims(path: Path) -> list[Claim]:
    """Return the claims of a study's own list as `read_claims` would, without loading pandas."""
    if not path.exists():
        raise InputError("is missing", file=path)
    claims = _csv_claims(path, strict=True)
    check(claims, path)
    return claims


def claim_ids(path: Path) -> list[str]:
    """Return the ids of a study's own list in order, without reading anything else."""
    table = read_table(path, own=True)
    source = need(path, table.header, _NAMES["claim_id"])
    return sorted({line[source].strip() for line in table.rows})


def claim_texts(path: Path) -> dict[str, str]:
    """Return the text of each claim of a study's own list, as the table has it, without loading pandas."""
    return {claim.claim_id: claim.text for claim in _csv_claims(path, strict=False)}


def read_list(
    path: Path | pd.DataFrame | Frame,
    form: str = "",
    columns: Mapping[str, str] | None = None,
    switches: Switches = Switches(),  # noqa: B008 - frozen
) -> ClaimList:
    """Read other people's list of claims from a file or DataFrame; `columns` assigns fields to unclear columns.

    `switches` say how a text file is to be read as a table.
    """
    if form and form not in FORMATS:
        raise InputError(f"no claim list format is called '{form}'", remedy=nearest(form, FORMATS))
    if not isinstance(path, Path):
        from covmis_build.tables import frame_of

        rows = frame_of(path).to_dict("records")
        return _from_sheet(sheet_of(rows), A_FRAME, form, columns or {})
    if not path.exists():
        raise InputError("is missing", file=path)
    if path.is_dir() and not coaid.files(path) and (parts := sorted(path.glob("*.json"))):
        claims = [
            document for part in parts for document in documents(part, text_of(part))
        ]  # CheckThat: one file per claim
        return _from_sheet(sheet_of(claims), path, form, columns or {})
    if (switches != Switches() or switches.header_line) and path.is_file():
        texts = {"text": "text"} if switches.lines else {}
        return _from_sheet(read_table(path, switches=switches), path, form, {**texts, **(columns or {})})
    if columns or form in PRESETS or _is_foreign(path, form):
        return _from_sheet(_sheet(path, form), path, form, columns or {})
    form = form or _detect(path)
    left_over, notes = list[str](), list[str]()
    if form == "csv":
        table = read_table(path, own=True)
        notes = list(table.notes)
        left_over = _unknown(table.header)
        for name in left_over:
            if (near := nearest(name, _NAMES)).startswith("Did"):
                raise InputError(f"has an unknown column '{name}'", file=path, row=1, remedy=near)
    posts = [GivenPost(*pair) for pair in coaid.posts(path)] if form == "coaid" else []
    return ClaimList(_read(path, form, strict=False), form, left_over=left_over, notes=notes, posts=posts)


def _read(path: Path, form: str, *, strict: bool = True) -> pd.DataFrame:
    if not path.exists():
        raise InputError("is missing", file=path)
    if form == "coaid":
        claims = coaid.claims(path)
    elif form == "csv":
        claims = _csv_claims(path, strict=strict)
    elif form in list(Vocabulary):
        claims = claim_review.claims(documents(path, text_of(path)), path, google=form == Vocabulary.GOOGLE)
    else:
        allowed = ", ".join(FORMATS)
        raise InputError(f"no claim list format is called '{form}'", remedy=f"Allowed: {allowed}")
    return checked(claims, path)


def _detect(path: Path) -> str:
    """Detect our own format, CoAID or fact-checks from the content."""
    if not path.exists():
        raise InputError("is missing", file=path)
    if path.is_dir():
        if coaid.files(path):
            return "coaid"
        raise InputError(
            "is a folder, not a file", file=path, remedy="Name the claim list, or a CoAID release"
        )
    if _is_json(path):
        return claim_review.vocabulary(documents(path, text_of(path))) or Vocabulary.SCHEMA_ORG
    return "coaid" if coaid.is_header(read_table(path, own=True).header) else "csv"


def _is_json(path: Path) -> bool:
    if path.suffix.lower() in JSON_SUFFIXES:
        return True
    with path.open("rb") as file:
        return file.read(64).lstrip(b"\xef\xbb\xbf \r\n\t")[:1] in {b"{", b"["}


# Lists of others


def _is_foreign(path: Path, form: str) -> bool:
    """True if a file is another person's table, not ours, CoAID's or fact-checks."""
    if form or path.is_dir():
        return False
    if path.suffix.lower() in SUFFIXES:
        return not _is_own(read_table(path).header)
    if _is_json(path):
        return claim_review.vocabulary(documents(path, text_of(path))) is None
    if _is_liar(path):
        return True
    header = read_table(path).header
    return not (_has_its_columns(header) or coaid.is_header(header))


def _has_its_columns(header: list[str]) -> bool:
    return all(column_of(header, _NAMES[name]) for name in ("claim_id", "text"))


def _is_own(header: list[str]) -> bool:
    """True if a workbook has only columns of our own list."""
    return _has_its_columns(header) and not _unknown(header)


def _is_liar(path: Path) -> bool:
    """True for LIAR, which has no header; its first cell is `2635.json`."""
    with path.open("rb") as file:
        return bool(re.match(rb"(\xef\xbb\xbf)?\d+\.json\t", file.read(40)))


def _sheet(path: Path, form: str) -> Sheet:
    if form == "liar" or (not _is_json(path) and path.suffix.lower() not in SUFFIXES and _is_liar(path)):
        return read_table(path, names=LIAR_COLUMNS)
    return read_table(path)


def _from_sheet(sheet: Sheet, path: Path, form: str, named: Mapping[str, str]) -> ClaimList:
    if not sheet.rows:
        raise InputError("has no claims", file=path)
    liar = tuple(sheet.header) == LIAR_COLUMNS
    mapped = map_columns(sheet, path, "liar" if liar else "" if form == "csv" else form, named)
    notes = list(sheet.notes)
    claims, posts = _claims(sheet, path, mapped, notes)
    if not any(claim.language for claim in claims) and "language" in mapped.columns:
        notes.append(f"the column {mapped.columns['language']} names no language")
    return ClaimList(checked(claims, path), mapped.form, mapped.columns, mapped.left_over, notes, posts)


def _claims(
    sheet: Sheet, path: Path, mapped: Mapped, notes: list[str]
) -> tuple[list[Claim], list[GivenPost]]:
    """Return the list's claims; rows with the same id and text are one claim, with all their posts."""
    columns = mapped.columns
    days = _days(sheet, columns, notes)
    claims: dict[str, Claim] = {}
    posts: dict[GivenPost, None] = {}
    alone: dict[int, str] = {}
    unlike_addresses = empty = nothing = 0
    stated = _verdicts_in(sheet, columns, notes)
    for number, (row, line, day) in enumerate(zip(sheet.numbers, sheet.rows, days, strict=True), start=1):
        cells = {name: _in_lines(line[source].strip()) for name, source in columns.items()}
        nothing += sum(cell in NOTHING for cell in cells.values())
        cells = {name: "" if cell in NOTHING else cell for name, cell in cells.items()}
        text, language = _text_and_language(cells["text"], cells.get("language", ""), mapped.form)
        if not text:
            empty += 1
            continue
        text = _without_verdict(text, stated.get(row, ""))
        claim_id = cells["claim_id"] if "claim_id" in columns else f"{_stem(path)}-{number:04}"
        if mapped.form == "liar":
            claim_id = f"liar-{claim_id.removesuffix('.json')}"
        urls = {name: _addresses(cells.get(name, "")) for name in ("news_urls", "fact_check_urls")}
        unlike_addresses += sum(bool(cells.get(name)) and not urls[name] for name in urls)
        verdict = cells.get("verdict", "") or stated.get(row, "")
        titles = _text_and_language(cells.get("titles", ""), "", mapped.form)[0]
        claim = Claim(
            claim_id,
            text,
            language=language,
            titles=_lines(titles),
            keywords=_lines(cells.get("keywords", "")),
            news_urls=urls["news_urls"],
            fact_check_urls=urls["fact_check_urls"],
            first_seen=day,
            verdict=verdict,
            misinformation=is_misinformation(verdict),
            row=row,
        )
        known = claims.get(claim_id)
        if known is not None and known.text != claim.text and mapped.form != "covidlies":
            claims[f"{claim_id} in row {claim.row}"] = claim  # `checked` refuses it, naming both rows
        claims.setdefault(claim_id, claim)  # COVIDLies has several wordings of a misconception
        natives = _post_ids(cells)
        alone |= {row: natives[0]} if len(natives) == 1 else {}
        posts.update((GivenPost(claim_id, f"x:{native}"), None) for native in natives)
    if nothing:
        notes.append(f"{counted(nothing, 'cells')} that say NA, NULL or the like taken for empty")
    if empty:
        notes.append(f"{counted(empty, 'rows')} without a text left out")
    if unlike_addresses:
        notes.append(f"{unlike_addresses:,} cells of addresses hold none")
    if "claim_id" not in columns:
        notes.append(f"No id column found; claims are numbered {_stem(path)}-0001, {_stem(path)}-0002, …")
    elif columns["claim_id"].lower() in NAMELESS:
        notes.append(f"ids are those of the first column, which has no name, as '{next(iter(claims), '')}'")
    check_rounded(path, sheet.rounded, [columns[name] for name in ("claim_id", "posts") if name in columns])
    check_ids(path, list(alone.values()), rows=alone)  # spreadsheets round a number that is alone in its cell
    _check_platform(path, [post.post_id for post in posts])
    return list(claims.values()), sorted(posts)


VERDICT_ENDS = " :–—-"
_VERDICT = re.compile(
    r"(FALSE|TRUE|FAKE|HOAX|MYTH|MISLEADING|PARTLY FALSE|MOSTLY (?:FALSE|TRUE)|False|Fake|Misleading)(?=\s?:\s)"
)
MANY_VERDICTS = 0.2


def _verdicts_in(sheet: Sheet, columns: Mapping[str, str], notes: list[str]) -> dict[int, str]:
    """Return row → the verdict with which its text begins, if many of a list's texts do; one alone may be part of what was said."""
    said = {
        number: match[1]
        for number, row in zip(sheet.numbers, sheet.rows, strict=True)
        if (match := _VERDICT.match(row[columns["text"]].strip()))
    }
    if len(said) < 2 or len(said) < MANY_VERDICTS * len(sheet.rows):
        return {}
    notes.append(
        f"{counted(len(said), 'claims')} begin with a verdict, as '{next(iter(said.values()))}:': it is left out of their texts"
    )
    return said


def _without_verdict(text: str, verdict: str) -> str:
    """Return a claim without the verdict before it."""
    claim = text[len(verdict) :].lstrip(VERDICT_ENDS) if verdict else text
    return claim[:1].upper() + claim[1:] if verdict else claim


def _check_platform(path: Path | str, post_ids: Sequence[str]) -> None:
    """Refuse posts of other platforms among posts of X."""
    if why := not_of_x([post_id.removeprefix("x:") for post_id in post_ids]):
        raise InputError(
            why,
            file=path,
            remedy="Remove the column of posts from the list; only X's posts can be given with claims",
        )


def _in_lines(cell: str) -> str:
    """Return a cell with its values one per line, also from a JSON list."""
    return "\n".join(values_of(cell)) if cell.startswith("[") else cell


def _days(sheet: Sheet, columns: Mapping[str, str], notes: list[str]) -> list[str]:
    source = columns.get("first_seen", "")
    if not source:
        return [""] * len(sheet.rows)
    written = [line[source].strip() for line in sheet.rows]
    days = days_of(written)
    unread = [value for value, day in zip(written, days, strict=True) if value and not day]
    if unread:
        notes.append(
            f"{counted(len(unread), 'days')} of {source}: cannot be read, left empty, as '{unread[0][:40]}'"
        )
    return days


A_FRAME = Path("the DataFrame")
"""Name of a list in errors if it is not a file."""


def _stem(path: Path) -> str:
    """Return the file's name as a prefix of ids; `claim` for a DataFrame."""
    return "claim" if path == A_FRAME else re.sub(r"[^\w-]+", "-", path.stem).strip("-") or "claim"


def _text_and_language(cell: str, language: str, form: str) -> tuple[str, str]:
    """Return a claim's text; MultiClaim has a tuple with translation and languages."""
    if form == "multiclaim" and cell.startswith("("):
        try:
            original, _, languages = ast.literal_eval(cell)
            cell, language = str(original), language or str(languages[0][0] if languages else "")
        except (ValueError, SyntaxError, TypeError, IndexError):
            pass
    elif form == "covidlies":
        cell = cell.split("\n")[0]  # variations of a misconception, the first is the original
    code = language_code(language)
    return " ".join(cell.split()), code if re.fullmatch(r"[a-z]{2}(-[a-z]+)?", code) else ""


def _lines(cell: str) -> list[str]:
    return [line.strip() for line in cell.splitlines() if line.strip()]


def _addresses(cell: str) -> list[str]:
    """Return the URLs in a cell, with the scheme that some lists omit."""
    written = re.findall(r"https?://[^\s'\"<>|]+", cell) or [
        part for part in cell.split() if re.match(r"[\w-]+(\.[\w-]+)+(/|$)", part)
    ]
    return list(dict.fromkeys(url if "://" in url else f"https://{url}" for url in written))


def _post_ids(cells: Mapping[str, str]) -> list[str]:
    return [native for native in re.split(r"[\s,;]+", cells.get("posts", "")) if native]


# Our own list


def _unknown(header: list[str]) -> list[str]:
    """Return unknown columns; the user's own begin with `_`."""
    known = {folded(name) for names in _NAMES.values() for name in names}
    return [name for name in header if folded(name) not in known and not name.startswith("_")]


def _csv_claims(path: Path, *, strict: bool) -> list[Claim]:
    table = read_table(path, own=True)
    header = table.header
    named = {name: column_of(header, known) for name, known in _NAMES.items()}
    named["claim_id"], named["text"] = (
        need(path, header, _NAMES["claim_id"]),
        need(path, header, _NAMES["text"]),
    )
    if strict and (unknown := _unknown(header)):
        raise InputError(
            f"has an unknown column '{unknown[0]}'",
            file=path,
            row=1,
            remedy=f"{nearest(unknown[0], _NAMES)} (a column of your own begins with _)",
        )
    check_rounded(path, table.rounded, [named["claim_id"]])
    claims = []
    for number, line in zip(table.numbers, table.rows, strict=True):
        cells = {name: line[source] if source else "" for name, source in named.items()}
        for name in ("text", "language", "keywords", "titles"):
            if cells[name].strip() in NOTHING:
                raise InputError(
                    f"{name} is '{cells[name].strip()}'",
                    file=path,
                    row=number,
                    remedy='Leave the cell empty where there is nothing; R does with na = ""',
                )
        chosen = cells["selected"].strip().lower()
        if chosen not in _YES | _NO:
            raise InputError(
                f"selected is '{cells['selected']}'", file=path, row=number, remedy="Write yes or no"
            )
        day = cells["first_seen"].strip()
        if not _DAY.fullmatch(day):
            raise InputError(
                f"first_seen is '{day[:40]}'", file=path, row=number, remedy="Write it like 2020-01-31"
            )
        claims.append(
            Claim(
                cells["claim_id"].strip(),
                cells["text"],
                language=language_code(cells["language"]),
                first_seen=day,
                selected=chosen in _YES,
                row=number,
                verdict=cells["verdict"].strip(),
                misinformation=cells["misinformation"].strip(),
                **{name: _lines(cells[name]) for name in LISTS},
                own={name: line[name] for name in header if name.startswith("_")},
            )
        )
    return claims


def days_of(values: Sequence[str]) -> list[str]:
    """Convert each value to an ISO day, empty if invalid. A value above 12 shows whether the day or the month is first.

    >>> days_of([" June 15th  2018", "on Wednesday, October 30th, 2019", "2020-03-01T10:00:00Z", "2020/3/1", "soon"])
    ['2018-06-15', '2019-10-30', '2020-03-01', '2020-03-01', '']
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
        if day_first == month_first:  # unknown or contradictory order
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
