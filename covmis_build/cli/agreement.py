"""`covmis agreement FILE`: how far people agree, without any study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from covmis_build.cli.console import JsonOption, emit_json, grid, say


def agreement(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="CSV: item, annotator, label, and maybe claim, round, kind, seconds."
        ),
    ],
    labels: Annotated[
        str, typer.Option(help="The scheme, separated by commas (default: labels that occur).")
    ] = "",
    order: Annotated[str, typer.Option(help="The labels in their order: adds ordinal coefficients.")] = "",
    seed: Annotated[int, typer.Option(help="For the interval that resamples claims.")] = 0,
    html: Annotated[Path | None, typer.Option(help="Also write the report as a page.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Also write the coefficients as a LaTeX table.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare people's labels in a CSV file: every coefficient, with intervals, and words where there is no number.

    Example: covmis agreement labels.csv --order favor,neither,against
    """
    from covmis_build import storage
    from covmis_build.annotation.agreement import agreement as compare
    from covmis_build.annotation.course import read_labels_file
    from covmis_build.annotation.report_page import report_page
    from covmis_build.annotation.reporting import Findings, as_latex, coefficient_rows
    from covmis_build.errors import InputError

    try:
        found = compare(read_labels_file(file), _words(labels), _words(order) or None, seed).to_dict()
    except InputError as error:
        raise error if str(file) in str(error) else InputError(str(error), file=file) from None
    if html:
        page = report_page(Findings(found, ()), title="Agreement", study=file.name)
        storage.write_text(html, page)
    if latex:
        storage.write_text(latex, as_latex(found, study=file.name))
    if as_json:
        emit_json(found)
        return
    say(
        f"{found['items']} items, {len(found['annotators'])} annotators, {found['items_with_two_labels']} items with two labels"
    )
    grid(
        [_row(one) for one in coefficient_rows(found)],
        ("coefficient", "value", "interval over items", "over claims", "in words"),
    )
    say(*(f"- {note}" for note in found["notes"]))


def _row(one: dict[str, Any]) -> tuple[Any, ...]:
    from covmis_build.annotation.reporting import between

    return (
        one["name"],
        None if one["value"] is None else round(one["value"], 5),
        between(one["low"], one["high"]),
        between(one["low_by_claims"], one["high_by_claims"]),
        one["words"],
    )


def _words(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if one.strip()]
