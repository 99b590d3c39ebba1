"""`covmis round …`: annotation, a dozen claims at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from covmis_build.cli.console import JsonOption, StudyOption, print_result, progress, tell, warn
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
        bool, Option("--pilot", help="A practice round, excluded from gold labels and agreement.")
    ] = False,
    claims: Annotated[int, Option(min=0, help="Claims to open (0: [annotation] claims_per_round).")] = 0,
    training: Annotated[
        bool, Option("--training", help="A practice round of posts with known labels.")
    ] = False,
    items: Annotated[int, Option(min=1, help="With --training: number of posts.")] = 20,
    pass_mark: Annotated[
        float | None, Option(min=0, max=1, help="With --training: the accuracy required to pass.")
    ] = None,
    gold: Annotated[
        Path | None,
        Option(help="With --training: your own labels (item_id, label, reason)."),
    ] = None,
    predictions: Annotated[
        list[Path] | None,
        Option(metavar="FILE", help="Register a file of predictions for `covmis estimate`; repeatable."),
    ] = None,
    run: RunOption = False,
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Freeze the posts of the next claims for annotation.

    Takes the next claims in the order of queries/claims.csv.

    Later runs cannot change a frozen post. Fails if the tables are out of date: run `covmis run` first, or add `--run`.

    Example: covmis round open
    """
    with progress() as report:
        round_ = open_study(folder).open_round(
            claims, pilot=pilot, training=training, run=run, items=items, pass_mark=pass_mark, gold=gold,
            predictions=predictions or (), progress=report,
        )  # fmt: skip
    tell(round_.to_dict(), round_.sentences, as_json=as_json)


@app.command()
def push(
    number: RoundOption = "",
    channel: ChannelOption = "",
    page_size: Annotated[
        int, Option(min=0, help="With html: posts per page (0: one page per annotator).")
    ] = 0,
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write sheets or pages, or fill Label Studio projects.

    Safe to repeat: adds what is missing and changes nothing else.

    Example: covmis round push --channel html
    """
    sent = open_study(folder).round(number).push(channel, page_size=page_size)
    tell(sent.to_dict(), sent.sentences, as_json=as_json)


@app.command()
def pull(
    files: Annotated[
        list[Path] | None, Argument(metavar="FILE", help="Returned files outside the sheets folder.")
    ] = None,
    number: RoundOption = "",
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Import the labels that annotators returned.

    Safe to repeat while people work. Exit code 1 if an answer cannot be used.

    Example: covmis round pull
    """
    round_ = open_study(folder).round(number)
    pulled = round_.pull(files or ())
    first, *others = pulled.sentences
    result = {"round": round_.number, **pulled.to_dict()}
    tell(result, [f"Round {round_.number}: {first}", *others], as_json=as_json)
    warn(*pulled.warnings)
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

    Writes report.* to the round's folder, and summary.* for all rounds except pilots to annotation/rounds/.

    Example: covmis round report
    """
    report = open_study(folder).round(number).report()
    tell(report.to_dict(), [*report.summary, f"Written: {', '.join(report.files)}"], as_json=as_json)


@app.command()
def board(folder: StudyOption = None, as_json: JsonOption = False) -> None:
    """Write all rounds as one page, annotation/rounds/board.html.

    `covmis open` shows them up to date.

    Example: covmis round board
    """
    from covmis_build.study.board import write_board

    study = open_study(folder)
    path = study.places.relative(write_board(study))
    tell({"page": path}, [f"Written: {path}"], as_json=as_json)


@app.command()
def adjudicate(
    adjudicator: Annotated[str, Option(help="The adjudicator's code.")] = "adjudicator",
    no_discussion: Annotated[
        bool, Option("--no-discussion", help="Send disagreements directly to the adjudicator.")
    ] = False,
    number: RoundOption = "",
    channel: ChannelOption = "",
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Resolve disagreements by discussion, then adjudication.

    Writes sheets/discussion.csv and, for posts that stay `undecided`, sheets/adjudication.csv. Run it again to import the
    completed sheets. Overwrites nothing.

    Example: covmis round adjudicate --adjudicator c1
    """
    round_ = open_study(folder).round(number)
    settlement = round_.adjudicate(adjudicator, discuss=not no_discussion, channel=channel)
    tell(settlement.to_dict(), settlement.sentences, as_json=as_json)
    warn(*settlement.warnings)
    settlement.check()


@app.command()
def decide(
    item: Annotated[
        str, Argument(metavar="[ITEM]", help="A disagreement, as claim|post; none: list them.")
    ] = "",
    label: Annotated[str, Option(help="The label, or `undecided`: the adjudicator decides.")] = "",
    reason: Annotated[str, Option(help="The reason.")] = "",
    sub_label: Annotated[str, Option(help="The sub-label.")] = "",
    error_class: Annotated[
        str, Option(metavar="slip|guideline|context|ambiguous|other", help="Why the labels differ.")
    ] = "",
    adjudicator: Annotated[str, Option(help="The adjudicator's code.")] = "adjudicator",
    no_discussion: Annotated[
        bool, Option("--no-discussion", help="It is the adjudicator's decision, without a discussion.")
    ] = False,
    number: RoundOption = "",
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Decide a disagreement without a sheet, or list them.

    Records what the annotators agreed on. After `undecided`, records the adjudicator's label. Deciding again replaces it.

    Example: covmis round decide "c1|x:125" --label favor --reason "the irony was missed"
    """
    round_ = open_study(folder).round(number)
    if not item:
        print_result(round_.cases(), as_json=as_json)
        return
    decided = round_.decide(
        item, label, reason, sub_label=sub_label, error_class=error_class, adjudicator=adjudicator,
        discuss=not no_discussion,
    )  # fmt: skip
    print_result(decided, as_json=as_json)


@app.command()
def seal(number: RoundOption = "", folder: StudyOption = None, as_json: JsonOption = False) -> None:
    """Close a finished round and record its hashes.

    Fails if a post has no final label. Safe to repeat.

    Example: covmis round seal
    """
    seal = open_study(folder).round(number).seal()
    tell(seal.to_dict(), seal.sentences, as_json=as_json)


@app.command()
def reopen(
    items: Annotated[list[str], Argument(metavar="ITEM...", help="Items, as claim|post.")],
    reason: Annotated[str, Option(help="The reason; it is part of the new seal.")],
    number: RoundOption = "",
    folder: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Reopen some items of a sealed round.

    The old seal stays valid. Other posts of the round accept no labels.

    Example: covmis round reopen "c1|x:125" --reason "both read the wrong claim" --round 1
    """
    round_ = open_study(folder).round(number).reopen(items, reason)
    reopened = sorted(round_.folder.reopened)
    result = {"round": round_.number, "reopened": reopened, "reason": reason}
    told = f"Round {round_.number}: {counted(len(reopened), 'posts')} open again. `covmis round seal` closes it again."
    tell(result, [told], as_json=as_json)


@app.command()
def verify(
    label_studio: Annotated[
        bool,
        Option("--label-studio", help="Also count labels on Label Studio that differ from the record."),
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
