"""`covmis sample`: the draw per claim and kind, and what another one would cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from typer import Option

from covmis_build.cli.options import numbers
from covmis_build.errors import InputError
from covmis_build.report.result import Result
from covmis_build.study.study import Study

TARGETS = "12,24,36,48,96"


def sample(
    study: Study,
    plan: Annotated[
        bool, Option("--plan", help="Also: hours and interval widths of smaller and bigger samples.")
    ] = False,
    targets: Annotated[str, Option(metavar="N,N", help="The targets per claim to plan for.")] = TARGETS,
    seconds: Annotated[
        float, Option(min=0, help="Seconds a label takes (default: as in the rounds so far).")
    ] = 0.0,
    share: Annotated[float, Option(min=0.01, max=0.99, help="The share that widths are planned for.")] = 0.5,
    per_item: Annotated[int, Option(min=0, help="Annotators for each item (0: [annotation] per_item).")] = 0,
) -> Result:
    """Show the sample, or plan its size.

    The draw shown is that of the study's present items, settings and opened rounds; `covmis run` makes it.

    Example: covmis sample --plan
    """
    if not plan and (targets, seconds, share, per_item) != (TARGETS, 0.0, 0.5, 0):
        raise InputError("--targets, --seconds, --share and --per-item are for a plan", remedy="Add --plan")
    planned = study.plan_sample(
        targets=numbers(targets, "--targets", int), seconds=seconds, share=share, per_item=per_item
    )
    return replace(planned, with_costs=plan)
