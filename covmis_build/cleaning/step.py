"""The interface of a cleaning step: when it drops a claim-post pair, and its reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import pyarrow as pa

    from covmis_build.options import Cleaning


class Pair(NamedTuple):
    """A claim-post pair that a step drops, for its reason."""

    claim_id: str
    post_id: str
    step: str
    similarity: float | None
    group_id: str | None
    kept: str
    least_length: str
    detected_language: str
    first_claim: str
    represented: int
    """1 if an item of its own claim stands for its near-duplicates."""


class Step(NamedTuple):
    """One of the paper's five steps; `steps.py` defines their order."""

    name: str
    drops: Callable[[Cleaning], str]
    """The condition, in SQL over `c` (the pair), `m` (its post, measured), or over the pair in its group of near-duplicates."""
    reason: Callable[[Pair, Cleaning], str]
    """The reason for a dropped pair; few different ones, because they are counted."""
    kept_instead: Callable[[Pair], str] = lambda _pair: ""
    """What is kept instead: an item, or a post."""


def rows(block: pa.Table, *names: str) -> zip[tuple[Any, ...]]:
    """Yield some columns of a block, row by row."""
    return zip(*(block.column(name).to_pylist() for name in names), strict=True)
