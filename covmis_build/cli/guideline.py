"""`covmis guideline check`: what changed in the guideline, and which labels may need another look."""

from __future__ import annotations

from typing import Annotated

import typer

from covmis_build.cli.console import JsonOption, StudyOption, emit_json, say
from covmis_build.errors import CheckFailed

app = typer.Typer(no_args_is_help=True, help="The guideline and its versions.")


@app.callback()
def guideline() -> None:
    """Look after annotation/guideline.md."""


@app.command()
def check(
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 1 if any label may need another look.")
    ] = False,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the guideline with the version under which each label was given.

    Example: covmis guideline check
    """
    import pandas as pd

    from covmis_build.annotation import guideline as versions
    from covmis_build.annotation import record
    from covmis_build.study import open_study

    opened = open_study(study)
    text = versions.read_guideline(opened.guideline)
    parts = [one.labels() for one in record.all_rounds(opened.rounds)]
    parts = [part for part in parts if len(part)]
    found = versions.check(opened.rounds, pd.concat(parts), text, opened.labels.values) if parts else []
    look = sum(len(one["look_again"]) for one in found)
    if as_json:
        emit_json({"version": record.guideline_version(text), "earlier": found, "look_again": look})
    else:
        say(f"The guideline is at version {record.guideline_version(text)}.")
        for one in found:
            say("", f"Version {one['version']}: {one['labels']} labels, rounds {', '.join(one['rounds'])}")
            say(*(f"  {line}" for line in one["diff"]))
            if not one["text_kept"]:
                say("  Its text was not kept, so all its labels are listed.")
            if one["names"]:
                say(f"  Changed lines name: {', '.join(one['names'])}")
            say(f"  {len(one['look_again'])} labels on {len(one['items'])} posts may need another look.")
        if not found:
            say("Every label was given under this version.")
    if strict and look:
        raise CheckFailed(f"{look} labels may need another look")
