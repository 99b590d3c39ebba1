"""A claim as a row, rows as the table `claims`, and the table as CSV for users."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

from covmis_build import storage, tables
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd

LISTS = ("keywords", "titles", "news_urls", "fact_check_urls", "edits")
"""Columns with several values, one per line in a cell."""


@dataclass
class Claim:
    """A row of the table `claims` or of the CSV, unchecked; missing values are empty."""

    claim_id: str
    text: str
    _: KW_ONLY
    language: str = ""
    first_seen: str = ""
    selected: bool = True
    keywords: Sequence[str] = ()
    titles: Sequence[str] = ()
    news_urls: Sequence[str] = ()
    fact_check_urls: Sequence[str] = ()
    edits: Sequence[str] = ()
    verdict: str = ""
    misinformation: str = ""
    own: dict[str, str] = field(default_factory=dict)
    """The user's own columns, which begin with `_`."""
    row: int | str = ""
    """Row in its file."""

    def __post_init__(self) -> None:
        self.text = " ".join(self.text.split())

    def cells(self) -> dict[str, Any]:
        """Return its columns."""
        columns = vars(self) | {name: list(getattr(self, name)) for name in LISTS} | self.own
        return {name: value for name, value in columns.items() if name not in {"own", "row"}}


def checked(claims: Sequence[Claim], path: Path) -> pd.DataFrame:
    """Return claims as the table `claims`, after checking that each has a unique id and a text."""
    import pandas as pd

    check(claims, path)
    return claims_frame(pd.DataFrame([claim.cells() for claim in claims]))


def check(claims: Sequence[Claim], path: Path) -> None:
    """Refuse claims of which one has no text, or no id of its own."""
    if not claims:
        raise InputError("has no claims", file=path)
    seen: dict[str, int | str] = {}
    for claim in claims:
        claim_id = claim.claim_id
        if not claim_id:
            raise InputError("has no claim_id", file=path, row=claim.row, remedy="Give every claim an id")
        if re.search(r"[|:\s]", claim_id):
            raise InputError(
                f"the claim_id '{claim_id}' has a space, a colon or a bar in it",
                file=path,
                row=claim.row,
                remedy="Use letters, digits, - and _",
            )
        if claim_id in seen:
            raise InputError(
                f"the claim_id {claim_id} is already that of row {seen[claim_id]}", file=path, row=claim.row
            )
        seen[claim_id] = claim.row
        if not claim.text:
            raise InputError(f"the claim {claim_id} has no text", file=path, row=claim.row)


def claims_frame(rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows as the table `claims`, with the columns that are only in the CSV: verdicts, and the user's own.

    Empty columns are omitted; the stages use only the table's columns.
    """
    frame = tables.frame(tables.conform(rows, "claims"))
    for name in rows.columns.difference(frame.columns, sort=False):
        values = [value if isinstance(value, str) else "" for value in rows[name]]
        if any(values):
            frame[name] = values
    return frame


def claims_csv(frame: pd.DataFrame) -> bytes:
    """Return the table as CSV: several values one per line, safe for spreadsheets, restored exactly by `read_claims`."""
    header = list(frame.columns)

    def cell(name: str, value: Any) -> str:
        if name in LISTS:
            return "\n".join(value if value is not None else ())
        return ("yes" if value is None or value else "no") if name == "selected" else str(value or "")

    rows = [
        [cell(name, value) for name, value in zip(header, row, strict=True)]
        for row in frame.itertuples(index=False)
    ]
    return storage.csv_bytes(header, rows)
