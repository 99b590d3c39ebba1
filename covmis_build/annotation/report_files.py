"""The files of the agreement report: HTML, JSON, CSV and LaTeX, for one round and over all rounds."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from covmis_build import storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.agreement import Agreement, agreement
from covmis_build.annotation.checks import checks_of
from covmis_build.annotation.exports import read_export
from covmis_build.annotation.guideline import difference
from covmis_build.annotation.json_records import read_json
from covmis_build.annotation.label_matrix import read_labels_file
from covmis_build.annotation.newest import later_rounds, newest
from covmis_build.annotation.next_decision import NextDecision, next_decision
from covmis_build.annotation.report import (
    Findings,
    Report,
    agreement_of,
    as_csv,
    as_json,
    as_latex,
    comparison,
    findings,
    verdict,
)
from covmis_build.annotation.report_page import report_page, sections_of
from covmis_build.errors import InputError, counted
from covmis_build.operations import About
from covmis_build.options import by_people
from covmis_build.stats.agreement import Figure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from covmis_build.annotation.label_sets import LabelSets
    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.options import LabelChange, Labels, Target


log = logging.getLogger("covmis")
KINDS = ("html", "json", "csv", "tex")
SUMMARY = "summary"


def write_reports(
    rounds: Path,
    round_: RoundFolder,
    changes: Sequence[LabelChange],
    *,
    study: str,
    per_item: int,
    target: Target | None,
    orders: Mapping[str, Sequence[str]],
) -> Report:
    """Write the round's report with its own labels, and the summary of all rounds except pilots with those in common.

    `changes` are what became of labels between rounds, `orders` each person's posts as they were given out. A sealed round
    keeps its sealed report.
    """
    every = record.all_rounds(rounds)
    own = findings(round_.items(), round_.labels(), round_.scheme, round_.per_item)
    counts_alone = [other.number for other in every if not other.pilot] == [round_.number]
    same = counts_alone and round_.per_item == per_item and not later_rounds(every)
    summary = own if same else findings_of_rounds(every, changes, per_item)
    stop = verdict((summary or own).agreement, target)
    own = replace(own, next_decision=next_of(round_, stop, orders))
    if same:
        summary = own
    elif summary:
        summary = _with_target(summary, target)
    if round_.checks:
        own = replace(own, checks=checks_of(round_.checks, every, changes))
    guideline = _guideline_note(rounds, round_)
    in_round = (round_.folder / "report", f"Agreement in round {round_.number}", [guideline])
    over_all: _Page = (rounds / SUMMARY, "Agreement over all rounds", [])
    if summary is own and not round_.sealed:
        _write(own, [in_round, over_all], study)
    else:
        if not round_.sealed:
            _write(own, [in_round], study)
        if summary:
            _write(summary, [over_all], study)
    files = [f"{round_.folder.parent.name}/{round_.number}/report.{kind}" for kind in KINDS]
    files += [f"rounds/summary.{kind}" for kind in KINDS] if summary else []
    return Report(own, summary, tuple(f"annotation/{name}" for name in files), target, guideline)


def _with_target(summary: Findings, target: Target | None) -> Findings:
    """Add whether all rounds reach the target."""
    stop = verdict(summary.agreement, target)
    return replace(summary, next_decision=NextDecision([stop], [], [], [])) if stop else summary


def next_of(round_: RoundFolder, stop: str, orders: Mapping[str, Sequence[str]]) -> NextDecision:
    """Return what to decide after this round; `stop` is the sentence about the target, over all rounds."""
    frozen, labels = round_.items(), round_.labels()
    given = by_people(comparison(frozen[frozen["automatic_label"] == ""], labels))
    guideline = round_.folder / "guideline.md"
    text = guideline.read_text("utf-8") if guideline.exists() else ""
    return next_decision(given, labels, round_.scheme.values, stop=stop, orders=orders, guideline=text)


def renew_summary(
    rounds: Path, changes: Sequence[LabelChange], *, study: str, per_item: int, target: Target | None
) -> None:
    """Write the summary of all rounds again, if its numbers are other ones: labels may have come, or changed their meaning."""
    if (rounds / SUMMARY).with_suffix(".json").exists():
        summary = findings_of_rounds(record.all_rounds(rounds), changes, per_item)
        if summary and not _tells(rounds / SUMMARY, summary):
            _write(
                _with_target(summary, target), [(rounds / SUMMARY, "Agreement over all rounds", [])], study
            )


def _tells(path: Path, summary: Findings) -> bool:
    """True if the file has these numbers; it may have more, such as what to decide after the only round."""
    try:
        written = read_json(path.with_suffix(".json"))
    except InputError:  # damaged: it is made again
        return False
    numbers = json.loads(as_json(summary.to_dict()))
    return all(written.get(name) == value for name, value in numbers.items())


def findings_of_rounds(
    rounds: Sequence[RoundFolder], changes: Sequence[LabelChange], per_item: int, *, brief: bool = False
) -> Findings | None:
    """Return agreement over these rounds except pilots, on the labels that they have in common; None if no others exist.

    `brief`: what the board shows. If only some of the rounds could give a label, a note has kappa of those that could
    give every label.
    """
    if all(round_.pilot for round_ in rounds):
        return None
    now = newest(rounds, changes)
    frozen, labels = now.frozen(), now.labels()
    return replace(
        findings(frozen, labels, now.scheme, per_item, brief=brief),
        label_sets=tuple(_notes_of_sets(now.sets, frozen, labels, now.scheme)),
    )


def _notes_of_sets(sets: LabelSets, frozen: pd.DataFrame, labels: pd.DataFrame, scheme: Labels) -> list[str]:
    """Return how the rounds' labels differ, and kappa of the rounds that could give every label."""
    if sets.same:
        return list(sets.again)
    told = [
        "The rounds' labels differ: these figures are on the labels in common, each round's report is on its own.",
        *sets.notes,
    ]
    complete = [number for number in sets.rounds if all(number in each.rounds for each in sets.classes)]
    if 0 < len(complete) < len(sets.rounds):
        inside = frozen[frozen["round"].isin(complete)]
        compared = agreement_of(inside, labels[labels["round"].isin(complete)], scheme, brief=True)
        posts = counted(compared.items_with_two_labels, "posts")
        told.append(
            f"In {sets.in_words(complete)}, which could give every label: {compared.kappa}; {posts} with two labels."
        )
    elif not complete:
        told.append("No round could give every label.")
    return told


def _guideline_note(rounds: Path, round_: RoundFolder) -> str:
    """Return the round's guideline version and the changes since the previous round."""
    earlier = [other for other in record.all_rounds(rounds) if other.number < round_.number]
    told = f"Guideline: version {round_.guideline}"
    if not earlier or not round_.guideline:
        return f"{told}." if round_.guideline else ""
    before = earlier[-1].guideline
    if before == round_.guideline:
        return f"{told}, as in round {earlier[-1].number}."
    texts = [record.guideline_path(rounds, version) for version in (before, round_.guideline)]
    if not all(path.exists() for path in texts):
        return f"{told}; round {earlier[-1].number} had version {before}."
    changed = difference(*(path.read_text("utf-8") for path in texts))
    since = f"{told}; since round {earlier[-1].number} (version {before})"
    if not changed:
        return f"{since} only blanks changed."
    lines = "; ".join(f"{'new' if line[0] == '+' else 'gone'}: “{line[1:]}”" for line in changed[:3])
    return f"{since} {counted(len(changed), 'lines')} changed. {lines}{'; …' if len(changed) > 3 else ''}"


def agreement_of_file(
    file: Annotated[
        Path,
        About(
            "An export (Label Studio, doccano, Prodigy, Argilla, Labelbox, Potato, INCEpTION), or a table: a row a label, or a column a person.",
            metavar="FILE",
            argument=True,
        ),
    ],
    *,
    labels: Annotated[
        Sequence[str], About("The labels, separated by commas (default: those that occur).", commas=True)
    ] = (),
    order: Annotated[
        Sequence[str], About("The labels in order; adds ordinal coefficients.", commas=True)
    ] = (),
    question: Annotated[str, About("The question, if an export has several.")] = "",
    html: Annotated[Path | None, About("Also write the report as a page.")] = None,
    latex: Annotated[Path | None, About("Also write the coefficients as a LaTeX table.")] = None,
) -> Agreement:
    """Compute inter-annotator agreement for any file.

    A table has a row for each label (item, annotator, label; optionally claim, round, kind, seconds), or a row for each item and
    a column for each annotator. doccano and Potato write a file for each person: name the zip or the folder.

    Example: covmis agreement labels.csv --order favor,neither,against
    """
    export = read_export(file, question)
    for note in export.notes if export else ():
        log.warning("%s: %s", file, note)
    try:
        rows = export.frame() if export else read_labels_file(file)
        compared = agreement(rows, labels=labels, order=order or None)
    except InputError as error:
        raise error.at(file) from None
    if html:
        findings_of_file = Findings(compared)
        page = report_page(
            findings_of_file, sections_of(findings_of_file), title="Agreement", study=file.name
        )
        storage.write_text(html, page)
    if latex:
        storage.write_text(latex, as_latex(compared, study=file.name))
    return compared


def read_figure(report: Path, name: str) -> Figure | None:
    """Read a coefficient from a round's report.json or from summary.json; None before `covmis round report`."""
    figure = read_json(report).get(name) if report.exists() else None
    try:
        return figure and msgspec.convert(figure, Figure)
    except msgspec.ValidationError as error:
        raise InputError(f"{name}: {error}", file=report, remedy="Run `covmis round report` again") from None


_Page = tuple[Path, str, list[str]]
"""A report's path without extension, its title, and its additional remarks."""


def _write(findings: Findings, pages: Sequence[_Page], study: str) -> None:
    sections = sections_of(findings)
    numbers, rows = as_json(findings.to_dict()), as_csv(findings)
    table = as_latex(findings.agreement, study=study)
    for path, title, said in pages:
        page = report_page(findings, sections, title=title, study=study, remarks=said)
        storage.write_text(path.with_suffix(".html"), page)
        storage.write_text(path.with_suffix(".json"), numbers)
        storage.write_bytes(path.with_suffix(".csv"), rows)
        storage.write_text(path.with_suffix(".tex"), table)
