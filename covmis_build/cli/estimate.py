"""`covmis estimate`: what share of the posts favours, from the labelled sample and its probabilities."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from covmis_build.cli.command import Printed
from covmis_build.cli.console import StudyOption
from covmis_build.cli.options import LevelOption, RunOption, numbers
from covmis_build.engine import Progress, silent
from covmis_build.errors import InputError
from covmis_build.report.result import Result
from covmis_build.study.study import Study


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
            help="Predictions for all items (or a model's folder), to narrow intervals.",
        ),
    ] = None,
    trained_elsewhere: Annotated[
        bool, Option("--trained-elsewhere", help="Confirm: the model never saw this study's labels.")
    ] = False,
    calibrated: Annotated[
        bool, Option("--calibrated", help="Calibrate weights to the number of posts per query type.")
    ] = False,
    between: Annotated[
        tuple[str, str] | None,
        Option(
            metavar="A B", help="Compare two groups or labels: claim:1 claim:2, label:favor label:against."
        ),
    ] = None,
    before: Annotated[
        str, Option(metavar="DAY", help="Compare posts before this day with posts from this day on.")
    ] = "",
    after: Annotated[
        str,
        Option(metavar="DAY", help="With --before: first day of the second period (default: the same day)."),
    ] = "",
    model: Annotated[
        str, Option(metavar="FORMULA", help='Regress a label on covariates: "favor ~ platform + month".')
    ] = "",
    family: Annotated[str, Option(help="With --model: logistic or linear.")] = "logistic",
    over: Annotated[str, Option(help="With --model: standard errors over claims or over posts.")] = "claims",
    covariates: Annotated[
        Path | None,
        Option(metavar="FILE", help="With --model: more covariates, by item_id, post_id or claim_id."),
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
    progress: Progress = silent,
) -> Result:
    """Estimate the share of each label, with 95% CIs.

    Reports unique posts (near-duplicates counted once) and all posts.

    Shares are weighted by 1/(p_claim·p_sample), and corrected for errors of automatic labels. Results describe the posts
    that the queries found, not public opinion. Method: docs/guides/estimates.md.

    --between and --before print a difference with its interval and p. --model fits a weighted regression. With
    --assisted-by MODEL, covmis trains the model again without the claims that it predicts.

    Example: covmis estimate --by claim,month --out estimates.html
    """
    from covmis_build.study.estimate_corpus import estimate_files, regress_files

    wrote = [f"Wrote {path}." for path in out or ()]
    if model:
        fitted = regress_files(
            study,
            model,
            out=out or (),
            family=family,
            over=over,
            covariates=covariates,
            assisted_by=assisted_by,
            elsewhere=trained_elsewhere,
            level=level,
            run=run,
            progress=progress,
        )
        return Printed(fitted.to_dict(), [*fitted.summary, *wrote])
    figures = estimate_files(
        study,
        corpus,
        out=out or (),
        by=by,
        assisted_by=assisted_by,
        elsewhere=trained_elsewhere,
        calibrated=calibrated,
        between=between,
        before=before,
        after=after,
        level=level,
        run=run,
        progress=progress,
    )
    return Printed(figures.to_dict(), [*figures.summary, *wrote], figures.warnings)


TARGETS = "12,24,36,48,96"


def sample(
    study: Study,
    plan: Annotated[
        bool, Option("--plan", help="Also: hours and interval widths of smaller and bigger samples.")
    ] = False,
    targets: Annotated[str, Option(metavar="N,N", help="The targets per claim to plan for.")] = TARGETS,
    seconds: Annotated[
        float, Option(min=0, help="Seconds a label takes (default: as in the rounds so far).")
    ] = 0.0,
    share: Annotated[float, Option(min=0.01, max=0.99, help="The share that widths are planned for.")] = 0.5,
    per_item: Annotated[int, Option(min=0, help="Annotators for each item (0: [annotation] per_item).")] = 0,
) -> Result:
    """Show the sample, or plan its size.

    The draw shown is that of the study's present items, settings and opened rounds; `covmis run` makes it.

    Example: covmis sample --plan
    """
    if not plan and (targets, seconds, share, per_item) != (TARGETS, 0.0, 0.5, 0):
        raise InputError("--targets, --seconds, --share and --per-item are for a plan", remedy="Add --plan")
    planned = study.plan_sample(
        targets=numbers(targets, "--targets", int), seconds=seconds, share=share, per_item=per_item
    )
    return replace(planned, with_costs=plan)
