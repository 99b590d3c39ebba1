"""A system's measures over all posts of the target population: unique posts, and posts with near-duplicates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from covmis_build.errors import InputError
from covmis_build.evaluation.catalogue import measures
from covmis_build.evaluation.gold_and_systems import gold_and_systems
from covmis_build.evaluation.joining import Extra, Invalid, Missing, join, numbers_of_items
from covmis_build.evaluation.measure import Need
from covmis_build.evaluation.rendering import Evaluated, booktabs, bounded, escape, forests, legend, titled
from covmis_build.evaluation.setting import setting
from covmis_build.stats.intervals import between
from covmis_build.stats.linearised import weighted_measures
from covmis_build.stats.over_posts import NOTHING_KNOWN, made_design

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from covmis_build.evaluation.setting import Setting
    from covmis_build.stats.over_posts import Design

    Array = NDArray[np.float64]

UNIQUE_POSTS, POSTS = "unique_posts", "posts"
"""What is counted: each unique post once, or every post including near-duplicates."""
COUNTED = {UNIQUE_POSTS: "Each unique post once", POSTS: "Each post, near-duplicates included"}
HOW = (
    "Over the posts found, weighted by 1/(p_claim·p_sample), with linearised intervals over posts: each distinct "
    "message counts once (unique posts), or as often as it was posted (posts). Neither is public opinion."
)
WORTH = (
    "Unweighted: the same measure over the labelled items alone. The effective number is how many items drawn with equal "
    "chances would give an interval as narrow; there is none where a measure cannot be anything else. The design effect "
    "says how many times greater the variance is than that of as many such items."
)


@dataclass(frozen=True, repr=False)
class ScoresOverPosts(Evaluated):
    """The result of `score_over_posts`. `.table` has one row per system, measure and estimand."""

    table: pd.DataFrame
    level: float = 0.95
    study: str = ""
    remarks: tuple[str, ...] = ()
    """What is to be known of gold, as sentences."""

    @property
    def how(self) -> str:
        """The target of the figures, and their confidence level."""
        return " ".join([f"{HOW} Level: {self.level:.0%}.", *self.remarks])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per system, measure and estimand (unique_posts, posts)."""
        return self.table

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"measures": self.table.to_dict("records"), "level": self.level}

    def tables(self) -> list[tuple[str, pd.DataFrame]]:
        """Return the table with its title for the terminal."""
        shown = self.table.assign(
            value=[bounded(row["value"], row["low"], row["high"]) for row in self.table.to_dict("records")],
            effective_n=self.table["effective_n"].where(np.isfinite(self.table["effective_n"])),
        )
        columns = [
            "system",
            "measure",
            "estimand",
            "value",
            "unweighted",
            "effective_n",
            "design_effect",
            "n",
        ]
        return [(self.how, shown[columns])]

    def html(self) -> str:
        """Return the page."""
        from covmis_build.report.page import Section, page, table_html

        sections = []
        for estimand, title in COUNTED.items():
            table = self.table[self.table["estimand"] == estimand]
            if len(table):
                body = table_html(_shown(table), headings=2)
                sections.append(Section(title, body=body, figures=forests(table)))
        sections.append(Section("The measures", prose=WORTH, body=table_html(legend(self.table["measure"]))))
        return page("Scores over all posts", sections, study=self.study, lead=self.how)

    def latex(self) -> str:
        """Return one row per system, measure and estimand as a LaTeX table (booktabs)."""
        lines = [
            [escape(str(row[name])) for name in ("system", "measure", "estimand")]
            + [f"{row[name]:.3f}" for name in ("value", "low", "high", "unweighted")]
            for row in self.table.to_dict("records")
        ]
        header = ["System", "Measure", "Counted", "Value", "Low", "High", "Unweighted"]
        return booktabs(header, lines, titled(self.study, self.how))


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    """Return one estimand's rows for display."""
    import pandas as pd

    names = {name: measures[name].title for name in dict.fromkeys(table["measure"])}
    by_measure = sorted(table.to_dict("records"), key=lambda row: list(names).index(row["measure"]))
    rows = [
        (
            names[row["measure"]],
            row["system"],
            row["value"],
            between(row["low"], row["high"]),
            row["unweighted"],
            round(row["effective_n"]) if math.isfinite(row["effective_n"]) else None,
            row["design_effect"],
        )
        for row in by_measure
    ]
    columns = ["Measure", "System", "Value", "Interval", "Unweighted", "Effective number", "Design effect"]
    return pd.DataFrame(rows, columns=columns, dtype=object)


def score_over_posts(  # noqa: PLR0913 - every option is named
    gold: Any,
    systems: Any,
    *,
    id: str | None = None,  # noqa: A002 - the column's name in every table
    label: str | None = None,
    labels: Sequence[Any] | None = None,
    measures: Sequence[str] | None = None,
    probabilities: Any = "",
    design: Design | None = None,
    copies: Any = None,
    order: Sequence[str] | None = None,
    poles: Sequence[str] | None = None,
    class_weights: Mapping[str, float] | Sequence[float] | None = None,
    undefined: str = "zero",
    missing: Missing = "refuse",
    extra: Extra = "refuse",
    invalid: Invalid = "refuse",
    map: Mapping[str, str] | None = None,  # noqa: A002 - what everyone calls it
    by_position: bool = False,
    level: float = 0.95,
    title: str = "",
) -> ScoresOverPosts:
    """Compute a system's measures over the target population of gold's items, with the unweighted ones for comparison.

    Gold and systems are as in `score`. `probabilities` are the items' (or names of gold's columns). `design`, in the order of
    gold's rows, describes the sampling in more detail. `copies` is the number of posts that each unique post represents
    (default: gold's group_size, if present); without it, only unique posts are counted.

    >>> gold = {"label": ["a", "b", "b"], "p": [0.5, 0.5, 1.0], "group_size": [1, 1, 4]}
    >>> import pandas as pd
    >>> scores = score_over_posts(
    ...     pd.DataFrame(gold), {"always b": ["b"] * 3}, measures=["accuracy"], probabilities="p"
    ... )
    >>> scores.to_frame()[["estimand", "value", "unweighted"]].round(3).to_dict("records")
    [{'estimand': 'unique_posts', 'value': 0.6, 'unweighted': 0.667}, {'estimand': 'posts', 'value': 0.75, 'unweighted': 0.667}]
    """
    import pandas as pd

    given = gold_and_systems(gold, systems, id=id, label=label, by_position=by_position, map=map)
    joined = join(given.gold, given.systems, given.labels(labels, order, invalid), missing, extra, invalid)
    chosen = setting(
        joined.labels,
        names=measures,
        order=order,
        poles=poles,
        class_weights=class_weights,
        undefined=undefined,
    )
    _check_order(chosen)
    remarks: tuple[str, ...] = ()
    if design is None:
        given_chances = given.probabilities(probabilities)
        if given_chances is None:
            raise InputError(
                "gold has no probabilities, and over all posts each item needs its own",
                remedy="Name their column (probabilities = COLUMN), or score a corpus with p_claim and p_sample",
            )
        chances = numbers_of_items(given_chances, joined, "probabilities", most=1.0)
        design = made_design(chances)
        remarks = given.remarks(given_chances)
    if copies is None and given.table is not None and "group_size" in given.table.table.columns:
        copies = "group_size"
    sizes: dict[str, Array | None] = {UNIQUE_POSTS: None}
    if copies is not None:
        sizes[POSTS] = numbers_of_items(given.column(copies, "copies"), joined, "copies")
    shape, start = joined.shape, 0
    ranges = chosen.ranges
    rows = []
    for name, runs in joined.runs.items():
        cells = list(joined.cells[:, start : start + len(runs)].T)
        start += len(runs)
        counts = np.stack([np.bincount(run, minlength=shape[0] * shape[1]) for run in cells]).reshape(
            -1, *shape
        )
        plain = chosen.values(counts.astype(np.float64))
        for estimand, of_item in sizes.items():
            figures = weighted_measures(
                chosen.values,
                ranges,
                cells,
                shape,
                design,
                copies=of_item,
                expected=design.pool.get(estimand, NOTHING_KNOWN),
                level=level,
            )
            rows += [
                {
                    "system": name,
                    "measure": measure,
                    "estimand": estimand,
                    "value": figure.value,
                    "standard_error": math.sqrt(figure.variance),
                    "low": figure.low,
                    "high": figure.high,
                    "design_effect": figure.design_effect,
                    "effective_n": figure.effective_n,
                    "n": figure.n,
                    "unweighted": float(plain[measure].mean()),
                    "why": figure.why,
                }
                for measure, figure in figures.items()
            ]
    return ScoresOverPosts(pd.DataFrame(rows), level, title, (*joined.remarks, *remarks))


def _check_order(chosen: Setting) -> None:
    """Refuse an ordinal measure without declared order."""
    for measure in chosen.measures:
        if Need.ORDER in measure.needs and not chosen.order:
            raise InputError(
                f"the measure {measure.name} needs an order",
                remedy="Set [labels] order (--labels FILE), or choose another measure",
            )
