"""`covmis agreement FILE`: how far people agree, without any study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from covmis_build.cli.options import listed
from covmis_build.report.result import Result


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
