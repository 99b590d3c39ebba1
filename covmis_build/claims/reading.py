"""Claim lists in every form they come in, as the table `claims`; and that table as a CSV for people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from covmis_build import storage, tables
from covmis_build.claims import claim_review, coaid
from covmis_build.errors import InputError
from covmis_build.text.sheets import column, need, read_rows

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

FORMATS = ("csv", "coaid", "claim_review", "fact_check")
"""What `read_claims` reads: our CSV (and the published COVMis list), CoAID, schema.org ClaimReview, Google's answers."""

LISTS = ("keywords", "titles", "news_urls", "fact_check_urls", "edits")
_NAMES = {
    "claim_id": ("claim_id", "mid"),
    "text": ("text", "mis"),
    **{name: (name,) for name in ("language", "first_seen", "selected", *LISTS)},
}
_DAY = re.compile(r"(\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01])([T ]\S+)?)?)?)?")
"""A day, month or year as they sort; whoever merges claims takes the first."""

_YES, _NO = {"true", "yes", "1", "y", "x", ""}, {"false", "no", "0", "n"}


class GivenPosts(NamedTuple):
    """Posts that a claim list names itself: they become hits of kind title without a query."""

    claim_id: str
    post_id: str
    kind: str = "title"


def read_claims(path: Path, form: str = "") -> pd.DataFrame:
    """The claims in a file or a CoAID folder; `form` is one of `FORMATS`, found out where it is empty."""
    if not path.exists():
        raise InputError("is missing", file=path)
    form = form or detect(path)
    if form not in FORMATS:
        raise InputError(f"no claim list format is called '{form}'", remedy=f"Allowed: {', '.join(FORMATS)}")
    if form == "coaid":
        rows = coaid.claims(path)
    elif form == "csv":
        rows = _csv_rows(path)
    else:
        rows = claim_review.claims(path, google=form == "fact_check")
    return checked(rows, path)


def given_posts(path: Path) -> list[GivenPosts]:
    """The posts that a claim list names itself (CoAID does), each once, in the order of claims and posts."""
    if detect(path) != "coaid":
        return []
    return [GivenPosts(*pair) for pair in coaid.posts(path)]


def detect(path: Path) -> str:
    """The format of a claim list, by its content."""
    if path.is_dir():
        if coaid.files(path):
            return "coaid"
        raise InputError(
            "is a folder, not a file", file=path, remedy="Name the claim list, or a CoAID release"
        )
    if path.suffix.lower() in {".json", ".jsonl", ".jsonld", ".ndjson"} or claim_review.looks_like_json(path):
        return claim_review.detect(path)
    header, _ = read_rows(path, strict=True)
    return "coaid" if coaid.is_header(header) else "csv"


def checked(rows: list[dict[str, Any]], path: Path) -> pd.DataFrame:
    """Rows as the table `claims`: every claim with an id of its own and a text."""
    import pandas as pd

    if not rows:
        raise InputError("has no claims", file=path)
    seen: dict[str, int] = {}
    for row in rows:
        claim_id, number = row["claim_id"], row.pop("row", "")
        if not claim_id:
            raise InputError("has no claim_id", file=path, row=number, remedy="Give every claim an id")
        if re.search(r"[|:\s]", claim_id):
            raise InputError(
                f"the claim_id '{claim_id}' has a space, a colon or a bar in it",
                file=path,
                row=number,
                remedy="Use letters, digits, - and _",
            )
        if claim_id in seen:
            raise InputError(
                f"the claim_id {claim_id} is already that of row {seen[claim_id]}", file=path, row=number
            )
        seen[claim_id] = number
        if not row["text"]:
            raise InputError(f"the claim {claim_id} has no text", file=path, row=number)
    frame = pd.DataFrame(rows, columns=tables.SCHEMAS["claims"].names)
    return tables.frame(tables.conform(frame, "claims"))


def claim(claim_id: str, text: str, **values: Any) -> dict[str, Any]:
    """One row of the table, with what is not given left empty."""
    blank: dict[str, Any] = {
        "language": "",
        "first_seen": "",
        "selected": True,
        **{name: [] for name in LISTS},
    }
    return {"claim_id": claim_id, "text": " ".join(text.split()), **blank, **values}


def _csv_rows(path: Path) -> list[dict[str, Any]]:
    header, lines = read_rows(path, strict=True)
    named = {name: column(header, known) for name, known in _NAMES.items()}
    named["claim_id"], named["text"] = (
        need(path, header, _NAMES["claim_id"]),
        need(path, header, _NAMES["text"]),
    )
    found = []
    for number, line in enumerate(lines, start=2):
        cells = {name: storage.restored(line[source]) if source else "" for name, source in named.items()}
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
        values = {name: [one.strip() for one in cells[name].splitlines() if one.strip()] for name in LISTS}
        found.append(
            claim(
                cells["claim_id"].strip(),
                cells["text"],
                language=cells["language"].strip(),
                first_seen=day,
                selected=chosen in _YES,
                row=number,
                **values,
            )
        )
    return found


def claims_csv(frame: pd.DataFrame) -> bytes:
    """The table as CSV: several values one a line, safe for spreadsheets, read back as it was by `read_claims`."""
    header = tables.SCHEMAS["claims"].names

    def cell(name: str, value: Any) -> str:
        if name in LISTS:
            return "\n".join(value if value is not None else ())
        return ("yes" if value is None or value else "no") if name == "selected" else str(value or "")

    rows = [
        [cell(name, value) for name, value in zip(header, row, strict=True)]
        for row in frame[header].itertuples(index=False)
    ]
    return storage.csv_bytes(header, rows)
