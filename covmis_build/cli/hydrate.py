"""`covmis hydrate`: texts for a corpus of ids, or a study again of a bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from covmis_build.cli.console import JsonOption, StudyOption, print_result, progress, warn
from covmis_build.errors import InputError


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
    as_json: JsonOption = False,
) -> None:
    """Restore texts in a release that has only ids.

    Fetch the posts first: `covmis collect ids corpus.csv`. A bundle becomes a study in --into DIR.
    Put the posts into its archive; then `covmis run` and `covmis release` build the same corpus.

    Example: covmis hydrate corpus.csv --archive posts/ --into with-texts/
    """
    from covmis_build.study.hydrate import hydrate
    from covmis_build.study.study import open_study

    if file is not None and file.suffix == ".zip":
        if into is None:
            raise InputError("a bundle needs a place to become a study", remedy="Name a folder with --into")
        _rebuild(file, into, archive or [], as_json=as_json)
        return
    alone = file is not None and archive and study is None  # a corpus and archives need no study
    opened = None if alone else open_study(study)
    with progress() as report:
        result = hydrate(file, archive or [], into=into, study=opened, mask=not as_posted, progress=report)
    warn("texts are for your own work: the platforms' terms apply.")
    print_result(result, as_json=as_json)
    result.check()


def _rebuild(bundle: Path, into: Path, archives: list[Path], *, as_json: bool) -> None:
    from covmis_build.study.rebuild import rebuild

    with progress() as report:
        rebuilt = rebuild(bundle, into, archives, progress=report)
    print_result(rebuilt, as_json=as_json)
    rebuilt.check()
