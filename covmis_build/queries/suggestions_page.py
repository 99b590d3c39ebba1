"""A claim's proposals as a page, what each finds side by side, so that a person picks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from covmis_build.report.page import Section, page, table_html

if TYPE_CHECKING:
    from covmis_build.queries.suggest import Suggestions


def suggestions_page(study: str, suggestions: Suggestions) -> str:
    """The page's HTML; posts are in columns, a width a column."""
    proposals = suggestions.proposals
    queries = pd.DataFrame(
        [[row.width, row.posts, row.expression, row.reason] for row in proposals],
        columns=["Width", "Posts", "Query", "Why"], dtype=object,
    )  # fmt: skip
    most = max((len(row.samples) for row in proposals), default=0)
    side_by_side = pd.DataFrame(
        {
            row.width: [f"{post.post_id}: {post.text}" for post in row.samples]
            + [""] * (most - len(row.samples))
            for row in proposals
        },
        dtype=object,
    )
    units = pd.DataFrame(
        [[unit.unit, " OR ".join(unit.forms), unit.posts] for unit in suggestions.units],
        columns=["Part of the claim", "Asked for as", "Posts"], dtype=object,
    )  # fmt: skip
    sections = [
        Section(
            "Proposals",
            prose="Each asks for a quorum of the claim's most telling parts. A wider one finds all that a narrower one finds.",
            body=table_html(queries, headings=1),
        ),
        Section(
            "What they find, side by side",
            prose="Some of the posts, spread over the archive; the same ones whenever you ask.",
            body=table_html(side_by_side),
        ),
        Section("The claim's parts, the most telling first", body=table_html(units, headings=1)),
    ]
    return page("Queries for a claim", sections, study=study, lead=suggestions.claim)
