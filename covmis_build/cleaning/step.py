"""What a step of cleaning gives to the whole: when it drops a pair of a claim and a post, and its words for why."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import pyarrow as pa

    from covmis_build.options import Cleaning


class Pair(NamedTuple):
    """What the steps' reasons are made of: a claim and a post of which a step drops one."""

    claim_id: str
    post_id: str
    step: str
    similarity: float | None
    group_id: str | None
    kept: str
    least_length: str
    detected_language: str
    first_claim: str


class Step(NamedTuple):
    """One of the paper's five steps; `steps.py` puts them in their order."""

    name: str
    drops: Callable[[Cleaning], str]
    """The condition, in SQL over `c` (the pair), `m` (its post, measured) and `g` (its group of duplicates)."""
    reason: Callable[[Pair, Cleaning], str]
    """Why, for a dropped pair; few different ones, since they are counted."""
    kept_instead: Callable[[Pair], str] = lambda _pair: ""
    """What stays in its place: an item, or a post."""


def rows(block: pa.Table, *names: str) -> zip[tuple[Any, ...]]:
    """Some columns of a block, row by row."""
    return zip(*(block.column(name).to_pylist() for name in names), strict=True)
