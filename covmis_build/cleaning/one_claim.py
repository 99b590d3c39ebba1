"""Assign a post matched for several claims to one of them (step 1 of the paper's five)."""

from __future__ import annotations

import pyarrow as pa

from covmis_build import keyed, tables
from covmis_build.cleaning.step import Step, rows

PAIRS = """
SELECT claim_id, post_id, CASE WHEN found > 0 THEN kinds END AS kinds, ranked, frozen,
  COUNT(CASE WHEN found > 0 THEN 1 END) OVER (PARTITION BY post_id) AS n_claims
FROM (
  SELECT claim_id, post_id, array_sort(array_distinct(array_agg(kind) FILTER (WHERE frozen = 0))) AS kinds,
    COUNT(kind) AS found, COALESCE(MIN(ranked), 0) AS ranked, MAX(frozen) AS frozen
  FROM (
    SELECT claim_id, post_id, kind, CASE WHEN kind = 'ranked' THEN 1 ELSE 0 END AS ranked, 0 AS frozen FROM hits
    UNION ALL
    SELECT claim_id, post_id, NULL AS kind, NULL AS ranked, 1 AS frozen FROM frozen
  ) AS every GROUP BY claim_id, post_id
) AS pairs"""
"""Every claim-post pair once, with its query types (none if no query finds a frozen item any more), and its post's claims."""

DRAWN = pa.schema(
    [
        ("claim_id", tables.STRING),
        ("post_id", tables.STRING),
        ("kinds", tables.STRINGS),
        ("ranked", tables.COUNT),
        ("frozen", tables.COUNT),
        ("n_claims", tables.COUNT),
        ("draw_number", tables.REAL),
    ]
)

CHOSEN = """
SELECT *,
  ROW_NUMBER() OVER (PARTITION BY post_id ORDER BY {first}) AS rank_in_post,
  FIRST_VALUE(claim_id) OVER (PARTITION BY post_id ORDER BY {first}) AS first_claim
FROM pairs""".format(first="CASE WHEN kinds IS NULL THEN 1 ELSE 0 END, frozen DESC, draw_number, claim_id")
"""A post is assigned to the first claim that finds it: a frozen one, otherwise the one with the smallest random number."""


def draw(block: pa.Table, *, seed: int) -> pa.Table:
    """Return the pair's permanent random number for choosing one claim per post; 0 for a single claim."""
    # Posts under several items: one of them is kept at random (3.1).
    pairs = list(rows(block, "claim_id", "post_id", "n_claims"))
    names = (f"{claim}|{post}" for claim, post, claims in pairs if claims > 1)
    drawn = iter(keyed.uniforms(seed, "claim", names))
    numbers = [next(drawn) if claims > 1 else 0.0 for *_, claims in pairs]
    return block.append_column("draw_number", pa.array(numbers)).select(DRAWN.names).cast(DRAWN)


STEP = Step(
    name="one_claim_per_post",
    drops=lambda options: "c.rank_in_post > 1" if options.one_claim_per_post else "1 = 0",
    reason=lambda _pair, _options: "stays with another of its claims",
    kept_instead=lambda pair: f"{pair.first_claim}|{pair.post_id}",
)
