"""What each simulated post means, as its generator knows it; nothing of this is in the archive."""

from __future__ import annotations

import itertools
from functools import cache

from tests.demonstration.generate import POSTS
from tests.demonstration.stories import SEED, posts, unfound


@cache
def truth(count: int = POSTS, seed: int = SEED) -> dict[str, dict[str, str]]:
    """For every post id its stances by claim, told again from the seed."""
    every = itertools.chain(posts(count, seed), unfound(count, seed))
    return {f"x:{post.id}": post.stances for post in every}


def true_stance(post_id: str, claim_id: str) -> str:
    """The post's stance towards the claim; neither where it is about something else."""
    return truth()[post_id].get(claim_id, "neither")
