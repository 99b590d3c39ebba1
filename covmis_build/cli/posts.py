"""`covmis posts`: preview a file of posts, add it, and import it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Typer

from covmis_build.cli.command import Printed
from covmis_build.cli.console import StudyOption
from covmis_build.engine import Progress
from covmis_build.report.result import Result
from covmis_build.study.study import Study, study_of

app = Typer(help="Check and import files of posts.")

FileArgument = Annotated[
    str, Argument(metavar="FILE", help="A file of posts, compressed or not; local or s3://….")
]


@app.command()
def look(file: FileArgument, folder: StudyOption = None) -> Result:
    """Preview how covmis reads a file; changes nothing.

    Example: covmis posts look export.csv
    """
    from covmis_build.study.look import look as look_at

    seen = look_at(file, study_of(Path.cwd(), folder, half_purged=True))
    return Printed(seen.to_dict(), seen.summary, exit_code=1 if seen.questions else 0)


@app.command()
def add(study: Study, file: FileArgument) -> Result:
    """Copy a file of posts into the archive, unchanged.

    A file of the same name is not replaced.

    Example: covmis posts add ../posts.csv
    """
    return study.add_posts(file)


@app.command("import")
def import_file(study: Study, file: FileArgument, progress: Progress) -> Result:
    """Convert a file of posts to covmis's format.

    Fails until all questions of `covmis posts look` are answered.

    Not needed before `covmis run`, which reads files as they are: see `covmis posts add`.

    Example: covmis posts import export.csv
    """
    return study.import_posts(file, progress=progress)
