"""The flow of a study as a page: what is left after each step, and why the rest went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build.errors import InputError
from covmis_build.report import figures
from covmis_build.report.page import Section, page, rows_html, table_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from covmis_build.building.flow import Step

COLUMNS = ("What is left", "Claims", "Claim × post pairs", "Dropped", "Why")


def flow_page(title: str, steps: Sequence[Step], rounds: pd.DataFrame, chains: pd.DataFrame) -> str:
    """The page's HTML; `chains` are the largest groups of near-identical posts."""
    if not steps:
        raise InputError("nothing has been built yet", remedy="Run `covmis run` first")
    rows = [(step.keeps, step.claims, step.pairs, step.dropped_pairs, step.why(30)) for step in steps]
    left = [(step.keeps, float(step.pairs)) for step in steps if step.pairs is not None]
    sections = [
        Section(
            "From the claim list to the sample",
            prose="A pair is a post that a query of a claim found. Whatever is not kept is dropped at one step, for "
            "one reason; data/build/dropped.parquet lists every pair, and `covmis explain ID` tells the story of one.",
            body=rows_html(COLUMNS, rows),
            figures=[
                figures.bars(
                    left, alt="Claim and post pairs left after each step", unit="pairs left after each step"
                )
            ],
        )
    ]
    if len(chains):
        sections.append(
            Section(
                "The largest groups of near-identical posts, and their least similar two",
                prose="Groups join what is connected through others, too. Do the two of a row say the same? Where they do "
                'not, `grouping = "greedy"` or a greater `similarity` parts them.',
                body=table_html(chains),
            )
        )
    if len(rounds):
        sections.append(Section("Annotation", body=table_html(rounds, headings=1)))
    last = steps[-1]
    tiles = [
        ("Claims in the list", f"{steps[0].claims:,}", ""),
        ("Claims in the sample", f"{last.claims:,}", ""),
        ("Pairs found", f"{steps[2].pairs or 0:,}", "claim × post"),
        ("Pairs drawn", f"{last.pairs or 0:,}", "the sample"),
    ]
    return page("Flow of the study", sections, study=title, tiles=tiles)
