"""CoAID releases: news and claim files with up to five news URLs, and the posts found by their titles."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

from covmis_build.claims.claim import Claim
from covmis_build.errors import InputError
from covmis_build.files.columns import need
from covmis_build.files.ids import check_ids
from covmis_build.files.reading import read_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_NAMED = re.compile(r"(?:News|Claim)FakeCOVID-19\.csv")
_MAC_ROMAN = str.maketrans(
    {"Ò": "“", "Ó": "”", "Õ": "’", "Ô": "‘", "É": "…", "Ñ": "—", "Ð": "–", "Ÿ": "ü", "™": "ô"}
)
"""Typographic characters that were saved as Mac Roman and read as Windows Latin."""


def is_header(header: Sequence[str]) -> bool:
    """True for the header of a CoAID list: an unnamed index, and the known URL columns."""
    return bool(header) and header[0] == "" and {"fact_check_url", "news_url", "title"} <= set(header)


def files(path: Path) -> list[Path]:
    """Return the lists of fake news and claims at this path: a file, a release, or a folder of releases."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*.csv") if _NAMED.fullmatch(file.name))


def claims(path: Path) -> list[Claim]:
    """Return the claims of all releases at this path."""
    claims: list[Claim] = []
    for file in files(path):
        sheet = read_table(file)
        header = sheet.header
        if not is_header(header):
            raise InputError("is not a CoAID list", file=file, row=1)
        for number, line in zip(sheet.numbers, sheet.whole(file), strict=True):
            title = mended(line["title"]) or mended(line.get("newstitle", "")).strip('"')
            urls = [line.get(name, "").strip() for name in header if re.fullmatch(r"news_url\d?", name)]
            headline = mended(line.get("newstitle", "")).strip()
            claims.append(
                Claim(
                    line[""].strip(),
                    title.strip().strip('"'),
                    language="en",
                    titles=[headline] if headline.strip('" ') else [],
                    news_urls=list(dict.fromkeys(url for url in urls if url)),
                    fact_check_urls=[line["fact_check_url"].strip()]
                    if line["fact_check_url"].strip()
                    else [],
                    first_seen=_day(line.get("publish_date", "")),
                    row=number,
                )
            )
    return claims


def posts(path: Path) -> list[tuple[str, str]]:
    """Return claim-post pairs from the `_tweets.csv` next to each list."""
    pairs: set[tuple[str, str]] = set()
    for file in files(path):
        beside = file.with_name(f"{file.stem}_tweets.csv")
        if not beside.exists():
            continue
        sheet = read_table(beside)
        header, lines = sheet.header, sheet.whole(beside)
        index, post = need(beside, header, ["index"]), need(beside, header, ["tweet_id"])
        check_ids(beside, [line[post].strip() for line in lines], rows=sheet.numbers)
        pairs.update((line[index].strip(), f"x:{line[post].strip()}") for line in lines)
    return sorted(pairs)


def mended(text: str) -> str:
    """Repair typographic characters of a file saved and read in two encodings.

    >>> mended("IndiaÕs ÒplanÓ")
    'India’s “plan”'
    """
    if re.search(r"[ÒÓÕÔ]|\bÑ\b|[a-z][Ÿ™][a-z]", text):
        text = text.translate(_MAC_ROMAN)
    return " ".join(text.split())


def _day(text: str) -> str:
    """Convert a day such as 11-Apr-20 to ISO; other values are omitted."""
    for form in ("%d-%b-%y", "%Y-%m-%d", "%m/%d/%Y", "%m/%d/%y", "%B %d, %Y"):
        try:
            return datetime.strptime(text.strip(), form).date().isoformat()  # noqa: DTZ007 - days have no zone
        except ValueError:
            continue
    return ""
