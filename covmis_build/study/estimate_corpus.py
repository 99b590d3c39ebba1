"""Estimate from a corpus on disk: the study's own release with the study's data, any other with only its own columns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmis_build.corpus.convert import read_corpus
from covmis_build.engine import silent
from covmis_build.errors import InputError
from covmis_build.estimation.differences import compared_parts
from covmis_build.estimation.page import check_formats, write_estimates
from covmis_build.estimation.regression import FORMATS, Regression
from covmis_build.estimation.scopes import check_scopes
from covmis_build.estimation.shares import Estimates, estimates
from covmis_build.options import Labels, Sampling
from covmis_build.study.estimate import estimate
from covmis_build.study.study import open_study, study_of

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence

    import pandas as pd

    from covmis_build.engine import Progress

UNSEEN = (
    "without the study, large near-duplicate groups that were not sampled are not known: intervals for all posts may be "
    "too narrow"
)
"""The notes for every estimate from a corpus alone."""


def estimate_files(
    folder: Path | None = None,
    corpus: Path | None = None,
    *,
    out: Sequence[Path] = (),
    assisted_by: Path | None = None,
    elsewhere: bool = False,
    run: bool = False,
    progress: Progress = silent,
    **figures_of: Any,
) -> Estimates:
    """Estimate from the study in this folder, or from a corpus, and write the figures to the files `out`.

    A corpus outside every study is estimated from its own probabilities. `figures_of` are the options of
    `estimate_corpus`: by, calibrated, between, before, after, level.
    """
    check_formats(out)
    study = open_study(folder) if corpus is None else study_of(corpus, folder)
    if study is not None:
        figures = estimate(
            study,
            corpus=corpus,
            assisted_by=assisted_by,
            elsewhere=elsewhere,
            run=run,
            progress=progress,
            **figures_of,
        )
    else:
        assert corpus is not None
        figures = estimate_corpus(corpus, **figures_of)
    for path in out:
        write_estimates(path, figures, study.settings.title if study else "")
    return figures


def regress_files(
    folder: Path | None, formula: str, *, out: Sequence[Path] = (), **options: Any
) -> Regression:
    """Run a regression in the study in this folder and write it to the files `out`."""
    check_formats(out, FORMATS)
    fitted = open_study(folder).regress(formula, **options)
    for path in out:
        fitted.write(path)
    return fitted


def estimate_corpus(
    corpus: Path | str,
    *,
    by: str | Sequence[str] | None = None,
    calibrated: bool = False,
    between: Sequence[str] | None = None,
    before: str | dt.date = "",
    after: str | dt.date = "",
    level: float = 0.95,
) -> Estimates:
    """Estimate from someone else's corpus: with its own probabilities, without its target population."""
    frame = read_corpus(Path(corpus))
    labels = _labels(frame)
    figures = estimates(
        frame,
        labels,
        Sampling(),
        automatic=Labels().automatic,
        by=check_scopes(by),
        calibrated=calibrated,
        between=compared_parts(between, before, after, labels=labels),
        level=level,
    )
    return replace(figures, warnings=(*figures.warnings, UNSEEN))


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
