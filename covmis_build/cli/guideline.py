"""`covmis guideline check`: what changed in the guideline, and which labels may need another look."""

from __future__ import annotations

from covmis_build.cli.command import Commands
from covmis_build.cli.verbs import verbs

app = Commands(no_args_is_help=True, help="Compare the guideline with its earlier versions.")


@app.callback()
def guideline() -> None:
    """Look after annotation/guideline.md."""


verbs(app, "guideline")
