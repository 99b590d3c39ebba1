"""`covmis estimate`: what share of the posts favours, from the labelled sample and its probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from covmis_build.cli.console import JsonOption, StudyOption, progress, tell, warn
from covmis_build.cli.options import LevelOption, RunOption


def estimate(
    corpus: Annotated[
        Path | None,
        Argument(metavar="CORPUS", help="A released corpus (default: the rounds' gold labels)."),
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
    between: Annotated[
        tuple[str, str] | None,
        Option(
            metavar="A B", help="Compare two parts or labels: claim:1 claim:2, label:favor label:against."
        ),
    ] = None,
    before: Annotated[
        str, Option(metavar="DAY", help="Compare what was posted before this day with what came from it on.")
    ] = "",
    after: Annotated[
        str,
        Option(metavar="DAY", help="With --before: where the second period begins (default: the same day)."),
    ] = "",
    model: Annotated[
        str, Option(metavar="FORMULA", help='Regress a label on covariates: "favor ~ platform + month".')
    ] = "",
    family: Annotated[str, Option(help="Of --model: logistic or linear.")] = "logistic",
    over: Annotated[
        str, Option(help="Of --model: errors over claims (like these) or posts (of this pool).")
    ] = "claims",
    covariates: Annotated[
        Path | None,
        Option(metavar="FILE", help="Of --model: more covariates, by item_id, post_id or claim_id."),
    ] = None,
    level: LevelOption = 0.95,
    out: Annotated[
        list[Path] | None,
        Option(
            "--out",
            metavar="FILE",
            help="Write .html, .csv or .json (--model: .csv, .tex, .json); repeatable.",
        ),
    ] = None,
    run: RunOption = False,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate the share of each label, with 95% CIs.

    Reports unique posts (near-duplicates counted once) and all posts.

    Hájek shares with the weights 1/(p_claim·p_sample) and Wilson intervals for as many units as design and weights
    allow; totals are shares of the known number of posts; the audit of automatic labels is put in, the unweighted
    share stands beside. With --assisted-by, predictions for all posts narrow the intervals and bias nothing; of a model's
    folder, models of its kind are trained on the labels, each for the claims that it has not seen.

    --between and --before compare shares: a difference, its interval, and the p that belongs to it. --model fits a
    regression of a label on covariates, over claims or posts, assisted by predictions where they are given.

    Example: covmis estimate --by claim,month --out estimates.html
    """
    from covmis_build.study.estimate_corpus import estimate_files, regress_files

    if model:
        with progress() as report:
            fitted = regress_files(
                study, model, out=out or (), family=family, over=over, covariates=covariates, assisted_by=assisted_by,
                elsewhere=trained_elsewhere, level=level, run=run, progress=report,
            )  # fmt: skip
        tell(fitted.to_dict(), [*fitted.summary, *(f"Wrote {path}." for path in out or ())], as_json=as_json)
        return
    with progress() as report:
        figures = estimate_files(
            study, corpus, out=out or (), by=by, assisted_by=assisted_by, elsewhere=trained_elsewhere,
            calibrated=calibrated, between=between, before=before, after=after, level=level, run=run, progress=report,
        )  # fmt: skip
    warn(*figures.warnings)
    tell(figures.to_dict(), [*figures.summary, *(f"Wrote {path}." for path in out or ())], as_json=as_json)
