"""`covmis export`: a page of `covmis open` as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from covmis_build.cli.console import JsonOption, StudyOption, tell


def export(
    page: Annotated[
        str,
        Argument(
            help="overview, posts, claims, queries/CLAIM, flow, story/ID, plan, rounds/NUMBER, results."
        ),
    ],
    out: Annotated[
        Path | None, Option("--out", metavar="FILE.html", help="Default: data/build/PAGE.html of the study.")
    ] = None,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a page of `covmis open` as one file, to send.

    The file loads nothing. It may hold texts of posts: send it only to people who may read them.

    Example: covmis export flow
    """
    from covmis_build.study.study import open_study
    from covmis_build.workbench.export import export_page

    opened = open_study(study)
    written = opened.places.relative(export_page(opened.places.folder, page, out))
    tell({"page": written}, [f"Written: {written}"], as_json=as_json)
