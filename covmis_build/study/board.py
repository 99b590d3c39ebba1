"""The board of a study's rounds: written as a page, or shown on this machine and refreshed as labels come."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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

HOST = "127.0.0.1"
REFRESH = 15
"""Seconds after which a shown board is read again."""


def board(study: Study) -> str:
    """The board as it is now."""
    rounds = all_rounds(study.places.rounds)
    recall = rounds_of_kind(study.places.rounds, RoundKind.RECALL)
    if not rounds and not recall:
        raise InputError("no round is open", remedy="Open one with `covmis round open`")
    settings = study.settings
    findings = findings_of_rounds(rounds, settings.labels, settings.annotation.per_item)
    return board_page(
        [(round_, progress(settings, round_)) for round_ in [*rounds, *recall]],
        findings,
        study=settings.title,
        verdict=verdict(findings.agreement, settings.annotation.target) if findings else "",
    )


def write_board(study: Study) -> Path:
    """Write the board as a page; its path."""
    path = study.places.rounds / "board.html"
    storage.write_text(path, board(study))
    return path


def server(study: Study, port: int = 0) -> ThreadingHTTPServer:
    """What shows the board to this machine's browsers alone: one page, read-only, rebuilt each time it is requested.

    `port` 0 is any free one; `serve_forever()` starts it.
    """

    class Board(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host = self.headers.get("Host", "").rpartition(":")[0]
            if self.path != "/" or host not in {HOST, "localhost"}:  # another name: another site's page asks
                self.send_error(404)
                return
            content = board(study).encode("utf-8")
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("Refresh", str(REFRESH))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing on the terminal."""

    return ThreadingHTTPServer((HOST, port), Board)
