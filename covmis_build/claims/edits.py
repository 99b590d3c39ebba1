"""Edit a claim list so that each claim's origin stays documented; ids are never reused.

A claim's `edits` have one line per change: the rule, and the previous content.
"""

from __future__ import annotations

import itertools
import re
import string
from typing import TYPE_CHECKING, Any

from covmis_build.claims.claim import claims_frame
from covmis_build.claims.lint import WITHOUT
from covmis_build.errors import InputError, NoClaim
from covmis_build.text.urls import canonical_url

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

LISTED = ("keywords", "titles", "news_urls", "fact_check_urls")


def split(claims: pd.DataFrame, claim_id: str, texts: Sequence[str]) -> pd.DataFrame:
    """Split one claim into several (A.1): `12` becomes `12a`, `12b`, each with its queries' sources.

    Keywords are not copied, because they belonged to the whole claim.
    """
    at = _row(claims, claim_id)
    if len(texts) < 2 or not all(text.strip() for text in texts):
        raise InputError(f"claim {claim_id}: splitting takes at least two texts")
    used = used_ids(claims)
    fresh = (letters for letters in _letters() if f"{claim_id}{letters}" not in used)
    old = _rows(claims)[at]
    note = f"split from {claim_id}: {old['text']}"
    parts = [
        {
            **old,
            "claim_id": f"{claim_id}{next(fresh)}",
            "text": " ".join(text.split()),
            "keywords": [],
            "edits": [*old["edits"], note],
        }
        for text in texts
    ]
    return _joined(claims, [*_rows(claims)[:at], *parts, *_rows(claims)[at + 1 :]])


def merge(claims: pd.DataFrame, claim_ids: Sequence[str], text: str = "") -> pd.DataFrame:
    """Merge several claims into the first of them, which keeps its id."""
    places = sorted({_row(claims, claim_id) for claim_id in claim_ids})
    if len(places) < 2:
        raise InputError("merging takes at least two claims")
    rows = _rows(claims)
    first, others = rows[places[0]], [rows[at] for at in places[1:]]
    merged = {**first, "text": " ".join(text.split()) or first["text"]}
    for name in LISTED:
        known: dict[str, str] = {}
        for value in itertools.chain(first[name], *(row[name] for row in others)):
            known.setdefault((canonical_url(value) or value) if name.endswith("urls") else value, value)
        merged[name] = list(known.values())
    days = [row["first_seen"] for row in (first, *others) if row["first_seen"]]
    merged["first_seen"] = min(days, default="")
    merged["edits"] = [*first["edits"]]
    if merged["text"] != first["text"]:
        merged["edits"].append(f"merge: was {first['text']}")
    for row in others:
        merged["edits"] += [*row["edits"], f"merged {row['claim_id']}: {row['text']}"]
    gone = set(places[1:])
    return _joined(
        claims, [merged if at == places[0] else row for at, row in enumerate(rows) if at not in gone]
    )


def with_keywords(claims: pd.DataFrame, claim_id: str, keywords: Sequence[str]) -> pd.DataFrame:
    """Set one claim's keywords. Its edits record the previous ones."""
    at, rows = _row(claims, claim_id), _rows(claims)
    before = list(rows[at]["keywords"])
    if before == list(keywords):
        return claims
    note = f"keywords: was {' | '.join(before)}" if before else "keywords: had none"
    rows[at] = {**rows[at], "keywords": list(keywords), "edits": [*rows[at]["edits"], note]}
    return _joined(claims, rows)


def with_text(claims: pd.DataFrame, claim_id: str, text: str) -> pd.DataFrame:
    """Set one claim's text. Its edits record the previous one."""
    at, rows = _row(claims, claim_id), _rows(claims)
    before, text = rows[at]["text"], " ".join(text.split())
    if before == text:
        return claims
    rows[at] = {**rows[at], "text": text, "edits": [*rows[at]["edits"], f"text: was {before}"]}
    return _joined(claims, rows)


def accept(claims: pd.DataFrame, findings: pd.DataFrame, chosen: Sequence[str]) -> pd.DataFrame:
    """Apply the proposals of these findings, each recorded with the previous content; those applied before stay so."""
    known = {str(row["finding"]): row for row in findings.to_dict("records")}
    for name in chosen:
        if name not in known and _is_accepted(claims, name):
            continue
        if name not in known:
            raise InputError(f"no finding is called '{name}'", remedy="See `covmis claims lint`")
        finding = known[name]
        if not finding["proposal"]:
            raise InputError(
                f"the finding {name} proposes nothing that could be accepted",
                remedy="Edit queries/claims.csv by hand",
            )
        claims = _accepted(claims, finding)
    return claims


def _is_accepted(claims: pd.DataFrame, name: str) -> bool:
    """True if this finding was accepted before, as the edits note it."""
    rule, _, claim = name.partition(":")
    begins = {"split": f"split from {claim}:", "merge": "merged "}.get(rule, f"{rule}: ")
    return any(
        edit.startswith(begins)
        for known, edits in zip(claims["claim_id"], claims["edits"], strict=True)
        for edit in edits
        if known == claim or rule == "split"
    )


def _accepted(claims: pd.DataFrame, finding: dict[Any, Any]) -> pd.DataFrame:
    claim_id, rule, proposal = str(finding["claim_id"]), finding["rule"], str(finding["proposal"])
    if rule == "split":
        return split(claims, claim_id, proposal.split("\n"))
    if rule == "merge":
        return merge(claims, [claim_id, *proposal.split("\n")])
    at = _row(claims, claim_id)
    rows = _rows(claims)
    if rule in {"shared", "addresses"}:
        rows[at] = _without_url(rows[at], rule, proposal.removeprefix(WITHOUT))
        return _joined(claims, rows)
    rows[at] = {
        **rows[at],
        "text": proposal,
        "edits": [*rows[at]["edits"], f"{rule}: was {rows[at]['text']}"],
    }
    return _joined(claims, rows)


def _without_url(row: dict[str, Any], rule: str, address: str) -> dict[str, Any]:
    """Remove this URL from a claim, in any spelling."""
    key = canonical_url(address) or address
    columns = ("fact_check_urls",) if rule == "shared" else ("news_urls", "fact_check_urls")
    gone = {name: [url for url in row[name] if (canonical_url(url) or url) == key] for name in columns}
    notes = [f"{rule}: took off {url}" for urls in gone.values() for url in urls]
    kept = {name: [url for url in row[name] if url not in gone[name]] for name in columns}
    return {**row, **kept, "edits": [*row["edits"], *notes]}


def used_ids(claims: pd.DataFrame) -> set[str]:
    """Return every id that a claim has or had."""
    past = (
        re.match(r"(?:split from|merged) ([^:\s]+):", edit) for edits in claims["edits"] for edit in edits
    )
    return {*claims["claim_id"], *(found[1] for found in past if found)}


def _row(claims: pd.DataFrame, claim_id: str) -> int:
    for at, known in enumerate(claims["claim_id"]):
        if known == claim_id:
            return at
    raise NoClaim.of(claim_id, claims["claim_id"])


def _letters() -> Iterator[str]:
    for length in itertools.count(1):
        yield from map("".join, itertools.product(string.ascii_lowercase, repeat=length))


def _rows(claims: pd.DataFrame) -> list[dict[str, Any]]:
    return [dict(row) for row in claims.to_dict("records")]  # type: ignore[arg-type]


def _joined(claims: pd.DataFrame, rows: list[dict[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return claims_frame(pd.DataFrame(rows, columns=claims.columns))
