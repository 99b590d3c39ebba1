"""`covmis queries`: show queries, try expressions on the archive, have keywords suggested."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option, Typer

from covmis_build.cli.command import Printed
from covmis_build.cli.options import numbers
from covmis_build.engine import Progress, silent
from covmis_build.report.result import Result
from covmis_build.study.study import Study

app = Typer(help="Show, test, save and suggest search queries.", no_args_is_help=True)
MINUS = {"ignore_unknown_options": True}
"""A query may begin with the minus of a word that is excluded."""


@app.command()
def show(
    study: Study,
    claim_id: Annotated[str, Argument(metavar="CLAIM", help="Only this claim's queries.")] = "",
    platform: Annotated[str, Option(help="Also as searches for x, bluesky or mastodon.")] = "",
    limit: Annotated[int, Option(min=0, help="Characters a search may have (0: the platform's).")] = 0,
) -> Result:
    """Show the queries made from the claim list.

    Example: covmis queries show 12 --platform x
    """
    return study.show_queries(claim_id, platform=platform, limit=limit)


@app.command("try", context_settings=MINUS)
def try_out(
    study: Study,
    expression: Annotated[str, Argument(help="Keywords, a claim's id, or nothing: all queries.")] = "",
    samples: Annotated[int, Option(min=0, help="How many posts to show of each.")] = 3,
    words: Annotated[
        bool, Option("--words", help="Instead: what each word of the query adds or keeps out.")
    ] = False,
    progress: Progress = silent,
) -> Result:
    """Count the posts that each query finds.

    Posts are counted as `covmis run` counts them. New files are read first.

    Example: covmis queries try "garlic (covid-19 OR coronavirus)"
    """
    if words:
        return study.tune_keywords(expression, progress=progress)
    return study.try_queries(expression, samples=samples, progress=progress)


@app.command("set", context_settings=MINUS)
def set_(
    study: Study,
    claim: Annotated[str, Argument(metavar="CLAIM", help="A claim's id.")],
    keywords: Annotated[list[str], Argument(metavar="KEYWORDS...", help="One query each; none with ''.")],
) -> Result:
    """Save a claim's keywords in the claim list.

    They replace those that the claim has; these are noted in its column `edits`.

    Example: covmis queries set 12 "garlic (covid-19 OR coronavirus)"
    """
    return study.set_keywords(claim, keywords)


@app.command()
def suggest(
    study: Study,
    claim: Annotated[str, Argument(metavar="CLAIM", help="A claim's id, or the text of a claim.")],
    posts: Annotated[
        str,
        Option(
            metavar="N,N,N",
            help="Maximum number of posts for the precise, the balanced and the broad query.",
        ),
    ] = "5,25,100",
    samples: Annotated[int, Option(min=0, help="How many posts to show of each.")] = 2,
    progress: Progress = silent,
) -> Result:
    """Suggest keyword queries for a claim.

    Queries combine names, numbers and word forms, the rarest in your archive first. A broader query finds all
    that a more precise one finds. Without an archive, rarity comes from the claim list.

    Example: covmis queries suggest 12 --posts 10,50,200
    """
    from covmis_build.study.keywords import claims_of

    read = numbers(posts, "--posts", int)
    suggestions = study.suggest_queries(claim, read=read, samples=samples, progress=progress)
    known = claim if any(one.claim_id == claim for one in claims_of(study)) else "CLAIM"
    next_step = f"Choose one, or write your own: `covmis queries set {known} 'KEYWORDS'`."
    return Printed(suggestions.to_dict(), [*suggestions.summary, next_step])
