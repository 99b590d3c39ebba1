"""`covmis round report|adjudicate|seal|verify`, and what all of the round's commands share."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covmis_build.cli.console import JsonOption, StudyOption, emit_json, say, warn
from covmis_build.errors import CheckFailed, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from covmis_build.annotation.answers import Problem
    from covmis_build.annotation.record import Round
    from covmis_build.study import Study

RoundOption = Annotated[
    str, typer.Option("--round", metavar="N", help="The round (default: the last one opened).")
]
ChannelOption = Annotated[
    str, typer.Option(metavar="csv|html|label-studio", help="Default: [annotation] channel.")
]


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


def the_study(folder: Path | None) -> Study:
    """The study in this folder, or the nearest one upwards."""
    from covmis_build.study import open_study

    return open_study(folder)


def alone(command: Callable[..., None]) -> Callable[..., None]:
    """Keep other commands from changing the study's rounds until this one has ended."""

    @functools.wraps(command)
    def locked(**given: Any) -> None:
        from covmis_build import storage

        name = command.__name__.rstrip("_")
        with storage.locked(the_study(given["study"]).build / ".rounds.lock", f"covmis round {name}"):
            command(**given)

    return locked


def the_round(opened: Study, number: str) -> Round:
    """The round with this number, or the last one opened."""
    from covmis_build.annotation import record

    return record.find(opened.rounds, number)


def guideline_text(opened: Study) -> str:
    """The guideline as it is now."""
    from covmis_build.annotation.guideline import read_guideline

    return read_guideline(opened.guideline)


def people_of(opened: Study, one: Round) -> list[str]:
    """Everybody who was or is an annotator of this round."""
    return list(dict.fromkeys([*opened.annotation.annotators, *one.about["annotators"]]))


def channel_of(opened: Study, channel: str) -> str:
    """The channel that was asked for, or the study's."""
    way = channel or opened.annotation.channel
    if way not in {"csv", "html", "label-studio"}:
        raise InputError(f"--channel cannot be '{way}'", remedy="Allowed: csv, html, label-studio")
    return way


def complain(problems: Sequence[Problem]) -> None:
    """Say each problem, and end with exit code 1 if there is one."""
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


@alone
def report(number: RoundOption = "", study: StudyOption = None, as_json: JsonOption = False) -> None:
    """Compute agreement for the round and over all rounds: HTML, JSON, CSV and LaTeX.

    Written to the round's folder as report.*, and over all rounds but pilots as annotation/rounds/summary.*.

    Example: covmis round report
    """
    opened = the_study(study)
    one = the_round(opened, number)
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


@alone
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

    opened = the_study(study)
    one = the_round(opened, number)
    if not CODE.fullmatch(adjudicator) or adjudicator in people_of(opened, one):
        raise InputError(
            f"'{adjudicator}' cannot be the third person",
            remedy="Use a code that no annotator of the round has",
        )
    found = steps.read_decision_sheets(one, adjudicator, now=record.moment())
    way = channel_of(opened, channel)
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
    complain(found.problems)


@alone
def seal(number: RoundOption = "", study: StudyOption = None, as_json: JsonOption = False) -> None:
    """Close the round for good: hashes of items, labels, decisions, agreement and guideline, chained to the last seal.

    Refused while a post has no final label. Sealing twice changes nothing.

    Example: covmis round seal
    """
    from covmis_build.annotation import steps

    opened = the_study(study)
    one = the_round(opened, number)
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


def verify(study: StudyOption = None, as_json: JsonOption = False) -> None:
    """Check every seal against what is in the folders, and each seal against the one before.

    Example: covmis round verify
    """
    from covmis_build.annotation import steps

    opened = the_study(study)
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
