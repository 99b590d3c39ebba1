"""`covmis queries`: see what is asked, try expressions on the archive, have keywords suggested."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build.cli.console import JsonOption, StudyOption, emit_json, grid, progress, say, warn
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from covmis_build.queries import Index
    from covmis_build.study import Study
    from covmis_build.text.expression import Expression

app = typer.Typer(help="The queries: see, try, have suggested.", no_args_is_help=True)
PLATFORMS = ("x", "bluesky", "mastodon")


@app.command()
def show(
    claim_id: Annotated[str, typer.Argument(metavar="[CLAIM]", help="Only this claim's queries.")] = "",
    platform: Annotated[str, typer.Option(help="Also as searches for x, bluesky or mastodon.")] = "",
    limit: Annotated[int, typer.Option(min=0, help="Characters a search may have (0: the platform's).")] = 0,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the queries built from the claim list, in canonical form or as a platform wants them.

    Example: covmis queries show 12 --platform x
    """
    from covmis_build.claims import read_claims
    from covmis_build.queries import build_queries
    from covmis_build.study import open_study
    from covmis_build.text.rendering import as_written

    if platform and platform not in PLATFORMS:
        raise InputError(f"no platform is called '{platform}'", remedy=f"Allowed: {', '.join(PLATFORMS)}")
    claims = read_claims(open_study(study).claims_csv, "csv")
    if claim_id and claim_id not in set(claims["claim_id"]):
        raise InputError(f"no claim has the id {claim_id}")
    queries = build_queries(claims[claims["claim_id"] == claim_id] if claim_id else claims)
    rows = queries.to_dict("records")
    if platform:
        for row in rows:
            whole = as_written(row["kind"], row["text"], row["expression"])
            row["searches"] = whole.render(platform, limit or None)  # type: ignore[arg-type]
            row["shortened"] = _shortened(whole, platform, limit)
    if as_json:
        emit_json({"queries": rows})
        return
    shown = [
        [row["query_id"], search]
        for row in rows
        for search in (row["searches"] if platform else [row["expression"]])
    ]
    grid(shown, ["query", platform or "expression"])
    say(f"{len(rows):,} queries.")
    _warn_of_foreign(row["text"] for row in rows if row["kind"] == "keywords")
    for row in rows:
        if row.get("shortened"):
            warn(f"{row['query_id']} is too long for {platform}: its search says less and finds more")


def _warn_of_foreign(queries: Iterable[str]) -> None:
    """Say what of other search languages people wrote, each thing once."""
    from covmis_build.text.foreign import foreign

    for sentence in dict.fromkeys(one for query in queries for one in foreign(query)):
        warn(sentence)


def _shortened(whole: Expression, platform: str, limit: int) -> bool:
    """Whether a search had to leave something out; what it finds beyond the query is dropped by `covmis run`."""
    try:
        whole.render(platform, limit or None, broaden=False)  # type: ignore[arg-type]
    except InputError:
        return True
    return False


@app.command("try")
def try_out(
    expression: Annotated[str, typer.Argument(help="Keywords, a claim's id, or nothing: all queries.")] = "",
    samples: Annotated[int, typer.Option(min=0, help="How many posts to show of each.")] = 3,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count the posts that queries find in the archive, and show some: the first time builds an index.

    Posts are counted once whatever their claims; retrieval itself also drops reposts and applies dates.

    Example: covmis queries try "garlic (covid-19 OR coronavirus)"
    """
    from covmis_build.claims import read_claims
    from covmis_build.queries import build_queries, parse
    from covmis_build.study import open_study

    opened = open_study(study)
    queries = (
        build_queries(read_claims(opened.claims_csv, "csv"))
        if not expression or expression.isalnum()
        else None
    )
    rows: list[tuple[str, str, str]] = [("", "keywords", str(parse(expression)))] if expression else []
    if queries is not None:
        mine = queries[queries["claim_id"] == expression] if expression else queries
        rows = list(zip(mine["query_id"], mine["kind"], mine["expression"], strict=True)) or rows
    with _index(opened) as index:
        found: list[dict[str, Any]] = [
            {
                "query_id": name,
                "expression": text,
                "posts": index.count(text, kind),
                "samples": [one._asdict() for one in index.sample(text, samples, kind)],
            }
            for name, kind, text in rows
        ]
        size = index.size
    if as_json:
        emit_json({"posts_in_archive": size, "queries": found})
        return
    for one in found:
        say(f"{one['posts']:>9,}  {one['query_id'] or one['expression']}")
        if one["query_id"]:
            say(f"           {one['expression']}")
        for post in one["samples"]:
            say(f"           {post['post_id']}  {' '.join(post['text'].split())[:120]}")
    say(f"{len(found):,} queries over {size:,} posts.")
    _warn_of_foreign([expression] if queries is None else mine.loc[mine["kind"] == "keywords", "text"])


@app.command()
def suggest(
    claim_id: Annotated[str, typer.Argument(metavar="CLAIM", help="A claim's id, or the text of a claim.")],
    most: Annotated[int, typer.Option(min=1, help="How many proposals.")] = 8,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Propose keyword queries for a claim (A.2): names first, then relations, ranked by the posts they find here.

    `telling` is the share of the claim's other words, by weight, that the found posts have on average.

    Example: covmis queries suggest 12
    """
    from covmis_build.claims import read_claims
    from covmis_build.queries import suggest as propose
    from covmis_build.study import open_study

    opened = open_study(study)
    claims = {row["claim_id"]: row for row in read_claims(opened.claims_csv, "csv").to_dict("records")}
    claim = claims.get(claim_id)
    if claim is None and " " not in claim_id:
        raise InputError(f"no claim has the id {claim_id}")
    with _index(opened) as index:
        text, language = (claim["text"], claim["language"]) if claim else (claim_id, "")
        proposals = propose(text, index, language=language or "en", most=most)
    if as_json:
        emit_json({"claim": text, "suggestions": proposals})
        return
    grid(proposals.to_numpy().tolist(), list(proposals.columns))
    say("Put the ones you want into the column keywords of queries/claims.csv, one a line.")


def _index(study: Study) -> Index:
    from covmis_build.purge import read_list
    from covmis_build.queries import open_index
    from covmis_build.retrieval.plain_posts import plain_posts, state

    forget = read_list(study.purge_csv)
    with progress() as report:
        known = state(study.archives, forget)
        return open_index(
            study.build / "search.sqlite", known, lambda: plain_posts(study.archives, report, forget)
        )
