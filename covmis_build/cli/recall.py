"""`covmis recall …`: the share of relevant posts that the queries find."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from typer import Option

from covmis_build.cli.command import Commands
from covmis_build.cli.options import LevelOption, RunOption
from covmis_build.engine import Progress, silent
from covmis_build.report.result import Result, Told
from covmis_build.study.study import Study

app = Commands(no_args_is_help=True, help="Estimate how many relevant posts the queries miss.")


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
def plan(study: Study, options: Drawing, progress: Progress) -> Result:
    """Preview the sampling frame and expected precision.

    Samples nothing. The frame contains the posts that a query found and, for each claim, the most similar other posts.

    Example: covmis recall plan --labels 400 --model ./all-MiniLM-L6-v2
    """
    return study.recall().plan(**asdict(options), progress=progress)


@app.command()
def draw(
    study: Study,
    options: Drawing,
    learn: Annotated[
        bool,
        Option(
            "--learn",
            help="Add --labels pairs, using all labels so far (adaptive).",
        ),
    ] = False,
    progress: Progress = silent,
) -> Result:
    """Sample claim–post pairs for a recall round.

    Annotators answer whether the post is about the claim. Every pair has a known probability, which is higher for pairs that
    look relevant. A second draw with more --labels adds to the earlier round.

    Example: covmis recall draw --labels 400
    """
    return study.recall().draw(**asdict(options), learn=learn, progress=progress)


@app.command()
def report(
    study: Study,
    level: LevelOption = 0.95,
    queries: Annotated[
        bool, Option("--queries", help="Also show what missed posts share, and propose queries.")
    ] = False,
    html: Annotated[
        bool, Option("--html", help="Also write a page with missed posts and their claims.")
    ] = False,
    progress: Progress = silent,
) -> Result:
    """Estimate recall and suggest better queries.

    Describes the sampling frame only; for posts outside it, gives an upper bound.

    Example: covmis recall report --queries
    """
    recall = study.recall()
    report = recall.report(level=level)
    data = report.to_dict()
    shown: list[Any] = [*report.summary]
    if queries or html:
        missed = recall.missed(progress=progress)
        data |= {"missed": missed.to_dict()}
        shown = [*shown, "", *missed.summary] if queries else shown
    if html:
        page = study.places.relative(recall.write_page(report, missed))
        data |= {"page": page}
        shown = [*shown, f"Wrote {page}."]
    return Told(data, shown)
