"""`covmis queries`: show queries, try expressions on the archive, have keywords suggested."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option, Typer

from covmis_build.cli.console import JsonOption, StudyOption, print_result, progress, warn
from covmis_build.cli.options import numbers
from covmis_build.study.study import open_study

app = Typer(help="Show, test, save and suggest search queries.", no_args_is_help=True)


@app.command()
def show(
    claim_id: Annotated[str, Argument(metavar="CLAIM", help="Only this claim's queries.")] = "",
    platform: Annotated[str, Option(help="Also as searches for x, bluesky or mastodon.")] = "",
    limit: Annotated[int, Option(min=0, help="Characters a search may have (0: the platform's).")] = 0,
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the queries made from the claim list.

    Example: covmis queries show 12 --platform x
    """
    shown = open_study(folder).show_queries(claim_id, platform=platform, limit=limit)
    warn(*shown.warnings)
    print_result(shown, as_json=as_json)


@app.command("try")
def try_out(
    expression: Annotated[str, Argument(help="Keywords, a claim's id, or nothing: all queries.")] = "",
    samples: Annotated[int, Option(min=0, help="How many posts to show of each.")] = 3,
    words: Annotated[
        bool, Option("--words", help="Instead: what each word of the keywords adds or keeps out.")
    ] = False,
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count the posts that each query finds.

    Posts are counted as `covmis run` counts them: a post that matches several claims counts once. New files are read first.

    Example: covmis queries try "garlic (covid-19 OR coronavirus)"
    """
    if words:
        with progress() as report:
            tuned = open_study(folder).tune_keywords(expression, progress=report)
        print_result(tuned, as_json=as_json)
        return
    with progress() as report:
        trial = open_study(folder).try_queries(expression, samples=samples, progress=report)
    warn(*trial.warnings)
    print_result(trial, as_json=as_json)


@app.command("set")
def set_(
    claim: Annotated[str, Argument(metavar="CLAIM", help="A claim's id.")],
    keywords: Annotated[list[str], Argument(metavar="KEYWORDS...", help="One query each; none with ''.")],
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Save a claim's keywords in the claim list.

    They replace those that the claim has; these are noted in its column `edits`.

    Example: covmis queries set 12 "garlic (covid-19 OR coronavirus)"
    """
    print_result(open_study(folder).set_keywords(claim, keywords), as_json=as_json)


@app.command()
def suggest(
    claim: Annotated[str, Argument(metavar="CLAIM", help="A claim's id, or the text of a claim.")],
    posts: Annotated[
        str,
        Option(
            metavar="N,N,N",
            help="Target number of posts found by the precise, the balanced and the broad query.",
        ),
    ] = "5,25,100",
    samples: Annotated[int, Option(min=0, help="How many posts to show of each.")] = 2,
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Suggest keyword queries for a claim.

    Queries combine names, numbers and word forms, the rarest in your archive first. A broader query finds all
    that a more precise one finds. Without an archive, rarity comes from the claim list.

    Example: covmis queries suggest 12 --posts 10,50,200
    """
    study = open_study(folder)
    with progress() as report:
        suggestions = study.suggest_queries(
            claim, read=numbers(posts, "--posts", int), samples=samples, progress=report
        )
    next_step = "Choose one, or write your own: `covmis queries set CLAIM 'KEYWORDS'`."
    print_result(suggestions, next_step, as_json=as_json)
