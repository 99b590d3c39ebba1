"""Drop claims with too few posts (step 5 of the paper's five)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.cleaning.step import Step

if TYPE_CHECKING:
    from covmis_build.options import Cleaning

COUNTED = """
SELECT *, CASE WHEN step_so_far <> '' OR NOT ({too_few}) THEN step_so_far
    WHEN step_before = '{not_found}' THEN step_before ELSE '{name}' END AS step
FROM (SELECT *,
        COUNT(CASE WHEN step_so_far = '' AND ranked = 0 THEN 1 END) OVER (PARTITION BY claim_id) AS posts_left
      FROM steps) AS counted"""
"""The steps of all pairs, with the numbers left per claim. Only matched posts count for a claim."""

EMPTY_CLAIMS = """
SELECT claim_id, MAX(posts_left) AS posts_left FROM counted WHERE step <> '{not_found}' GROUP BY claim_id
HAVING COUNT(CASE WHEN step = '' THEN 1 END) = 0"""
"""Claims without any item left."""

STEP = Step(
    name="minimum_posts",
    # Items with fewer than 24 posts are omitted (3.1): 24 is enough.
    drops=lambda options: f"posts_left < {options.minimum_posts}",
    reason=lambda _pair, options: f"its claim has fewer than {options.minimum_posts} posts left",
)


def counted(options: Cleaning, not_found: str) -> str:
    """Return the SQL that adds this step to the others'."""
    return COUNTED.format(name=STEP.name, too_few=STEP.drops(options), not_found=not_found)
