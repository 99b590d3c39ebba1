"""`covmis recall …`: how much of what was said about the claims the queries find."""

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
    """What `plan` and `draw` are asked alike."""

    labels: Annotated[int, Option(min=1, help="Labels of posts that no query finds.")] = 400
    labels_found: Annotated[
        int | None,
        Option("--found", min=1, help="Labels of posts that queries find (default: a quarter as many)."),
    ] = None
    depth: Annotated[int, Option(min=1, help="How many nearest posts of each claim that no query finds.")] = (
        50
    )
    model: Annotated[
        str,
        Option(metavar="FOLDER|NAME", help="A sentence model that re-ranks what BM25 finds (extra: models)."),
    ] = ""
    run: RunOption = False


@app.command()
@with_options(Drawing)
def plan(options: Drawing, folder: StudyOption = None, as_json: JsonOption = False) -> None:
    """Preview the sampling frame and expected precision.

    Nothing is drawn. The frame are the posts that a query finds and, of all others, the nearest of each claim, by BM25 over
    the whole archive and by a sentence model where one is named.

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
            help="Draw --labels more from the same frame, guided by the labels of the rounds before. A modest gain: "
            "a variance smaller by a factor of 1.10 in simulations.",
        ),
    ] = False,
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Sample claim–post pairs for a recall round.

    The question is whether the post takes up the claim. Every pair has a known chance; a guess made of ranks and of the
    study's labels only sets it. Drawing again from the same frame with more --labels adds to the earlier round.

    Example: covmis recall draw --labels 400
    """
    with progress() as shown:
        round_ = open_study(folder).recall().draw(**asdict(options), learn=learn, progress=shown)
    tell(round_.to_dict(), round_.sentences, as_json=as_json)


@app.command()
def report(
    level: LevelOption = 0.95,
    queries: Annotated[
        bool, Option("--queries", help="Also what missed posts share, and queries that would find them.")
    ] = False,
    html: Annotated[bool, Option("--html", help="Also as a page, missed posts beside their claims.")] = False,
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Estimate recall and suggest better queries.

    The lower end comes first, and the frame is named: beyond it nothing is known but how much there could be.

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
