"""From gold labels and frozen items to the corpus: one row a labelled item, with how it came about and its weight.

The corpus is made from what was frozen when rounds were opened, never from today's build: so a release does not
change because new posts arrived. Every frozen item is either a row or counted in `left_out`.
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
"""Names as X, Bluesky and Mastodon write them: @name, @name.example.org, @name@instance.org."""
PROFILE = re.compile(r"((?:twitter|x)\.com/)(?!(?:i|search|hashtag|home|intent|share)\b)(\w+)", re.IGNORECASE)
"""Links to a profile or to a post say whose it is."""

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
    """The table `corpus`, sorted by item: every frozen item that has a gold label and was not purged.

    Items of pilot rounds do not count. `purged` names posts by their id, with or without the platform's prefix.
    Without `options.text`, the column `text` is empty; with it, mentions are masked unless that is turned off.
    The weight is 1/(p_claim·p_sample): how many unique posts this row represents.
    """
    import pandas as pd

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
    if not options.text:
        corpus["text"] = None
    elif options.mask_mentions:
        corpus["text"] = [mask_mentions(text) if isinstance(text, str) else None for text in corpus["text"]]
    corpus = corpus.sort_values("item_id", kind="stable", ignore_index=True)
    return pd.DataFrame(tables.frame(tables.conform(corpus, "corpus")))


def left_out(
    gold: pd.DataFrame, frozen: pd.DataFrame, purged: Collection[str] = frozenset()
) -> dict[LeftOut, int]:
    """How many frozen items are not in the corpus, by reason; with the corpus they add up to all frozen items."""
    reasons = _with_reason(gold, frozen, purged)["reason"]
    return {reason: int((reasons == reason).sum()) for reason in LeftOut}


def _with_reason(gold: pd.DataFrame, frozen: pd.DataFrame, purged: Collection[str]) -> pd.DataFrame:
    """The frozen items, each with the reason why it is omitted, or an empty one."""
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
    """The frozen items that a purge has emptied: it takes text and salt."""
    salt = frozen["salt"] if "salt" in frozen else frozen["text"]
    return (salt.fillna("") == "") & (frozen["text"].fillna("") == "")


def mask_mentions(text: str) -> str:
    """The text with every account named the same: mentions, mail addresses, and names within links.

    >>> mask_mentions(".@WHO: mail a@b.org, ask @ann@example.org or https://x.com/WHO/status/12")
    '.@user: mail @user, ask @user or https://x.com/user/status/12'
    """
    return PROFILE.sub(r"\1user", MENTION.sub(MASK, MAIL.sub(MASK, text)))
