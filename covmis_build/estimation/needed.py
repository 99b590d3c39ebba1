"""What a corpus must say of its items so that shares can be estimated from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.errors import InputError, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

NEEDED = ("item_id", "claim_id", "kind", "label", "how", "p_claim", "p_sample", "group_size")


def check_corpus(corpus: pd.DataFrame, labels: Sequence[str]) -> None:
    """Refuse a corpus that cannot be used for estimates, naming the item."""
    if missing := [name for name in NEEDED if name not in corpus.columns]:
        raise InputError(
            f"the corpus lacks the columns {', '.join(missing)}",
            remedy="Estimates need a release made by covmis, with its probabilities",
        )
    if corpus.empty:
        raise InputError("the corpus has no rows", remedy="Label items and make a release first")
    for name in ("item_id", "claim_id", "kind", "label", "how"):
        if (empty := corpus[name].isna() | (corpus[name] == "")).any():
            raise InputError(
                f"the item {corpus['item_id'][empty].iloc[0]} of the corpus has no {name}",
                remedy="Complete it, or make the release again",
            )
    if (again := corpus["item_id"].duplicated()).any():
        raise InputError(
            f"the item {corpus['item_id'][again].iloc[0]} is in the corpus twice",
            remedy="Keep one row per item",
        )
    for name in ("p_claim", "p_sample"):
        p = corpus[name].astype(float)
        if (wrong := ~((p > 0) & (p <= 1))).any():
            raise InputError(
                f"the item {corpus['item_id'][wrong].iloc[0]} has {name} = {p[wrong].iloc[0]:g}",
                remedy="A probability is above 0 and at most 1",
            )
    for label in sorted(set(corpus["label"]) - set(labels)):
        raise InputError(f"the label '{label}' is not in the scheme", remedy=nearest(str(label), labels))
    size = corpus["group_size"]
    if size.isna().any() or (size.astype(float) < 1).any():
        raise InputError("a group_size in the corpus is missing or below 1")
