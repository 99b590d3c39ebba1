"""The parts of a released corpus: whole claims, whole events, or in time, and near-copies always in one part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from covmis_build.evaluation.kept_together import kept_together
from covmis_build.evaluation.keys import values_of
from covmis_build.evaluation.split import splits

if TYPE_CHECKING:
    from collections.abc import Sequence

FRACTIONS = (0.7, 0.1, 0.2)


def release_splits(
    corpus: pd.DataFrame, *, scheme: str, fractions: Sequence[float] = FRACTIONS, owners: Sequence[str] | None,
    texts: Sequence[str] | None, similarity: float, seed: int,
) -> pd.DataFrame:  # fmt: skip
    """item_id, part and group of every item.

    `grouped` keeps the items of an owner (a claim, an event) together, `stratified` and `chronological` do not;
    the first two keep near-copies together. In time, a near-copy that comes later is one of test: nothing is moved.
    """
    in_time = scheme == "chronological"
    keys = [values_of(owners)] if scheme == "grouped" and owners is not None else []
    groups = kept_together(keys, None if in_time else texts, similarity, len(corpus))
    items = corpus["item_id"].astype(str)
    first = items.groupby(groups).transform("min")
    frame = corpus[["item_id", "label", "created_at", "native_id"]].assign(group=first)
    parts = splits(
        frame, scheme="chronological" if in_time else "grouped", fractions=tuple(fractions),  # type: ignore[arg-type]
        group=() if in_time else "group", seed=seed,
    )  # fmt: skip
    return pd.DataFrame({"item_id": frame["item_id"], "part": parts, "group": frame["group"]})
