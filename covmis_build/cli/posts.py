"""`covmis posts`: preview a file of posts, add it, and import it."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Exit, Typer

from covmis_build.cli.console import JsonOption, StudyOption, print_result, progress, warn
from covmis_build.errors import counted

app = Typer(help="Check and import files of posts.")

FileArgument = Annotated[
    str, Argument(metavar="FILE", help="A file of posts, compressed or not; local or s3://….")
]


@app.command()
def look(file: FileArgument, study: StudyOption = None, as_json: JsonOption = False) -> None:
    """Preview how covmis reads a file; changes nothing.

    Example: covmis posts look export.csv
    """
    from covmis_build.errors import InputError
    from covmis_build.study.look import look as look_at
    from covmis_build.study.study import open_study

    try:
        opened = open_study(study)
    except InputError:
        if study is not None:
            raise
        opened = None  # a file can be previewed without a study
    seen = look_at(file, opened)
    print_result(seen, as_json=as_json)
    if seen.questions:
        raise Exit(1)


@app.command()
def add(file: FileArgument, study: StudyOption = None, as_json: JsonOption = False) -> None:
    """Copy a file of posts into the archive, unchanged.

    A file of the same name is not replaced.

    Example: covmis posts add ../posts.csv
    """
    from covmis_build.study.study import open_study

    print_result(open_study(study).add_posts(file), as_json=as_json)


@app.command("import")
def import_file(file: FileArgument, study: StudyOption = None, as_json: JsonOption = False) -> None:
    """Convert a file of posts to covmis's format.

    Fails until all questions of `covmis posts look` are answered.

    Not needed before `covmis run`, which reads files as they are: see `covmis posts add`.

    Example: covmis posts import export.csv
    """
    from covmis_build.study.study import open_study

    with progress() as report:
        imported = open_study(study).import_posts(file, progress=report)
    if imported.unreadable:
        warn(f"{counted(imported.unreadable, 'rows')} could not be read; the report counts them by reason")
    print_result(imported, as_json=as_json)
