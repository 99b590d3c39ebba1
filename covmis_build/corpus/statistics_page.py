"""The statistics of a release as a page and as LaTeX tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from covmis_build.corpus.phrases import count
from covmis_build.corpus.statistics import shares_shown
from covmis_build.records import Estimand
from covmis_build.report import figures, page
from covmis_build.stats.intervals import between

if TYPE_CHECKING:
    import pandas as pd

    from covmis_build.corpus.release_facts import ReleaseFacts
    from covmis_build.corpus.statistics import Statistics

NAMES = {
    "source": "source", "kind": "kind of query", "claim_id": "id", "total": "all", "automatic": "by rule",
    "manual": "by people", "sd": "SD", "quarter": "1st quartile", "three_quarters": "3rd quartile",
    "design_effect": "design effect", "unweighted": "in the rows", "share": "estimated",
}  # fmt: skip
MOST_CLAIMS = 40
"""Maximum number of bars; the table has all claims."""


def statistics_html(facts: ReleaseFacts, numbers: Statistics) -> str:
    """Return statistics.html: every table, with figures where useful."""
    sections = [
        page.Section(
            "Sources and labels",
            "Links to the news and to fact-checks together, as in table 4 of COVMis-Stance; then each query type separately.",
            page.table_html(numbers.by_source, names=NAMES) + page.table_html(numbers.by_kind, names=NAMES),
        ),
        page.Section(
            "Estimated shares",
            "As in covmis estimate: shares of all kept posts with Wilson intervals over posts, corrected for errors of "
            "automatic labels.",
            page.table_html(shares_shown(numbers), names=NAMES)
            + page.table_html(numbers.weights, names=NAMES, digits=2, caption="Weights"),
            (_shares_figure(numbers),) if len(numbers.shares) else (),
        ),
        page.Section(
            "Months",
            "",
            page.table_html(numbers.per_month, names=NAMES, headings=1),
            (_months_figure(numbers),) if len(numbers.per_month) > 1 else (),
        ),
        page.Section(
            "Lengths", _lengths_prose(numbers), page.table_html(numbers.lengths, names=NAMES, digits=1)
        ),
        page.Section(
            "Claims",
            "",
            page.table_html(numbers.claim_sizes, names=NAMES, digits=2, caption="Posts per claim")
            + page.table_html(numbers.per_claim, names=NAMES, headings=1),
            (_claims_figure(numbers),) if 0 < numbers.claims <= MOST_CLAIMS else (),
        ),
    ]
    lead = f"{count(numbers.rows, 'post')} on {count(numbers.claims, 'claim')}."
    return page.page("Statistics", sections, study=facts.title, lead=lead)


def statistics_latex(facts: ReleaseFacts, numbers: Statistics) -> str:
    """Return statistics.tex: the tables for a paper that uses booktabs."""
    tables: list[tuple[str, str, pd.DataFrame, int]] = [
        ("sources", "Posts by source and label", numbers.by_source, 0),
        ("kinds", "Posts by query type and label", numbers.by_kind, 0),
        ("claims", "Posts per claim", numbers.claim_sizes, 2),
        ("months", "Posts by month and label", numbers.per_month, 0),
        ("lengths", "Lengths of texts", numbers.lengths, 1),
        ("shares", "Estimated shares with 95% intervals", shares_shown(numbers), 3),
        ("per-claim", "Posts by claim and label", numbers.per_claim, 0),
    ]
    parts = [
        page.table_latex(
            frame, caption=f"{caption}. {facts.title}", label=f"tab:{name}", digits=digits, names=NAMES
        )
        for name, caption, frame, digits in tables
        if len(frame)
    ]
    return "% \\usepackage{booktabs}\n" + "\n".join(parts)


def _shares_figure(numbers: Statistics) -> Markup:
    rows = [
        (
            f"{row['label']} · {Estimand(row['estimand']).in_words}",
            row["share"],
            *((None, None) if row["why"] else (row["low"], row["high"])),
        )
        for row in numbers.shares.to_dict("records")
    ]
    told = "; ".join(
        f"{label} {value:.2f} ({between(low, high, '.2f') or 'no interval'})"
        for label, value, low, high in rows
    )
    return figures.forest(
        rows, alt=f"Estimated shares with 95% intervals: {told}", unit="share", limits=(0, 1)
    )


def _months_figure(numbers: Statistics) -> Markup:
    known = numbers.per_month[numbers.per_month["month"] != "unknown"]
    if len(known) < 2:
        return Markup("")
    series = {name: known[name].astype(float).tolist() for name in numbers.labels}
    first, last = known["month"].iloc[0], known["month"].iloc[-1]
    return figures.course(
        known["month"].tolist(),
        series,
        alt=f"Posts by month and label, {first} to {last}; the table has the numbers",
        unit="posts",
    )


def _claims_figure(numbers: Statistics) -> Markup:
    rows = numbers.per_claim.sort_values("total", ascending=False, kind="stable")
    series = {name: rows[name].astype(float).tolist() for name in numbers.labels}
    labels = [str(claim) for claim in rows["claim"]]
    return figures.stacked(
        labels, series, alt="Posts by claim and label; the table has the numbers", unit="posts"
    )


def _lengths_prose(numbers: Statistics) -> str:
    if not len(numbers.lengths):
        return "No texts were available."
    return "Of the labelled texts. Words are separated by spaces."
