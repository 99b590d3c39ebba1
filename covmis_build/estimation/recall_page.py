"""The recall page: from posts near a claim to the corpus, and the missed posts, on one scale."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pandas as pd

from covmis_build.report import figures
from covmis_build.report.page import Section, as_integer, page, table_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.estimation.recall_report import RecallReport

LIKELY, PERHAPS = "likely missed", "perhaps missed"
QUERIES = {
    "claim": "Claim", "width": "Width", "expression": "Query", "posts": "Posts", "finds": "Finds",
    "held_out": "Made without it", "of_missed": "Of missed",
}  # fmt: skip
SHARED = {
    "claim": "Claim",
    "words": "Words",
    "missed": "Missed posts with them",
    "of_missed": "Of",
    "posts": "Posts",
}


def recall_page(
    title: str,
    report: RecallReport,
    steps: Sequence[tuple[str, float]],
    *,
    examples: pd.DataFrame,
    shared: pd.DataFrame,
    queries: pd.DataFrame,
    told: Sequence[str],
) -> str:
    """Return the page's HTML. `steps` are counts of pairs from the frame to the corpus; `examples` are missed posts (claim, post).

    `shared` and `queries` are missed posts' common words and queries that match them; `told` are findings on links and
    languages.
    """
    whole = report.figures.iloc[0]
    tiles = [
        (
            "Found, of the frame",
            _share(whole["recall"]),
            f"{_share(whole['low'])} to {_share(whole['high'])}",
        ),
        ("Relevant posts found", _count(whole["found"]), "about"),
        (
            "Missed",
            _count(whole["missed"]),
            f"{_count(whole['missed_low'])} to {_count(whole['missed_high'])}",
        ),
        ("Beyond the frame", f"{report.facts.beyond:,}", "pairs outside the frame"),
    ]
    sections = [
        Section(
            "Found and missed posts",
            prose="\n\n".join([BARS, *report.sentences[1:]]),
            figures=[_to_scale(report), _shares(report)] if not math.isnan(whole["recall"]) else [],
            body=table_html(_figures(report), headings=2),
        ),
        Section(
            "From what is near to the corpus",
            prose="Pairs of a claim and a post. Relevant ones are estimated from the labels of the recall rounds.",
            figures=[figures.bars(steps, alt="Pairs left at each step", unit="pairs of a claim and a post")],
        ),
    ]
    if len(report.stances):
        rows = report.stances.to_dict("records")
        points = [(str(row["label"]), row["share"], row["low"], row["high"]) for row in rows]
        alt = "The share of each label among all relevant posts, found or not"
        sections.append(
            Section(
                "What all of them say, found or not",
                figures=[
                    figures.forest(points, alt=alt, unit="share of all relevant posts", limits=(0.0, 1.0))
                ],
                body=table_html(_stances(report.stances), headings=1),
            )
        )
    if len(examples):
        heads = {"claim": "Claim", "post": "A post that no query finds"}
        sections.append(Section("Missed posts", body=table_html(examples, names=heads, headings=1)))
    if len(shared):
        sections.append(
            Section("What they share", prose=" ".join(told), body=table_html(shared, names=SHARED))
        )
    if len(queries):
        sections.append(
            Section("Queries that would find them", prose=ADVICE, body=table_html(queries, names=QUERIES))
        )
    return page("What the queries miss", sections, study=title, lead=report.sentences[0], tiles=tiles)


BARS = (
    "One bar for all queries and one per query type, on one scale. A post found by two types counts for both."
)
ADVICE = (
    "Each query was built from labelled posts that it finds, so that number is optimistic. Use the cross-validated number: "
    "the posts found by a query that was built without them. Copy good queries to `keywords` in queries/claims.csv, run "
    "`covmis run`, and estimate recall again."
)


def _to_scale(report: RecallReport) -> str:
    """Return bars of matched pairs, missed ones (lower bound), and possibly missed ones."""
    rows = report.figures[report.figures["scope"].isin(["all", "kind"])].to_dict("records")
    whole = rows[0]
    together = whole["found"] + whole["missed"]
    names = ["all queries", *(str(row["name"]).replace("_", " ") for row in rows[1:])]
    by_kind = [whole["found"], *(row["recall"] * together for row in rows[1:])]
    others = [max(whole["found"] - count, 0.0) for count in by_kind]
    series = {
        "found": by_kind,
        "by other kinds": others,
        LIKELY: [whole["missed_low"]] * len(rows),
        PERHAPS: [whole["missed_high"] - whole["missed_low"]] * len(rows),
    }
    if not any(others):
        del series["by other kinds"]
    alt = (
        f"Relevant posts: about {_count(whole['found'])} found, {_count(whole['missed_low'])} to "
        f"{_count(whole['missed_high'])} missed"
    )
    return figures.stacked(names, series, alt=alt, unit="relevant posts in the frame")


def _shares(report: RecallReport) -> str:
    """Return recall over all queries and by type, with intervals."""
    rows = report.figures[report.figures["scope"].isin(["all", "kind"])].to_dict("records")
    points = [
        (str(row["name"]).replace("_", " ") or "all queries", row["recall"], row["low"], row["high"])
        for row in rows
    ]
    alt = f"The share of all relevant posts that queries find, with {report.level:.0%} intervals"
    return figures.forest(
        points, alt=alt, unit="share of all relevant posts that is found", limits=(0.0, 1.0)
    )


def _figures(report: RecallReport) -> pd.DataFrame:
    """Return the figures for display; unavailable ones are empty."""
    names = {"all": "all queries", "kind": "kind", "claim": "claim"}
    rows = [
        (
            names[row["scope"]],
            str(row["name"]).replace("_", " "),
            row["recall"],
            f"{row['low']:.3f} to {row['high']:.3f}",
            as_integer(row["missed"]),
            as_integer(row["labels"]),
            as_integer(row["relevant"]),
        )
        for row in report.figures.to_dict("records")
    ]
    columns = ["of", "name", "recall", "interval", "missed", "labels", "relevant ones"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def _stances(rows: pd.DataFrame) -> pd.DataFrame:
    told = [
        (
            row["label"],
            row["share"],
            f"{row['low']:.3f} to {row['high']:.3f}",
            round(row["total"]),
            f"{_count(row['total_low'])} to {_count(row['total_high'])}",
            row["drawn"],
        )
        for row in rows.to_dict("records")
    ]
    return pd.DataFrame(
        told, columns=["label", "share", "interval", "relevant posts", "their interval", "drawn"]
    )


def _share(value: float) -> str:
    return f"{value:.0%}" if math.isfinite(value) else "\N{EN DASH}"


def _count(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "\N{EN DASH}"
