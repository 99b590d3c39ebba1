"""What a data statement (Bender and Friedman 2018) and a datasheet (Gebru et al. 2021) ask, answered from what the study knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.corpus.licences import licence_of
from covmis_build.corpus.phrases import count, listed
from covmis_build.text.lengths import least_lengths

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.corpus.release_facts import ReleaseFacts
    from covmis_build.corpus.statistics import Statistics

NOT_STATED = "not stated"


def data_statement(facts: ReleaseFacts) -> pd.DataFrame:
    """Whose language this is, and who judged it."""
    first, last = facts.period
    when = f" from {first} to {last}" if first else ""
    return _table(
        {
            "Curation rationale": "posts that queries for claims found, for the stance towards these claims: see How it was collected",
            "Language variety": f"{listed(facts.cleaning.languages)}; which varieties is not known",
            "Speakers": "not known, and nothing about the posts' authors is in this release",
            "Annotators": f"{count(facts.annotators, 'person', 'people')}; who they are: {_own(facts)}",
            "Speech situation": f"public posts on {listed(facts.platforms)}{when}, written for the public there",
            "Text characteristics": f"posts of {least_lengths(facts.cleaning) or 'any length'}; near-duplicates once: see statistics.html",
        }
    )  # fmt: skip


def datasheet(facts: ReleaseFacts, numbers: Statistics) -> pd.DataFrame:
    """What is in it, where it comes from, and what becomes of it."""
    release = facts.release
    licence = licence_of(release.licence)
    where = f"https://doi.org/{release.doi}" if release.doi else release.url
    gone = ", ".join(f"{number:,} {why}" for why, number in facts.left_out.items() if number)
    return _table(
        {
            "Motivation": f"see Purpose; funding: {release.funding or NOT_STATED}",
            "Composition": f"{count(numbers.rows, 'post')} on {count(numbers.claims, 'claim')}; excluded: {gone or 'nothing'}; "
            f"recommended parts: {'splits.csv' if facts.parts else 'none'}",
            "Collection process": "see How it was collected, and Sampling and weights",
            "Preprocessing and labelling": "see From claims to sample, and Annotation; "
            + ("texts are as posted" if release.text and not release.mask_mentions else "accounts named in texts are masked" if release.text else "texts are not in it"),
            "Uses": "see Purpose, and Limits",
            "Distribution": f"{where or 'no address stated'}; licence: "
            f"{licence.spdx if licence else release.licence or NOT_STATED}",
            "Maintenance": f"version {release.version or NOT_STATED}; contact: {release.contact or NOT_STATED}; maintenance: {_own(facts)}",
        }
    )  # fmt: skip


def _own(facts: ReleaseFacts) -> str:
    """What only the study's own data statement can tell."""
    return "see Data statement" if facts.data_statement else NOT_STATED


def _table(answers: dict[str, str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(list(answers.items()), columns=["asked", "answer"])
