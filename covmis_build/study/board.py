"""The board of a study's rounds, written as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covmis_build import storage
from covmis_build.annotation.board import board_page
from covmis_build.annotation.report import verdict
from covmis_build.annotation.report_files import findings_of_rounds
from covmis_build.annotation.round_folder import RoundKind, all_rounds, rounds_of_kind
from covmis_build.errors import InputError
from covmis_build.study.round_work import progress

if TYPE_CHECKING:
    from pathlib import Path

    from covmis_build.study.study import Study


def write_board(study: Study) -> Path:
    """Write the board as it is now; its path."""
    rounds = all_rounds(study.places.rounds)
    recall = rounds_of_kind(study.places.rounds, RoundKind.RECALL)
    if not rounds and not recall:
        raise InputError("no round is open", remedy="Open one with `covmis round open`")
    settings = study.settings
    findings = findings_of_rounds(rounds, settings.labels, settings.annotation.per_item)
    text = board_page(
        [(round_, progress(study, round_)) for round_ in [*rounds, *recall]],
        findings,
        study=settings.title,
        verdict=verdict(findings.agreement, settings.annotation.target) if findings else "",
    )
    path = study.places.rounds / "board.html"
    storage.write_text(path, text)
    return path
