"""The parts of a released corpus: whole claims, whole events, or in time, and near-duplicates always in one part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from covmis_build.evaluation.kept_together import kept_together, near_copies
from covmis_build.evaluation.keys import values_of
from covmis_build.evaluation.split import splits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.evaluation.keys import Values

FRACTIONS = (0.7, 0.1, 0.2)


def release_splits(
    corpus: pd.DataFrame, *, scheme: str, fractions: Sequence[float] = FRACTIONS, owners: Sequence[str] | None,
    texts: Sequence[str] | None, similarity: float, seed: int,
) -> pd.DataFrame:  # fmt: skip
    """item_id, part and group of every item.

    `grouped` keeps the items of an owner (a claim, an event) together, `stratified` and `chronological` do not;
    the first two keep near-duplicates together. In time, a near-duplicate that comes later is one of test: nothing is moved.
    """
    in_time = scheme == "chronological"
    keys: list[Values] = [values_of(owners)] if scheme == "grouped" and owners is not None else []
    keys += [] if in_time or texts is None else [near_copies(texts, similarity)]
    groups = kept_together(keys, len(corpus))
    items = corpus["item_id"].astype(str)
    first = items.groupby(groups).transform("min")
    frame = corpus[["item_id", "label", "created_at", "native_id"]].assign(group=first)
    parts = splits(
        frame, scheme="chronological" if in_time else "grouped", fractions=tuple(fractions),  # type: ignore[arg-type]
        group=() if in_time else "group", seed=seed,
    )  # fmt: skip
    return pd.DataFrame({"item_id": frame["item_id"], "part": parts, "group": frame["group"]})
