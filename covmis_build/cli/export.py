"""`covmis export`: a page of `covmis open` as one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from covmis_build.cli.command import Told
from covmis_build.report.result import Result
from covmis_build.study.study import Study


def export(
    study: Study,
    page: Annotated[
        str,
        Argument(
            help="overview, posts, claims, queries/CLAIM, flow, story/ID, plan, rounds/NUMBER, results."
        ),
    ],
    out: Annotated[
        Path | None, Option("--out", metavar="FILE.html", help="Default: data/build/PAGE.html of the study.")
    ] = None,
) -> Result:
    """Write a page of `covmis open` as one file, to send.

    The file loads nothing. It may hold texts of posts: send it only to people who may read them.

    Example: covmis export flow
    """
    from covmis_build.workbench.export import export_page

    written = study.places.relative(export_page(study.places.folder, page, out))
    return Told({"page": written}, [f"Written: {written}"])
