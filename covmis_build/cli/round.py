"""`covmis round …`: annotation, a dozen claims at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option, Typer

from covmis_build.cli.command import Printed
from covmis_build.cli.options import RunOption, listed
from covmis_build.engine import Progress, silent
from covmis_build.errors import counted
from covmis_build.report.result import Result
from covmis_build.study.study import Study

app = Typer(no_args_is_help=True, help="Run annotation rounds.")

RoundOption = Annotated[str, Option("--round", metavar="N", help="The round (default: the last one opened).")]
ChannelOption = Annotated[
    str, Option(metavar="csv|xlsx|html|label-studio", help="Default: [annotation] channel.")
]


@app.command("open")
def open_(
    study: Study,
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
    progress: Progress = silent,
) -> Result:
    """Freeze the posts of the next claims for annotation.

    Takes the next claims in the order of queries/claims.csv.

    Later runs cannot change a frozen post. Fails if the tables are out of date: run `covmis run` first, or add `--run`.

    Example: covmis round open
    """
    return study.open_round(
        claims,
        pilot=pilot,
        training=training,
        run=run,
        items=items,
        pass_mark=pass_mark,
        gold=gold,
        predictions=predictions or (),
        progress=progress,
    )


@app.command()
def push(
    study: Study,
    number: RoundOption = "",
    channel: ChannelOption = "",
    page_size: Annotated[
        int, Option(min=0, help="With html: posts per page (0: one page per annotator).")
    ] = 0,
) -> Result:
    """Write sheets or pages, or fill Label Studio projects.

    Safe to repeat: adds what is missing and changes nothing else.

    Example: covmis round push --channel html
    """
    return study.round(number).push(channel, page_size=page_size)


@app.command()
def pull(
    study: Study,
    files: Annotated[
        list[Path] | None, Argument(metavar="FILE", help="Returned files outside the sheets folder.")
    ] = None,
    number: RoundOption = "",
) -> Result:
    """Import the labels that annotators returned.

    Safe to repeat while people work. Exit code 1 if an answer cannot be used.

    Example: covmis round pull
    """
    return study.round(number).pull(files or ())


@app.command()
def status(study: Study, number: RoundOption = "") -> Result:
    """Show each annotator's progress and the next step.

    Example: covmis round status
    """
    return study.round(number).status()


@app.command()
def report(study: Study, number: RoundOption = "") -> Result:
    """Compute agreement (HTML, JSON, CSV, LaTeX).

    Writes report.* to the round's folder, and summary.* for all rounds except pilots to annotation/rounds/.

    Example: covmis round report
    """
    report = study.round(number).report()
    return Printed(report.to_dict(), [*report.summary, f"Written: {', '.join(report.files)}"])


@app.command()
def board(study: Study) -> Result:
    """Write all rounds as one page, annotation/rounds/board.html.

    `covmis open` shows them up to date.

    Example: covmis round board
    """
    from covmis_build.study.rounds import write_board

    path = study.places.relative(write_board(study))
    return Printed({"page": path}, [f"Written: {path}"])


@app.command()
def adjudicate(
    study: Study,
    adjudicator: Annotated[str, Option(help="The adjudicator's code.")] = "adjudicator",
    no_discussion: Annotated[
        bool, Option("--no-discussion", help="Send disagreements directly to the adjudicator.")
    ] = False,
    number: RoundOption = "",
    channel: Annotated[
        str, Option(metavar="csv|xlsx|label-studio", help="Default: where the round was labelled.")
    ] = "",
) -> Result:
    """Resolve disagreements by discussion, then adjudication.

    Writes sheets/discussion.csv (or .xlsx) and, for posts that stay `undecided`, sheets/adjudication.csv. Run it again to
    import the completed sheets. Overwrites nothing.

    Example: covmis round adjudicate --adjudicator c1
    """
    return study.round(number).adjudicate(adjudicator, discuss=not no_discussion, channel=channel)


@app.command()
def decide(
    study: Study,
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
) -> Result:
    """Decide a disagreement without a sheet, or list them.

    Records what the annotators agreed on. After `undecided`, records the adjudicator's label. Deciding again replaces it.

    Example: covmis round decide "c1|x:125" --label favor --reason "the irony was missed"
    """
    round_ = study.round(number)
    if not item:
        return round_.cases()
    return round_.decide(
        item,
        label,
        reason,
        sub_label=sub_label,
        error_class=error_class,
        adjudicator=adjudicator,
        discuss=not no_discussion,
    )


@app.command()
def seal(study: Study, number: RoundOption = "") -> Result:
    """Close a finished round and record its hashes.

    Fails if a post has no final label. Safe to repeat.

    Example: covmis round seal
    """
    return study.round(number).seal()


@app.command()
def reopen(
    study: Study,
    items: Annotated[list[str], Argument(metavar="ITEM...", help="Items, as claim|post.")],
    reason: Annotated[str, Option(help="The reason; it is part of the new seal.")],
    number: RoundOption = "",
) -> Result:
    """Reopen some items of a sealed round.

    The old seal stays valid. Other posts of the round accept no labels.

    Example: covmis round reopen "c1|x:125" --reason "both read the wrong claim" --round 1
    """
    round_ = study.round(number).reopen(items, reason)
    reopened = sorted(round_.folder.reopened)
    result = {"round": round_.number, "reopened": reopened, "reason": reason}
    sentence = f"Round {round_.number}: {counted(len(reopened), 'posts')} open again. `covmis round seal` closes it again."
    return Printed(result, [sentence])


@app.command()
def verify(
    study: Study,
    label_studio: Annotated[
        bool,
        Option("--label-studio", help="Also count labels on Label Studio that differ from the record."),
    ] = False,
) -> Result:
    """Check that sealed rounds are unchanged.

    Example: covmis round verify
    """
    return study.verify_rounds(label_studio=label_studio)


def agreement(
    file: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="CSV or workbook with item, annotator, label; optionally claim, round, kind, seconds.",
        ),
    ],
    labels: Annotated[str, Option(help="The labels, separated by commas (default: those that occur).")] = "",
    order: Annotated[str, Option(help="The labels in order; adds ordinal coefficients.")] = "",
    html: Annotated[Path | None, Option(help="Also write the report as a page.")] = None,
    latex: Annotated[Path | None, Option(help="Also write the coefficients as a LaTeX table.")] = None,
) -> Result:
    """Compute inter-annotator agreement for any file.

    Example: covmis agreement labels.csv --order favor,neither,against
    """
    from covmis_build.annotation.report_files import agreement_of_file

    return agreement_of_file(file, labels=listed(labels), order=listed(order), html=html, latex=latex)
