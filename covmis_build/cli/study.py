"""`covmis new`, `run`, `status`, `explain`: a study from the outside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from covmis_build.cli.verbs import made
from covmis_build.errors import InputError
from covmis_build.report.result import PlainResult, Result
from covmis_build.study.study import rebuild_published


def new(
    folder: Annotated[Path, Argument(metavar="DIR", help="The folder to make.")],
    title: Annotated[str, Option(help="The study's title.")] = "",
    labels: Annotated[
        str,
        Option(
            metavar="LABEL,…",
            help="The labels, if they are not favor,against,neither; the guideline gets a row for each.",
        ),
    ] = "",
    language: Annotated[
        str,
        Option(
            metavar="CODE",
            help="The annotators' language: en, es, pt, de, fr, it or ar. The guideline is written in it.",
        ),
    ] = "en",
    source: Annotated[
        str, Option("--from", help="covmis-stance: a study that builds COVMis-Stance again.")
    ] = "",
    published: Annotated[
        Path | None, Option("--files", metavar="DIR", help="With --from: the folder of the published files.")
    ] = None,
    releases: Annotated[
        Path | None,
        Option("--coaid", metavar="DIR", help="With --from: CoAID's releases, for their title ids."),
    ] = None,
) -> Result:
    """Create a study folder with settings and an example.

    With --from covmis-stance it has the claims of the published corpus and its post ids, to be looked up with
    `covmis collect ids`.

    Example: covmis new my-study --title "Vaccine rumours, 2026"
    """
    if source and labels:
        raise InputError(
            "--labels is for a study of your own", remedy=f"{source} has the labels of its paper"
        )
    if source and language != "en":
        raise InputError(
            "--language is for a study of your own", remedy="Set [annotation] language afterwards"
        )
    if source:
        return rebuild_published(folder, source, published, title=title, releases=releases)
    from covmis_build.study.new import new_study

    files = new_study(folder, title, labels=labels, language=language)
    words = f"Made {folder}/. Next: read {folder}/README.md, then `cd {folder}` and `covmis status`."
    return PlainResult({"folder": str(folder), "title": title or folder.name, "files": files}, [words])


run = made("run")
status = made("status")
explain = made("explain")
check = made("check")
doctor = made("doctor")
purge = made("purge")
