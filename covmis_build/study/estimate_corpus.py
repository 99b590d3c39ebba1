"""Estimate from a corpus of others: with only its own columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from covmis_build.corpus.convert import read_corpus
from covmis_build.errors import InputError
from covmis_build.estimation.differences import compared_parts
from covmis_build.estimation.page import check_formats, written
from covmis_build.estimation.scopes import check_scopes
from covmis_build.estimation.shares import Estimates, estimates
from covmis_build.options import Labels, Sampling

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    import pandas as pd


UNSEEN = (
    "without the study, large near-duplicate groups that were not sampled are not known: intervals for all posts may be "
    "too narrow"
)
"""The notes for every estimate from a corpus alone."""


def estimate_corpus(
    corpus: Path | str,
    *,
    by: str | Sequence[str] | None = None,
    between: Sequence[str] | None = None,
    before: str | dt.date = "",
    after: str | dt.date = "",
    level: float = 0.95,
    out: Sequence[Path | str] = (),
) -> Estimates:
    """Estimate from someone else's corpus: with its own probabilities, without its target population."""
    files = [Path(file) for file in out]
    check_formats(files)
    frame = read_corpus(Path(corpus))
    labels = _labels(frame)
    frame = frame[frame["in_population"].fillna("") != "no"].reset_index(drop=True)
    figures = estimates(
        frame,
        labels,
        Sampling(),
        automatic=Labels().automatic,
        by=check_scopes(by),
        between=compared_parts(between, before, after, labels=labels),
        level=level,
    )
    return written(replace(figures, warnings=(*figures.warnings, UNSEEN)), files)


def _labels(frame: pd.DataFrame) -> list[str]:
    """Return the label scheme of a corpus alone: the paper's if it fits, else the occurring labels."""
    usual = Labels().values  # noqa: PD011 - a setting of ours
    present = sorted(set(frame["label"].dropna().astype(str)))
    if set(present) <= set(usual):
        return list(usual)
    for label in present:
        for near in {*present, *usual}:
            if label != near and label.casefold() == near.casefold():
                raise InputError(
                    f"the label '{label}' of the corpus is '{near}' in another case", remedy="Write one"
                )
    return present
