"""`covmis doctor`: what is there, what is missing, and how to get it."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from covmis_build.cli.console import StudyOption
from covmis_build.cli.options import pairs_of
from covmis_build.report.result import Result


def doctor(
    master: Annotated[str, Option(help="Also check the workers of this Spark: spark://host:7077.")] = "",
    conf: Annotated[list[str] | None, Option(metavar="KEY=VALUE", help="A setting for Spark.")] = None,
    study: StudyOption = None,
) -> Result:
    """Check the installation.

    Ends with exit code 1 if a part of the core is missing. Shows only whether credentials are set. In a study also
    says whether the buckets of its archive answer.

    Example: covmis doctor
    """
    import covmis_build as covmis

    return covmis.doctor(study, master=master, settings=pairs_of("--conf", conf, "KEY=VALUE"))
