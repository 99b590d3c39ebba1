"""`covmis purge`: delete posts and authors everywhere."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from covmis_build.cli.console import StudyOption
from covmis_build.engine import Progress, silent
from covmis_build.report.result import Result
from covmis_build.study.study import open_study


def purge(
    keys: Annotated[
        list[str] | None, Argument(metavar="KEY", help="Post ids and author keys, in addition to purge.csv.")
    ] = None,
    outside: Annotated[
        bool, Option("--outside", help="Also rewrite archives outside the study's folder.")
    ] = False,
    study: StudyOption = None,
    progress: Progress = silent,
) -> Result:
    """Delete posts or authors from the whole study.

    Takes the ids and keys in queries/purge.csv and those given here, which are put on that list, so that collecting
    never brings them back. Models that were trained in the study are removed if they may have learned from such a post. An author key is author:x:ID, author:bsky:DID, author:masto:SERVER/NAME, or a pseudonym.

    Example: covmis purge x:1255000000000000000 author:x:12
    """
    return open_study(study, half_purged=True).purge(posts=keys or (), outside=outside, progress=progress)
