"""The question of a recall round: is the post about the claim? Annotators do not know which posts the queries matched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.annotation.answers import Phase, Status, usable
from covmis_build.options import Labels

if TYPE_CHECKING:
    import pandas as pd

YES, NO = "yes", "no"

GUIDELINE = """# Does the post take up the claim?

Read the claim, then the post. The question is what the post is about, not whether it is right.

- **yes**: the post says the claim, repeats it, doubts it, denies it, jokes about it or asks about it, in whatever words,
  or shares a report that does. Where you can, add the author's stance as the sub-label.
- **no**: the post is about something else, also where it shares words, people or places with the claim.

A post that takes up only a part of the claim is a yes if somebody who knows the claim would think of it.
Judge each post by what is shown. Most may be a no: that is expected. Every yes is read by a second person.
"""


def relevance_scheme(own: Labels) -> Labels:
    """Return the labels yes and no, with the study's labels below yes for annotators who also judge the stance."""
    return Labels(
        values=(YES, NO),
        order=(),
        poles=(),
        keys=("1", "2"),
        sub_labels={YES: own.values},  # noqa: PD011 - a setting of ours
        automatic={},
    )


def stances(frozen: pd.DataFrame, labels: pd.DataFrame) -> dict[str, str]:
    """Return the stance of each item that people marked relevant with a stance.

    The adjudicator takes precedence, then the discussion, then equal independent labels. Differing labels give no stance.
    """
    given = usable(labels, frozen)
    given = given[(given["status"] == Status.GIVEN) & (given["label"] == YES) & (given["sub_label"] != "")]
    told: dict[str, str] = {}
    for phase in (Phase.INDEPENDENT, Phase.DISCUSSION, Phase.ADJUDICATION):
        said = given[given["phase"] == phase].groupby("item_id")["sub_label"].agg(set)
        told |= {str(item): next(iter(names)) if len(names) == 1 else "" for item, names in said.items()}
    return {item: name for item, name in told.items() if name}
