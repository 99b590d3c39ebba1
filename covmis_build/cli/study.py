"""`covmis new`, `run`, `status`, `explain`: a study from the outside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from covmis_build.cli.command import Printed
from covmis_build.cli.console import StudyOption
from covmis_build.cli.options import ConfOption, EngineOption, MasterOption, pairs_of
from covmis_build.engine import Progress, silent
from covmis_build.report.result import Result
from covmis_build.study.study import Study, open_study, rebuild_published


def new(
    folder: Annotated[Path, Argument(metavar="DIR", help="The folder to make.")],
    title: Annotated[str, Option(help="The study's title.")] = "",
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
    if source:
        return rebuild_published(folder, source, published, title=title, releases=releases)
    from covmis_build.study.new import new_study

    files = new_study(folder, title)
    words = f"Made {folder}/. Next: read {folder}/README.md, then `cd {folder}` and `covmis status`."
    return Printed({"folder": str(folder), "title": title or folder.name, "files": files}, [words])


def run(
    study: Study,
    stages: Annotated[list[str] | None, Argument(metavar="STAGE", help="Default: all stages.")] = None,
    force: Annotated[bool, Option(help="Make them again even if nothing changed.")] = False,
    engine: EngineOption = "duckdb",
    master: MasterOption = "",
    conf: ConfOption = None,
    workers: Annotated[int, Option(min=0, help="Processes to use (0: one per processor).")] = 0,
    progress: Progress = silent,
) -> Result:
    """Build all tables, from claims to the sample.

    Only stages whose input or settings changed are built again. Stages, in order: read, claims, queries, retrieve, clean,
    sample. Safe to interrupt and repeat. Exit code 1 if too many lines of a file cannot be read.

    Example: covmis run
    """
    return study.run(
        stages or (),
        force=force,
        engine=engine,
        master=master,
        settings=pairs_of("--conf", conf, "KEY=VALUE"),
        workers=workers,
        progress=progress,
    )


def status(
    published: Annotated[
        Path | None,
        Option(metavar="DIR", help="Compare with the published corpus that this study rebuilds."),
    ] = None,
    dropped: Annotated[
        str,
        Option(
            metavar="STEP",
            help="Instead: the posts dropped by this step, or for this reason, as `status` prints them.",
        ),
    ] = "",
    reason: Annotated[str, Option(help="With --dropped: of this reason alone.")] = "",
    claim: Annotated[str, Option(help="With --dropped: of this claim alone.")] = "",
    folder: StudyOption = None,
) -> Result:
    """Show progress and the next step.

    With --published, also writes each claim and query type to data/build/published.csv.

    Example: covmis status
    """
    if dropped:
        return open_study(folder).dropped_posts(dropped, reason=reason, claim=claim)
    study = open_study(folder, half_purged=True)
    return study.status() if published is None else study.beside_published(published)


def explain(
    study: Study,
    wanted: Annotated[str, Argument(metavar="ID", help="A claim id, a post id, or an item id (claim|post).")],
) -> Result:
    """Show why a post was found, dropped or sampled.

    Example: covmis explain x:1255000000000000000
    """
    sentences = study.explain(wanted)
    return Printed({"id": wanted, "sentences": sentences}, sentences)


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


def purge(
    keys: Annotated[
        list[str] | None, Argument(metavar="KEY", help="Post ids and author keys, in addition to purge.csv.")
    ] = None,
    outside: Annotated[
        bool, Option("--outside", help="Also rewrite archives outside the study's folder.")
    ] = False,
    study: StudyOption = None,
    progress: Progress = silent,
) -> Result:
    """Delete posts or authors from the whole study.

    Takes the ids and keys in queries/purge.csv and those given here, which are put on that list, so that collecting
    never brings them back. Models that were trained in the study are removed if they may have learned from such a post. An author key is author:x:ID, author:bsky:DID, author:masto:SERVER/NAME, or a pseudonym.

    Example: covmis purge x:1255000000000000000 author:x:12
    """
    return open_study(study, half_purged=True).purge(posts=keys or (), outside=outside, progress=progress)
