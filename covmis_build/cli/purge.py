"""`covmis purge`: forget posts and authors everywhere."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from covmis_build.cli.console import JsonOption, StudyOption, emit_json, grid, progress, say, warn
from covmis_build.errors import CheckFailed, InputError


def purge(
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY]...", help="Post ids and author keys, beside purge.csv's."),
    ] = None,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Forget posts and authors: archives, frozen texts, indexes, Label Studio, the next release.

    Takes the ids and keys in queries/purge.csv and those given here, which are put on that list, so that collecting
    never brings them back. An author key is author:x:ID, author:bsky:DID, author:masto:SERVER/NAME, or a pseudonym.

    Example: covmis purge x:1255000000000000000 author:x:12
    """
    from covmis_build import purge as work
    from covmis_build.cli import label_studio
    from covmis_build.study import open_study

    opened = open_study(study)
    more = work.read_keys(keys or ())
    forget = work.add_to_list(opened.purge_csv, more)
    if not forget:
        raise InputError(
            "nothing is to be forgotten",
            remedy="Name post ids or author keys, or list them in queries/purge.csv",
        )
    with progress() as report:
        done = work.purge(opened, forget, lambda posts: label_studio.forget(opened, posts), report)
    if as_json:
        places = [{"place": place, "count": count, "note": note} for place, count, note in done.places]
        emit_json({**asdict(done), "places": places})
    else:
        say(f"{done.posts:,} posts are to be forgotten.")
        grid(done.places, ("place", "count", "what"))
        for one in done.problems:
            warn(one)
    if done.problems:
        raise CheckFailed(
            f"{len(done.problems)} places could not be purged; mend them and run `covmis purge` again"
        )
