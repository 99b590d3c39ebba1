"""The files of the agreement report: HTML, JSON, CSV and LaTeX, for one round and over all rounds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import pandas as pd

from covmis_build import storage
from covmis_build.annotation import round_folder as record
from covmis_build.annotation.agreement import Agreement, agreement
from covmis_build.annotation.checks import checks_of
from covmis_build.annotation.guideline import difference
from covmis_build.annotation.label_matrix import read_labels_file
from covmis_build.annotation.report import Findings, Report, as_csv, as_json, as_latex, findings, verdict
from covmis_build.annotation.report_page import report_page, sections_of
from covmis_build.errors import InputError, counted
from covmis_build.operations import About
from covmis_build.stats.agreement import Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from covmis_build.annotation.round_folder import RoundFolder
    from covmis_build.options import Labels, Target


KINDS = ("html", "json", "csv", "tex")


def write_reports(
    rounds: Path,
    round_: RoundFolder,
    scheme: Labels,
    *,
    study: str,
    per_item: int,
    target: Target | None,
) -> Report:
    """Write the round's report, and the summary of all rounds except pilots.

    A sealed round keeps its sealed report.
    """
    every = record.all_rounds(rounds)
    own = findings(round_.items(), round_.labels(), round_.scheme, round_.per_item)
    counts_alone = [other.number for other in every if not other.pilot] == [round_.number]
    same = counts_alone and (round_.scheme, round_.per_item) == (scheme, per_item)
    summary = own if same else findings_of_rounds(every, scheme, per_item)
    if round_.checks:
        own = replace(own, checks=checks_of(round_.checks, every))
    guideline = _guideline_note(rounds, round_)
    in_round = (round_.folder / "report", f"Agreement in round {round_.number}", [guideline])
    over_all: _Page = (rounds / "summary", "Agreement over all rounds", [])
    if summary is own and not round_.sealed:
        _write(own, [in_round, over_all], study, target)
    else:
        if not round_.sealed:
            _write(own, [in_round], study, target)
        if summary:
            _write(summary, [over_all], study, target)
    files = [f"rounds/{round_.number}/report.{kind}" for kind in KINDS]
    files += [f"rounds/summary.{kind}" for kind in KINDS] if summary else []
    return Report(own, summary, tuple(f"annotation/{name}" for name in files), target, guideline)


def findings_of_rounds(
    rounds: Sequence[RoundFolder], scheme: Labels, per_item: int, *, brief: bool = False
) -> Findings | None:
    """Return agreement over these rounds except pilots; None if no others exist. `brief`: what the board shows."""
    counted = [round_ for round_ in rounds if not round_.pilot]
    if not counted:
        return None
    frozen = pd.concat([round_.items() for round_ in counted], ignore_index=True)
    parts = [part for part in (round_.labels() for round_ in counted) if len(part)]
    labels = pd.concat(parts, ignore_index=True) if parts else counted[0].labels()
    return findings(frozen, labels, scheme, per_item, brief=brief)


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
            "CSV or workbook with item, annotator, label; optionally claim, round, kind, seconds.",
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
    html: Annotated[Path | None, About("Also write the report as a page.")] = None,
    latex: Annotated[Path | None, About("Also write the coefficients as a LaTeX table.")] = None,
) -> Agreement:
    """Compute inter-annotator agreement for any file.

    Example: covmis agreement labels.csv --order favor,neither,against
    """
    try:
        compared = agreement(read_labels_file(file), labels=labels, order=order or None)
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
    figure = record.read_json(report).get(name) if report.exists() else None
    try:
        return figure and msgspec.convert(figure, Figure)
    except msgspec.ValidationError as error:
        raise InputError(f"{name}: {error}", file=report, remedy="Run `covmis round report` again") from None


_Page = tuple[Path, str, list[str]]
"""A report's path without extension, its title, and its additional remarks."""


def _write(findings: Findings, pages: Sequence[_Page], study: str, target: Target | None) -> None:
    sections = sections_of(findings)
    numbers, rows = as_json(findings.to_dict()), as_csv(findings)
    table = as_latex(findings.agreement, study=study)
    for path, title, said in pages:
        remarks = [*filter(None, [verdict(findings.agreement, target)]), *said]
        page = report_page(findings, sections, title=title, study=study, remarks=remarks)
        storage.write_text(path.with_suffix(".html"), page)
        storage.write_text(path.with_suffix(".json"), numbers)
        storage.write_bytes(path.with_suffix(".csv"), rows)
        storage.write_text(path.with_suffix(".tex"), table)
