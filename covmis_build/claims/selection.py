"""Choosing the claims with most posts (A.1: the 200 items with most posts retrieved through titles and URLs)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from covmis_build.claims.claim import claims_frame
from covmis_build.errors import InputError, counted
from covmis_build.report.result import Result

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.report.summary import Summary

COUNTED = ("title", "news_url", "fact_check_url")


@dataclass(frozen=True, slots=True, repr=False)
class Selection(Result):
    """The claim list with `selected` set, and how it came about: claim_id, posts, rank, selected, tied."""

    claims: pd.DataFrame
    counts: pd.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """As `covmis claims select --json` tells it."""
        return {"selected": int(self.counts["selected"].sum()), "of": len(self.counts), "claims": self.counts}

    @property
    def summary(self) -> Summary:
        """The first of those selected, and how many there are."""
        selected = self.counts[self.counts["selected"]]
        of = f"{len(selected):,} of {len(self.counts):,} claims selected"
        return [selected.head(20), f"{of}; all counts: queries/selection.csv"]

    @property
    def warnings(self) -> list[str]:
        """Where nothing but the order of the list decided."""
        ties = int(self.counts["tied"].sum())
        told = "with as many posts as the last one selected; among them the order of the list decided"
        return [f"{counted(ties, 'claims')} {told}"] if ties else []


def select(claims: pd.DataFrame, hits: pd.DataFrame, top: int) -> Selection:
    """The `top` claims by distinct posts found through titles and URLs.

    Claims with equal counts are taken in the order of the list; those that share the count of the last one taken
    are marked as tied, so that the report can say that the choice among them was only that.
    """
    import pandas as pd

    if top < 1:
        raise InputError(f"top = {top}", remedy="Keep at least one claim (top, --top)")
    counted = hits[hits["kind"].isin(COUNTED)].groupby("claim_id")["post_id"].nunique()
    ids = list(claims["claim_id"])
    posts = [int(counted.get(claim, 0)) for claim in ids]
    order = sorted(range(len(ids)), key=lambda at: (-posts[at], at))
    rank = {at: place for place, at in enumerate(order, start=1)}
    taken = set(order[:top])
    last = posts[order[min(top, len(order)) - 1]] if order else 0
    tied = sum(count == last for count in posts) > sum(posts[at] == last for at in taken)
    counts = pd.DataFrame(
        {
            "claim_id": ids,
            "posts": posts,
            "rank": [rank[at] for at in range(len(ids))],
            "selected": [at in taken for at in range(len(ids))],
            "tied": [tied and count == last for count in posts],
        }
    ).sort_values("rank", ignore_index=True)
    chosen = claims.assign(selected=[at in taken for at in range(len(ids))])
    return Selection(claims_frame(chosen), counts)
