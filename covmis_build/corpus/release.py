"""Build the corpus from gold labels and frozen items: one row per labelled item, with label source and weight.

The corpus uses the items frozen when rounds were opened, not the current build, so new posts do not change a release. Every
frozen item is either a row or counted in `left_out`.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from covmis_build import tables
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection

    import pandas as pd

    from covmis_build.options import Release

MAIL = re.compile(
    r"(?<![@\w.+-])[A-Za-z0-9_%+-][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}"
)
MENTION = re.compile("[@\N{FULLWIDTH COMMERCIAL AT}]" + r"\w[\w-]*(?:\.[\w-]+)*(?:@[\w-]+(?:\.[\w-]+)+)?")
"""User names in the formats of X, Bluesky and Mastodon: @name, @name.example.org, @name@instance.org."""
PROFILE = re.compile(r"((?:twitter|x)\.com/)(?!(?:i|search|hashtag|home|intent|share)\b)(\w+)", re.IGNORECASE)
"""Links to a profile or post, which contain the user name."""

MASK = "@user"


class LeftOut(StrEnum):
    """Why a frozen item is not in the corpus."""

    PILOT = "pilot"
    PURGED = "purged"
    NO_GOLD = "no gold label"


def make_corpus(
    gold: pd.DataFrame,
    frozen: pd.DataFrame,
    options: Release,
    *,
    purged: Collection[str] = frozenset(),
) -> pd.DataFrame:
    """Return the table `corpus`, sorted by item: every frozen item with a gold label that was not purged.

    Items of pilot rounds are excluded. `purged` names posts by id, with or without the platform's prefix. Without
    `options.text` the column `text` is empty; with it, mentions are masked unless that is turned off. The weights are
    1/(p_claim·p_sample) until the population is known (`with_weights`).
    """
    import numpy as np
    import pandas as pd

    from covmis_build.sampling.audit import chances_of_checks

    kept = _with_reason(gold, frozen, purged)
    kept = kept[kept["reason"] == ""]
    corpus = kept.drop(columns=["label", "how"], errors="ignore").merge(
        gold[["item_id", "label", "how"]], on="item_id", how="inner", validate="one_to_one"
    )
    chance = corpus["p_claim"].astype(float) * corpus["p_sample"].astype(float)
    wrong = corpus.loc[~((chance > 0) & (chance <= 1)), "item_id"]
    if len(wrong):
        raise InputError(
            f"the item {wrong.iloc[0]} has no probability above 0 and at most 1",
            remedy="A frozen item keeps the probabilities with which it was drawn; check annotation/rounds",
        )
    corpus["weight"] = 1 / chance
    corpus["weight_of_posts"] = corpus["weight"] * corpus["group_size"]
    corpus["in_population"] = "yes"
    corpus["design"] = corpus["design"].fillna("") if "design" in corpus else ""
    corpus["automatic_label"] = rules_of(corpus)
    known = np.array(corpus.get("p_audit", pd.Series(np.nan, corpus.index)), dtype=float)
    corpus["p_audit"] = chances_of_checks(corpus, corpus["automatic_label"].tolist(), known)
    if not options.text:
        corpus["text"] = None
    elif options.mask_mentions:
        corpus["text"] = [mask_mentions(text) if isinstance(text, str) else None for text in corpus["text"]]
    corpus = corpus.sort_values("item_id", kind="stable", ignore_index=True)
    return pd.DataFrame(tables.frame(tables.conform(corpus, "corpus")))


def rules_of(corpus: pd.DataFrame) -> list[str]:
    """Return each item's automatic label, also if people judged it later; empty for items labelled by people only."""
    given = corpus["automatic_label"] if "automatic_label" in corpus else [""] * len(corpus)
    return [
        str(label) if how == "automatic" else str(rule or "") if how == "audited" else ""
        for how, label, rule in zip(corpus["how"], corpus["label"], given, strict=True)
    ]


def with_weights(corpus: pd.DataFrame, labelled: pd.DataFrame, weights: pd.DataFrame) -> pd.DataFrame:
    """Return the corpus as its population describes and weights it. Rows that are not `labelled` in it have weight 0."""
    import pandas as pd

    names = ["kind", "group_size", "p_claim"]
    counts = weights[["item_id", "weight", "weight_of_posts"]]
    told = labelled[["item_id", *names]].merge(counts, on="item_id").set_index("item_id")
    there = corpus["item_id"].isin(told.index).to_numpy()
    told = told.reindex(corpus["item_id"])
    changed = {name: told[name].where(there, corpus[name].to_numpy()).to_numpy() for name in names}
    counted = {name: told[name].fillna(0.0).to_numpy() for name in ("weight", "weight_of_posts")}
    inside = ["yes" if here else "no" for here in there]
    whole = corpus.assign(**changed, **counted, in_population=inside)
    return pd.DataFrame(tables.frame(tables.conform(whole, "corpus")))


def left_out(
    gold: pd.DataFrame, frozen: pd.DataFrame, purged: Collection[str] = frozenset()
) -> dict[LeftOut, int]:
    """Count frozen items that are not in the corpus, by reason. With the corpus they sum to all frozen items."""
    reasons = _with_reason(gold, frozen, purged)["reason"]
    return {reason: int((reasons == reason).sum()) for reason in LeftOut}


def _with_reason(gold: pd.DataFrame, frozen: pd.DataFrame, purged: Collection[str]) -> pd.DataFrame:
    """Return the frozen items with the reason for omission, or an empty one."""
    doubled = gold.loc[gold["item_id"].duplicated(), "item_id"]
    if len(doubled):
        raise InputError(f"the item {doubled.iloc[0]} has two gold labels", remedy="Gold has one row an item")
    pilot = frozen["pilot"].astype(bool)
    doubled = frozen.loc[frozen["item_id"].duplicated() & ~pilot, "item_id"]
    if len(doubled):
        raise InputError(
            f"the item {doubled.iloc[0]} is frozen in two rounds",
            remedy="An item belongs to one round; check annotation/rounds",
        )
    forget = frozenset(purged)
    gone = frozen["post_id"].isin(forget) | frozen["native_id"].isin(forget) | is_forgotten(frozen)
    items = frozen.assign(reason="")
    items.loc[~frozen["item_id"].isin(set(gold["item_id"])), "reason"] = LeftOut.NO_GOLD
    items.loc[gone, "reason"] = LeftOut.PURGED
    items.loc[pilot, "reason"] = LeftOut.PILOT
    return items


def is_forgotten(frozen: pd.DataFrame) -> pd.Series[bool]:
    """Mark frozen items that were purged (without text and salt)."""
    salt = frozen["salt"] if "salt" in frozen else frozen["text"]
    return (salt.fillna("") == "") & (frozen["text"].fillna("") == "")


def mask_mentions(text: str) -> str:
    """Replace every account name in the text: mentions, e-mail addresses, and names in links.

    >>> mask_mentions(".@WHO: mail a@b.org, ask @ann@example.org or https://x.com/WHO/status/12")
    '.@user: mail @user, ask @user or https://x.com/user/status/12'
    """
    return PROFILE.sub(r"\1user", MENTION.sub(MASK, MAIL.sub(MASK, text)))
