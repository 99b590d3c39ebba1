"""CSV files with post ids: ids alone, ids with the claim they were found for, or whole posts with their text.

Ids alone say which posts a claim list gives; the posts themselves come from elsewhere in the archive.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from covmis_build.errors import InputError
from covmis_build.options import KINDS
from covmis_build.retrieval.forgetting import PURGED
from covmis_build.retrieval.formats.post import Claimed, Post
from covmis_build.storage import restored
from covmis_build.text.sheets import check_ids, column, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet
    from pathlib import Path

ID = ("post_id", "tweet_id", "status_id", "id", "id_str", "tweetid", "tweet_ids")
TEXT = ("text", "full_text", "tweet_text", "content", "rawcontent", "tweet", "post_text")
DATE = ("created_at", "date", "timestamp", "datetime")
LANGUAGE = ("language", "lang")
CLAIM = ("claim_id", "mid")
URLS = ("urls", "outlinks", "expanded_urls", "url")
SUFFIXES = (".csv", ".tsv", ".ids", ".txt")
ID_ONLY = "id only"
"""The availability of a post of which a file has nothing but the id."""


def problem_of(path: Path) -> str:
    """Why this is not a file of post ids; empty if it is one. Ids broken by a spreadsheet are an InputError."""
    header, rows, named = _columns(path)
    if not named["id"]:
        return f"no column of post ids among: {', '.join(header)[:200]}"
    ids = [native(rows[at][named["id"]]) for at in range(len(rows))]
    check_ids(path, [one for one in ids if ":" not in one])
    return ""


def suspicious(path: Path) -> list[str]:
    """Ids that may have been rounded by a spreadsheet, where they are too few to refuse the file."""
    _, rows, named = _columns(path)
    return check_ids(path, [one for row in rows if ":" not in (one := native(row[named["id"]]))])


def read_file(
    path: Path, forgotten: AbstractSet[str] = frozenset()
) -> Iterator[tuple[int, list[Post] | str]]:
    """Row numbers with their posts, or with what is wrong with them.

    Of a row that names a forgotten post or author in any cell only the id comes.
    """
    _, rows, named = _columns(path)
    for number, row in enumerate(rows, start=2):
        one = native(row[named["id"]])
        post_id = one if re.match(r"(?:x|bsky|masto):", one) else f"x:{one}"
        if not re.fullmatch(r"x:\d{1,20}|bsky:did:[^/|]+/[^/|]+|masto:[^/|]+/[^/|]+", post_id):
            yield number, f"not a post id: {one[:60]}"
            continue
        text, claim = row.get(named["text"], ""), row.get(named["claim"], "").strip()
        purged = post_id in forgotten or not forgotten.isdisjoint(
            restored(cell.strip()) for cell in row.values()
        )
        kind = row.get("kind", "") or row.get("source", "")
        given = (Claimed(claim, kind=kind if kind in KINDS else "title"),) if claim else ()
        post = Post(
            post_id,
            post_id.partition(":")[2],
            {"x": "x", "bsky": "bluesky", "masto": "mastodon"}[post_id.split(":")[0]],
            restored(text),
            row.get(named["date"], "").strip(),
            row.get(named["language"], "").strip(),
            re.findall(r"https?://[^\s,'\"\]]+", row.get(named["urls"], "")),
            availability="available" if text else ID_ONLY,
            claimed=given,
        )
        if purged:
            post = Post(post_id, post.native_id, post.platform, availability=PURGED, claimed=given)
        yield number, [post]


def native(cell: str) -> str:
    """An id as it is meant: without the marks that protect it from spreadsheets, or taken from a post's address."""
    text = cell.strip().lstrip("'").strip('="').strip()
    found = re.search(r"/status(?:es)?/(\d+)", text)
    return found[1] if found else text


def _columns(path: Path) -> tuple[list[str], list[dict[str, str]], dict[str, str]]:
    """Header, rows and which column is what; a file of bare ids has no header."""
    header, rows = read_rows(path)
    if len(header) == 1 and (header[0].isdigit() or "/status/" in header[0]):
        rows = [{"id": header[0]}, *({"id": row[header[0]]} for row in rows)]
        header = ["id"]
    if not header:
        raise InputError("has no header", file=path, row=1)
    names = {"id": ID, "text": TEXT, "date": DATE, "language": LANGUAGE, "claim": CLAIM, "urls": URLS}
    return header, rows, {name: column(header, known) for name, known in names.items()}
