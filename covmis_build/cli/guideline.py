"""`covmis guideline check`: what changed in the guideline, and which labels may need another look."""

from __future__ import annotations

from typing import Annotated

from typer import Option, Typer

from covmis_build.cli.command import Printed
from covmis_build.errors import counted
from covmis_build.report.result import Result
from covmis_build.study.study import Study

app = Typer(no_args_is_help=True, help="Compare the guideline with its earlier versions.")


@app.callback()
def guideline() -> None:
    """Look after annotation/guideline.md."""


@app.command()
def check(
    study: Study,
    strict: Annotated[
        bool, Option("--strict", help="End with exit code 1 if any label may need another look.")
    ] = False,
) -> Result:
    """List labels that a guideline change may affect.

    Example: covmis guideline check
    """
    checked = study.check_guideline()
    failed = f"{counted(checked.look_again, 'labels')} may need another look" if checked.look_again else ""
    return Printed(checked.to_dict(), checked.summary, failed=failed if strict else "")
