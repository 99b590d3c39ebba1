"""Further strata: when a post was made, and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

BY = {"platform": 0, "year": 4, "month": 7, "day": 10}
"""What posts can be divided by; for times, how much of `created_at` names the window."""


def strata_by(items: pd.DataFrame, posts: pd.DataFrame, by: Sequence[str]) -> Mapping[str, str]:
    """A stratum for each item, from its post's platform and time, as `sample(strata=...)` takes them.

    A post without a time is in a window of its own, `unknown`.

    >>> import pandas as pd
    >>> items = pd.DataFrame({"item_id": ["1|x:1"], "post_id": ["x:1"]})
    >>> posts = pd.DataFrame({"post_id": ["x:1"], "created_at": ["2020-04-22T12:34:56Z"]})
    >>> strata_by(items, posts, ["platform", "month"])
    {'1|x:1': 'x 2020-04'}
    """
    for name in by:
        if name not in BY:
            raise InputError(f"posts cannot be divided by '{name}'", remedy=nearest(name, BY))
    times = dict(zip(posts["post_id"], posts["created_at"], strict=True))
    made = {}
    for item, post in zip(items["item_id"], items["post_id"], strict=True):
        time = times.get(post) or ""
        parts = (
            str(post).partition(":")[0] if name == "platform" else str(time)[: BY[name]] or "unknown"
            for name in by
        )
        made[str(item)] = " ".join(parts)
    return made
