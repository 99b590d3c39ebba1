"""Additional strata: time and platform of a post (`[sampling] strata_by`)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from covmis_build.errors import InputError, nearest
from covmis_build.options import RANKED, STRATA

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

CLAIM, MONTH, DAY = "claim", "month", "day"
WINDOWS = {"year": 4, MONTH: 7, DAY: 10}
"""Number of characters of `created_at` that identify each time window."""


def strata_by(items: pd.DataFrame, posts: pd.DataFrame, by: Sequence[str]) -> Mapping[str, str]:
    """Return each item's stratum from its post's platform and time, for `sample(strata=...)`.

    Posts without a time have their own window, `unknown`.

    >>> import pandas as pd
    >>> items = pd.DataFrame({"item_id": ["1|x:1"], "post_id": ["x:1"]})
    >>> posts = pd.DataFrame({"post_id": ["x:1"], "created_at": ["2020-04-22T12:34:56Z"]})
    >>> strata_by(items, posts, ["platform", "month"])
    {'1|x:1': 'x 2020-04'}
    """
    for name in by:
        if name not in STRATA:
            raise InputError(f"posts cannot be divided by '{name}'", remedy=nearest(name, STRATA))
    times = dict(zip(posts["post_id"], posts["created_at"], strict=True))
    strata = {}
    for item, post in zip(items["item_id"], items["post_id"], strict=True):
        time = times.get(post) or ""
        parts = (
            str(post).partition(":")[0] if name == "platform" else str(time)[: WINDOWS[name]] or "unknown"
            for name in by
        )
        strata[str(item)] = " ".join(parts)
    return strata


def divided(items: pd.DataFrame, posts: pd.DataFrame, by: str) -> list[str]:
    """Return each item's claim, query type (kind), platform or time window, in row order.

    >>> import pandas as pd
    >>> items = pd.DataFrame({"item_id": ["1|x:1"], "claim_id": ["1"], "post_id": ["x:1"]})
    >>> posts = pd.DataFrame({"post_id": ["x:1"], "created_at": ["2020-04-22T12:34:56Z"]})
    >>> divided(items, posts, "claim"), divided(items, posts, "month")
    (['1'], ['2020-04'])
    """
    if by in STRATA:
        return list(strata_by(items, posts, [by]).values())
    return [str(name) for name in items["claim_id" if by == CLAIM else by]]


def stratum_of(item: str, kind: str, strata: Mapping[str, str] | None) -> str:
    """Return an item's stratum: its query type, divided by `strata` if given."""
    if strata is not None and item not in strata:
        raise InputError(f"the item {item} has no stratum", remedy="Give every item one, or none")
    return stratum_name(kind, None if strata is None else strata[item])


def stratum_name(kind: str, part: str | None) -> str:
    """Return the name of a query type's stratum, or of a part of it.

    >>> stratum_name("title", None), stratum_name("title", "x 2020-04")
    ('title', 'title / x 2020-04')
    """
    return kind if part is None else f"{kind} / {part}"


def kind_of(stratum: str) -> str:
    """Return the query type of a stratum."""
    return stratum.partition(" / ")[0]


def counts_of(items: pd.DataFrame, strata: Mapping[str, str] | None = None) -> dict[str, dict[str, int]]:
    """Return the number of posts per claim and query type, or stratum if given.

    >>> import pandas as pd
    >>> counts_of(pd.DataFrame({"claim_id": ["1", "1", "2"], "kind": ["title", "title", "ranked"]}))
    {'1': {'title': 2}}
    """
    counts: dict[str, dict[str, int]] = {}
    items = items[items["kind"] != RANKED]
    pairs = Counter(zip(items["claim_id"], strata_of(items, strata), strict=True))
    for claim, name in sorted(pairs):
        counts.setdefault(str(claim), {})[name] = pairs[claim, name]
    return counts


def strata_of(items: pd.DataFrame, strata: Mapping[str, str] | None) -> list[str]:
    """Return each item's stratum in row order."""
    if strata is None:
        return [str(kind) for kind in items["kind"]]
    return [
        stratum_of(str(item), str(kind), strata)
        for item, kind in zip(items["item_id"], items["kind"], strict=True)
    ]
