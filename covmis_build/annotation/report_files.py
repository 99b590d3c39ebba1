"""The files of the agreement report: HTML, JSON, CSV and LaTeX, for one round and over all rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from covmis_build import storage
from covmis_build.annotation import record
from covmis_build.annotation.report_page import report_page
from covmis_build.annotation.reporting import Findings, as_csv, as_json, as_latex, findings

if TYPE_CHECKING:
    from pathlib import Path

    from covmis_build.annotation.record import Round
    from covmis_build.options import Labels


def write_reports(
    rounds: Path, one: Round, scheme: Labels, *, study: str, per_item: int, seed: int
) -> dict[str, Any]:
    """Write the round's report and the summary over all rounds but pilots; the numbers of both.

    A sealed round keeps the report that was sealed.
    """
    found = findings(one.items(), one.labels(), one.scheme, one.per_item, seed=seed)
    if not one.sealed:
        _write(one.folder, "report", found, f"Agreement in round {one.number}", study)
    numbers = {"round": found.numbers}
    counted = [other for other in record.all_rounds(rounds) if not other.pilot]
    if counted:
        frozen = pd.concat([other.items() for other in counted], ignore_index=True)
        parts = [part for part in (other.labels() for other in counted) if len(part)]
        labels = pd.concat(parts, ignore_index=True) if parts else counted[0].labels()
        summary = findings(frozen, labels, scheme, per_item, seed=seed)
        _write(rounds, "summary", summary, "Agreement over all rounds", study)
        numbers["all_rounds"] = summary.numbers
    return numbers


def _write(folder: Path, name: str, found: Findings, title: str, study: str) -> None:
    storage.write_text(folder / f"{name}.html", report_page(found, title=title, study=study))
    storage.write_text(folder / f"{name}.json", as_json(found.numbers))
    storage.write_bytes(folder / f"{name}.csv", as_csv(found))
    storage.write_text(folder / f"{name}.tex", as_latex(found.numbers, study=study))
