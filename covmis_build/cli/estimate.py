"""`covmis estimate`: what share of the posts favours, from the labelled sample and its probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from covmis_build.cli.console import JsonOption, StudyOption, tell, warn
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from covmis_build.study.study import Study


def estimate(
    corpus: Annotated[
        Path | None,
        Argument(metavar="[CORPUS]", help="A released corpus (default: the rounds' gold labels)."),
    ] = None,
    by: Annotated[
        str,
        Option(
            metavar="claim,kind",
            help="Also per claim, kind, platform, year, month or day; several with commas.",
        ),
    ] = "kind",
    assisted_by: Annotated[
        Path | None,
        Option(
            metavar="PREDICTIONS",
            help="Predictions for every item of the pool, or a model's folder, to narrow intervals.",
        ),
    ] = None,
    trained_elsewhere: Annotated[
        bool, Option("--trained-elsewhere", help="Their model never saw this study's labels.")
    ] = False,
    calibrated: Annotated[
        bool, Option("--calibrated", help="Weights meet the known number of posts of each kind of query.")
    ] = False,
    level: Annotated[float, Option(min=0.5, max=0.999, help="The level of the intervals.")] = 0.95,
    predictions: Annotated[
        str, Option(metavar="FILE", help="Moved: covmis evaluate score --over posts.", hidden=True)
    ] = "",
    out: Annotated[
        list[Path] | None, Option("--out", metavar="FILE", help="Write .html, .csv or .json; repeatable.")
    ] = None,
    run: Annotated[bool, Option("--run", help="Bring stale tables up to date first.")] = False,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate the share of each label among the posts found: distinct messages, and posts with their copies.

    Hájek shares with the weights 1/(p_claim·p_sample) and Wilson intervals for as many units as design and weights
    allow; totals are shares of the known number of posts; the audit of automatic labels is put in, the unweighted
    share stands beside. With --assisted-by, predictions for all posts narrow the intervals and bias nothing; of a model's
    folder, models of its kind are trained on the labels, each for the claims that it has not seen.

    Example: covmis estimate --by claim,month --out estimates.html
    """
    from covmis_build.estimation.page import check_formats, write_estimates
    from covmis_build.study.estimate import estimate, estimate_corpus

    if predictions:
        raise InputError(
            "a system's measures over all posts are `covmis evaluate score --over posts` now",
            remedy="--assisted-by estimates shares with the help of predictions",
        )
    check_formats(out or ())
    opened = _study_of(study, corpus)
    if opened is None:
        assert corpus is not None
        figures, title = estimate_corpus(corpus, by=by, calibrated=calibrated, level=level), ""
    else:
        figures = estimate(
            opened,
            by=by,
            assisted_by=assisted_by,
            corpus=corpus,
            elsewhere=trained_elsewhere,
            calibrated=calibrated,
            level=level,
            run=run,
        )
        title = opened.settings.title
    warn(*figures.warnings)
    for path in out or ():
        write_estimates(path, figures, title)
    written = [f"Wrote {path}." for path in out or ()]
    tell(figures.to_dict(), [*figures.summary, *written], as_json=as_json)


def _study_of(folder: Path | None, corpus: Path | None) -> Study | None:
    """The study at hand; a corpus that lies outside of every study needs none."""
    from covmis_build.study.study import open_study

    if folder is not None or corpus is None:
        return open_study(folder)
    try:
        study = open_study(None)
    except InputError:
        return None
    return study if corpus.resolve().is_relative_to(study.places.folder) else None
