"""The flow: counts of claims and claim-post pairs at every step.

From retrieval on the unit is the claim-post pair: every pair is either kept or in `dropped`, with step and reason. All
numbers come from the tables.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.building.counts import counts, distinct
from covmis_build.engine.port import quiet
from covmis_build.errors import MADE_AGAIN, InputError, counted

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb
    import pandas as pd

    from covmis_build.places import Places

WORDS = {
    "retrieve": "matched in the archive",
    "one_claim_per_post": "one claim per post",
    "language": "in the study's languages",
    "words": "long enough",
    "near_duplicates": "one of each group of near-identical posts",
    "minimum_posts": "claims with enough posts",
    "sample": "drawn",
}
"""Step → description of what it keeps, in order."""
OF_A_CLAIM = "claim: "
"""Beginning of the reason for dropping whole claims."""


@dataclass(frozen=True)
class Step:
    """A row of the flow: what a step keeps, and what it dropped, by reason."""

    name: str
    keeps: str
    claims: int
    pairs: int | None
    dropped_claims: int
    dropped_pairs: int | None
    reasons: dict[str, int]

    def why(self, most: int) -> str:
        """Return the most frequent reasons with counts, and the number of others."""
        ranked = sorted(self.reasons.items(), key=lambda pair: -pair[1])
        most += len(ranked) == most + 1  # a single further reason is as short as its number
        others = sum(count for _, count in ranked[most:])
        shown = [
            f"{counted(count, 'claims')} with {reason.removeprefix(OF_A_CLAIM)}"
            if reason.startswith(OF_A_CLAIM)
            else f"{reason}: {count:,}"
            for reason, count in ranked[:most]
        ]
        return "; ".join([*shown, *([f"{len(ranked) - most} other reasons: {others:,}"] if others else [])])

    @property
    def of_pairs(self) -> dict[str, int]:
        """Return the reasons that dropped pairs, without those for whole claims."""
        return {reason: count for reason, count in self.reasons.items() if not reason.startswith(OF_A_CLAIM)}

    def to_dict(self) -> dict[str, Any]:
        """As `covmis status --json` prints it."""
        reasons = [{"reason": reason, "count": count} for reason, count in self.reasons.items()]
        return asdict(self) | {"reasons": reasons}


def flow(places: Places) -> list[Step]:
    """Return the steps from claim list to sample; empty before the first run, and after a purge."""
    needed = ("sample", "dropped", "claims", "hits")
    if not all(places.table(name).exists() for name in needed):
        return []
    dropped = _dropped_counts(places.table("dropped"))
    claims = storage.read_column(places.table("claims"), "claim_id")
    unselected = dropped.get(("claim", "claims"), {})
    listed, selected = len(claims), len(claims) - sum(unselected.values())
    steps = [
        Step("claims", "in the claim list", listed, None, 0, None, {}),
        Step("select", "selected", selected, None, listed - selected, None, unselected),
    ]
    left_claims, left = selected, _pairs(places)
    for name, keeps in WORDS.items():
        gone, gone_claims = dropped.get(("pair", name), {}), dropped.get(("claim", name), {})
        left, left_claims = left - sum(gone.values()), left_claims - sum(gone_claims.values())
        reasons = {**gone, **{f"{OF_A_CLAIM}{reason}": count for reason, count in gone_claims.items()}}
        steps.append(
            Step(name, keeps, left_claims, left, sum(gone_claims.values()), sum(gone.values()), reasons)
        )
    return steps


def _pairs(places: Places) -> int:
    """Count all claim-post pairs that a query matched, before anything was dropped. A pair has hits or was dropped."""
    lost = counts(places.table("dropped"), "unit", "step").get(("pair", "retrieve"), 0)
    return distinct(places.table("hits"), "claim_id", "post_id") + lost


def _dropped_counts(path: Path) -> dict[tuple[str, str], dict[str, int]]:
    reasons: dict[tuple[str, str], dict[str, int]] = {}
    for (unit, step, reason), count in counts(path, "unit", "step", "reason").items():
        reasons.setdefault((unit, step), {})[reason] = count
    return reasons


def ask(query: str, *values: str | list[str], **tables: Path | list[Path]) -> list[tuple[Any, ...]]:
    """Return the rows of a small query on tables on disk (one or more files); `?` stands for each value."""
    import duckdb

    from covmis_build import checked_parquet

    with _database(os.getpid()).cursor() as connection:
        for name, given in tables.items():
            paths = given if isinstance(given, list) else [given]
            for path in paths:
                if not path.exists():  # a purge deletes tables
                    raise InputError("is missing", file=path, remedy="Make it with `covmis run`")
            files = checked_parquet.listed(paths)
            try:
                connection.execute(f"CREATE TEMP VIEW {name} AS SELECT * FROM read_parquet({files})")
            except duckdb.Error:
                raise InputError("cannot be read as a table", file=paths[0], remedy=MADE_AGAIN) from None
        return list(connection.execute(query, values).fetchall())


@cache
def _database(_process: int) -> duckdb.DuckDBPyConnection:
    """Return an empty database for queries: its cursors do not share views and are cheap.

    One per process: a forked process has no DuckDB threads, and would wait forever for them.
    """
    import duckdb

    return quiet(duckdb.connect())


def missing_from_build(places: Places, frozen: pd.DataFrame) -> dict[str, str]:
    """Return items of opened rounds that today's settings, claims and archive do not give, with the reason."""
    needed = {name: places.table(name) for name in ("items", "hits", "retrieve.dropped", "clean.dropped")}
    if not len(frozen) or not all(path.exists() for path in needed.values()):
        return {}
    items, hits, lost, cleaned = needed.values()
    rows = storage.read_parquet(items, ["item_id"], MADE_AGAIN, ["item_id"], ("item_id", frozen["item_id"]))
    today = set(rows.column("item_id").to_pylist())
    if today.issuperset(frozen["item_id"]):
        return {}
    hit = set(ask("SELECT DISTINCT claim_id, post_id FROM hits", hits=hits))
    question = "SELECT claim_id, post_id, reason FROM dropped WHERE unit <> 'claim'"
    fates = {(claim, post): reason for claim, post, reason in ask(question, dropped=lost)}
    judged = {(claim, post): reason for claim, post, reason in ask(question, dropped=cleaned)}
    reasons = {}
    for item, claim, post in zip(frozen["item_id"], frozen["claim_id"], frozen["post_id"], strict=True):
        if item in today:
            continue
        if (claim, post) in hit:
            reasons[str(item)] = judged.get((claim, post), "cleaning drops it")
        else:
            reasons[str(item)] = fates.get((claim, post)) or fates.get(("", post)) or "no query finds it"
    return reasons
