"""A published corpus in small, as COVMis-Stance was published, to be built again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.storage import csv_bytes

if TYPE_CHECKING:
    from pathlib import Path

KINDS = ("title", "news_url", "fact_check_url", "keywords")
FIRST = 1252934402983763968


def published(folder: Path) -> None:
    """Two claims with 32 posts each, 8 of a kind."""
    folder.mkdir()
    claims = [
        [mid, f"Rumour number {mid} is told.", f"rumour{mid} told", "A title", f"https://news.org/{mid}", f"https://check.org/{mid}"]
        for mid in ("13", "17")
    ]  # fmt: skip
    header = ["mid", "mis", "keywords", "titles", "news_urls", "fact_check_urls"]
    (folder / "misinformation.csv").write_bytes(csv_bytes(header, claims))
    rows = [
        [KINDS[at % 4], mid, "", str(FIRST + 100 * int(mid) + at), "favor", "False"]
        for mid in ("13", "17")
        for at in range(32)
    ]
    header = ["source", "mid", "mis", "tweet_id", "label", "auto"]
    (folder / "covmis_stance.csv").write_bytes(csv_bytes(header, rows))
