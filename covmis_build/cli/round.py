"""`covmis round …`: annotation, a dozen claims at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from covmis_build.cli.console import JsonOption, StudyOption, progress, say, tell, warn
from covmis_build.cli.options import RunOption
from covmis_build.errors import counted
from covmis_build.study.study import open_study

app = Typer(no_args_is_help=True, help="Run annotation rounds.")

RoundOption = Annotated[str, Option("--round", metavar="N", help="The round (default: the last one opened).")]
ChannelOption = Annotated[
    str, Option(metavar="csv|xlsx|html|label-studio", help="Default: [annotation] channel.")
]


@app.command("open")
def open_(
    pilot: Annotated[
        bool, Option("--pilot", help="A practice round: counts neither for gold nor for kappa.")
    ] = False,
    claims: Annotated[int, Option(min=0, help="Claims to open (0: [annotation] claims_per_round).")] = 0,
    training: Annotated[
        bool, Option("--training", help="Posts whose label is known from sealed rounds, to practise on.")
    ] = False,
    items: Annotated[int, Option(min=1, help="With --training: how many posts.")] = 20,
    pass_mark: Annotated[
        float | None, Option(min=0, max=1, help="With --training: the share of right answers that will do.")
    ] = None,
    gold: Annotated[
        Path | None,
        Option(help="With --training: a sheet of posts and their labels (item_id, label, reason)."),
    ] = None,
    run: RunOption = False,
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Freeze the posts of the next claims for annotation.

    Takes the next claims in the order of queries/claims.csv.

    From then on the round is complete without data/build, and no later run changes or drops its items. Refused while
    the tables are not what today's settings and files would give.

    Example: covmis round open
    """
    with progress() as report:
        round_ = open_study(folder).open_round(
            claims, pilot=pilot, training=training, run=run, items=items, pass_mark=pass_mark, gold=gold,
            progress=report,
        )  # fmt: skip
    tell(round_.to_dict(), round_.sentences, as_json=as_json)


@app.command()
def push(
    number: RoundOption = "",
    channel: ChannelOption = "",
    page_size: Annotated[
        int, Option(min=0, help="With html: pages of so many posts each, for phones (0: one page a person).")
    ] = 0,
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write sheets or pages, or fill Label Studio projects.

    May be repeated at any time: what is there stays, what is missing is added.

    Example: covmis round push --channel html
    """
    sent = open_study(folder).round(number).push(channel, page_size=page_size)
    tell(sent.to_dict(), sent.sentences, as_json=as_json)


@app.command()
def pull(
    files: Annotated[
        list[Path] | None, Argument(metavar="FILE", help="Files that came back from elsewhere.")
    ] = None,
    number: RoundOption = "",
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import the labels that annotators returned.

    May be repeated while people work: what has not changed adds nothing. Ends with exit code 1 if something that
    came back could not be used.

    Example: covmis round pull
    """
    round_ = open_study(folder).round(number)
    pulled = round_.pull(files or ())
    first, *others = pulled.sentences
    result = {"round": round_.number, **pulled.to_dict()}
    tell(result, [f"Round {round_.number}: {first}", *others], as_json=as_json)
    warn(*map(str, pulled.new_problems))
    pulled.check()


@app.command()
def status(number: RoundOption = "", folder: StudyOption = None, as_json: JsonOption = False) -> None:
    """Show each annotator's progress and the next step.

    Example: covmis round status
    """
    progress = open_study(folder).round(number).status()
    tell(progress.to_dict(), progress.summary, as_json=as_json)


@app.command()
def report(number: RoundOption = "", folder: StudyOption = None, as_json: JsonOption = False) -> None:
    """Compute agreement (HTML, JSON, CSV, LaTeX).

    Written to the round's folder as report.*, and over all rounds but pilots as annotation/rounds/summary.*.

    Example: covmis round report
    """
    report = open_study(folder).round(number).report()
    notes = [f"- {note}" for note in report.notes]
    tell(
        report.to_dict(), [*report.sentences, *notes, f"Written: {', '.join(report.files)}"], as_json=as_json
    )


@app.command()
def board(
    serve: Annotated[
        bool, Option("--serve", help="Show it on this machine, made anew as labels come (Ctrl-C ends it).")
    ] = False,
    port: Annotated[int, Option(min=0, max=65535, help="With --serve: the port (0: any free one).")] = 0,
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a dashboard of all rounds.

    Written to annotation/rounds/board.html. Labels come into it with `covmis round pull`.

    Example: covmis round board --serve
    """
    from covmis_build.study.board import server, write_board

    study = open_study(folder)
    path = study.places.relative(write_board(study))
    tell({"page": path}, [f"Written: {path}"], as_json=as_json)
    if serve:
        with server(study, port) as shown:
            say(
                f"Shown at http://127.0.0.1:{shown.server_address[1]}/ to this machine alone. Ctrl-C ends it."
            )
            shown.serve_forever()


@app.command()
def adjudicate(
    adjudicator: Annotated[str, Option(help="The third person's code.")] = "adjudicator",
    no_discussion: Annotated[
        bool, Option("--no-discussion", help="Send disagreements straight to the third person.")
    ] = False,
    number: RoundOption = "",
    channel: ChannelOption = "",
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Resolve disagreements: discussion, then adjudicator.

    Writes sheets/discussion.csv (labels as A and B, in keyed order) and, for what was discussed without agreement
    (`undecided`), sheets/adjudication.csv; reads back what has been filled in. Nothing is written over.

    Example: covmis round adjudicate --adjudicator c1
    """
    round_ = open_study(folder).round(number)
    settlement = round_.adjudicate(adjudicator, discuss=not no_discussion, channel=channel)
    tell(settlement.to_dict(), settlement.sentences, as_json=as_json)
    warn(*map(str, settlement.problems))
    settlement.check()


@app.command()
def seal(number: RoundOption = "", folder: StudyOption = None, as_json: JsonOption = False) -> None:
    """Close a finished round and record its hashes.

    Refused while a post has no final label. Sealing twice changes nothing.

    Example: covmis round seal
    """
    seal = open_study(folder).round(number).seal()
    tell(seal.to_dict(), seal.sentences, as_json=as_json)


@app.command()
def reopen(
    items: Annotated[list[str], Argument(metavar="ITEM...", help="Items, as claim|post.")],
    reason: Annotated[str, Option(help="Why; it stands beside the new seal.")],
    number: RoundOption = "",
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Reopen some items of a sealed round.

    What was sealed is kept and verified as before. Labels of the round's other posts are not taken.

    Example: covmis round reopen "c1|x:125" --reason "both read the wrong claim" --round 1
    """
    round_ = open_study(folder).round(number).reopen(items, reason)
    reopened = sorted(round_.folder.reopened)
    result = {"round": round_.number, "reopened": reopened, "reason": reason}
    told = f"Round {round_.number}: {counted(len(reopened), 'posts')} open again. `covmis round seal` closes it anew."
    tell(result, [told], as_json=as_json)


@app.command()
def verify(
    label_studio: Annotated[
        bool,
        Option("--label-studio", help="Say, too, how many labels on Label Studio differ from the record."),
    ] = False,
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check that sealed rounds are unchanged.

    Example: covmis round verify
    """
    verified = open_study(folder).verify_rounds(label_studio=label_studio)
    tell(verified.to_dict(), verified.summary, as_json=as_json)
    verified.check()
