"""`covmis recall …`: the share of relevant posts that the queries find."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from typer import Option, Typer

from covmis_build.cli.console import JsonOption, StudyOption, print_result, progress, tell, warn
from covmis_build.cli.options import LevelOption, RunOption, with_options
from covmis_build.study.study import open_study

app = Typer(no_args_is_help=True, help="Estimate how many relevant posts the queries miss.")


@dataclass(frozen=True)
class Drawing:
    """The options of `plan` and `draw`."""

    labels: Annotated[int, Option(min=1, help="Number of posts to label that no query found.")] = 400
    labels_found: Annotated[
        int | None,
        Option(
            "--found", min=1, help="Number of posts to label that queries found (default: a quarter as many)."
        ),
    ] = None
    depth: Annotated[
        int, Option(min=1, help="Number of most similar posts per claim that no query found.")
    ] = 50
    model: Annotated[
        str,
        Option(metavar="FOLDER|NAME", help="Sentence model that re-ranks BM25's results (extra: models)."),
    ] = ""
    run: RunOption = False


@app.command()
@with_options(Drawing)
def plan(options: Drawing, folder: StudyOption = None, as_json: JsonOption = False) -> None:
    """Preview the sampling frame and expected precision.

    Samples nothing. The frame contains the posts that a query found and, for each claim, the most similar other posts.

    Example: covmis recall plan --labels 400 --model ./all-MiniLM-L6-v2
    """
    with progress() as shown:
        planned = open_study(folder).recall().plan(**asdict(options), progress=shown)
    warn(*planned.warnings)
    print_result(planned, as_json=as_json)


@app.command()
@with_options(Drawing)
def draw(
    options: Drawing,
    learn: Annotated[
        bool,
        Option(
            "--learn",
            help="Add --labels pairs, using all labels so far (adaptive).",
        ),
    ] = False,
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sample claim–post pairs for a recall round.

    Annotators answer whether the post is about the claim. Every pair has a known probability, which is higher for pairs that
    look relevant. A second draw with more --labels adds to the earlier round.

    Example: covmis recall draw --labels 400
    """
    with progress() as shown:
        round_ = open_study(folder).recall().draw(**asdict(options), learn=learn, progress=shown)
    tell(round_.to_dict(), round_.sentences, as_json=as_json)


@app.command()
def report(
    level: LevelOption = 0.95,
    queries: Annotated[
        bool, Option("--queries", help="Also show what missed posts share, and propose queries.")
    ] = False,
    html: Annotated[
        bool, Option("--html", help="Also write a page with missed posts and their claims.")
    ] = False,
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate recall and suggest better queries.

    Describes the sampling frame only; for posts outside it, gives an upper bound.

    Example: covmis recall report --queries
    """
    study = open_study(folder)
    recall = study.recall()
    report = recall.report(level=level)
    told = report.to_dict()
    shown: list[Any] = [*report.summary]
    if queries or html:
        with progress() as bar:
            missed = recall.missed(progress=bar)
        told |= {"missed": missed.to_dict()}
        shown = [*shown, "", *missed.summary] if queries else shown
    if html:
        page = study.places.relative(recall.write_page(report, missed))
        told |= {"page": page}
        shown = [*shown, f"Wrote {page}."]
    tell(told, shown, as_json=as_json)
