"""`covmis round …`: annotation, a dozen claims at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build.cli.console import JsonOption, StudyOption, emit_json, grid, say
from covmis_build.cli.settling import (
    ChannelOption,
    RoundOption,
    adjudicate,
    alone,
    channel_of,
    complain,
    guideline_text,
    people_of,
    report,
    seal,
    the_round,
    the_study,
    verify,
)
from covmis_build.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.annotation.record import Round

app = typer.Typer(no_args_is_help=True, help="Annotate: open, push, pull, report, adjudicate, seal.")


@app.command("open")
@alone
def open_(
    pilot: Annotated[
        bool, typer.Option("--pilot", help="A practice round: counts neither for gold nor for kappa.")
    ] = False,
    claims: Annotated[
        int, typer.Option(min=0, help="Claims to open (0: [annotation] claims_per_round).")
    ] = 0,
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Freeze the next claims' sampled posts as a round, in the order of claims.csv.

    From then on the round is complete without data/build, and no later run changes or drops its items.

    Example: covmis round open
    """
    import secrets

    from covmis_build import storage
    from covmis_build.annotation import record
    from covmis_build.annotation.rounds import for_people, open_round
    from covmis_build.governing import made_with

    opened = the_study(study)
    tables = {
        name: storage.read_table(opened.table(name), name) for name in ("sample", "items", "claims", "posts")
    }
    if tables["sample"].empty:
        raise InputError("there is no sample yet", remedy="Run `covmis run` first")
    options = replace(opened.annotation, claims_per_round=claims or opened.annotation.claims_per_round)
    frozen = open_round(
        **tables,
        opened=[one.items() for one in record.all_rounds(opened.rounds)],
        options=options,
        labels=opened.labels,
        seed=opened.seed,
        pilot=pilot,
        salt=secrets.token_hex(16),
    )
    made = record.create(
        opened.rounds, frozen, options, opened.labels, guideline_text(opened), now=record.moment(),
        settings=made_with(opened),
    )  # fmt: skip
    people = len(for_people(frozen))
    result = {
        "round": made.number, "pilot": pilot, "claims": frozen["claim_id"].nunique(), "items": len(frozen),
        "for_people": people, "automatic": len(frozen) - people, "folder": opened.relative(made.folder),
    }  # fmt: skip
    if as_json:
        emit_json(result)
        return
    say(
        f"Round {made.number}{' (pilot)' if pilot else ''}: {result['claims']} claims, {len(frozen)} posts, "
        f"{people} of them for people, {result['automatic']} labelled by rule.",
        f"Frozen in {result['folder']}/. Next: `covmis round push`.",
    )


@app.command()
@alone
def push(
    number: RoundOption = "",
    channel: ChannelOption = "",
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send the round to its annotators: sheets, offline pages, or one Label Studio project each.

    May be repeated at any time: what is there stays, what is missing is added.

    Example: covmis round push --channel html
    """
    from covmis_build.annotation import record, steps

    opened = the_study(study)
    one = the_round(opened, number)
    record.refuse_sealed(one)
    way = channel_of(opened, channel)
    who = steps.work(one, opened.annotation.annotators, one.per_item, seed=opened.seed)
    one = record.keep_guideline(one, guideline_text(opened), now=record.moment())
    result: dict[str, Any] = {
        "round": one.number,
        "channel": way,
        "items": {code: len(items) for code, items in who.items()},
    }
    if way == "label-studio":
        from covmis_build.cli.label_studio import push_round

        result["projects"] = push_round(opened, one, who)
        lines = [
            f"{row['annotator']}: {row['url']} ({row['added']} tasks added)" for row in result["projects"]
        ]
    else:
        written = (
            steps.push_sheets(one, who)
            if way == "csv"
            else steps.push_pages(one, who, title=opened.title, guideline=guideline_text(opened))
        )
        result["written"] = [opened.relative(path) for path in written]
        lines = [f"Written: {name}" for name in result["written"]] or ["Everything was sent out already."]
    if as_json:
        emit_json(result)
        return
    say(*lines)
    if way != "label-studio":
        say(
            f"Give each annotator their file of {opened.relative(one.sheets)}/, and nobody the others'. "
            "Put what comes back there, then `covmis round pull`."
        )


@app.command()
@alone
def pull(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="Files that came back from elsewhere.")
    ] = None,
    number: RoundOption = "",
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring labels back, from every channel that this round uses; check each; append what is new.

    May be repeated while people work: what has not changed adds nothing. Ends with exit code 1 if something that
    came back could not be used.

    Example: covmis round pull
    """
    from covmis_build.annotation import record, steps

    opened = the_study(study)
    one = the_round(opened, number)
    people = people_of(opened, one)
    found = steps.pull_files(one, people, files or [], now=record.moment())
    if (one.folder / "label_studio.json").exists() and not files:
        from covmis_build.cli.label_studio import pull_round

        more = pull_round(opened, one)
        found.added += more.added
        found.answers += more.answers
        found.problems = list(dict.fromkeys([*found.problems, *more.problems]))
    if as_json:
        emit_json(
            {"round": one.number, "answers": found.answers, "added": found.added,
             "problems": [str(problem) for problem in found.problems]}
        )  # fmt: skip
    else:
        say(f"Round {one.number}: {found.answers} answers came back, {found.added} new in the record.")
    complain(found.problems)


@app.command()
def status(number: RoundOption = "", study: StudyOption = None, as_json: JsonOption = False) -> None:
    """Show who has labelled how much, the pace, the time left, and what to do next.

    Example: covmis round status
    """
    from covmis_build.annotation import adjudication, steps

    opened = the_study(study)
    one = the_round(opened, number)
    who = steps.work(one, opened.annotation.annotators, one.per_item, seed=opened.seed)
    rows = steps.progress(one, who)
    frozen, labels = one.items(), one.labels()
    differ = adjudication.disagreements(frozen, labels, one.per_item)
    without = steps.undecided_items(one)
    advice = _advice(one, rows, differ, without)
    if as_json:
        emit_json(
            {"round": one.number, "pilot": one.pilot, "sealed": one.sealed, "annotators": rows,
             "disagreements": len(differ), "undecided": len(without), "next": advice}
        )  # fmt: skip
        return
    say(
        f"Round {one.number}{' (pilot)' if one.pilot else ''}, {len(frozen)} posts{', sealed' if one.sealed else ''}"
    )
    grid([tuple(row.values()) for row in rows], [name.replace("_", " ") for name in rows[0]])
    say(f"{len(differ)} disagreements; {len(without)} posts without a final label.", f"Next: {advice}")


def _advice(one: Round, rows: list[dict[str, Any]], differ: Sequence[str], without: Sequence[str]) -> str:
    if one.sealed:
        return "`covmis round open`, or `covmis release` if this was the last round"
    if not any(row["given"] or row["skipped"] for row in rows) and without:
        return "`covmis round push`, then `covmis round pull` when labels have been given"
    if any(row["left"] for row in rows):
        return "wait for the annotators, then `covmis round pull`"
    if set(without) & set(differ):
        return "`covmis round report`, discuss, `covmis round adjudicate`"
    if without:
        return "look at the posts without a label: `covmis round report`"
    return "`covmis round report`, then `covmis round seal`"


for _command in (report, adjudicate, seal, verify):
    app.command()(_command)
