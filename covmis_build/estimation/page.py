"""Files of `covmis estimate --out`: numbers as JSON or CSV, or a page with a forest plot per label."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from covmis_build import storage
from covmis_build.errors import InputError
from covmis_build.estimation.scopes import TIMES, Scope
from covmis_build.records import Estimand
from covmis_build.report.figures import forest
from covmis_build.report.page import Section, as_integer, page, table_html
from covmis_build.stats.intervals import between

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd

    from covmis_build.estimation.shares import Estimates

FORMATS = (".html", ".csv", ".json")


def check_formats(paths: Iterable[Path], known: Sequence[str] = FORMATS) -> None:
    """Refuse unknown file extensions before anything is computed, printed or written."""
    for path in paths:
        if path.suffix not in known:
            raise InputError("is not a format of estimates", file=path, remedy=f"Use {', '.join(known)}")


def written(figures: Estimates, out: Sequence[Path], *, title: str = "") -> Estimates:
    """Write the estimates to these files, and name them in the estimates."""
    for path in out:
        _write_estimates(path, figures, title)
    return replace(figures, files=tuple(map(str, out)))


def _write_estimates(path: Path, figures: Estimates, title: str = "") -> None:
    """Write one file of the estimates, in the format of its extension (one of FORMATS)."""
    if path.suffix == ".json":
        storage.write_text(path, json.dumps(_plain(figures.to_dict()), ensure_ascii=False, indent=1) + "\n")
    elif path.suffix == ".csv":
        rows = figures.shares
        storage.write_bytes(
            path, storage.csv_bytes(list(rows.columns), rows.itertuples(index=False, name=None))
        )
    else:
        storage.write_text(path, figures.html(title))


def _plain(value: Any) -> Any:
    """Convert to JSON values: frames as rows, undefined values as null."""
    if hasattr(value, "to_dict"):
        return [_plain(row) for row in value.to_dict("records")]
    if isinstance(value, dict):
        return {name: _plain(cell) for name, cell in value.items()}
    if isinstance(value, list):
        return [_plain(cell) for cell in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def estimates_page(figures: Estimates, title: str = "") -> str:
    """Return the estimates as a page: methods, plots of each label on one scale, and tables."""
    warnings = "\n\n".join(f"{warning}." for warning in figures.warnings)
    sections = [Section("Warnings", warnings)] if warnings else []
    sections.append(Section("In words", "\n\n".join(figures.sentences)))
    unique = figures.shares[figures.shares["estimand"] == Estimand.UNIQUE_POSTS]
    for label in unique["label"].unique():
        rows = unique[unique["label"] == label]
        over_time = rows["scope"].isin(TIMES)
        plots = [_forest(rows[~over_time], figures.claims, f"The estimated share of {label}", "low", "high")]
        if over_time.any():
            alt = f"The estimated share of {label} over time; all bars hold together at {figures.level:.0%}"
            plots.append(_forest(rows[over_time], figures.claims, alt, "band_low", "band_high"))
        sections.append(Section(f"Share of {label}", figures=plots))
    sections.append(Section("All estimates", prose=WIDTHS, body=table_html(_shown(figures.shares))))
    if len(figures.audit):
        sections.append(Section("The audit of automatic labels", body=table_html(figures.audit)))
    return page(
        "Estimates",
        sections,
        study=title,
        lead="Shares of all posts found, estimated from the labelled sample.",
    )


WIDTHS = (
    "Why are the intervals for all posts wider than for unique posts? A text that was copied 100 times counts 100 times, so "
    "a few items dominate, and the effective sample size is smaller (column: worth). Such rows are marked."
)
SHOWN = (
    "of",
    "part",
    "label",
    "share",
    "interval",
    "worth",
    "few weigh most",
    "unweighted",
    "total",
    "its interval",
)
"""Columns of a row on the page; --out with .csv or .json has the others."""


def _shown(shares: pd.DataFrame) -> pd.DataFrame:
    """Return the table for display. Values equal in all rows are mentioned above it."""
    import pandas as pd

    rows = [
        (
            Estimand(row["estimand"]).in_words,
            row["name"] or row["scope"],
            row["label"],
            row["share"],
            between(row["low"], row["high"]),
            as_integer(row["effective_n"]),
            bool(row["flagged"]),
            row["unweighted"],
            as_integer(row["total"]),
            between(row["total_low"], row["total_high"], ",.0f"),
        )
        for row in shares.to_dict("records")
    ]
    return pd.DataFrame(rows, columns=list(SHOWN), dtype=object)


def _forest(rows: pd.DataFrame, claims: Mapping[str, str], alt: str, low: str, high: str) -> str:
    """Draw shares with intervals over posts; undefined ones are left empty."""
    names = [
        claims.get(name) or name if scope == Scope.CLAIM else name or scope
        for scope, name in zip(rows["scope"], rows["name"], strict=True)
    ]
    values = (
        [None if math.isnan(x) else x for x in rows[column].astype(float)] for column in ("share", low, high)
    )
    points = list(zip(names, *values, strict=True))
    bare = any(value is not None and begin is None for _, value, begin, _ in points)
    unit = "share of unique posts" + ("; a point without a line has no interval" if bare else "")
    return forest(points, alt=alt, unit=unit, limits=(0.0, 1.0))
