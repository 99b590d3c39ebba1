"""`covmis guideline check`: what changed in the guideline, and which labels may need another look."""

from __future__ import annotations

from typing import Annotated

from typer import Option, Typer

from covmis_build.cli.console import JsonOption, StudyOption, tell
from covmis_build.errors import CheckFailed, counted
from covmis_build.study.study import open_study

app = Typer(no_args_is_help=True, help="Compare the guideline with its earlier versions.")


@app.callback()
def guideline() -> None:
    """Look after annotation/guideline.md."""


@app.command()
def check(
    strict: Annotated[
        bool, Option("--strict", help="End with exit code 1 if any label may need another look.")
    ] = False,
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """List labels that a guideline change may affect.

    Example: covmis guideline check
    """
    checked = open_study(folder).check_guideline()
    tell(checked.to_dict(), checked.sentences, as_json=as_json)
    if strict and checked.look_again:
        raise CheckFailed(f"{counted(checked.look_again, 'labels')} may need another look")
