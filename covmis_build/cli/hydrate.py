"""`covmis hydrate`: texts for a corpus of ids, or a study again of a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from covmis_build.cli.console import StudyOption
from covmis_build.engine import Progress, silent
from covmis_build.errors import InputError
from covmis_build.report.result import Result


def hydrate(
    file: Annotated[
        Path | None,
        Argument(
            metavar="FILE",
            help="A released corpus, a table of ids (tweet_id,label), or a bundle (default: the study's corpus).",
        ),
    ] = None,
    archive: Annotated[
        list[Path] | None,
        Option(metavar="DIR", help="Where posts are; repeatable (default: the study's archive)."),
    ] = None,
    into: Annotated[
        Path | None,
        Option(metavar="DIR", help="Output folder (default: hydrated/ next to FILE, or in data/build)."),
    ] = None,
    as_posted: Annotated[bool, Option("--as-posted", help="Keep account names in the texts.")] = False,
    study: StudyOption = None,
    progress: Progress = silent,
) -> Result:
    """Restore texts in a release that has only ids.

    Fetch the posts first: `covmis collect ids corpus.csv`. A bundle becomes a study in --into DIR.
    Put the posts into its archive; then `covmis run` and `covmis release` build the same corpus.

    Example: covmis hydrate corpus.csv --archive posts/ --into with-texts/
    """
    from covmis_build.study.hydrate import hydrate
    from covmis_build.study.rebuild import rebuild
    from covmis_build.study.study import open_study

    if file is not None and file.suffix == ".zip":
        if into is None:
            raise InputError("a bundle needs a place to become a study", remedy="Name a folder with --into")
        return rebuild(file, into, archive or [], progress=progress)
    alone = file is not None and archive and study is None  # a corpus and archives need no study
    opened = None if alone else open_study(study)
    return hydrate(file, archive or [], into=into, study=opened, mask=not as_posted, progress=progress)
