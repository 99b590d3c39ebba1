"""Select the claims with most posts (A.1: the 200 items with most posts retrieved through titles and URLs)."""

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
    """The claim list with `selected` set, and the ranking: claim_id, posts, rank, selected, tied."""

    claims: pd.DataFrame
    counts: pd.DataFrame

    def to_dict(self) -> dict[str, Any]:
        """Return what `covmis claims select --json` prints."""
        return {"selected": int(self.counts["selected"].sum()), "of": len(self.counts), "claims": self.counts}

    @property
    def summary(self) -> Summary:
        """Return the first selected claims, and their number."""
        selected = self.counts[self.counts["selected"]]
        of = f"{len(selected):,} of {len(self.counts):,} claims selected"
        return [selected.head(20), f"{of}; all counts: queries/selection.csv"]

    @property
    def warnings(self) -> list[str]:
        """Report ties that only the list's order decided."""
        ties = int(self.counts["tied"].sum())
        told = "with as many posts as the last one selected; among them the order of the list decided"
        return [f"{counted(ties, 'claims')} {told}"] if ties else []


def select(claims: pd.DataFrame, hits: pd.DataFrame, top: int) -> Selection:
    """Select the `top` claims by distinct posts found through titles and URLs.

    Ties are decided by list order. Claims with the same count as the last selected one are marked as tied, for the report.
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
