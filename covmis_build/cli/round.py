"""`covmis round …`: annotation, a dozen claims at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build.cli.console import JsonOption, StudyOption, emit_json, grid, say, warn
from covmis_build.errors import CheckFailed, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.annotation.answers import Problem
    from covmis_build.annotation.record import Round
    from covmis_build.study import Study

app = typer.Typer(no_args_is_help=True, help="Annotate: open, push, pull, report, adjudicate, seal.")

RoundOption = Annotated[
    str, typer.Option("--round", metavar="N", help="The round (default: the last one opened).")
]
ChannelOption = Annotated[
    str, typer.Option(metavar="csv|html|label-studio", help="Default: [annotation] channel.")
]


@app.command("open")
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

    opened = _study(study)
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
        opened.rounds, frozen, options, opened.labels, _guideline(opened), now=record.moment()
    )
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

    opened = _study(study)
    one = _round(opened, number)
    record.refuse_sealed(one)
    one = record.keep_guideline(one, _guideline(opened))
    who = steps.work(one, opened.annotation.annotators, one.per_item, seed=opened.seed)
    way = _channel(opened, channel)
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
            else steps.push_pages(one, who, title=opened.title, guideline=_guideline(opened))
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

    opened = _study(study)
    one = _round(opened, number)
    people = _people(opened, one)
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
    _complain(found.problems)


@app.command()
def status(number: RoundOption = "", study: StudyOption = None, as_json: JsonOption = False) -> None:
    """Show who has labelled how much, the pace, the time left, and what to do next.

    Example: covmis round status
    """
    from covmis_build.annotation import adjudication, steps

    opened = _study(study)
    one = _round(opened, number)
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


@app.command()
def report(number: RoundOption = "", study: StudyOption = None, as_json: JsonOption = False) -> None:
    """Compute agreement for the round and over all rounds: HTML, JSON, CSV and LaTeX.

    Written to the round's folder as report.*, and over all rounds but pilots as annotation/rounds/summary.*.

    Example: covmis round report
    """
    opened = _study(study)
    one = _round(opened, number)
    found = _write_reports(opened, one)
    if as_json:
        emit_json(found)
        return
    for name, numbers in found.items():
        kappa, raw = numbers["kappa"], numbers["raw_agreement"]
        say(
            f"{name}: {_sentence(kappa)}; raw agreement {_figure(raw['value'])}; {numbers['items_with_two_labels']} posts with two labels"
        )
    for note in found["round"]["notes"]:
        say(f"- {note}")
    say(
        f"Written: {opened.relative(one.folder)}/report.html and .json, .csv, .tex; the same for all rounds: summary.*"
    )


@app.command()
def adjudicate(
    adjudicator: Annotated[str, typer.Option(help="The third person's code.")] = "adjudicator",
    no_discussion: Annotated[
        bool, typer.Option("--no-discussion", help="Send disagreements straight to the third person.")
    ] = False,
    number: RoundOption = "",
    channel: ChannelOption = "",
    study: StudyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Settle disagreements: first a discussion, then a third person; run it again after each step.

    Writes sheets/discussion.csv (labels as A and B, in keyed order) and, for what was discussed without agreement
    (`undecided`), sheets/adjudication.csv; reads back what has been filled in. Nothing is written over.

    Example: covmis round adjudicate --adjudicator c1
    """
    from covmis_build.annotation import record, steps
    from covmis_build.study import CODE

    opened = _study(study)
    one = _round(opened, number)
    if not CODE.fullmatch(adjudicator) or adjudicator in _people(opened, one):
        raise InputError(
            f"'{adjudicator}' cannot be the third person",
            remedy="Use a code that no annotator of the round has",
        )
    found = steps.read_decision_sheets(one, adjudicator, now=record.moment())
    way = _channel(opened, channel)
    if way == "label-studio" and not one.sealed:
        from covmis_build.cli.label_studio import adjudicate_round

        more = adjudicate_round(opened, one, adjudicator, discuss=not no_discussion)
        found.added += more.added
        found.problems += more.problems
    elif not one.sealed:
        steps.write_decision_sheets(one, seed=opened.seed, discuss=not no_discussion)
    settled = steps.settlement(one, discuss=not no_discussion)
    result = {
        "round": one.number,
        **settled,
        "added": found.added,
        "problems": [str(p) for p in found.problems],
    }
    if as_json:
        emit_json(result)
    else:
        say(
            f"{settled['disagreements']} disagreements: {settled['discussed']} settled by discussion, "
            f"{settled['adjudicated']} by the third person; {settled['to_discuss']} to discuss, "
            f"{settled['to_adjudicate']} for the third person."
        )
        if settled["to_discuss"] or settled["to_adjudicate"]:
            say(
                f"Fill in the sheets in {opened.relative(one.sheets)}/ (a label, or `undecided`), then run this again."
            )
    _complain(found.problems)


@app.command()
def seal(number: RoundOption = "", study: StudyOption = None, as_json: JsonOption = False) -> None:
    """Close the round for good: hashes of items, labels, decisions, agreement and guideline, chained to the last seal.

    Refused while a post has no final label. Sealing twice changes nothing.

    Example: covmis round seal
    """
    from covmis_build.annotation import steps

    opened = _study(study)
    one = _round(opened, number)
    if not one.sealed:
        _write_reports(opened, one)
    made = steps.seal_round(opened.rounds, one)
    if as_json:
        emit_json(
            {
                "round": one.number,
                "seal": made["seal"],
                "previous": made["previous"],
                "counts": made["counts"],
            }
        )
        return
    say(
        f"Round {one.number} is sealed: {made['seal']}",
        "Whoever has this number can tell if anything before it changed.",
    )


@app.command()
def verify(study: StudyOption = None, as_json: JsonOption = False) -> None:
    """Check every seal against what is in the folders, and each seal against the one before.

    Example: covmis round verify
    """
    from covmis_build.annotation import steps

    opened = _study(study)
    rounds = steps.verify_rounds(opened.rounds)
    if as_json:
        emit_json(
            {"rounds": [
                {"round": one.round, "sealed": one.sealed, "stands": one.stands, "changed": list(one.changed),
                 "purged": one.purged} for one in rounds
            ]}
        )  # fmt: skip
    else:
        for one in rounds:
            state = (
                "stands"
                if one.stands
                else ("CHANGED: " + ", ".join(one.changed) if one.sealed else "not sealed")
            )
            say(f"Round {one.round}: {state}" + (f"; {one.purged} posts purged" if one.purged else ""))
        if not rounds:
            say("There is no round yet.")
    broken = [one.round for one in rounds if one.sealed and not one.stands]
    if broken:
        raise CheckFailed(f"sealed rounds that changed: {', '.join(broken)}")


def _write_reports(opened: Study, one: Round) -> dict[str, Any]:
    from covmis_build.annotation.report_files import write_reports

    return write_reports(
        opened.rounds,
        one,
        opened.labels,
        study=opened.title,
        per_item=opened.annotation.per_item,
        seed=opened.seed,
    )


def _study(folder: Path | None) -> Study:
    from covmis_build.study import open_study

    return open_study(folder)


def _round(opened: Study, number: str) -> Round:
    from covmis_build.annotation import record

    return record.find(opened.rounds, number)


def _guideline(opened: Study) -> str:
    from covmis_build.annotation.guideline import read_guideline

    return read_guideline(opened.guideline)


def _people(opened: Study, one: Round) -> list[str]:
    """Everybody who was or is an annotator of this round."""
    return list(dict.fromkeys([*opened.annotation.annotators, *one.about["annotators"]]))


def _channel(opened: Study, channel: str) -> str:
    way = channel or opened.annotation.channel
    if way not in {"csv", "html", "label-studio"}:
        raise InputError(f"--channel cannot be '{way}'", remedy="Allowed: csv, html, label-studio")
    return way


def _complain(problems: Sequence[Problem]) -> None:
    for problem in problems:
        warn(str(problem))
    if problems:
        raise CheckFailed(
            f"{len(problems)} things came back that need a person's eye (above); the rest is in the record"
        )


def _sentence(kappa: dict[str, Any]) -> str:
    from covmis_build.annotation.reporting import best_interval, between

    if kappa["value"] is None:
        return kappa["why"] or "no kappa"
    interval = between(*best_interval(kappa), 2)
    return f"{kappa['name']} {kappa['value']:.2f}" + (
        f" (95% interval {interval}: {kappa['words']})" if interval else ""
    )


def _figure(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.2f}"
