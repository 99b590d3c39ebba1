"""`covmis release` and `verify`: the corpus to publish, and the checks for its users."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from covmis_build.cli.console import StudyOption
from covmis_build.cli.options import RunOption
from covmis_build.engine import Progress, silent
from covmis_build.errors import InputError
from covmis_build.report.result import Result
from covmis_build.study.study import Study, open_study, study_of


def release(
    study: Study,
    text: Annotated[
        bool | None, Option("--text/--ids-only", help="Include texts, or only ids (default: [release] text).")
    ] = None,
    bundle: Annotated[
        bool, Option("--bundle", help="Also write bundle.zip, the reproduction package without texts.")
    ] = False,
    deposit: Annotated[
        bool, Option("--deposit", help="Also write data/deposit: files to upload, and a checklist.")
    ] = False,
    sign: Annotated[Path | None, Option(metavar="KEY", help="Sign the checksums with this SSH key.")] = None,
    run: RunOption = False,
    progress: Progress = silent,
) -> Result:
    """Write the corpus, dataset card and methods text.

    The corpus comes in three formats, with statistics, metadata and checksums, in data/release/.

    Uses the posts as they were frozen in the rounds. Purged posts are excluded and counted. Fails if a sealed round was
    changed.

    Example: covmis release --bundle
    """
    from covmis_build.study.release import release

    return release(study, text=text, bundle=bundle, deposit=deposit, sign=sign, run=run, progress=progress)


def verify(
    file: Annotated[
        Path | None, Argument(metavar="FILE", help="A bundle, a release's folder or one of its files.")
    ] = None,
    signers: Annotated[
        Path | None,
        Option(metavar="FILE", help="Allowed signers (man ssh-keygen): one of them must have signed it."),
    ] = None,
    folder: StudyOption = None,
) -> Result:
    """Check a release or reproduction package.

    Example: covmis verify data/release/bundle.zip
    """
    from covmis_build.study.verify import verify

    return verify(file or open_study(folder).places.release, signers=signers)


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
        Option(metavar="PATH", help="A folder or file of posts; repeatable (default: the study's archive)."),
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

    if file is not None and file.suffix == ".zip":
        if into is None:
            raise InputError("a bundle needs a place to become a study", remedy="Name a folder with --into")
        return rebuild(file, into, archive or [], progress=progress)
    # a corpus and archives need no study; where there is one, its purge list holds
    opened = study_of(Path.cwd(), study) if file is not None and archive else open_study(study)
    return hydrate(file, archive or [], into=into, study=opened, mask=not as_posted, progress=progress)
