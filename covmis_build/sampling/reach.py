"""Select the items that a draw can reach: a few dozen per claim, however many posts it has.

Probabilities depend on the number of posts per claim and stratum, which SQL counts. An item's own permanent random number
decides: kernels drop items whose numbers no draw can reach, and `draw.sample` makes the same decisions on the rest as on
all. Memory therefore grows with claims, strata and quotas, not with posts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from covmis_build import tables
from covmis_build.keyed import order, uniforms
from covmis_build.options import RANKED
from covmis_build.sampling.certain import Cluster, Clusters, Stratum, certain
from covmis_build.sampling.designs import design_of
from covmis_build.sampling.inclusion import allocate
from covmis_build.sampling.strata import strata_by, stratum_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from covmis_build.engine import Engine, Table
    from covmis_build.options import Sampling

PLACED = pa.schema(
    [(name, tables.STRING) for name in ("item_id", "claim_id", "kind")]
    + [("group_size", tables.COUNT), ("part", tables.STRING)]
)
"""An item's kind, and its stratum by `[sampling] strata_by`."""
CHANCES = pa.schema(
    [(name, tables.STRING) for name in ("claim_id", "kind", "part")]
    + [("chance", tables.REAL), ("quota", tables.COUNT), ("size", tables.COUNT)]
)
NEAR = pa.schema([("item_id", tables.STRING)])
BY_ITS_POST = """
    SELECT items.item_id, items.claim_id, items.post_id, items.kind, items.group_size, COALESCE(posts.created_at, '') AS created_at
    FROM items LEFT JOIN posts ON items.post_id = posts.post_id"""
WITH_CHANCES = """
    SELECT placed.item_id, placed.claim_id, placed.kind, placed.part, chances.chance, chances.quota, chances.size
    FROM placed JOIN chances
    ON placed.claim_id = chances.claim_id AND placed.kind = chances.kind AND placed.part = chances.part"""
WITHIN = """
    SELECT * FROM items WHERE kind = '{ranked}'
    OR item_id IN (SELECT item_id FROM near) OR item_id IN (SELECT item_id FROM frozen)"""
LARGEST = """
    SELECT claim_id, kind, part, group_size, item_id FROM (
        SELECT *, ROW_NUMBER() OVER (PARTITION BY claim_id, kind, part ORDER BY group_size DESC, item_id) AS place
        FROM placed WHERE kind <> '{ranked}' AND group_size > 1
    ) AS sized WHERE place <= {most} ORDER BY claim_id, kind, part, place"""


@dataclass(frozen=True, slots=True)
class Reach:
    """The input of `draw.sample` for the same result as from all items."""

    items: pd.DataFrame
    """Items that may be drawn, ranked items, and frozen items."""
    clusters: Clusters
    """Number of matched posts per claim and stratum, and the largest near-duplicate clusters."""
    strata: dict[str, str] | None
    """Stratum of each of these items, if the setting requests strata."""


def within_reach(
    engine: Engine, items: Table, posts: Table, frozen: pd.DataFrame, options: Sampling, *, seed: int
) -> Reach:
    """Return the items whose numbers may be small enough for the study's earlier or current draws."""
    by = options.strata_by
    if by:
        placed = engine.map(
            partial(_placed, by=by), engine.sql(BY_ITS_POST, items=items, posts=posts), PLACED
        )
    else:
        placed = engine.sql("SELECT item_id, claim_id, kind, group_size, '' AS part FROM items", items=items)
    counted = (
        engine.sql(
            "SELECT claim_id, kind, part, count(*) AS posts, CAST(sum(group_size) AS BIGINT) AS copies, "
            "CAST(sum(group_size * group_size) AS BIGINT) AS squares "
            f"FROM placed WHERE kind <> '{RANKED}' GROUP BY claim_id, kind, part ORDER BY claim_id, kind, part",
            placed=placed,
        )
        .to_arrow()
        .to_pylist()
    )
    stratum_sums: dict[str, dict[str, Stratum]] = {}
    for row in counted:
        row["stratum"] = stratum_name(row["kind"], row["part"] if by else None)
        sums = Stratum(row["posts"], row["copies"], row["squares"])
        stratum_sums.setdefault(row["claim_id"], {})[row["stratum"]] = sums
    sized = (
        engine.sql(LARGEST.format(ranked=RANKED, most=options.per_claim), placed=placed)
        .to_arrow()
        .to_pylist()
    )
    largest: dict[tuple[str, str], list[Cluster]] = {}
    for row in sized:
        stratum = stratum_name(row["kind"], row["part"] if by else None)
        cluster = Cluster(stratum, row["group_size"], row["item_id"])
        largest.setdefault((row["claim_id"], stratum), []).append(cluster)
    clusters = Clusters(stratum_sums, largest)
    allocations = {
        claim: allocate(of, options.per_kind, options.per_claim) for claim, of in clusters.counts.items()
    }
    for row in counted:
        drawn, stratum = allocations[row["claim_id"]], row["stratum"]
        row |= {"chance": float(drawn.chance(stratum)), "quota": drawn.first[stratum], "size": drawn.size}
    fixed = any(design_of(name).FIXED_SIZE for name in {options.design, *frozen["design"]})
    near = engine.map(
        partial(_near, seed=seed, fixed=fixed),
        engine.sql(WITH_CHANCES, placed=placed, chances=engine.table(pa.Table.from_pylist(counted, CHANCES))),
        NEAR,
    )
    sure = [item for items_of in certain(clusters, options).values() for item in items_of]
    before = engine.table(pa.table({"item_id": pa.array([*frozen["item_id"], *sure], tables.STRING)}))
    pool = engine.sql(WITHIN.format(ranked=RANKED), items=items, near=near, frozen=before)
    parts = (
        engine.sql(
            "SELECT item_id, part FROM placed WHERE item_id IN (SELECT item_id FROM pool)",
            placed=placed,
            pool=pool,
        ).to_pandas()
        if by
        else None
    )
    strata = None if parts is None else dict(zip(parts["item_id"], parts["part"], strict=True))
    return Reach(pool.to_pandas(), clusters, strata)


def _placed(block: pa.Table, *, by: Sequence[str]) -> pa.Table:
    rows = block.to_pandas()
    strata = strata_by(rows, rows, by)
    parts = [strata[item] for item in rows["item_id"]]
    return block.select(["item_id", "claim_id", "kind", "group_size"]).append_column(
        "part", pa.array(parts, tables.STRING)
    )


def _near(block: pa.Table, *, seed: int, fixed: bool) -> pa.Table:
    """Return a block's items with a number below their probability and, for a `fixed` size, those with the smallest numbers.

    The smallest numbers overall are also among the smallest of their block. For the second phase, the number considered is the
    claim's whole size, because at worst it includes all items of the first phase.
    """
    items = block.column("item_id").to_pylist()
    numbers = uniforms(seed, "sampling", items)
    chances = block.column("chance").to_pylist()
    near = {item for item, number, chance in zip(items, numbers, chances, strict=True) if number < chance}
    if fixed:
        strata: dict[tuple[str, str, str, int], list[str]] = {}
        claims: dict[tuple[str, int], list[str]] = {}
        columns = (block.column(name).to_pylist() for name in ("claim_id", "kind", "part", "quota", "size"))
        for item, claim, kind, part, quota, size in zip(items, *columns, strict=True):
            strata.setdefault((claim, kind, part, quota), []).append(item)
            claims.setdefault((claim, size), []).append(item)
        for (*_, quota), members in strata.items():
            near.update(order(seed, "sampling", members)[:quota])
        for (_, size), members in claims.items():
            near.update(order(seed, "sampling, second phase", members)[:size])
    return pa.table([pa.array([item for item in items if item in near], tables.STRING)], schema=NEAR)
